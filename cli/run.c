// SPDX-License-Identifier: MIT
// shoal run: model, job, options, batch, solver, and the run itself, each a step that may fail.
//
// Compilations and runs look at the flag that a signal sets; what was finished by then is in the
// file, and the line that goes on from there is printed. At all other times a signal ends the
// program at once.
#include "cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct run {
    struct args *args;
    shoal_log *log;
    shoal_job *job;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    struct talk talk;
    struct progress progress;
    const char *output; // NULL: a table
    char *job_text;
    shoal_tally tally;
    bool ran;
    bool merges; // shards, instead of running
};

// Our own events: what happens between those of the library.
static const char reading[] = "read_command", telling[] = "tell_result",
                  solving[] = "solve_ivp_execution"; // with the making of the solver in it

static shoal_code load_job(struct run *r) {
    const char *path = args_value(r->args, "job");
    if (!path)
        return SHOAL_OK;
    shoal_code code = shoal_job_load(path, &r->job, r->log);
    if (code)
        return code;
    args_add_job(r->args, r->job);
    for (uint32_t i = 0; i < shoal_job_count(r->job) && !r->args->model; i++)
        if (!strcmp(shoal_job_name(r->job, i), "model"))
            r->args->model = shoal_job_value(r->job, i);
    return SHOAL_OK;
}

static bool has_ending(const char *path, const char *ending) {
    size_t n = strlen(path), m = strlen(ending);
    return n > m && !strcasecmp(path + n - m, ending);
}

// The model of the command line, or that of the job: a result file brings its text.
static shoal_code load_model(struct run *r) {
    const char *text = shoal_job_model_text(r->job), *path = r->args->model;
    bool from_job = false;
    for (uint32_t i = 0; i < shoal_job_count(r->job); i++)
        from_job = from_job || shoal_job_value(r->job, i) == path;
    if (text && (from_job || !path))
        return shoal_model_parse(path ? path : "model", text, strlen(text), &r->model, r->log);
    if (path && refuse_result(path))
        return SHOAL_INPUT;
    const char *batch = args_value(r->args, "batch");
    if (path && batch && !strcmp(path, "-") && !strcmp(batch, "-")) {
        fputs("error: standard input cannot be both the model and the batch\n", stderr);
        return SHOAL_USAGE;
    }
    if (path) {
        shoal_code code = shoal_model_load(path, &r->model, r->log);
        talk_messages(&r->talk, r->log);
        if (code == SHOAL_IO)
            suggest_model(path);
        return code;
    }
    fputs("error: no model: neither the command line nor the job names one\n", stderr);
    return SHOAL_USAGE;
}

static void on_compile(const shoal_compile *now, void *user) {
    struct run *r = user;
    stop_catch(); // it begins: from here on somebody looks
    progress_compile(&r->progress, now);
}

static shoal_code set_options(struct run *r) {
    shoal_code code = args_events(r->args, r->model, r->log);
    for (size_t i = 0; i < r->args->count && !code; i++) {
        const struct item *item = &r->args->items[i];
        if (item->from_job && item->value == args_value(r->args, "doses"))
            code = shoal_job_doses(r->job, r->log);
    }
    if (!code)
        code = shoal_options_init(&r->options, r->model, r->log);
    const char *use = args_value(r->args, "use");
    if (!code && use)
        code = shoal_model_use(r->model, use, &r->options, r->log);
    if (!code) {
        args_settle(r->args, r->model);
        code = args_apply(r->args, r->model, &r->options, r->log);
    }
    if (r->options.reduce && !r->output)
        r->output = "-"; // the table is one of runs
    r->options.stop = stop_flag();
    r->options.on_compile = on_compile;
    r->options.on_compile_user = r;
    return code;
}

static shoal_code add_item(struct run *r, const struct item *item) {
    if (item->from_job && !strcmp(item->option.name, "batch"))
        return shoal_batch_job(r->batch, r->job, r->log);
    if (item->from_job && !strcmp(item->option.name, "from"))
        return shoal_batch_job_from(r->batch, r->job, r->log);
    return shoal_batch_option(r->batch, item->option.name, item->value, r->log);
}

