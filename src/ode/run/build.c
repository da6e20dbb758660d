// SPDX-License-Identifier: MIT
// From a plan to a kernel: text, words that describe it, key; and who may stop that.
#include "ode/run/build.h"

#include "../kernels/ode/abi.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "dispatch/dispatch.h"
#include "dispatch/tune.h"
#include "kernel/files.h"
#include "log/log.h"
#include "ode/run/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

LOG_LABEL(simplify, CODEGEN, 20, "expressions to a folded graph");
LOG_LABEL(assemble_source, BUILD, 20, "components to one kernel source");

const uint32_t build_abi = SHOAL_ABI;

struct system *build_system(const struct model *m, shoal_log *log) {
    int32_t span = log_begin(log, LOG_simplify);
    struct system *s = system_new(m, log_report(log));
    log_u64(log, span, "nodes", s ? s->dag.nodes.count : 0);
    log_end(log, span);
    return s;
}

static void describe(const struct kernel_plan *p, const struct system *s, struct build *b) {
    const char *model = b->how->model->source.name, *slash = strrchr(model, '/');
    const struct kernel_field fields[BUILD_FIELDS] = {
        {"model", slash ? slash + 1 : model},
        {"states", b->states},
        {"method", p->stiff ? choice_auto : p->method->name},
        {"controller", controller_names[p->controller]},
        {"precision", p->f32 ? "f32" : "f64"},
        {"save", p->dense            ? "grid"
                 : p->steps          ? "steps"
                 : p->target->device ? "final"
                                     : "final or steps"},
        {"outputs", b->outputs},
        {"variant", b->words},
    };
    snprintf(b->states, sizeof b->states, "%u", s->states);
    snprintf(b->outputs, sizeof b->outputs, "%u", p->outputs);
    variant_text(&b->variant, b->words);
    memcpy(b->field, fields, sizeof fields);
}

// ---- Stops --------------------------------------------------------------------------------------

static bool is_stopped(const struct build_how *how) {
    return dispatch_is_set(how->stop[0]) || dispatch_is_set(how->stop[1]);
}

// Called while a compilation goes on.
static void on_compile(const shoal_compile *now, void *user) {
    struct build *b = user;
    if (is_stopped(b->how))
        __atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
    if (b->how->on_compile)
        b->how->on_compile(now, b->how->on_compile_user);
}

// One flag is seen at once, two are looked at now and then.
static void watch(struct build *b, struct kernel_request *request) {
    const volatile int *const *stop = b->how->stop;
    bool two = stop[0] && stop[1];
    b->stop = is_stopped(b->how);
    request->stop = two ? &b->stop : stop[0] ? stop[0] : stop[1];
    request->on_compile = two ? on_compile : b->how->on_compile;
    request->on_compile_user = two ? b : b->how->on_compile_user;
}

// ---- Kernels ------------------------------------------------------------------------------------

static bool on_miss(void *user) {
    const struct build *b = user;
    bool hurries = b->how->on_miss && b->how->on_miss(b->how->on_miss_user);
    return b->how->hurries && (hurries || b->implicit);
}

