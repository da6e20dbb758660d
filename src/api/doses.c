// SPDX-License-Identifier: MIT
// Doses of a file: read, and told of.
#include "api/doses.h"

#include "io/io.h"

shoal_code api_doses_read(const shoal_model *model, const char *path, double t0, bool f32,
                          struct arena *arena, struct dose_list *out, struct report *r) {
    struct table table = {0};
    struct arena file = {0};
    shoal_code code = io_table_read_texts(path, &file, &table, r);
    if (code == SHOAL_OK)
        code = dose_list_make(&table, model->model, t0, f32, arena, out, r);
    arena_free(&file);
    return code;
}

shoal_code shoal_model_doses(const shoal_model *model, const char *path, double t0,
                             shoal_dose_info *out, shoal_log *log) {
    struct arena arena = {0};
    struct dose_list list = {0};
    jmp_buf oom;
    if (!model || !path || !out)
        return api_usage(log, "shoal_model_doses", "model, path or out");
    *out = (shoal_dose_info){0};
    arena.oom = &oom;
    volatile shoal_code code = SHOAL_MEMORY;
    if (!setjmp(oom))
        code = api_doses_read(model, path, t0, false, &arena, &list, log_report(log));
    else
        report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    if (code == SHOAL_OK)
        *out = (shoal_dose_info){.ids = list.for_all ? 0 : list.groups,
                                 .at_once = list.at_once,
                                 .infusions = list.infusions,
                                 .t_first = list.earliest,
                                 .t_last = list.latest};
    arena_free(&arena);
    return code;
}
