// SPDX-License-Identifier: MIT
// Kernels built before they are needed, also for machines that are not here.
#include "api/kernel.h"
#include "api/solver.h"

#include <stdio.h>
#include <string.h>

shoal_code shoal_model_warm(const shoal_model *model, const shoal_options *options,
                            const char *target, shoal_warm_result *out, shoal_log *log) {
    struct order order;
    *out = (shoal_warm_result){0};
    shoal_code code = order_open(model, options, target, &order, log);
    struct kernel k =
        kernel_of(order.backend, order.device, &order.request, model->model->source.name, options,
                  cache_open(options->cache), log);
    if (code == SHOAL_OK && !k.cache)
        code = report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK && cache_off(k.cache))
        code = report_error(log_report(log), SHOAL_IO, "kernels cannot be kept: %s",
                            cache_off(k.cache));
    if (code == SHOAL_OK)
        code = kernel_identify(&k);
    if (code == SHOAL_OK) {
        snprintf(out->target, sizeof out->target, "%s", order.backend->target(order.device)->name);
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
    order_close(&order);
    return code;
}
