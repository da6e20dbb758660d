// SPDX-License-Identifier: MIT
// Progress of a run on stderr: a bar that is redrawn and erased on a terminal, else a line now and
// then, and none at all for a short run.
#include "cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct progress progress_new(uint32_t choice, bool quiet, bool rates) {
    enum { AUTO, ON, OFF };
    struct progress p = {.rates = rates};
    if (choice == OFF || (choice == AUTO && quiet))
        return p;
    const char *term = getenv("TERM");
    p.bar = isatty(2) && !(term && !strcmp(term, "dumb"));
    p.lines = !p.bar;
    p.first = p.bar ? 0.15 : choice == ON ? 0.5 : 2;
    p.every = p.bar ? 0.1 : 5;
    p.next = p.first;
    return p;
}

static void put_time(char *text, size_t size, double seconds) {
    uint64_t s = seconds < 1e9 ? (uint64_t)(seconds + 0.5) : 1000000000;
    if (s >= 3600)
        snprintf(text, size, "%lu:%02lu:%02lu", (unsigned long)(s / 3600),
                 (unsigned long)(s / 60 % 60), (unsigned long)(s % 60));
    else
        snprintf(text, size, "%lu:%02lu", (unsigned long)(s / 60), (unsigned long)(s % 60));
}

// "1234567/s, 0:34 left", or nothing when durations are not to be told.
static void put_rate(char *text, size_t size, const struct progress *p, const shoal_progress *now) {
    char left[32], number[32];
    text[0] = 0;
    double rate = now->seconds > 0 ? (double)(now->done - now->before) / now->seconds : 0;
    if (!p->rates || !(rate > 0))
        return;
    put_time(left, sizeof left, (double)(now->total - now->done) / rate);
    snprintf(text, size, "%s/s, %s left", show_rate(rate, number), left);
}

static void draw_bar(const struct progress *p, const shoal_progress *now, double part) {
    char rate[96], bar[64];
    put_rate(rate, sizeof rate, p, now);
    uint32_t width = show_width(stderr), room = width > 70 ? 30 : width > 50 ? 12 : 0;
    uint32_t full = (uint32_t)(part * room);
    for (uint32_t i = 0; i < room; i++)
        bar[i] = i < full ? '=' : i == full ? '>' : ' ';
    bar[room] = 0;
    fprintf(stderr, "\r\033[K%s%s%s%3.0f %%  %s", room ? "[" : "", bar, room ? "] " : "",
            100 * part, rate);
    fflush(stderr);
}

// Another process compiles it: a line that stays, where nothing can be redrawn.
static void say_waiting(struct progress *p, const shoal_compile *now) {
    if (p->lines && !p->waited)
        fprintf(stderr, "waiting for process %ld, which compiles the same %s\n", now->holder,
                now->what);
    p->waited = true;
}

// "compiling kernel ... 0.4 s (about 1.2 s)", once it takes long enough to wonder.
void progress_compile(struct progress *p, const shoal_compile *now) {
    if (now->elapsed_s < (now->holder ? 1 : 0.25))
        return;
    if (!p->bar && now->holder)
        say_waiting(p, now);
    if (!p->bar)
        return;
    if (now->holder)
        fprintf(stderr, "\r\033[Kwaiting for process %ld, which compiles the same %s ...",
                now->holder, now->what);
    else
        fprintf(stderr, "\r\033[Kcompiling %s ...", now->what);
    if (p->rates)
        fprintf(stderr, " %.1f s", now->elapsed_s);
    if (p->rates && !isnan(now->predicted_s))
        fprintf(stderr, " (about %.1f s)", now->predicted_s);
    fflush(stderr);
    p->drawn = true;
}

void progress_draw(struct progress *p, const shoal_progress *now) {
    if ((!p->bar && !p->lines) || now->seconds < p->next || !now->total)
        return;
    p->next = now->seconds + p->every;
    double part = (double)now->done / (double)now->total;
    if (p->bar) {
        draw_bar(p, now, part);
        p->drawn = true;
        return;
    }
    char rate[96];
    put_rate(rate, sizeof rate, p, now);
    fprintf(stderr, "%3.0f %%  %llu of %llu trajectories%s%s\n", 100 * part,
            (unsigned long long)now->done, (unsigned long long)now->total, rate[0] ? ", " : "",
            rate);
}

void progress_erase(struct progress *p) {
    if (p->drawn)
        fputs("\r\033[K", stderr);
    p->drawn = false;
}
