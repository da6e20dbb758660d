// SPDX-License-Identifier: MIT
// Compiles each function of a kernel alone, several at a time, and records how long it took.
#include "kernel/measure.h"

#include "base/clock.h"
#include "base/cpus.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(compile_dxdt, COMPILE, 20, "right-hand side, compiled alone");
LOG_LABEL(compile_jacobian, COMPILE, 30, "Jacobian, compiled alone");
LOG_LABEL(compile_linear_solve, COMPILE, 40, "linear solver, compiled alone");
LOG_LABEL(compile_step, COMPILE, 50, "step of the method, compiled alone");
LOG_LABEL(compile_controller, COMPILE, 60, "step size controller, compiled alone");
LOG_LABEL(compile_loop, COMPILE, 70, "trajectory loop, compiled alone");
LOG_LABEL(compile_save_state, COMPILE, 80, "saving of states, compiled alone");
LOG_LABEL(compile_observables, COMPILE, 90, "observables, compiled alone");
LOG_LABEL(measure_functions, COMPILE, 100,
          "functions compiled alone, at verbose, only to time them");

// A function and what makes the compiler keep it; the unit ends with its component.
static const struct {
    const struct log_label *label;
    const char *component, *keep;
} functions[] = {
    {LOG_compile_dxdt, "dxdt", "void *const keep = (void *)model_rhs;\n"},
    {LOG_compile_observables, "observables", "void *const keep = (void *)model_outputs;\n"},
    {LOG_compile_jacobian, "jacobian", "void *const keep = (void *)model_linear;\n"},
    {LOG_compile_linear_solve, "linear_solve",
     "void *const keep[] = {(void *)linear_factor, (void *)linear_solve};\n"},
    {LOG_compile_step, "step",
     "void keep(struct group *g, struct trial *s) {\n"
     "    UNROLL for (int i = 0; i < STAGES; i++) method_stage(&g->x, g->p, s, i);\n"
     "}\n"},
    {LOG_compile_controller, "controller", "void *const keep = (void *)control_next;\n"},
    {LOG_compile_save_state, "save_state",
     "void *const keep[] = {(void *)save_lanes, (void *)save_step, (void *)finish_lane,\n"
     "#if SAVE_GRID\n"
     "    (void *)save_grid,\n"
     "#endif\n"
     "};\n"},
    {LOG_compile_loop, "loop", "void *const keep = (void *)run_groups;\n"},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

struct unit {
    struct buf text;
    const struct log_label *label;
    uint64_t t0_ns, dur_ns; // 0: it did not compile
};

struct measuring {
    const struct kernel_making *kernel;
    struct unit unit[FUNCTIONS + 2]; // the first and the last have no function
    uint32_t count;
    atomic_uint next;
};

static void fill_units(struct measuring *m) {
    const struct kernel_making *k = m->kernel;
    const struct kernel_component *first = kernel_component(k->q.source, "dxdt");
    if (!first)
        return;
    buf_put(&m->unit[m->count++].text, k->text.text, first->offset);
    for (int i = 0; i < FUNCTIONS; i++) {
        const struct kernel_component *c = kernel_component(k->q.source, functions[i].component);
        struct unit *u = &m->unit[m->count];
        if (!c)
            continue;
        buf_put(&u->text, k->text.text, c->offset + c->length);
        buf_puts(&u->text, functions[i].keep);
        u->label = functions[i].label;
        m->count++;
    }
    buf_put(&m->unit[m->count++].text, k->text.text, first->offset);
}

static void *work(void *user) {
    struct measuring *m = user;
    const struct kernel_making *k = m->kernel;
    for (uint32_t i; (i = atomic_fetch_add(&m->next, 1)) < m->count;) {
        struct unit *u = &m->unit[i];
        struct shoal_bytes bytes = {0};
        struct shoal_kernel_text text = k->text;
        text.text = u->text.data;
        text.length = u->text.length;
        text.one_unit = true;
        u->t0_ns = log_now_ns(k->q.log);
        bool ok = !u->text.failed &&
                  k->q.backend->build(k->q.device, &text, k->q.stop, &bytes, NULL) == SHOAL_OK;
        u->dur_ns = ok ? log_now_ns(k->q.log) - u->t0_ns : 0;
        free(bytes.data);
    }
    return NULL;
}

static void run_units(struct measuring *m) {
    pthread_t thread[FUNCTIONS];
    uint32_t threads = cpus_usable(), started = 0;
    while (started + 1 < threads && started < FUNCTIONS &&
           thread_start(&thread[started], work, m) == 0)
        started++;
    work(m);
    while (started)
        pthread_join(thread[--started], NULL);
}

static void tell(const struct kernel_making *k, const struct unit *u, int32_t parent,
                 uint64_t empty_ns) {
    uint64_t ns = u->dur_ns > empty_ns ? u->dur_ns - empty_ns : 1;
    int32_t span = log_measure(k->q.log, u->label, parent, u->t0_ns, ns);
    log_text(k->q.log, span, "backend", k->q.backend->name);
    log_text(k->q.log, span, "target", k->q.backend->target(k->q.device)->name);
    log_end(k->q.log, span);
}

void measure_functions(const struct kernel_making *k) {
    struct measuring m = {.kernel = k};
    if (strcmp(k->q.backend->kind, "so")) // the functions above are C
        return;
    int32_t span = log_begin(k->q.log, LOG_measure_functions);
    fill_units(&m);
    run_units(&m);
    log_end(k->q.log, span);
    uint64_t empty = m.unit[0].dur_ns, again = m.count ? m.unit[m.count - 1].dur_ns : 0;
    empty = again < empty ? again : empty; // a busy machine is slow for a while
    for (uint32_t i = 1; i + 1 < m.count && empty; i++) {
        const struct unit *u = &m.unit[i];
        if (u->dur_ns)
            tell(k, u, span, empty);
    }
    for (uint32_t i = 0; i < m.count; i++)
        buf_free(&m.unit[i].text);
}