// Those with a value, or flags.
static shoal_code add_items(struct run *r, bool flags) {
    shoal_code result = SHOAL_OK;
    for (size_t i = 0; i < r->args->count && r->batch; i++) {
        const struct item *item = &r->args->items[i];
        bool last =
            item->option.repeatable || item->value == args_value(r->args, item->option.name);
        bool wanted = item->option.in_batch && !item->option.metavar == flags;
        shoal_code code = wanted && last ? add_item(r, item) : SHOAL_OK;
        result = result ? result : code;
    }
    return result;
}

static shoal_code make_batch(struct run *r) {
    shoal_code result = shoal_batch_new(r->model, &r->batch, r->log);
    shoal_code flags = add_items(r, true), rest = add_items(r, false);
    result = result ? result : flags ? flags : rest;
    if (!result && !args_value(r->args, "t0"))
        result = shoal_batch_t0(r->batch, &r->options.t0, r->log);
    return result ? result : shoal_batch_check(r->batch, r->log);
}

// A job without a run: nothing is compiled.
static bool is_plan(const struct run *r) { return r->merges || args_flag(r->args, "dry-run"); }

static shoal_code make_solver(struct run *r) {
    stop_catch();
    shoal_code check =
        r->output && !cli_is_silent()
            ? shoal_output_check(r->output, &r->options, args_flag(r->args, "force"), r->log)
            : SHOAL_OK;
    if (check)
        return check; // before anything is compiled
    r->job_text = args_job_text(r->args, &r->options);
    r->options.job = r->job_text;
    if (shoal_options_few(&r->options, shoal_batch_rows(r->batch)))
        r->options.device = "cpu";
    if (cli_ranks() && !is_plan(r))
        cli_ranks()->settle(&r->options);
    shoal_code code = (is_plan(r) ? shoal_solver_new_plan : shoal_solver_new)(r->model, &r->options,
                                                                              &r->solver, r->log);
    stop_release();
    progress_erase(&r->progress);
    return code;
}

static shoal_code say_more(struct run *r) {
    char text[1024];
    if (!r->talk.verbose || r->talk.quiet)
        return SHOAL_OK;
    fprintf(stderr, "device   %s\nkernel   %s\nruns     %llu\n", shoal_solver_device(r->solver),
            shoal_solver_key(r->solver), (unsigned long long)shoal_batch_rows(r->batch));
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (o.field && shoal_options_get(&r->options, o.name, text, sizeof text))
            fprintf(stderr, "option   %s = %s\n", o.name, text);
    }
    return SHOAL_OK;
}

static void on_progress(const shoal_progress *now, void *user) {
    struct run *r = user;
    if (*stop_flag())
        shoal_solver_stop(r->solver);
    progress_draw(&r->progress, now);
}

// The table on a terminal needs all results in memory; a result too large for that wants a file.
static shoal_code check_memory(struct run *r) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    double samples = (double)shoal_solver_save_count(r->solver);
    double numbers = (double)shoal_batch_rows(r->batch) * (samples > 0 ? samples : 100) *
                     (double)(shoal_solver_var_count(r->solver) + 1);
    if (pages <= 0 || page <= 0 || numbers * 8 < 0.5 * (double)pages * (double)page)
        return SHOAL_OK;
    fprintf(stderr, "error: the result is too large for a table; write it with -o FILE\n");
    return SHOAL_INPUT;
}

static shoal_code run_table(struct run *r) {
    shoal_result *result = NULL;
    shoal_code code = check_memory(r);
    if (code)
        return code;
    r->ran = true;
    stop_catch();
    code = shoal_solver_run(r->solver, r->batch, &result, r->log);
    stop_release();
    progress_erase(&r->progress);
    if (result) {
        r->tally = shoal_result_tally(result);
        show_rows(r->solver, r->batch, result, r->options.save == SHOAL_SAVE_FINAL);
    }
    shoal_result_free(result);
    return code;
}

// Together with other processes.
static shoal_code run_ranks(struct run *r) {
    return cli_ranks()->run(&(struct ranks_job){.solver = r->solver,
                                                .batch = r->batch,
                                                .path = r->output,
                                                .progress = on_progress,
                                                .user = r,
                                                .tally = &r->tally,
                                                .log = r->log,
                                                .verbose = r->talk.verbose && !r->talk.quiet});
}

