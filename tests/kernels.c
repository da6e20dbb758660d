// SPDX-License-Identifier: MIT
// Makes keys and solvers of model text and options, and plants kernels in a cache.
#include "kernels.h"

#include "check.h"

#include <sys/stat.h>

static void set_options(struct made *m, const char *options) {
    char *rest = NULL;
    m->words = strdup(options);
    for (char *word = strtok_r(m->words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        REQUIRE(shoal_options_set(&m->options, word, value ? value : "", m->log) == SHOAL_OK);
    }
}

struct made make_solver(const char *text, const char *options, bool plan,
                        const struct component_swap *swap) {
    struct made m = {.log = shoal_log_new()};
    char *lines = strdup(text);
    for (char *c = lines; *c && !strchr(text, '\n'); c++)
        *c = *c == ';' ? '\n' : *c;
    REQUIRE(shoal_model_parse("test.ode", lines, strlen(lines), &m.model, m.log) == SHOAL_OK);
    REQUIRE(shoal_options_init(&m.options, m.model, m.log) == SHOAL_OK);
    set_options(&m, options);
    m.model->swap = swap;
    m.code =
        (plan ? shoal_solver_new_plan : shoal_solver_new)(m.model, &m.options, &m.solver, m.log);
    free(lines);
    return m;
}

void made_free(struct made *m) {
    made_free_all_but_kernels(m);
    kernel_forget_idle();
}

void made_free_all_but_kernels(struct made *m) {
    shoal_solver_free(m->solver);
    shoal_model_free(m->model);
    shoal_log_free(m->log);
    free(m->words);
}

void key_of(const char *text, const char *options, char key[65]) {
    struct made m = make_solver(text, options, true, NULL);
    for (size_t i = 0; m.code && i < shoal_log_message_count(m.log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(m.log, i).text);
    REQUIRE(m.code == SHOAL_OK);
    snprintf(key, 65, "%s", shoal_solver_key(m.solver));
    made_free(&m);
}

char *span_says(const shoal_log *log, const char *label, const char *key) {
    char text[256] = "";
    for (size_t i = 0; i < shoal_log_span_count(log); i++)
        if (!strcmp(shoal_log_span(log, i).label, label))
            shoal_log_meta(log, i, key, text, sizeof text);
    return check_keep(strdup(text));
}

uint32_t run_one(struct made *m, double values[8]) {
    shoal_batch *batch = NULL;
    shoal_array arrays = {.data = values};
    uint32_t vars = shoal_solver_var_count(m->solver);
    REQUIRE(vars <= 8);
    REQUIRE(shoal_batch_new(m->model, &batch, m->log) == SHOAL_OK);
    REQUIRE(shoal_solver_run_arrays(m->solver, batch, &arrays, 1, NULL, m->log) == SHOAL_OK);
    shoal_batch_free(batch);
    return vars;
}

const char *use_script(const char *script) {
    const char *path = check_path("compiler");
    char text[2048];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    check_write(path, text);
    REQUIRE(chmod(path, 0700) == 0);
    setenv("SHOAL_CC", path, 1);
    return path;
}

void plant_kernel(struct made *m, const void *bytes, size_t length) {
    struct order order;
    struct build b;
    char reason[CACHE_REASON];
    REQUIRE(order_open(m->model, &m->options, NULL, &order, m->log) == SHOAL_OK);
    struct build_how how = solver_how(m->model, &m->options, order.backend, order.device);
    struct cache *cache = cache_open(how.cache);
    REQUIRE(build_begin(&order.kernel[PLAN_FIRST], order.model->found->system, &how, cache, &b,
                        m->log) == SHOAL_OK);
    struct cache_item item = {.abi = build_abi,
                              .wall_ms = 100,
                              .record = (const unsigned char *)b.making.record.bytes.data,
                              .record_length = b.making.record.bytes.length,
                              .payload = bytes,
                              .payload_length = length};
    REQUIRE(cache_put(cache, &item, false, reason));
    build_free(&b);
    cache_close(cache);
    order_close(&order);
}

static bool count_one(const shoal_cache_entry *e, void *user) {
    *(uint64_t *)user += !e->defect;
    return true;
}

uint64_t kernels_kept(void) {
    shoal_cache *cache = NULL;
    uint64_t count = 0;
    REQUIRE(shoal_cache_open(NULL, &cache, NULL) == SHOAL_OK);
    shoal_cache_list(cache, NULL, count_one, &count);
    shoal_cache_close(cache);
    return count;
}
