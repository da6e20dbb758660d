// SPDX-License-Identifier: MIT
// shoal grid: a pipeline on the grids of a file.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct grids {
    struct args *args;
    shoal_log *log;
    shoal_options options;
    struct talk talk;
    struct progress progress;
    char *text; // of the pipeline
    shoal_grid *grid;
    shoal_grid_file *file, *expected;
    shoal_grids in;
    shoal_grids_out out;
    uint64_t marked;
    bool ran;
};

// ---- Text ---------------------------------------------------------------------------------------

char *read_text(const char *path) {
    FILE *f = strcmp(path, "-") ? fopen(path, "r") : stdin;
    size_t length = 0, room = 0;
    char *text = NULL;
    if (!f) {
        fprintf(stderr, "error: cannot open %s\n", path);
        return NULL;
    }
    do {
        room = room ? 2 * room : 4096;
        text = cli_realloc(text, room);
        length += fread(text + length, 1, room - length - 1, f);
    } while (length + 1 == room);
    text[length] = 0;
    bool failed = ferror(f);
    if (f != stdin)
        fclose(f);
    if (!failed)
        return text;
    fprintf(stderr, "error: cannot read %s\n", path);
    free(text);
    return NULL;
}

char *grid_text(const char *word) {
    return word[0] == '@' ? read_text(word + 1) : strcpy(cli_realloc(NULL, strlen(word) + 1), word);
}

// ---- Steps --------------------------------------------------------------------------------------

static void on_compile(const shoal_compile *now, void *user) {
    struct grids *g = user;
    stop_catch(); // it begins: from here on somebody looks
    progress_compile(&g->progress, now);
}

static void on_progress(const shoal_progress *now, void *user) {
    struct grids *g = user;
    progress_draw(&g->progress, now);
}

static shoal_code prepare(struct grids *g) {
    struct subject s = {.log = g->log};
    shoal_code code = subject_options(&s, g->args);
    g->options = s.options;
    if (!code)
        code = timing_begin(g->args, &g->talk, &g->progress, g->log);
    if (code)
        return code;
    g->progress = progress_new(args_choice(g->args, "progress", 0), g->talk.quiet,
                               shoal_log_timing(g->log) != SHOAL_TIMING_NONE);
    g->options.stop = stop_flag();
    g->options.on_compile = on_compile;
    g->options.on_compile_user = g;
    g->text = grid_text(g->args->model);
    return g->text ? SHOAL_OK : SHOAL_IO;
}

static shoal_code make_grid(struct grids *g) {
    stop_catch(); // drivers may be asked
    shoal_code code = shoal_grid_new(g->text, &g->options, &g->grid, g->log);
    stop_release();
    shoal_grid_on_progress(g->grid, on_progress, g);
    return code;
}

static shoal_code read_input(struct grids *g) {
    const char *path = args_value(g->args, "in");
    if (!path) {
        fputs("error: no grids: --in FILE says where they are, - is standard input\n", stderr);
        return SHOAL_USAGE;
    }
    shoal_code code = shoal_grid_file_read(path, args_value(g->args, "select"), &g->file, g->log);
    g->in = shoal_grid_file_grids(g->file);
    return code;
}

// Of a pair of ARC's tasks the other half.
static char *other_half(const char *select) {
    size_t n = select ? strlen(select) : 0;
    if (n < 5 || strcmp(select + n - 5, "input") || (n > 5 && select[n - 6] != '.'))
        return select ? strcpy(cli_realloc(NULL, n + 1), select) : NULL;
    char *text = cli_realloc(NULL, n + 2);
    snprintf(text, n + 2, "%.*soutput", (int)(n - 5), select);
    return text;
}

static shoal_code read_expected(struct grids *g) {
    const char *path = args_value(g->args, "compare");
    if (!path)
        return SHOAL_OK;
    size_t n = strlen(path);
    bool json = n > 5 && !strcasecmp(path + n - 5, ".json");
    char *select = json ? other_half(args_value(g->args, "select")) : NULL;
    shoal_code code = shoal_grid_file_read(path, select, &g->expected, g->log);
    free(select);
    uint64_t have = code ? 0 : shoal_grid_file_grids(g->expected).count;
    if (!code && have != g->in.count) {
        fprintf(stderr, "error: %s has %llu grids, and there are %llu\n", path,
                (unsigned long long)have, (unsigned long long)g->in.count);
        return SHOAL_INPUT;
    }
    return code;
}

// ---- Running ------------------------------------------------------------------------------------

