// SPDX-License-Identifier: MIT
// Compile times of functions: the units of a list are compiled, and the differences recorded.
//
// What counts is processor time, of this process and of its children: that is much the same whether
// or not the machine is busy. So one is compiled after the other. Short ones are compiled more than
// once, and the least time counts.
#include "kernel/measure.h"

#include "base/clock.h"

#include <stdlib.h>
#include <sys/resource.h>

LOG_LABEL(measure_functions, COMPILE, 100,
          "functions compiled alone, at verbose, only to time them");

enum { ROUNDS = 2 };
static const uint64_t enough_ns = 100000000; // all rounds of a unit together

struct timing {
    uint64_t t0_ns, dur_ns; // 0: it did not compile
};

static uint64_t ns_of(struct timeval t) {
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static uint64_t processor_ns(void) {
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return ns_of(own.ru_utime) + ns_of(own.ru_stime) + ns_of(children.ru_utime) +
           ns_of(children.ru_stime);
}

// 0: it does not compile.
static uint64_t compile(const struct kernel_making *k, const struct buf *unit) {
    struct shoal_bytes bytes = {0};
    struct shoal_kernel_text text = k->text;
    text.text = unit->data;
    text.length = unit->length;
    text.one_unit = true;
    uint64_t begin = processor_ns();
    bool good = !unit->failed &&
                k->q.backend->build(k->q.device, &text, k->q.stop, &bytes, NULL) == SHOAL_OK;
    uint64_t ns = processor_ns() - begin;
    free(bytes.data);
    return good ? ns + 1 : 0;
}

static struct timing time_unit(const struct kernel_making *k, const struct buf *unit) {
    struct timing t = {.t0_ns = log_now_ns(k->q.log)};
    uint64_t all = 0;
    for (int i = 0; i < ROUNDS && all < enough_ns; i++) {
        uint64_t ns = compile(k, unit);
        if (!ns)
            break;
        t.dur_ns = !i || ns < t.dur_ns ? ns : t.dur_ns;
        all += ns;
    }
    return t;
}

static void tell(const struct kernel_making *k, const struct kernel_unit *unit, int32_t parent,
                 uint64_t t0_ns, uint64_t ns) {
    int32_t span = log_measure(k->q.log, unit->label, parent, t0_ns, ns);
    log_text(k->q.log, span, "backend", k->q.backend->name);
    log_text(k->q.log, span, "target", k->q.backend->target(k->q.device)->name);
    log_end(k->q.log, span);
}

void measure_functions(const struct kernel_making *k, const struct kernel_unit *unit,
                       uint32_t count) {
    uint64_t before = 0; // of the units so far
    int32_t span = log_begin(k->q.log, LOG_measure_functions);
    for (uint32_t i = 0; i < count && (before || !i); i++) {
        struct timing t = time_unit(k, &unit[i].text);
        if (unit[i].label && t.dur_ns) // one that takes less than what has less in it takes nothing
            tell(k, &unit[i], span, t.t0_ns, t.dur_ns > before ? t.dur_ns - before : 1);
        before = t.dur_ns > before ? t.dur_ns : before;
    }
    log_end(k->q.log, span);
}
