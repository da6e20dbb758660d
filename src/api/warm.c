// SPDX-License-Identifier: MIT
// Kernels built before they are needed, also for machines that are not here.
#include "api/choice.h"
#include "kernel/kernel.h"
#include "api/options.h"
#include "api/solver.h"

#include <stdio.h>
#include <string.h>

static shoal_code warm(const struct order *order, const struct codegen_request *request,
                       const char *model, const shoal_options *options, shoal_warm_result *out,
                       shoal_log *log) {
    struct kernel k = kernel_of(order->backend, order->device, request, model, options,
                                cache_open(options->cache), log);
    *out = (shoal_warm_result){.method = request->stiff ? choice_auto : request->method->name};
    shoal_code code = SHOAL_OK;
    if (!k.cache)
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    else if (cache_off(k.cache))
        code = report_error(log_report(log), SHOAL_IO, "kernels cannot be kept: %s",
                            cache_off(k.cache));
    if (code == SHOAL_OK)
        code = kernel_identify(&k);
    if (code == SHOAL_OK) {
        snprintf(out->target, sizeof out->target, "%s",
                 order->backend->target(order->device)->name);
        memcpy(out->key, k.hex, sizeof out->key);
        code = kernel_warm(&k);
    }
    if (code == SHOAL_OK && k.compiled && !k.stored)
        code =
            report_error(log_report(log), SHOAL_IO, "the kernel could not be kept: %s", k.unstored);
    if (k.cache && !cache_off(k.cache))
        cache_tell(k.cache, log_report(log));
    out->compiled = k.compiled;
    out->seconds = k.wall_ms / 1e3;
    kernel_free(&k);
    cache_close(k.cache);
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
