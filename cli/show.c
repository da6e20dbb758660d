// SPDX-License-Identifier: MIT
// What people read: messages, the plan, the table of first rows, the closing lines.
#include "cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

uint32_t show_width(FILE *of) {
    struct winsize size;
    if (ioctl(fileno(of), TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col < 120 ? size.ws_col : 120;
    return 100;
}

struct talk talk_new(const struct args *a) {
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    return (struct talk){
        .quiet = args_flag(a, "quiet"),
        .verbose = args_flag(a, "verbose"),
        .colour = isatty(2) && !(no_colour && *no_colour) && !(term && !strcmp(term, "dumb")),
    };
}

void talk_say(const struct talk *talk, const char *format, ...) {
    if (talk->quiet)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

// Bytes of the UTF-8 character at `text`; 0: it is none, or a control character.
static size_t character(const unsigned char *text, size_t length) {
    if (text[0] < 128)
        return (text[0] >= 32 && text[0] != 127) || text[0] == '\n' || text[0] == '\t';
    size_t n = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4 || n > length || (text[0] == 0xc2 && text[1] < 0xa0))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

// Text for a terminal: control characters of a file must not reach it.
static void put_safe(const char *text, size_t length) {
    for (size_t i = 0, n; i < length; i += n ? n : 1) {
        n = character((const unsigned char *)text + i, length - i);
        fwrite(n ? text + i : "?", 1, n ? n : 1, stderr);
    }
}

static void put_message(const struct talk *talk, const shoal_message *m) {
    static const char *const words[] = {"note: ", "warning: ", "error: "};
    static const char *const colours[] = {"\033[36m", "\033[35m", "\033[1;31m"};
    size_t length = m->severity == SHOAL_NOTE ? strcspn(m->text, "\n") : strlen(m->text);
    const char *word = strstr(m->text, words[m->severity]);
    if (talk->colour && word && word < m->text + length) {
        size_t before = (size_t)(word - m->text), n = strlen(words[m->severity]);
        put_safe(m->text, before);
        fputs(colours[m->severity], stderr);
        put_safe(word, n);
        fputs("\033[0m", stderr);
        put_safe(word + n, length - before - n);
    } else
        put_safe(m->text, length);
    fputc('\n', stderr);
}

void talk_messages(struct talk *talk, const shoal_log *log) {
    size_t gone = (size_t)shoal_log_message_gone(log), end = gone + shoal_log_message_count(log);
    for (talk->shown = talk->shown < gone ? gone : talk->shown; talk->shown < end; talk->shown++) {
        shoal_message m = shoal_log_message(log, talk->shown - gone);
        talk->notes += m.severity == SHOAL_NOTE;
        if (m.severity == SHOAL_ERROR || !talk->quiet)
            put_message(talk, &m);
    }
}

const char *show_bytes(uint64_t bytes, char text[32]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1024 && unit < 5; unit++)
        value /= 1024;
    snprintf(text, 32, unit && value < 10 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *show_rate(double rate, char text[32]) {
    static const char *const units[] = {"", " thousand", " million", " billion"};
    size_t unit = 0;
    for (; rate >= 999.5 && unit < 3; unit++)
        rate /= 1000;
    snprintf(text, 32, "%.3g%s", rate, units[unit]);
    return text;
}

void show_plan(const shoal_plan *plan, const shoal_solver *solver, const char *output) {
    char host[32], device[32], disk[32], room[32];
    printf("runs      %" PRIu64 "\n", plan->runs);
    printf("chunks    %" PRIu64 " of up to %" PRIu64 " runs\n", plan->chunks, plan->chunk_runs);
    printf("host      %s\n", show_bytes(plan->host_bytes, host));
    printf("device    %s", shoal_solver_device(solver));
    if (plan->device_bytes)
        printf(", %s", show_bytes(plan->device_bytes, device));
    putchar('\n');
    if (shoal_solver_reason(solver)[0])
        printf("chosen    %s\n", shoal_solver_reason(solver));
    printf("threads   %" PRIu32 "\n", plan->threads);
    if (isnan(plan->seconds))
        puts("time      not known before something like it has run here");
    else
        printf("time      about %.2g s\n", plan->seconds);
    if (output && strcmp(output, "-")) {
        printf("disk      about %s for %s", show_bytes(plan->disk_bytes, disk), output);
        if (plan->disk_free != UINT64_MAX)
            printf("; %s%s free there", plan->disk_bytes > plan->disk_free ? "too much: " : "",
                   show_bytes(plan->disk_free, room));
        putchar('\n');
    } else
        printf("output    about %s\n", show_bytes(plan->disk_bytes, disk));
    printf("kernel    %.16s, %s\n", shoal_solver_key(solver),
           shoal_solver_cached(solver) ? "cached" : "not cached: it would be compiled first");
}

// ---- Closing lines ------------------------------------------------------------------------------

static void put_count(FILE *out, uint64_t n) { // 1 234 567 reads badly in a sentence; 1,234,567
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0 && length > 4)
            fputc(',', out);
        fputc(digits[i], out);
    }
}

static void put_runs(uint64_t n) {
    put_count(stderr, n);
    fputs(n == 1 ? " run" : " runs", stderr);
}

// Who ran what, where another method took over.
static void put_methods(const shoal_tally *s) {
    uint64_t taken = s->found_stiff + s->failed_first;
    if (!taken)
        return;
    fprintf(stderr, "  method %s ", s->method);
    put_runs(s->done - taken);
    fprintf(stderr, "; %s ", s->stiff_method);
    put_runs(taken);
    fputs(": ", stderr);
    put_count(stderr, s->found_stiff);
    fputs(" stiff", stderr);
    if (s->failed_first) {
        fputs(", ", stderr);
        put_count(stderr, s->failed_first);
        fprintf(stderr, " failed with %s", s->method);
    }
    if (s->taken_back) {
        fputs(", ", stderr);
        put_count(stderr, s->taken_back);
        fprintf(stderr, " finished with %s after all", s->method);
    }
    fputc('\n', stderr);
}

// x; x and y; x, y, z and 3 more
static void put_states(const shoal_model *model, const shoal_failure *f) {
    uint32_t named = f->count < SHOAL_FAILURE_STATES ? f->count : SHOAL_FAILURE_STATES;
    for (uint32_t i = 0; i < named; i++) {
        bool last = i + 1 == f->count;
        fprintf(stderr, "%s%s",
                !i     ? ""
                : last ? " and "
                       : ", ",
                shoal_model_symbol(model, SHOAL_STATE, f->state[i]));
    }
    if (f->count > named)
        fprintf(stderr, " and %u more", f->count - named);
}

// "run 17: the derivatives of x and y are not finite at t=3.2: sqrt(-0.5)"
static void put_failure(const shoal_model *model, uint64_t run, const shoal_failure *f) {
    const char *what = f->initial ? "initial value" : "derivative";
    for (uint32_t i = 0; i < f->count && i < SHOAL_FAILURE_STATES && !f->initial; i++)
        if (shoal_model_algebraic(model, f->state[i]))
            what = "right-hand side";
    fprintf(stderr, "    run %" PRIu64 ": ", run);
    if (f->count) {
        fprintf(stderr, "the %s%s of ", what, f->count > 1 ? "s" : "");
        put_states(model, f);
        fprintf(stderr, f->count > 1 ? " are not finite " : " is not finite ");
    } else
        fputs("with finite derivatives it ended ", stderr);
    fprintf(stderr, "%s%st=%.7g%s%s\n", f->ahead ? "just after " : "at ",
            f->at_start ? "the start, " : "", f->t, f->cause[0] ? ": " : "", f->cause);
}

// Whether it may be a number that is not finite that ends a run this way.
static bool has_cause(int status) {
    return status == SHOAL_STATUS_nonfinite || status == SHOAL_STATUS_dt_min ||
           status == SHOAL_STATUS_newton || status == SHOAL_STATUS_singular ||
           status == SHOAL_STATUS_bad_init;
}

// A status, what to try, and where its first run failed.
static void put_status(const shoal_tally *s, int status, const struct asked *asked) {
    shoal_failure f = {0};
    bool known = has_cause(status) && !*stop_flag() &&
                 !shoal_model_failure(asked->model, asked->options, asked->batch, s->first[status],
                                      &f, NULL) &&
                 (int)f.status == status;
    bool start = known && f.at_start && f.count;
    fputs("  ", stderr);
    put_count(stderr, s->by_status[status]);
    fprintf(stderr, " %s: %s; %s\n", shoal_status_word(status), shoal_status_text(status),
            start ? "check the model, and the values that the run starts with"
                  : shoal_status_hint(status));
    if (known)
        put_failure(asked->model, s->first[status], &f);
}

static void put_failures(const shoal_tally *s, const struct asked *asked) {
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        if (s->by_status[i] && i != SHOAL_STATUS_ok && i != SHOAL_STATUS_stopped)
            put_status(s, i, asked);
    for (uint32_t i = 0; i < s->failed_ranges; i++) {
        uint64_t first = s->failed[i].first, end = s->failed[i].end;
        fprintf(stderr, "%s%" PRIu64, i ? "," : "  again: --only-runs ", first);
        if (end > first + 1)
            fprintf(stderr, ":%" PRIu64, end);
    }
    if (s->failed_ranges)
        fputs(s->failed_more ? " (and more)\n" : "\n", stderr);
}

void show_tally(const struct talk *talk, const shoal_tally *s, const struct asked *asked,
                bool durations) {
    uint64_t good = s->by_status[SHOAL_STATUS_ok] + s->by_status[SHOAL_STATUS_stopped];
    if (talk->quiet)
        return;
    put_count(stderr, s->done);
    if (!s->complete) {
        fputs(" of ", stderr);
        put_count(stderr, s->runs);
    }
    fprintf(stderr, s->done == 1 && s->complete ? " trajectory: " : " trajectories: ");
    put_count(stderr, good);
    fputs(" ok", stderr);
    if (s->done > good) {
        fputs(", ", stderr);
        put_count(stderr, s->done - good);
        fputs(" failed", stderr);
    }
    fputs("; ", stderr);
    put_count(stderr, s->steps);
    fputs(" steps, ", stderr);
    put_count(stderr, s->rejected);
    fputs(" rejected", stderr);
    if (durations)
        fprintf(stderr, "; %.3g s", s->seconds);
    if (s->resumed) {
        fputs("; ", stderr);
        put_count(stderr, s->resumed);
        fputs(" were there", stderr);
    }
    if (talk->notes)
        fprintf(stderr, "; %zu note%s", talk->notes, talk->notes == 1 ? "" : "s");
    fputc('\n', stderr);
    put_methods(s);
    put_failures(s, asked);
}

// ---- Table of the first rows --------------------------------------------------------------------

enum { ROWS = 10, CELL = 24, COLUMNS = 64 };

struct grid {
    uint32_t columns, rows;             // columns counts those without a cell too
    char cell[ROWS + 1][COLUMNS][CELL]; // row 0: headings
    uint32_t width[COLUMNS];
    bool left[COLUMNS];
};

static void put_cell(struct grid *g, uint32_t row, uint32_t *column, const char *text) {
    if (*column < COLUMNS) {
        snprintf(g->cell[row][*column], CELL, "%s", text);
        uint32_t n = (uint32_t)strlen(g->cell[row][*column]);
        if (n > g->width[*column])
            g->width[*column] = n;
    }
    if (++*column > g->columns)
        g->columns = *column;
}

static void put_number(struct grid *g, uint32_t row, uint32_t *column, double value) {
    char text[CELL];
    snprintf(text, sizeof text, isnan(value) ? "nan" : "%.7g", value);
    put_cell(g, row, column, text);
}

static void fill_row(struct grid *g, uint32_t line, const shoal_solver *solver,
                     const shoal_batch *batch, const shoal_result *result, bool final, uint64_t row,
                     uint64_t sample) {
    char text[CELL];
    uint32_t column = 0;
    uint64_t run = shoal_batch_run(batch, row);
    snprintf(text, sizeof text, "%" PRIu64, run);
    put_cell(g, line, &column, text);
    for (uint32_t i = 0; final && i < shoal_batch_input_count(batch); i++)
        put_number(g, line, &column, shoal_batch_value(batch, i, run));
    put_number(g, line, &column, shoal_result_t(result, row, sample));
    for (uint32_t i = 0; i < shoal_solver_var_count(solver); i++)
        put_number(g, line, &column, shoal_result_value(result, i, row, sample));
    if (final)
        put_cell(g, line, &column, shoal_status_word(shoal_result_status(result, row)));
}

static void fill_headings(struct grid *g, const shoal_solver *solver, const shoal_batch *batch,
                          bool final) {
    uint32_t column = 0;
    put_cell(g, 0, &column, "run");
    for (uint32_t i = 0; final && i < shoal_batch_input_count(batch); i++)
        put_cell(g, 0, &column, shoal_batch_input_name(batch, i));
    put_cell(g, 0, &column, "t");
    for (uint32_t i = 0; i < shoal_solver_var_count(solver); i++)
        put_cell(g, 0, &column, shoal_solver_var_name(solver, i));
    if (final)
        put_cell(g, 0, &column, "status");
}

static void print_grid(const struct grid *g, uint32_t width) {
    uint32_t columns = 0, used = 0;
    while (columns < g->columns && columns < COLUMNS &&
           (!columns || used + g->width[columns] + 2 <= width))
        used += g->width[columns++] + 2;
    for (uint32_t r = 0; r <= g->rows; r++) {
        for (uint32_t c = 0; c < columns; c++)
            printf("%s%*s", c ? "  " : "", (int)g->width[c], g->cell[r][c]);
        putchar('\n');
    }
    if (columns < g->columns)
        printf("... %u more columns\n", g->columns - columns);
}

void show_rows(const shoal_solver *solver, const shoal_batch *batch, const shoal_result *result,
               bool final) {
    struct grid *g = cli_realloc(NULL, sizeof *g);
    memset(g, 0, sizeof *g);
    fill_headings(g, solver, batch, final);
    uint64_t all = 0;
    for (uint64_t row = 0; row < shoal_result_rows(result); row++) {
        uint64_t samples = shoal_result_samples(result, row);
        for (uint64_t s = 0; s < samples && g->rows < ROWS; s++)
            fill_row(g, ++g->rows, solver, batch, result, final, row, s);
        all += samples;
    }
    print_grid(g, show_width(stdout));
    if (all > g->rows)
        printf("... %" PRIu64 " more; write them with -o out.csv\n", all - g->rows);
    fflush(stdout);
    free(g);
}

void show_json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}