static struct kernel_request request_of(struct build *b, struct cache *cache, shoal_log *log) {
    struct kernel_request request = {.backend = b->how->backend,
                                     .device = b->how->device,
                                     .source = &b->source,
                                     .entry = "shoal_kernel",
                                     .abi = build_abi,
                                     .field = b->field,
                                     .fields = BUILD_FIELDS - variant_is_default(&b->variant),
                                     .on_miss = on_miss,
                                     .on_miss_user = b,
                                     .keep_source = b->how->keep_source,
                                     .cache = cache,
                                     .log = log};
    watch(b, &request);
    return request;
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

// It calls no function of a library, which would differ in its last digits from that of a device.
static bool is_target_free(const struct build *b) {
    const struct shoal_target *t = b->how->backend->target(b->how->device);
    const struct kernel_source *s = &b->source;
    return !t->device && !t->fast_math && !s->needs_sleef && !s->needs_mvec && !s->needs_libm;
}

// ---- What decides bits --------------------------------------------------------------------------

static bool is_one_of(const char *const *names, const char *name, size_t length) {
    for (; *names; names++)
        if (strlen(*names) == length && !strncmp(*names, name, length))
            return true;
    return false;
}

// Text that says how rows are shared out on a target, and nothing of what is computed.
static bool is_of_target(const char *component) {
    static const char *const names[] = {"variant", "bounds",       "prelude", "refill",
                                        "loop",    "batch_kernel", NULL};
    return is_one_of(names, component, strlen(component));
}

// Of the sizes those that say what is computed: not how many lanes a register has, what is written
// out, or what a device is compiled for.
static void add_sizes(struct sha256 *h, const char *text, size_t length) {
    static const char define[] = "#define ";
    static const char *const names[] = {"W",        "WAYS",       "UNROLL_STATES", "UNROLL_STAGES",
                                        "LU_LOOPS", "EVEN_STEPS", "SAVE_STEPS",    NULL};
    for (size_t at = 0, n; at < length; at += n) {
        const char *line = text + at, *end = memchr(line, '\n', length - at);
        n = end ? (size_t)(end - line) + 1 : length - at;
        const char *name = line + strlen(define);
        bool defines = n > strlen(define) && !strncmp(line, define, strlen(define));
        if (!defines || !is_one_of(names, name, strcspn(name, " \n")))
            sha256_add(h, line, n);
    }
}

// Whether every target gives the same bits: no function of a library, and divisions that are
// rounded correctly, which OpenCL need not do in f32.
static bool is_same_everywhere(const struct build *b) {
    static const char nothing[] = "// ---- math\n";
    const struct shoal_target *t = b->how->backend->target(b->how->device);
    const struct kernel_component *math = kernel_component(&b->source, "math");
    bool rounds = !t->device || strcmp(t->prelude, "prelude_opencl.h") || !b->f32;
    return !t->fast_math && rounds && math && math->length == strlen(nothing);
}

// Any change of a file of kernels/ counts, whichever target it is for.
static void digest_everywhere(const struct build *b, char out[65]) {
    unsigned char digest[32];
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, &build_abi, sizeof build_abi);
    sha256_add(&h, &b->f32, sizeof b->f32);
    for (const struct kernel_file *k = kernel_files; k->name; k++) {
        sha256_add(&h, k->name, strlen(k->name) + 1);
        sha256_add(&h, k->text, k->length);
    }
    for (uint32_t i = 0; i < b->source.components; i++) {
        const struct kernel_component *c = &b->source.component[i];
        if (is_of_target(c->name))
            continue;
        sha256_add(&h, c->name, strlen(c->name) + 1);
        if (!strcmp(c->name, "sizes"))
            add_sizes(&h, b->source.text.data + c->offset, c->length);
        else
            sha256_add(&h, c->own, sizeof c->own);
    }
    sha256_end(&h, digest);
    sha256_hex(digest, out);
}

// With what decides bits on this target, or on any.
static void put_computation(const struct build *b, char out[KEY_HEX]) {
    memcpy(out, b->making.hex, KEY_HEX);
    if (is_same_everywhere(b))
        digest_everywhere(b, out);
}

// ---- Variants -----------------------------------------------------------------------------------

static shoal_code generate(const struct kernel_plan *p, struct system *s, struct build *b,
                           struct cache *cache, shoal_log *log) {
    b->variant = p->variant;
    struct kernel_request request = request_of(b, cache, log);
    shoal_code code = codegen_kernel(p, s, b->how->swap, request.stop, &b->source, log);
    describe(p, s, b);
    return code ? code : kernel_identify(&request, &b->making);
}