static bool is_exact(const char *output) {
    size_t n = output ? strlen(output) : 0;
    if (!output || !strcmp(output, "-"))
        return true;
    return n > 4 && (!strcasecmp(output + n - 4, ".txt") || !strcasecmp(output + n - 5, ".json"));
}

// JSON and text hold any number; other files have the input's type.
static shoal_cell result_type(const struct grids *g) {
    uint32_t type = args_choice(g->args, "type", UINT32_MAX);
    if (type != UINT32_MAX)
        return (shoal_cell)type;
    return is_exact(args_value(g->args, "output")) ? SHOAL_I32 : g->in.type;
}

static shoal_code make_room(struct grids *g, shoal_cell type) {
    static const size_t bytes[] = {1, 2, 4};
    g->out = (shoal_grids_out){.size = sizeof g->out, .type = type};
    g->out.shapes = cli_realloc(NULL, 2 * g->in.count * sizeof *g->out.shapes);
    g->out.offsets = cli_realloc(NULL, g->in.count * sizeof *g->out.offsets);
    g->out.status = cli_realloc(NULL, g->in.count);
    shoal_code code = shoal_grid_shapes(g->grid, &g->in, &g->out, g->log);
    if (code)
        return code;
    g->out.room = g->out.needed;
    g->out.cells = cli_realloc(NULL, g->out.room * bytes[type]);
    return SHOAL_OK;
}

static void free_room(struct grids *g) {
    free(g->out.shapes);
    free(g->out.offsets);
    free(g->out.status);
    free(g->out.cells);
    g->out = (shoal_grids_out){0};
}

static shoal_code show_choice(struct grids *g) {
    shoal_code code = shoal_grid_plan(g->grid, &g->in, result_type(g), g->log);
    if (code)
        return code;
    printf("grids     %llu\n", (unsigned long long)g->in.count);
    printf("device    %s\n", shoal_grid_device(g->grid));
    if (shoal_grid_reason(g->grid)[0])
        printf("chosen    %s\n", shoal_grid_reason(g->grid));
    return SHOAL_OK;
}

static shoal_code run_grids(struct grids *g) {
    if (args_flag(g->args, "bench"))
        return SHOAL_OK;
    if (args_flag(g->args, "dry-run"))
        return show_choice(g);
    stop_catch();
    shoal_code code = make_room(g, result_type(g));
    if (!code)
        code = shoal_grid_run(g->grid, &g->in, &g->out, g->log);
    stop_release();
    progress_erase(&g->progress);
    if (!code && g->talk.verbose)
        talk_say(&g->talk, "device   %s\n", shoal_grid_device(g->grid));
    if (!code && g->talk.verbose && shoal_grid_reason(g->grid)[0])
        talk_say(&g->talk, "chosen   %s\n", shoal_grid_reason(g->grid));
    g->ran = !code;
    for (uint64_t i = 0; g->ran && i < g->in.count; i++)
        g->marked += g->out.status[i] != 0;
    return code;
}

static shoal_code write_output(struct grids *g) {
    const char *output = args_value(g->args, "output");
    if (!g->ran || (!output && g->expected))
        return SHOAL_OK;
    shoal_code code = shoal_grid_file_write(output ? output : "-", &g->in, &g->out,
                                            shoal_grid_file_single(g->file), g->log);
    if (!code && output && strcmp(output, "-"))
        talk_say(&g->talk, "wrote %s\n", output);
    return code;
}

// ---- Comparing ----------------------------------------------------------------------------------

static int32_t cell_at(shoal_cell type, const void *cells, uint64_t i) {
    return type == SHOAL_U8    ? ((const uint8_t *)cells)[i]
           : type == SHOAL_I16 ? ((const int16_t *)cells)[i]
                               : ((const int32_t *)cells)[i];
}

// Where grid i of a batch is.
struct where {
    int32_t h, w;
    uint64_t first;
};
static struct where where_in(const shoal_grids *g, uint64_t i) {
    if (g->shapes)
        return (struct where){g->shapes[2 * i], g->shapes[2 * i + 1], g->offsets[i]};
    return (struct where){g->height, g->width, i * (uint64_t)g->height * (uint64_t)g->width};
}
static struct where where_out(const shoal_grids_out *g, uint64_t i) {
    if (!g->height)
        return (struct where){g->shapes[2 * i], g->shapes[2 * i + 1], g->offsets[i]};
    return (struct where){g->height, g->width, i * (uint64_t)g->height * (uint64_t)g->width};
}

