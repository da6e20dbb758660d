// SPDX-License-Identifier: MIT
// The option table. One row here is everything it takes to add an option with a value of a known
// type: it is then parsed, listed, explained, checked, accepted in job files, and stored.
//
// Rows stand in the order in which help shows them; rows of a group stand together. FIELD is kept
// in results and taken from them; HELD is not, because it leaves the numbers alone or names a
// place.
#include "api/options.h"

#include "device/device.h"

#include <stddef.h>
#include <string.h>

#define OPTION(name_, commands_, metavar_, default_, help_)                                        \
    .info.name = name_, .info.commands = commands_, .info.metavar = metavar_,                      \
    .info.default_text = default_, .info.help = help_
#define FIELD(field_) HELD(field_), KEPT
#define HELD(field_)                                                                               \
    .info.field = true, .offset = offsetof(shoal_options, field_),                                 \
    .size = sizeof(((shoal_options *)0)->field_)
#define GROUP(group_) .info.group = group_
#define LETTER(letter_) .info.letter = letter_
#define IN_MODEL .info.in_model = true
#define IN_BATCH(add_) .info.in_batch = true, .add = add_
#define IN_KERNEL .info.in_kernel = true
#define REPEATABLE .info.repeatable = true
#define KEPT .info.kept = true

#define RUN "run"
#define BATCH "run calibrate warm"
#define PLOT "plot"
#define RESUME "resume"
#define GRID "grid"
#define KERNEL "run source warm calibrate explain" // what changes or checks a kernel
#define MODEL "run info source warm calibrate explain"
#define CACHE "list show stat explain verify clear doctor export import" // of `shoal cache`
#define ALL                                                                                        \
    "run resume status merge plot grid info source devices methods options env version help man "  \
    "completions warm calibrate " CACHE

#define RUNS "which runs"
#define TIME "time and steps"
#define METHOD "method"
#define OUTPUT "output"
#define FIGURE "figure"
#define GRIDS "grids"
#define DEVICE "device"
#define TALK "talk"

#define NUMBERED(name_, number_) "|" #name_ number_
#define WORD(name_, number_) " " #name_

