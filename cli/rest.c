// SPDX-License-Identifier: MIT
// After a stop: the command line that runs what is left, to be pasted into a shell.
//
// It is the one that was given, with --resume; or, where there is no file to go on with, with
// another --only-runs.
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// One word as a shell reads it back.
void rest_put_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=,@%+-";
    fputc(' ', out);
    if (*word && strspn(word, plain) == strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

// The row behind the last one that follows `row` without a gap in the runs.
static uint64_t end_of_stretch(const shoal_batch *batch, uint64_t row, uint64_t rows) {
    uint64_t first = shoal_batch_run(batch, row), low = row, high = rows;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (shoal_batch_run(batch, middle) - first == middle - row)
            low = middle;
        else
            high = middle;
    }
    return high;
}

// The runs of the rows from `row` on: 17, 20:30, or 40: where it goes on to the end.
static void put_runs(FILE *out, const shoal_batch *batch, uint64_t row) {
    uint64_t rows = shoal_batch_rows(batch), all = shoal_batch_runs(batch);
    fputs(" --only-runs ", out);
    for (const char *comma = ""; row < rows; comma = ",") {
        uint64_t first = shoal_batch_run(batch, row), end = end_of_stretch(batch, row, rows);
        uint64_t behind = first + (end - row);
        fprintf(out, "%s%" PRIu64, comma, first);
        if (behind == all)
            fputc(':', out);
        else if (behind > first + 1)
            fprintf(out, ":%" PRIu64, behind);
        row = end;
    }
}

// What is given anew.
static bool is_replaced(const struct args *a, int at, const char *option) {
    for (size_t i = 0; i < a->count; i++) {
        const struct item *item = &a->items[i];
        if (!strcmp(item->option.name, option) && at >= item->at && at < item->at + item->words)
            return true;
    }
    return false;
}

// Words up to a `--` (or, behind it, up to the end).
static int put_words(FILE *out, const struct args *a, int at, const char *replaced) {
    bool behind = at > 0;
    for (; at < a->argc && (behind || strcmp(a->argv[at], "--")); at++)
        if (!is_replaced(a, at, replaced))
            rest_put_word(out, a->argv[at]);
    return at;
}

void rest_show(FILE *out, const struct args *a, const shoal_batch *batch, uint64_t done,
               bool file) {
    if (done >= shoal_batch_rows(batch))
        return;
    const char *rows = args_value(a, "batch"), *replaced = file ? "resume" : "only-runs";
    bool again = (a->model && !strcmp(a->model, "-")) || (rows && !strcmp(rows, "-"));
    fputs(again ? "to go on, with the same standard input:" : "to go on:", out);
    rest_put_word(out, program_invocation_name);
    rest_put_word(out, a->command);
    int at = put_words(out, a, 0, replaced);
    if (!file)
        put_runs(out, batch, done);
    else if (strcmp(a->command, "resume"))
        fputs(" --resume", out);
    if (at < a->argc)
        put_words(out, a, at, replaced);
    fputc('\n', out);
}