// What the file of the device says of the default variant; false: another is not known.
static bool find_variant(struct build *b, struct cache *cache) {
    struct tune *t = b->how->variants[0] ? calloc(1, sizeof *t) : NULL;
    const struct tune_kernel *k = NULL;
    struct kernel_variant found = {{0}};
    if (t && tune_load(t, cache, b->how->variants, clock_unix_ns()))
        k = tune_kernel(t, b->making.hex);
    b->gain = k ? k->gain : 0;
    bool is_known = k && variant_unpack(k->variant, &found) && !variant_is_default(&found);
    b->variant = found;
    free(t);
    return is_known;
}

// The text once more, as that variant, of expressions that no kernel was made of. Its bits are
// those of the default.
static shoal_code take_variant(const struct kernel_plan *p, struct build *b, struct cache *cache,
                               shoal_log *log) {
    struct kernel_plan plan = *p;
    struct system *s = build_system(b->how->model, log);
    plan.variant = b->variant;
    put_computation(b, b->computation);
    build_free(b);
    shoal_code code = s ? generate(&plan, s, b, cache, log) : SHOAL_INPUT;
    system_free(s);
    return code;
}

shoal_code build_begin(const struct kernel_plan *p, struct system *s, const struct build_how *how,
                       struct cache *cache, struct build *b, shoal_log *log) {
    *b = (struct build){.how = how, .f32 = p->f32, .implicit = p->method->scheme != EXPLICIT};
    int32_t span = log_begin(log, LOG_assemble_source);
    shoal_code code = generate(p, s, b, cache, log);
    memcpy(b->base, b->making.hex, sizeof b->base);
    if (code == SHOAL_OK && variant_is_default(&p->variant) && find_variant(b, cache))
        code = take_variant(p, b, cache, log);
    if (code == SHOAL_OK)
        code = kernel_keep_source(&b->making);
    log_u64(log, span, "bytes", b->source.text.length);
    log_text(log, span, "key", b->making.hex);
    log_end(log, span);
    return code;
}

// ---- Kernels to run -----------------------------------------------------------------------------

// The one that there is already, or another.
static shoal_code get_kernel(struct build *b, const struct loaded *have, bool plans,
                             struct loaded *out) {
    struct kernel_making *k = &b->making;
    shoal_code code = SHOAL_OK;
    memcpy(out->key, k->hex, sizeof out->key);
    memcpy(out->base, b->base, sizeof out->base);
    memcpy(out->computation, b->computation, sizeof out->computation);
    if (!b->computation[0])
        put_computation(b, out->computation);
    memcpy(out->words, b->words, sizeof out->words);
    out->gain = b->gain;
    out->workspace = b->source.workspace;
    out->length = b->source.text.length;
    out->target_free = is_target_free(b);
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
        out->hurried = code == SHOAL_OK && strcmp(out->kernel->key, k->hex) != 0;
        out->cached = code == SHOAL_OK && k->origin != KERNEL_COMPILED;
        out->compile_s = out->cached ? 0 : k->wall_ms / 1e3;
        out->load_s = (double)k->load_ns * 1e-9;
    }
    out->effect = out->cached ? SHOAL_LOADED : SHOAL_COMPILED;
    return code;
}

shoal_code build_kernel(const struct kernel_plan *p, struct system *s, const struct build_how *how,
                        bool plans, const struct loaded *have, struct loaded *out, shoal_log *log) {
    struct build b;
    struct cache *cache;
    shoal_code code = kernel_cache_open(how->cache, false, &cache, log);
    if (code != SHOAL_OK)
        return code;
    code = build_begin(p, s, how, cache, &b, log);
    if (code == SHOAL_OK)
        code = get_kernel(&b, have, plans, out);
    if (code == SHOAL_OK && out->kernel && out->effect == SHOAL_COMPILED &&
        shoal_log_timing(log) >= SHOAL_TIMING_VERBOSE)
        build_measure(&b);
    build_free(&b);
    kernel_cache_close(cache, log);
    return code;
}