const struct option option_table[] = {
    {OPTION("set", MODEL, "NAME=V,...", "",
            "parameter or initial value (x or x(0)) for every trajectory; a constant too, which "
            "recompiles"),
     GROUP(RUNS), KEPT, REPEATABLE, .type = OPTION_TEXT},
    {OPTION("event", MODEL, "'NAME when|at|every ... : ...'", "",
            "one more event, as a line of the model has it"),
     GROUP(RUNS), KEPT, REPEATABLE, .type = OPTION_TEXT},
    {OPTION("use", MODEL, "SET", "", "a named set of the model: its values and options"),
     GROUP(RUNS), KEPT, .type = OPTION_TEXT},
    {OPTION("sweep", BATCH, "NAME=SPEC", "",
            "lin:A:B:N, log:A:B:N or V,V,...; several make a grid, the leftmost is the slowest"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_sweep), REPEATABLE, .type = OPTION_TEXT},
    {OPTION("zip", BATCH, "A,B,...", "", "these sweeps go together instead of making a grid"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_zip), REPEATABLE, .type = OPTION_TEXT},
    {OPTION("sample", BATCH, "NAME=SPEC", "",
            "uniform:A:B, loguniform:A:B, normal:M:S or lognormal:MEDIAN:GSD, with --runs"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_sample), REPEATABLE, .type = OPTION_TEXT},
    {OPTION("runs", BATCH, "N", "", "how many samples: 4096, 10k, 1e6"), GROUP(RUNS), KEPT,
     IN_BATCH(api_batch_samples), .type = OPTION_COUNT, .least = 1},
    {OPTION("seed", BATCH, "S", "0", "the value of (run, name) depends on it and nothing else"),
     GROUP(RUNS), KEPT, IN_BATCH(api_batch_seed), .type = OPTION_COUNT},
    {OPTION("sampler", BATCH, "random|lhs|sobol", "lhs", "how samples fill the space"), GROUP(RUNS),
     KEPT, IN_BATCH(api_batch_sampler), .type = OPTION_WORD, .words = "random lhs sobol"},
    {OPTION("batch", BATCH, "FILE", "",
            "one trajectory a row, columns by name (.csv, .npz, .h5; - is standard input); times "
            "sweeps and samples"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_file), .type = OPTION_TEXT},
    {OPTION("from", RUN, "FILE", "",
            "a result whose runs go on: its inputs, its final states as initial values, its end as "
            "t0"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_from), .type = OPTION_TEXT},
    {OPTION("sample-per-row", RUN, NULL, "off",
            "--sample draws once for each row of --batch, instead of --runs times"),
     GROUP(RUNS), KEPT, IN_BATCH(api_batch_per_row), .type = OPTION_FLAG},
    {OPTION("only-runs", RUN " " PLOT, "I,A:B,...", "",
            "part of the batch under the same indices; A:B is without B, A: goes on to the end"),
     GROUP(RUNS), KEPT, IN_BATCH(shoal_batch_only), .type = OPTION_TEXT},
    {OPTION(
         "shard", RUN, "I/N[:strided]|auto", "",
         "part I, from 0, of N of the same job, for `shoal merge`; auto: by the SLURM array task"),
     GROUP(RUNS), IN_BATCH(shoal_batch_shard), .type = OPTION_TEXT},
    {OPTION("doses", MODEL, "FILE", "",
            "doses by columns ID TIME AMT CMT RATE II ADDL; ID is the batch's _ID, or the run"),
     GROUP(RUNS), IN_KERNEL, FIELD(doses), .type = OPTION_TEXT},
    {OPTION("job", RUN, "FILE", "",
            "options from a file of `name = value` lines, or from a result file: replays it"),
     GROUP(RUNS), .type = OPTION_TEXT},
    {OPTION(
         "driver", MODEL " " RESUME, "NAME=FILE[:COLUMN][,cubic...]", "",
         "samples of a driver (.csv, .npy, .npz, .h5): held, linear, cubic, natural, notaknot, "
         "clamped, periodic or monotone; ends=hold, periodic, zero or error; by=_ID: each run its "
         "own"),
     GROUP(RUNS), KEPT, REPEATABLE, .type = OPTION_TEXT},

    {OPTION("t0", MODEL, "T", "0", "start time"), GROUP(TIME), IN_MODEL, FIELD(t0),
     .type = OPTION_NUMBER},
    {OPTION("t1", MODEL, "T", "the model's", "end time"), GROUP(TIME), IN_MODEL, FIELD(t1),
     .type = OPTION_NUMBER},
    {OPTION("settle", KERNEL, "T", "0", "nothing is saved before t0 + T, which is part of the run"),
     GROUP(TIME), IN_MODEL, FIELD(settle), .type = OPTION_NUMBER, .range = OPTION_NOT_NEGATIVE},
    {OPTION("time-unit", RUN, "WORD", "", "what time is measured in, for figures: ms, h"),
     GROUP(TIME), IN_MODEL, FIELD(time_unit), .type = OPTION_TEXT},
    {OPTION("dt", KERNEL, "H", "", "step of a fixed-step run; an error with an adaptive method"),
     GROUP(TIME), IN_MODEL, FIELD(dt), .type = OPTION_NUMBER, .range = OPTION_POSITIVE},
    {OPTION("dt0", KERNEL, "H", "automatic", "first step"), GROUP(TIME), IN_MODEL, FIELD(dt0),
     .type = OPTION_NUMBER, .range = OPTION_POSITIVE},
    {OPTION("dt-min", KERNEL, "H", "0", "a smaller step fails the trajectory"), GROUP(TIME),
     IN_MODEL, FIELD(dt_min), .type = OPTION_NUMBER, .range = OPTION_NOT_NEGATIVE},
    {OPTION("dt-max", KERNEL, "H", "none", "largest step"), GROUP(TIME), IN_MODEL, FIELD(dt_max),
     .type = OPTION_NUMBER, .range = OPTION_POSITIVE},
    {OPTION("max-steps", KERNEL, "N", "100000; no limit for fixed steps",
            "attempted steps of a trajectory before it fails"),
     GROUP(TIME), IN_MODEL, FIELD(max_steps), .type = OPTION_COUNT, .least = 1},

    {OPTION("method", MODEL, "NAME", "auto",
            "see `shoal methods`; auto takes a stiff one for the runs that need it"),
     GROUP(METHOD), IN_MODEL, IN_KERNEL, FIELD(method), .type = OPTION_METHOD},
    {OPTION("controller", KERNEL, "fixed|i|pi|pid|gustafsson", "the method's",
            "how the step follows the error; fixed takes steps of --dt"),
     GROUP(METHOD), IN_MODEL, IN_KERNEL, FIELD(controller), .type = OPTION_WORD,
     .words = "fixed i pi pid gustafsson"},
    {OPTION("rtol", KERNEL, "R", "1e-6, in f32 1e-4", "relative tolerance"), GROUP(METHOD),
     IN_MODEL, FIELD(rtol), .type = OPTION_NUMBER, .range = OPTION_POSITIVE},
    {OPTION("atol", KERNEL, "A[,STATE=A...]", "1e-9, in f32 1e-6",
            "absolute tolerance, also per state: 1e-9,x=1e-15"),
     GROUP(METHOD), IN_MODEL, FIELD(atol), .type = OPTION_ATOL},
    {OPTION("precision", KERNEL, "f64|f32", "f64", "of states, parameters and arithmetic"),
     GROUP(METHOD), IN_MODEL, IN_KERNEL, FIELD(precision), .type = OPTION_CHOICE,
     .words = "f64 f32"},
    {OPTION("fast-math", KERNEL, NULL, "off",
            "math functions to 3.5 ulp instead of 1, reciprocals instead of divisions: the last "
            "digits "
            "then depend on compiler and machine"),
     GROUP(METHOD), IN_KERNEL, FIELD(fast_math), .type = OPTION_FLAG},
    {OPTION("compensate", KERNEL, NULL, "off",
            "carry what states lose when they are rounded: many small steps in f32 end with the "
            "error of a few"),
     GROUP(METHOD), IN_MODEL, IN_KERNEL, FIELD(compensate), .type = OPTION_FLAG},

    {OPTION("save", KERNEL, "final|n=N|every=DT|at=T,...|steps", "final",
            "when to save; n counts both ends; between steps the method interpolates"),
     GROUP(OUTPUT), IN_MODEL, IN_KERNEL, FIELD(save), .type = OPTION_SAVE},
    {OPTION("vars", KERNEL, "X,Y,...", "all states",
            "states and observables to keep; an array's name means all its elements"),
     GROUP(OUTPUT), IN_MODEL, IN_KERNEL, FIELD(vars), .type = OPTION_TEXT},
    {OPTION("reduce", RUN, "'mean,std,min,max,quantile(Q,...)'", "",
            "statistics over runs at every save time instead of rows for each run; quantiles to "
            "0.5 % of rank"),
     GROUP(OUTPUT), IN_MODEL, FIELD(reduce), .type = OPTION_TEXT},
    {OPTION("by", RUN, "NAME,...", "", "group them by swept names and columns of the batch file"),
     GROUP(OUTPUT), IN_MODEL, FIELD(by), .type = OPTION_TEXT},
    {OPTION("record", KERNEL, "NAME,N[,...]", "",
            "the first N times of an event of the model, and the variables there; an array's name "
            "means all its elements"),
     GROUP(OUTPUT), IN_MODEL, IN_KERNEL, REPEATABLE, FIELD(record), .type = OPTION_TEXT},
    {OPTION("output", RUN " " PLOT " " GRID, "FILE",
            "a table on a terminal, else CSV to stdout; a plot as text; grids as JSON to stdout",
            ".csv, .npz or .h5 by its ending, - is CSV on stdout; of a plot .svg, .pdf or .png; of "
            "grids "
            ".json, .npy, .npz or .txt"),
     GROUP(OUTPUT), LETTER('o'), .type = OPTION_TEXT},
    {OPTION("force", RUN " merge", NULL, "off",
            "replace a file at --output that is no result of Shoal's"),
     GROUP(OUTPUT), .type = OPTION_FLAG},
    {OPTION("resume", RUN, NULL, "off",
            "go on from what a run of the same job has left at --output, if one has"),
     GROUP(OUTPUT), HELD(resume), .type = OPTION_FLAG},
    {OPTION("time-limit", RUN " " RESUME, "TIME", "SHOAL_TIME_LIMIT, else none",
            "stop after this time, 3h50m, with exit code 75, so that --resume goes on"),
     GROUP(OUTPUT), .type = OPTION_AGE},
    {OPTION("allow-missing", "merge", NULL, "off",
            "rows of shards that are not there are NaN, with the status pending; statistics are "
            "without them"),
     GROUP(OUTPUT), .type = OPTION_FLAG},
    {OPTION("mixed-bits", RUN " " RESUME, NULL, "off",
            "go on though another kernel computed what is there: last digits may differ"),
     GROUP(OUTPUT), HELD(mixed_bits), .type = OPTION_FLAG},
    {OPTION("report", RUN, "FILE", "", "a page about the run: .html; needs --output"),
     GROUP(OUTPUT), .type = OPTION_TEXT},
    {OPTION("keep-failed", KERNEL, NULL, "off",
            "a failed trajectory keeps its last good values instead of NaN"),
     GROUP(OUTPUT), FIELD(keep_failed), .type = OPTION_FLAG},
    {OPTION("counters", KERNEL, NULL, "off",
            "Newton iterations of each trajectory, and its rejected steps by reason"),
     GROUP(OUTPUT), FIELD(counters), IN_KERNEL, .type = OPTION_FLAG},
    {OPTION("dry-run", RUN " " GRID, NULL, "off", "say what a run would take, and stop"),
     GROUP(OUTPUT), .type = OPTION_FLAG},
    {OPTION("methods", "calibrate", NULL, "off",
            "compare methods at the same achieved error, on runs of the model"),
     GROUP(OUTPUT), .type = OPTION_FLAG},
    {OPTION("json", "info warm calibrate status " CACHE, NULL, "off", "machine-readable"),
     GROUP(OUTPUT), .type = OPTION_FLAG},
    {OPTION("summary", KERNEL, "'LABEL=max(x),...'", "",
            "what each run comes to, instead of its states: max, mean, crossings, ..."),
     GROUP(OUTPUT), IN_MODEL, IN_KERNEL, FIELD(summary), .type = OPTION_TEXT},
    {OPTION("window", KERNEL, "W", "the whole run", "summaries of each stretch of this length"),
     GROUP(OUTPUT), IN_MODEL, FIELD(window), .type = OPTION_NUMBER, .range = OPTION_POSITIVE},

    {OPTION("in", GRID, "FILE", "", "grids: .json, .npy, .npz or .txt, - is standard input"),
     GROUP(GRIDS), .type = OPTION_TEXT},
    {OPTION("select", GRID, "NAME.NAME...", "all of it",
            "the part of a .json file that has the grids: train.input"),
     GROUP(GRIDS), .type = OPTION_TEXT},
    {OPTION("type", "grid source warm", "u8|i16|i32", "the input's; i32 in JSON and text",
            "of the cells of results; of the kernel that source and warm make"),
     GROUP(GRIDS), .type = OPTION_CHOICE, .words = "u8 i16 i32"},
    {OPTION("compare", GRID, "FILE", "", "say which results equal the grids of this file"),
     GROUP(GRIDS), .type = OPTION_TEXT},
    {OPTION("bench", GRID, NULL, "off", "time batches of 10 to 10000 of the grids"), GROUP(GRIDS),
     .type = OPTION_FLAG},
    {OPTION("grid", "source warm", "PIPELINE|FILE", "",
            "of a pipeline of grids instead of a model; warm takes a file, one pipeline a line"),
     GROUP(GRIDS), .type = OPTION_TEXT},

    {OPTION("x", PLOT, "NAME", "chosen", "what is to the right: a name of the file"), GROUP(FIGURE),
     .type = OPTION_TEXT},
    {OPTION("y", PLOT, "NAME,...", "chosen",
            "what is upwards; of `heat` the second input comes first"),
     GROUP(FIGURE), .type = OPTION_TEXT},
    {OPTION("fix", PLOT, "NAME=V,...", "", "only runs whose inputs are nearest to that"),
     GROUP(FIGURE), .type = OPTION_TEXT},
    {OPTION("x-range", PLOT, "A:B", "that of the values", "what the axis shows"), GROUP(FIGURE),
     .type = OPTION_TEXT},
    {OPTION("y-range", PLOT, "A:B", "that of the values", "what the axis shows"), GROUP(FIGURE),
     .type = OPTION_TEXT},
    {OPTION("log", PLOT, "x,y,z", "none", "axes that are logarithmic; z is that of colours"),
     GROUP(FIGURE), .type = OPTION_TEXT},
    {OPTION("shade", PLOT, "log|equal|linear", "log",
            "colours of a density: by the logarithm of the number of points, its rank, or itself"),
     GROUP(FIGURE), .type = OPTION_CHOICE, .words = "log equal linear"},
    {OPTION("levels", PLOT, "auto|none|V,...", "auto",
            "lines of equal value in a heat map: at the numbers beside the colours where the value "
            "is smooth, nowhere, or at these values"),
     GROUP(FIGURE), .type = OPTION_TEXT},
    {OPTION("map", PLOT, "viridis|magma|cividis|grey", "viridis", "colours"), GROUP(FIGURE),
     .type = OPTION_WORD, .words = "viridis magma cividis grey"},
    {OPTION("theme", PLOT, "light|dark", "light", "paper and ink"), GROUP(FIGURE),
     .type = OPTION_CHOICE, .words = "light dark"},
    {OPTION("title", PLOT, "TEXT", "model and variable", "above the figure"), GROUP(FIGURE),
     .type = OPTION_TEXT},
    {OPTION("bare", PLOT, NULL, "off", "the picture alone: no axes, no text"), GROUP(FIGURE),
     .type = OPTION_FLAG},
    {OPTION("width", PLOT, "N", "900", "of the figure, in units of 1/96 inch"), GROUP(FIGURE),
     .type = OPTION_COUNT, .least = 80, .most = 20000},
    {OPTION("height", PLOT, "N", "560", "of the figure"), GROUP(FIGURE), .type = OPTION_COUNT,
     .least = 60, .most = 20000},
    {OPTION("dpi", PLOT, "N", "96", "pixels per inch of a .png"), GROUP(FIGURE),
     .type = OPTION_NUMBER, .range = OPTION_POSITIVE},
    {OPTION("ascii", PLOT, NULL, "off", "plain characters on the terminal, no colours"),
     GROUP(FIGURE), .type = OPTION_FLAG},

    {OPTION("device", "run resume source warm explain grid", "auto" DEVICE_BACKENDS(NUMBERED),
            "auto", "see `shoal devices`"),
     GROUP(DEVICE), IN_KERNEL, HELD(device), .type = OPTION_DEVICE,
     .words = "auto" DEVICE_BACKENDS(WORD)},
    {OPTION("threshold", RUN " " RESUME " " GRID, "N", "by measurement",
            "with --device auto: fewer runs go to the CPU, N and more to a GPU"),
     GROUP(DEVICE), HELD(threshold), .type = OPTION_COUNT, .least = 1},
    {OPTION("reuses", RUN " " RESUME " " GRID, "N", "1",
            "with --device auto: batches like this one that a compilation is for"),
     GROUP(DEVICE), HELD(reuses), .type = OPTION_COUNT, .least = 1, .most = 1000000000},
    {OPTION("no-fallback", RUN " " RESUME " " GRID, NULL, "off",
            "a device that fails ends the run, instead of leaving the rest to the CPU"),
     GROUP(DEVICE), HELD(no_fallback), .type = OPTION_FLAG},
    {OPTION("threads", KERNEL " " RESUME " " GRID, "N", "the CPUs this process may use",
            "worker threads"),
     GROUP(DEVICE), HELD(threads), .type = OPTION_COUNT, .least = 1, .most = 65536},
    {OPTION("chunk", KERNEL " " RESUME " " GRID, "N", "by memory",
            "trajectories that are computed and written together"),
     GROUP(DEVICE), HELD(chunk), .type = OPTION_COUNT, .least = 1},
    {OPTION("memory", KERNEL " " RESUME " " GRID, "BYTES", "by device",
            "room for a chunk; K, M and G are understood"),
     GROUP(DEVICE), HELD(memory), .type = OPTION_BYTES, .least = 1},
    {OPTION("refill", KERNEL " " RESUME, "on|off|auto", "auto",
            "a finished lane takes the next trajectory; the results are the same"),
     GROUP(DEVICE), HELD(refill), .type = OPTION_CHOICE, .words = "auto on off"},
    {OPTION("cache", "run resume grid warm calibrate " CACHE, "DIR",
            "SHOAL_CACHE_DIR, else ~/.cache/shoal", "where compiled kernels are kept"),
     GROUP(DEVICE), HELD(cache), .type = OPTION_TEXT},
    {OPTION("target", "warm", "NAME,...", "this machine",
            "build for these, such as x86-64-v3; none of them need be here"),
     GROUP(DEVICE), .type = OPTION_TEXT},
    {OPTION("tune", "warm", NULL, "off",
            "try variants of the kernel on rows of the batch, or of the model alone, and keep the "
            "fastest: the bits are the same"),
     GROUP(DEVICE), HELD(tune), .type = OPTION_FLAG},
    {OPTION("model", "list clear", "NAME", "any", "kernels of a model only"), GROUP(DEVICE),
     .type = OPTION_TEXT},
    {OPTION("older-than", "clear", "AGE", "any",
            "kernels not used for so long: 30d; s, m, h, d and w are understood"),
     GROUP(DEVICE), .type = OPTION_AGE},
    {OPTION("stale", "clear", NULL, "off", "kernels whose compiler or library is not here now"),
     GROUP(DEVICE), .type = OPTION_FLAG},
    {OPTION("recompile", "verify", NULL, "off", "also that the compiler makes the same bytes"),
     GROUP(DEVICE), .type = OPTION_FLAG},
    {OPTION("keep-source", KERNEL " " GRID, "DIR", "", "write the kernel source there"),
     GROUP(DEVICE), HELD(keep_source), .type = OPTION_TEXT},

    {OPTION("timing", RUN " " RESUME " warm " GRID, "none|default|verbose|debug", "default",
            "where the time went"),
     GROUP(TALK), .type = OPTION_CHOICE, .words = "none default verbose debug"},
    {OPTION("timing-json", RUN " " RESUME " " GRID, "FILE", "",
            "all events, one JSON object a line"),
     GROUP(TALK), .type = OPTION_TEXT},
    {OPTION("trace", RUN " " RESUME " " GRID, "FILE", "", "all events for Perfetto"), GROUP(TALK),
     .type = OPTION_TEXT},
    {OPTION("progress", RUN " " RESUME " " GRID, "auto|on|off", "auto",
            "a bar on a terminal, else lines now and then"),
     GROUP(TALK), .type = OPTION_CHOICE, .words = "auto on off"},
    {OPTION("quiet", MODEL " merge " RESUME " " PLOT " " GRID " " CACHE, NULL, "off",
            "errors only"),
     GROUP(TALK), LETTER('q'), .type = OPTION_FLAG},
    {OPTION("verbose", MODEL " " RESUME " " GRID, NULL, "off",
            "say more: device, kernel, chunks, options"),
     GROUP(TALK), LETTER('v'), .type = OPTION_FLAG},
    {OPTION("help", ALL, NULL, "", "explain the command"), GROUP(TALK), LETTER('h'),
     .type = OPTION_FLAG},
};

const uint32_t option_table_count = sizeof option_table / sizeof *option_table;

static char plain(char c) { return c == '_' ? '-' : c; }

const struct option *option_find(const char *name) {
    for (uint32_t i = 0; i < option_table_count; i++) {
        const char *a = option_table[i].info.name, *b = name;
        while (*a && plain(*b) == *a)
            a++, b++;
        if (!*a && !*b)
            return &option_table[i];
    }
    return NULL;
}

uint32_t shoal_option_count(void) { return option_table_count; }

shoal_option_info shoal_option_at(uint32_t index) {
    return index < option_table_count ? option_table[index].info : (shoal_option_info){0};
}
