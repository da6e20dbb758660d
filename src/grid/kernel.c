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
                           const char *keep_source, struct kernel_making *making, shoal_log *log) {
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
                                     .keep_source = keep_source,
                                     .cache = cache,
                                     .log = log};
    shoal_code code = kernel_identify(&q, making);
    return code ? code : kernel_keep_source(making);
}

static shoal_code no_kernel(shoal_log *log) {
    return report_error(log_report(log), SHOAL_INPUT, "the pipeline is too large for one kernel");
}

shoal_code grid_kernel_look(struct grid_runner *r, enum grid_type in, enum grid_type out,
                            struct grid_found *found, shoal_log *log) {
    struct grid_made *m = code_of(r, in, out, log);
    struct kernel_making making = {0};
    struct cache *cache;
    *found = (struct grid_found){.cached = m->kernel, .refused = m->refused};
    snprintf(found->key, sizeof found->key, "%s", m->key);
    if (m->kernel || m->refused)
        return SHOAL_OK;
    shoal_code code = kernel_cache_open(r->cache, false, &cache, log);
    if (code != SHOAL_OK)
        return code;
    code = identify(r, m, cache, NULL, &making, log);
    if (code == SHOAL_OK) {
        found->cached = kernel_is_cached(&making);
        found->compile_s = cache_predict(cache, r->backend->kind, m->source.text.length) / 1e3;
        memcpy(found->key, making.hex, sizeof found->key);
    }
    kernel_making_free(&making);
    kernel_cache_close(cache, log);
    return code;
}

shoal_code grid_kernel(struct grid_runner *r, enum grid_type in, enum grid_type out,
                       shoal_log *log) {
    struct grid_made *m = code_of(r, in, out, log);
    struct kernel_making making = {0};
    struct cache *cache;
    if (m->kernel || m->refused)
        return m->kernel ? SHOAL_OK : no_kernel(log);
    shoal_code code = kernel_cache_open(r->cache, false, &cache, log);
    if (code != SHOAL_OK)
        return code;
    code = identify(r, m, cache, r->keep_source, &making, log);
    if (code == SHOAL_OK)
        code = kernel_get(&making, &m->kernel);
    memcpy(m->key, making.hex, sizeof m->key);
    m->compile_s = making.origin == KERNEL_COMPILED ? making.wall_ms / 1e3 : 0;
    m->load_s = (double)making.load_ns * 1e-9;
    kernel_making_free(&making);
    kernel_cache_close(cache, log);
    return code;
}

shoal_code grid_kernel_warm(struct grid_runner *r, enum grid_type in, enum grid_type out,
                            struct kernel_making *making, shoal_log *log) {
    struct grid_made *m = code_of(r, in, out, log);
    *making = (struct kernel_making){0};
    if (m->refused)
        return no_kernel(log);
    struct cache *cache;
    shoal_code code = kernel_cache_open(r->cache, true, &cache, log);
    if (code != SHOAL_OK)
        return code;
    code = identify(r, m, cache, r->keep_source, making, log);
    if (code == SHOAL_OK)
        code = kernel_warm(making);
    kernel_making_free(making);
    kernel_cache_close(cache, log);
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