static shoal_code run_batch(struct run *r) {
    if (args_flag(r->args, "dry-run")) {
        shoal_plan plan = {0};
        const char *output = r->output ? r->output : "-";
        shoal_code code = shoal_solver_plan(r->solver, r->batch, output, &plan, r->log);
        if (!code)
            show_plan(&plan, r->solver, output);
        if (!code && plan.disk_bytes > plan.disk_free) {
            fprintf(stderr, "error: %s: the disk is too small for the result\n", output);
            return SHOAL_IO;
        }
        return code;
    }
    shoal_solver_on_progress(r->solver, on_progress, r);
    if (!r->output)
        return run_table(r);
    if (!strcmp(r->output, "-"))
        signal(SIGPIPE, SIG_DFL); // who reads has read enough: end without a word
    r->ran = true;
    stop_catch();
    shoal_code code =
        cli_ranks() ? run_ranks(r)
                    : shoal_solver_run_file(r->solver, r->batch, r->output, &r->tally, r->log);
    stop_release();
    progress_erase(&r->progress);
    return code;
}

static shoal_code merge_shards(struct run *r) {
    const struct args *a = r->args;
    bool whole = true;
    shoal_code code =
        shoal_solver_merge(r->solver, r->batch, r->output, a->words + 1, a->word_count - 1,
                           args_flag(a, "allow-missing"), &whole, r->log);
    if (!code)
        talk_say(&r->talk, "wrote %s%s\n", r->output,
                 whole ? "" : ", without the runs of shards that are missing");
    return code;
}

static void say_why(const struct run *r) {
    const char *reason = shoal_solver_reason(r->solver);
    if (r->talk.verbose && reason && reason[0])
        talk_say(&r->talk, "chosen   %s\n", reason);
}

static void say_outcome(struct run *r, shoal_code code) {
    bool durations = shoal_log_timing(r->log) != SHOAL_TIMING_NONE;
    bool file = r->output && strcmp(r->output, "-");
    struct asked asked = {r->model, &r->options, r->batch};
    say_why(r);
    stop_catch(); // the first runs that failed are run again
    show_tally(&r->talk, &r->tally, &asked, durations);
    stop_release();
    if (file && code)
        talk_say(&r->talk, "stopped%s; what was finished is in %s%s\n",
                 *stop_flag() == SIGALRM ? " by --time-limit" : "", r->output,
                 has_ending(r->output, ".csv") ? "" : ", marked incomplete"); // it warned
    else if (file)
        talk_say(&r->talk, "wrote %s\n", r->output);
    else if (code)
        talk_say(&r->talk, "stopped\n");
    if (code && !r->talk.quiet && (file || !r->options.reduce)) // a rest has other statistics
        rest_show(stderr, r->args, r->batch, r->tally.done, file);
}

// The times that are shown are those up to there.
static void close_lines(struct run *r, shoal_code code) {
    bool over = r->ran && !cli_is_silent() && (code == SHOAL_OK || code == SHOAL_STOPPED);
    shoal_log_start(r->log, telling);
    if (over)
        say_outcome(r, code);
    else if (code == SHOAL_STOPPED)
        talk_say(&r->talk, "stopped; nothing was written\n");
    shoal_log_stop(r->log, telling);
    if (over && !r->talk.quiet)
        timing_show(r->log, &r->tally);
}

static int exit_code(const struct run *r, shoal_code code) {
    const uint64_t *by = r->tally.by_status;
    if (*stop_flag() && code == SHOAL_STOPPED)
        return stop_is_again() ? EXIT_AGAIN : EXIT_SIGNAL + *stop_flag();
    if (code == SHOAL_OK && r->ran && r->tally.done > 0 &&
        by[SHOAL_STATUS_ok] + by[SHOAL_STATUS_stopped] == 0)
        return EXIT_ALL_FAILED;
    return shoal_code_exit(code);
}

