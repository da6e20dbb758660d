// SPDX-License-Identifier: MIT
// Where the time went, from the time log.
#include "cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- Parts of the total -------------------------------------------------------------------------

static void show_parts(const shoal_log *log) {
    size_t room = shoal_log_summary(log, SHOAL_CATEGORY_COUNT, NULL, 0) + 1024; // it grows
    char *text = cli_realloc(NULL, room);
    shoal_log_summary(log, SHOAL_CATEGORY_COUNT, text, room);
    fputs(text, stderr);
    free(text);
}

// ---- Cache and rates ----------------------------------------------------------------------------

static void show_cache(const shoal_log *log) {
    char result[64], reason[256];
    for (size_t i = 0; i < shoal_log_span_count(log); i++) {
        if (strcmp(shoal_log_span(log, i).label, "cache_lookup") ||
            !shoal_log_meta(log, i, "result", result, sizeof result))
            continue;
        bool why = shoal_log_meta(log, i, "reason", reason, sizeof reason) && reason[0];
        fprintf(stderr, "cache\n  %s%s%s\n", result, why ? ": " : "", why ? reason : "");
    }
}

// Of the results: as the calling thread saw them come, or as a device sent them.
static uint64_t result_bytes(const shoal_log *log) {
    uint64_t bytes[2] = {0};
    for (size_t i = 0; i < shoal_log_sum_count(log); i++) {
        shoal_span_sum s = shoal_log_sum(log, i);
        if (!strncmp(s.label, "d2h_transfer_", 13) && s.kind != SHOAL_APART)
            bytes[s.kind == SHOAL_ON_TRACK] += s.bytes;
    }
    return bytes[0] ? bytes[0] : bytes[1];
}

// Of what an earlier run has left nobody knows how long it took.
static void show_rates(const shoal_log *log, const shoal_tally *s) {
    if (!(s->seconds > 0) || !s->done || s->resumed)
        return;
    char runs[32], steps[32];
    fprintf(stderr, "rate\n  %s trajectories/s, %s steps/s, %.3g GB/s of results\n",
            show_rate((double)s->done / s->seconds, runs),
            show_rate((double)s->steps / s->seconds, steps),
            (double)result_bytes(log) / s->seconds / 1e9);
}

void timing_show(const shoal_log *log, const shoal_tally *tally) {
    if (shoal_log_timing(log) == SHOAL_TIMING_NONE)
        return;
    show_parts(log);
    show_cache(log);
    show_rates(log, tally);
}

// ---- As it happens ------------------------------------------------------------------------------

static void on_event(const shoal_log *log, size_t event, bool ended, void *user) {
    shoal_span e = shoal_log_span(log, event);
    int depth = 0;
    for (int32_t p = e.parent; p >= 0 && depth < 16; depth++)
        p = shoal_log_span(log, (size_t)p).parent;
    progress_erase(user);
    fprintf(stderr, "%12.3f ms %*s%s %s", (double)(e.t0_ns + e.dur_ns) / 1e6, 2 * depth, "",
            ended ? "<" : ">", e.label);
    if (ended)
        fprintf(stderr, " %.3f ms", (double)e.dur_ns / 1e6);
    if (e.kind != SHOAL_SPAN)
        fprintf(stderr, " [%s]", e.track);
    if (e.meta)
        fprintf(stderr, " %s", e.meta);
    fputc('\n', stderr);
}

// A file of the user's that is no log of ours is not replaced, unless --force says so.
static bool is_foreign(const struct args *a, const char *path, const char *begins) {
    char head[64] = "";
    struct stat s;
    if (args_flag(a, "force") || stat(path, &s) || !S_ISREG(s.st_mode) || !s.st_size)
        return false;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    if (n >= strlen(begins) && !strncmp(head, begins, strlen(begins)))
        return false;
    fprintf(stderr, "error: %s: is there already and no time log; --force replaces it\n", path);
    return true;
}

shoal_code timing_begin(const struct args *a, const struct talk *talk, struct progress *progress,
                        shoal_log *log) {
    uint32_t timing = args_choice(a, "timing", SHOAL_TIMING_DEFAULT);
    bool files = !cli_is_silent();
    const char *json = files ? args_value(a, "timing-json") : NULL,
               *trace = files ? args_value(a, "trace") : NULL;
    if ((json && is_foreign(a, json, "{\"shoal_timing\"")) ||
        (trace && is_foreign(a, trace, "[\n{\"ph\":\"M\",\"name\":\"process_name\"")))
        return SHOAL_IO;
    shoal_log_set_timing(log, (shoal_timing)timing);
    if (timing == SHOAL_TIMING_DEBUG && !talk->quiet)
        shoal_log_on_span(log, on_event, progress);
    shoal_code code = json ? shoal_log_json(log, json) : SHOAL_OK;
    return !code && trace ? shoal_log_trace(log, trace) : code;
}
