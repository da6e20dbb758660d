// SPDX-License-Identifier: MIT
// Kernel source of a model for any target, without a device.
#include "listing.h"

#include "check.h"
#include "rig.h"

struct listing listing_new(const char *model, const char *options,
                           const struct shoal_target *target) {
    return listing_new_watched(model, options, target, NULL);
}

struct listing listing_new_watched(const char *model, const char *options,
                                   const struct shoal_target *target,
                                   const struct watcher *watcher) {
    struct rig rig = {.log = shoal_log_new()};
    struct arena arena = {0};
    struct kernel_plan plan[PLAN_ROLES];
    struct listing s = {.log = rig.log};
    char *lines = strdup(model), *words = strdup(options), *rest = NULL;
    shoal_options o;
    for (char *c = lines; *c && !strchr(model, '\n'); c++) // a text without lines
        *c = *c == ';' ? '\n' : *c;
    rig_need(&rig, shoal_model_parse("test.ode", lines, strlen(lines), &s.model, s.log), model);
    rig_need(&rig, shoal_options_init(&o, s.model, s.log), "options");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value = 0;
        rig_need(&rig, shoal_options_set(&o, word, value + 1, s.log), word);
    }
    rig_need(&rig, solver_kernels(s.model, &o, target, &arena, plan, s.log), "plan");
    plan[PLAN_FIRST].watcher = watcher;
    rig_need(
        &rig,
        codegen_kernel(&plan[PLAN_FIRST], s.model->found->system, NULL, NULL, &s.kernel, s.log),
        "codegen");
    arena_free(&arena);
    free(lines);
    free(words);
    return s;
}

void listing_free(struct listing *s) {
    kernel_source_free(&s->kernel);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
}
