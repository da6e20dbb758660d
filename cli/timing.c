// SPDX-License-Identifier: MIT
// Where the time went, from the time log: parts and `other` add up to the total.
#include "cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void row(const char *name, uint64_t us, uint64_t total) {
    fprintf(stderr, "  %-10s %12.3f ms %5.1f %%\n", name, (double)us / 1e3,
            total ? 100 * (double)us / (double)total : 0);
}

static void show_categories(const shoal_log *log) {
    uint64_t ns[SHOAL_CATEGORY_COUNT], other = 0, total = 0;
    shoal_log_totals(log, ns, &other);
    for (int i = 0; i < SHOAL_CATEGORY_COUNT; i++)
        total += ns[i] /= 1000;
    other /= 1000;
    total += other;
    fputs("time\n", stderr);
    for (int i = 0; i < SHOAL_CATEGORY_COUNT; i++)
        row(shoal_category_name((shoal_category)i), ns[i], total);
    row("other", other, total);
    row("total", total, total);
}

static void show_rates(const shoal_summary *s) {
    if (!(s->seconds > 0) || !s->done)
        return;
    char runs[32], steps[32], evaluations[32];
    fprintf(stderr, "rate\n  %s trajectories/s, %s steps/s, %s evaluations/s\n",
            show_rate((double)s->done / s->seconds, runs),
            show_rate((double)s->steps / s->seconds, steps),
            show_rate((double)s->f_evals / s->seconds, evaluations));
}

struct label {
    shoal_event first;
    uint64_t ns, count;
};

static void show_labels(const shoal_log *log) {
    size_t events = shoal_log_event_count(log), count = 0;
    struct label *labels = cli_realloc(NULL, events * sizeof *labels);
    for (size_t i = 0; i < events; i++) {
        shoal_event e = shoal_log_event(log, i);
        size_t k = 0;
        while (k < count &&
               (strcmp(labels[k].first.label, e.label) || labels[k].first.category != e.category))
            k++;
        if (k == count)
            labels[count++] = (struct label){.first = e};
        labels[k].ns += e.dur_ns;
        labels[k].count++;
    }
    fprintf(stderr, "%-36s %-8s %7s %15s\n", "event", "category", "count", "ms");
    for (size_t k = 0; k < count; k++)
        fprintf(stderr, "%-36s %-8s %7" PRIu64 " %15.3f\n", labels[k].first.label,
                shoal_category_name(labels[k].first.category), labels[k].count,
                (double)labels[k].ns / 1e6);
    free(labels);
}

static void show_events(const shoal_log *log) {
    fprintf(stderr, "%15s %15s  event\n", "start ms", "ms");
    for (size_t i = 0; i < shoal_log_event_count(log); i++) {
        shoal_event e = shoal_log_event(log, i);
        int depth = 0;
        for (int32_t p = e.parent; p >= 0 && depth < 16; depth++)
            p = shoal_log_event(log, (size_t)p).parent;
        fprintf(stderr, "%15.3f %15.3f  %*s%s %s\n", (double)e.t0_ns / 1e6, (double)e.dur_ns / 1e6,
                2 * depth, "", e.label, e.meta ? e.meta : "");
    }
}

void timing_show(enum timing timing, const shoal_log *log, const shoal_summary *summary) {
    if (timing == TIMING_NONE)
        return;
    show_categories(log);
    if (timing >= TIMING_VERBOSE)
        show_labels(log);
    if (timing >= TIMING_DEBUG)
        show_events(log);
    show_rates(summary);
}
