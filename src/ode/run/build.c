// SPDX-License-Identifier: MIT
// From what the generator is asked for to the key of a kernel.
#include "ode/run/build.h"

#include "../kernels/ode/abi.h"
#include "log/log.h"
#include "ode/run/choice.h"

#include <stdio.h>
#include <string.h>

LOG_LABEL(assemble_source, BUILD, 20, "components to one kernel source");

static void describe(const struct codegen_request *q, const char *model, struct build *b) {
    const char *slash = strrchr(model, '/');
    const struct kernel_field fields[BUILD_FIELDS] = {
        {"model", slash ? slash + 1 : model},
        {"states", b->states},
        {"method", q->stiff ? choice_auto : q->method->name},
        {"controller", controller_names[q->controller]},
        {"precision", q->f32 ? "f32" : "f64"},
        {"save", q->dense ? "grid" : "final or steps"},
        {"outputs", b->outputs},
    };
    snprintf(b->states, sizeof b->states, "%u", q->system->states);
    snprintf(b->outputs, sizeof b->outputs, "%u", q->outputs);
    memcpy(b->field, fields, sizeof fields);
}

shoal_code build_begin(const struct codegen_request *q, const char *model,
                       const struct kernel_request *how, struct build *b) {
    struct kernel_request request = *how;
    *b = (struct build){0};
    int32_t span = log_begin(how->log, LOG_assemble_source);
    shoal_code code = codegen_kernel(q, &b->source, log_report(how->log));
    describe(q, model, b);
    request.source = &b->source;
    request.entry = "shoal_kernel";
    request.abi = SHOAL_ABI;
    request.field = b->field;
    request.fields = BUILD_FIELDS;
    if (code == SHOAL_OK)
        code = kernel_identify(&request, &b->making);
    log_u64(how->log, span, "bytes", b->source.text.length);
    log_text(how->log, span, "key", b->making.hex);
    log_end(how->log, span);
    return code;
}

void build_free(struct build *b) {
    kernel_making_free(&b->making);
    kernel_source_free(&b->source);
}

void build_measure(const struct build *b) {
    struct kernel_unit units[CODEGEN_UNITS];
    uint32_t count = codegen_units(&b->source, units);
    measure_functions(&b->making, units, count);
    while (count)
        buf_free(&units[--count].text);
}

// The one that there is already, or another.
static shoal_code get_kernel(struct build *b, const struct loaded *have, bool plans,
                             struct loaded *out) {
    struct kernel_making *k = &b->making;
    shoal_code code = SHOAL_OK;
    memcpy(out->key, k->hex, sizeof out->key);
    out->workspace = b->source.workspace;
    if (have && !strcmp(have->key, k->hex)) {
        *out = *have;
        out->kernel = kernel_keep(have->kernel);
        out->effect = SHOAL_KEPT;
        return SHOAL_OK;
    }
    if (plans)
        out->cached = kernel_is_cached(k);
    else {
        code = kernel_get(k, &out->kernel);
        out->cached = code == SHOAL_OK && k->origin != KERNEL_COMPILED;
    }
    out->effect = out->cached ? SHOAL_LOADED : SHOAL_COMPILED;
    return code;
}

shoal_code build_kernel(const struct codegen_request *q, const char *model,
                        const struct kernel_request *how, bool plans, const struct loaded *have,
                        struct loaded *out) {
    struct build b;
    shoal_code code = build_begin(q, model, how, &b);
    if (code == SHOAL_OK)
        code = get_kernel(&b, have, plans, out);
    if (code == SHOAL_OK && out->kernel && out->effect == SHOAL_COMPILED &&
        shoal_log_timing(how->log) >= SHOAL_TIMING_VERBOSE)
        build_measure(&b);
    cache_tell(how->cache, log_report(how->log)); // and the run goes on without it
    build_free(&b);
    return code;
}