static shoal_code prepare(struct run *r) {
    shoal_code code = args_check(r->args, r->log);
    if (code)
        return code;
    r->talk.quiet = args_flag(r->args, "quiet") || cli_is_silent(); // a job may say so too
    r->talk.verbose = args_flag(r->args, "verbose");
    code = timing_begin(r->args, &r->talk, &r->progress, r->log);
    if (code)
        return code;
    r->progress = progress_new(args_choice(r->args, "progress", 0), r->talk.quiet,
                               shoal_log_timing(r->log) != SHOAL_TIMING_NONE);
    r->output = args_value(r->args, "output");
    if (!r->output && (!isatty(1) || cli_ranks()))
        r->output = "-";
    return report_check(r->args, r->output);
}

// Of the command line, or of the environment of a batch system.
static shoal_code limit_time(struct run *r) {
    const char *text = args_value(r->args, "time-limit");
    shoal_option_value v = {0};
    text = text ? text : getenv("SHOAL_TIME_LIMIT");
    shoal_code code = text && *text ? shoal_option_read("time-limit", text, &v, r->log) : SHOAL_OK;
    if (!code)
        stop_again(v.number);
    return code;
}

static shoal_code write_report(struct run *r) {
    const char *path = args_value(r->args, "report");
    if (!path || !r->ran || cli_is_silent())
        return SHOAL_OK;
    shoal_code code = report_write(r->args, r->solver, r->output, r->log);
    if (!code)
        talk_say(&r->talk, "wrote %s\n", path);
    return code;
}

// ---- All steps ----------------------------------------------------------------------------------

static void register_events(shoal_log *log) {
    shoal_log_register(log, reading, SHOAL_RUNTIME, "options, model and batch as they were given");
    shoal_log_register(log, telling, SHOAL_RUNTIME, "what is said at the end");
}

typedef shoal_code step(struct run *r);

static shoal_code take_steps(struct run *r, step *const *steps, const char *event) {
    shoal_code code = SHOAL_OK;
    shoal_log_start(r->log, event);
    for (; *steps && !code; steps++) {
        code = *stop_flag() ? SHOAL_STOPPED : (*steps)(r);
        talk_messages(&r->talk, r->log);
    }
    shoal_log_stop(r->log, event);
    return code;
}

static void end_run(struct run *r) {
    r->args->leaves = shoal_devices_leave();
    shoal_solver_free(r->solver);
    shoal_batch_free(r->batch);
    shoal_model_free(r->model);
    shoal_job_free(r->job);
    shoal_log_free(r->log);
    free(r->job_text);
}

static step *const read_steps[] = {limit_time,  load_job,   prepare, load_model,
                                   set_options, make_batch, NULL};

int command_run(struct args *a) {
    static step *const solve[] = {make_solver, say_more, run_batch, NULL};
    struct run r = {.args = a, .log = shoal_log_new(), .talk = talk_new(a)};
    register_events(r.log);
    shoal_code code = take_steps(&r, read_steps, reading);
    if (!code)
        code = take_steps(&r, solve, solving);
    close_lines(&r, code);
    if (!code)
        code = write_report(&r);
    shoal_code closed = shoal_log_close(r.log);
    talk_messages(&r.talk, r.log);
    int status = exit_code(&r, code ? code : closed);
    end_run(&r);
    return status;
}

// The job is that of the shards: the journal of the first has it.
int command_merge(struct args *a) {
    static step *const merge[] = {make_solver, merge_shards, NULL};
    struct run r = {.args = a, .log = shoal_log_new(), .talk = talk_new(a), .merges = true};
    if (a->word_count < 2) {
        fputs("error: no shards; usage: shoal merge OUT SHARD...\n", stderr);
        shoal_log_free(r.log);
        return EXIT_USAGE;
    }
    char *journal = journal_path(a->words[1]);
    args_give(a, "job", journal ? journal : a->words[1]);
    args_give(a, "output", a->words[0]);
    args_give(a, "device", "cpu");
    a->model = NULL;
    free(journal);
    register_events(r.log);
    shoal_code code = take_steps(&r, read_steps, reading);
    if (!code)
        code = take_steps(&r, merge, solving);
    int status = exit_code(&r, code);
    end_run(&r);
    return status;
}
