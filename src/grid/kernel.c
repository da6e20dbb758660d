// SPDX-License-Identifier: MIT
// From a plan to a loaded kernel.
#include "grid/run.h"

#include "log/log.h"

#include <stdio.h>
#include <string.h>

LOG_LABEL(emit_grid, CODEGEN, 110, "a pipeline of grids to the source of its kernel");

static struct grid_made *code_of(struct grid_runner *r, enum grid_type in, enum grid_type out,
                                 shoal_log *log) {
    struct grid_made *m = &r->made[in][out];
    if (m->coded)
        return m;
    const struct grid_target t = {r->backend->target(r->device), in, out};
    int32_t span = log_begin(log, LOG_emit_grid);
    m->refused = !grid_codegen(&r->plan, 1, &t, &m->code, &m->source);
    m->coded = true;
    log_u64(log, span, "nodes", r->plan->nodes.count);
    log_u64(log, span, "passes", m->code.passes);
    log_end(log, span);
    return m;
}

// What an entry of the cache says of the kernel.
static shoal_code identify(struct grid_runner *r, struct grid_made *m, struct cache *cache,
                           struct kernel_making *making, shoal_log *log) {
    snprintf(m->words, sizeof m->words, "%s", r->plan->source.text);
    m->field[0] = (struct kernel_field){"model", "grid"};
    m->field[1] = (struct kernel_field){"pipeline", m->words};
    const struct kernel_request q = {.backend = r->backend,
                                     .device = r->device,
                                     .source = &m->source,
                                     .entry = "shoal_grid",
                                     .abi = GRID_ABI,
                                     .field = m->field,
                                     .fields = 2,
                                     .stop = r->stop,
                                     .on_compile = r->on_compile,
                                     .on_compile_user = r->on_compile_user,
                                     .keep_source = r->keep_source,
                                     .cache = cache,
                                     .log = log};
    return kernel_identify(&q, making);
}

static shoal_code no_kernel(shoal_log *log) {
    return report_error(log_report(log), SHOAL_INPUT, "the pipeline is too large for one kernel");
}

shoal_code grid_kernel(struct grid_runner *r, enum grid_type in, enum grid_type out, bool look,
                       bool *found, shoal_log *log) {
    struct grid_made *m = code_of(r, in, out, log);
    struct kernel_making making = {0};
    *found = m->kernel;
    if (m->kernel || m->refused)
        return m->kernel || look ? SHOAL_OK : no_kernel(log);
    struct cache *cache = cache_open(r->cache);
    if (!cache)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    shoal_code code = identify(r, m, cache, &making, log);
    if (code == SHOAL_OK && look)
        *found = kernel_is_cached(&making);
    else if (code == SHOAL_OK)
        code = kernel_get(&making, &m->kernel);
    if (!look)
        *found = m->kernel;
    cache_tell(cache, log_report(log));
    kernel_making_free(&making);
    cache_close(cache);
    return code;
}

shoal_code grid_kernel_warm(struct grid_runner *r, enum grid_type in, enum grid_type out,
                            struct kernel_making *making, shoal_log *log) {
    struct grid_made *m = code_of(r, in, out, log);
    *making = (struct kernel_making){0};
    if (m->refused)
        return no_kernel(log);
    struct cache *cache = cache_open(r->cache);
    if (!cache)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    const char *off = cache_off(cache);
    shoal_code code = SHOAL_OK;
    if (off)
        code = report_error(log_report(log), SHOAL_IO, "kernels cannot be kept: %s", off);
    if (code == SHOAL_OK)
        code = identify(r, m, cache, making, log);
    if (code == SHOAL_OK)
        code = kernel_warm(making);
    if (!off)
        cache_tell(cache, log_report(log));
    kernel_making_free(making);
    cache_close(cache);
    return code;
}

char *grid_kernel_text(struct grid_runner *r, enum grid_type in, enum grid_type out) {
    const struct grid_made *m = code_of(r, in, out, NULL);
    bool there = !m->refused && !m->source.text.failed;
    return there ? strdup(m->source.text.data) : NULL;
}

void grid_runner_free(struct grid_runner *r) {
    for (uint32_t i = 0; i < GRID_TYPE_COUNT * GRID_TYPE_COUNT; i++) {
        struct grid_made *m = &r->made[i / GRID_TYPE_COUNT][i % GRID_TYPE_COUNT];
        kernel_drop(m->kernel);
        kernel_source_free(&m->source);
        *m = (struct grid_made){0};
    }
    pool_free(&r->pool);
}
