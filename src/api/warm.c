// SPDX-License-Identifier: MIT
// Kernels built before they are needed, also for machines that are not here.
#include "api/options.h"
#include "api/solver.h"
#include "ode/run/choice.h"

#include <stdio.h>
#include <string.h>

// What is made of it, and why it could not be kept.
static shoal_code put(struct build *b, const char *target, shoal_warm_result *out) {
    struct kernel_making *k = &b->making;
    snprintf(out->target, sizeof out->target, "%s", target);
    memcpy(out->key, k->hex, sizeof out->key);
    shoal_code code = kernel_warm(k);
    out->compiled = code == SHOAL_OK && k->origin == KERNEL_COMPILED;
    out->seconds = k->wall_ms / 1e3;
    if (out->compiled && !k->stored)
        return report_error(log_report(k->q.log), SHOAL_IO, "the kernel could not be kept: %s",
                            k->unstored);
    return code;
}

static shoal_code warm(const struct order *order, enum plan_role role, struct system *system,
                       const shoal_options *options, shoal_warm_result *out, shoal_log *log) {
    const struct kernel_plan *plan = &order->kernel[role];
    struct build_how how = solver_how(order->model, options, order->backend, order->device);
    memcpy(how.variants, order->variants, sizeof how.variants);
    struct cache *cache;
    struct build b = {0};
    *out = (shoal_warm_result){.method = plan->stiff ? choice_auto : plan->method->name};
    shoal_code code = kernel_cache_open(how.cache, true, &cache, log);
    if (code != SHOAL_OK)
        return code;
    code = build_begin(plan, system, &how, cache, &b, log);
    if (code == SHOAL_OK)
        code = put(&b, order->backend->target(order->device)->name, out);
    build_free(&b);
    kernel_cache_close(cache, log);
    return code;
}

// The kernel that takes over is the one of its method alone, so it has a system of its own.
static shoal_code warm_stiff(const struct order *order, const shoal_options *options,
                             shoal_warm_result *out, shoal_log *log) {
    struct system *system = build_system(order->model->model, log);
    shoal_code code = system ? warm(order, PLAN_STIFF, system, options, out, log) : SHOAL_INPUT;
    system_free(system);
    return code;
}

static shoal_code warm_all(const shoal_model *model, const shoal_options *options,
                           const char *target, shoal_warm_result out[SHOAL_WARM_MOST],
                           uint32_t *count, shoal_log *log) {
    struct order order;
    shoal_code code = order_open(model, options, target, &order, log);
    if (code == SHOAL_OK)
        code = warm(&order, PLAN_FIRST, api_system(order.model, log), options, &out[0], log);
    *count += code == SHOAL_OK;
    if (code == SHOAL_OK && order.kernel[PLAN_STIFF].method) {
        code = warm_stiff(&order, options, &out[1], log);
        *count += code == SHOAL_OK;
    }
    order_close(&order);
    return code;
}

shoal_code shoal_model_warm(const shoal_model *model, const shoal_options *options,
                            const char *target, shoal_warm_result out[SHOAL_WARM_MOST],
                            uint32_t *count, shoal_log *log) {
    shoal_options o;
    if (!model || !out || !count)
        return api_usage(log, "shoal_model_warm", "model or place for what was made");
    *count = 0;
    shoal_code code = options_take(options, "shoal_model_warm", &o, log);
    return code ? code : warm_all(model, &o, target, out, count, log);
}