// Says how a result differs from what is expected; whether it does not.
static bool compare_one(const struct grids *g, const shoal_grids *want, uint64_t i) {
    struct where a = where_out(&g->out, i), b = where_in(want, i);
    uint64_t differ = 0, cells = (uint64_t)b.h * (uint64_t)b.w;
    unsigned long long number = i;
    if (g->out.status[i]) {
        printf("grid %llu: %s\n", number, shoal_grid_status_word(g->out.status[i]));
        return false;
    }
    if (a.h != b.h || a.w != b.w) {
        printf("grid %llu: %d by %d, expected %d by %d\n", number, a.h, a.w, b.h, b.w);
        return false;
    }
    for (uint64_t k = 0; k < cells; k++)
        differ += cell_at(g->out.type, g->out.cells, a.first + k) !=
                  cell_at(want->type, want->cells, b.first + k);
    if (differ)
        printf("grid %llu: %llu of %llu cells differ\n", number, (unsigned long long)differ,
               (unsigned long long)cells);
    else
        printf("grid %llu: equal\n", number);
    return !differ;
}

static shoal_code compare_all(struct grids *g) {
    uint64_t equal = 0;
    if (!g->expected || !g->ran)
        return SHOAL_OK;
    shoal_grids want = shoal_grid_file_grids(g->expected);
    for (uint64_t i = 0; i < want.count; i++)
        equal += compare_one(g, &want, i);
    printf("%llu of %llu grids are equal\n", (unsigned long long)equal,
           (unsigned long long)want.count);
    return SHOAL_OK;
}

// ---- The closing lines --------------------------------------------------------------------------

static void show_marked(const struct grids *g) {
    uint64_t by[32] = {0};
    for (uint64_t i = 0; i < g->in.count; i++)
        by[g->out.status[i] & 31]++;
    for (int s = 1; shoal_grid_status_word(s); s++)
        if (by[s])
            talk_say(&g->talk, "%llu of %llu grids are marked `%s`: %s\n",
                     (unsigned long long)by[s], (unsigned long long)g->in.count,
                     shoal_grid_status_word(s), shoal_grid_status_text(s));
}

static int exit_code(const struct grids *g, shoal_code code) {
    if (*stop_flag() && code == SHOAL_STOPPED)
        return EXIT_SIGNAL + *stop_flag();
    if (!code && g->ran && g->in.count && g->marked == g->in.count)
        return EXIT_ALL_FAILED;
    return shoal_code_exit(code);
}

static void close_lines(const struct grids *g, shoal_code code) {
    if (g->ran)
        show_marked(g);
    if (code == SHOAL_STOPPED)
        talk_say(&g->talk, "stopped; nothing was written\n");
    if (g->ran && !g->talk.quiet && args_value(g->args, "timing"))
        timing_show(g->log, &(shoal_tally){0});
}

// A step, in an event of our own: what happens between those of the library.
static shoal_code take_step(struct grids *g, shoal_code (*step)(struct grids *g),
                            const char *label) {
    if (*stop_flag())
        return SHOAL_STOPPED;
    shoal_log_start(g->log, label);
    shoal_code code = step(g);
    talk_messages(&g->talk, g->log);
    shoal_log_stop(g->log, label);
    return code;
}

int command_grid(struct args *a) {
    static const char reading[] = "read_command", running[] = "run_grids",
                      telling[] = "tell_result";
    static const struct {
        shoal_code (*take)(struct grids *g);
        const char *label;
    } steps[] = {
        {prepare, reading},       {make_grid, reading}, {read_input, reading},
        {read_expected, reading}, {run_grids, running}, {write_output, telling},
        {compare_all, telling},
    };
    struct grids g = {.args = a, .log = shoal_log_new(), .talk = talk_new(a)};
    shoal_code code = SHOAL_OK;
    shoal_log_register(g.log, reading, SHOAL_RUNTIME,
                       "options, pipeline and grids as they were given");
    shoal_log_register(g.log, running, SHOAL_RUNTIME, "memory for the results, and the batch");
    shoal_log_register(g.log, telling, SHOAL_RUNTIME, "results, and what is said of them");
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !code; i++)
        code = take_step(&g, steps[i].take, steps[i].label);
    if (!code && args_flag(a, "bench"))
        code = grid_bench(g.text, &g.options, &g.in, g.log);
    close_lines(&g, code);
    shoal_code closed = shoal_log_close(g.log);
    talk_messages(&g.talk, g.log);
    int status = exit_code(&g, code ? code : closed);
    free_room(&g);
    shoal_grid_file_free(g.file);
    shoal_grid_file_free(g.expected);
    shoal_grid_free(g.grid);
    shoal_log_free(g.log);
    free(g.text);
    return status;
}
