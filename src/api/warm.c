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

static shoal_code warm(const struct order *order, const struct codegen_request *request,
                       const char *model, const shoal_options *options, shoal_warm_result *out,
                       shoal_log *log) {
    struct kernel_request how;
    struct build b = {0};
    *out = (shoal_warm_result){.method = request->stiff ? choice_auto : request->method->name};
    shoal_code code = solver_how(options, order->backend, order->device, &how, log);
    if (code != SHOAL_OK)
        return code;
    const char *off = cache_off(how.cache);
    if (off)
        code = report_error(log_report(log), SHOAL_IO, "kernels cannot be kept: %s", off);
    if (code == SHOAL_OK)
        code = build_begin(request, model, &how, &b);
    if (code == SHOAL_OK)
        code = put(&b, order->backend->target(order->device)->name, out);
    if (!off)
        cache_tell(how.cache, log_report(log));
    build_free(&b);
    cache_close(how.cache);
    return code;
}

static shoal_code warm_all(const shoal_model *model, const shoal_options *options,
                           const char *target, shoal_warm_result out[SHOAL_WARM_MOST],
                           uint32_t *count, shoal_log *log) {
    struct order order;
    struct codegen_request stiff = {0};
    const char *name = model->model->source.name;
    shoal_code code = order_open(model, options, target, &order, log);
    if (code == SHOAL_OK)
        code = warm(&order, &order.request, name, options, &out[0], log);
    *count += code == SHOAL_OK;
    if (code == SHOAL_OK && order.request.stiff) {
        stiff = takeover_request(options, &order.request);
        code = takeover_system(model, &stiff, log);
        if (code == SHOAL_OK)
            code = warm(&order, &stiff, name, options, &out[1], log);
        *count += code == SHOAL_OK;
    }
    system_free(stiff.system);
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
