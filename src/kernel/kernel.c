// SPDX-License-Identifier: MIT
// The way of a kernel: its key, then the table of this process, then the cache, then the compiler.
#include "kernel/kernel.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "kernel/compile.h"
#include "kernel/later.h"
#include "log/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

LOG_LABEL(device_context, BUILD, 12, "waiting until a device has started");
LOG_LABEL(compiler_identity, BUILD, 30, "what the compiler is, for the key");
LOG_LABEL(cache_lookup, BUILD, 40, "looking for the kernel in the cache");
LOG_LABEL(compile_wait, BUILD, 45, "waiting for somebody who compiles the same kernel");
LOG_LABEL(module_load, BUILD, 60, "kernel bytes to something that runs");
LOG_LABEL(compile_kernel, COMPILE, 10, "the compiler, on the whole kernel");

// ---- Key ----------------------------------------------------------------------------------------

static void add_components(struct kernel_making *k) {
    char label[64], value[2 * KEY_HEX];
    const struct kernel_source *s = k->q.source;
    for (uint32_t i = 0; s && i < s->components; i++) {
        const struct kernel_component *c = &s->component[i];
        snprintf(label, sizeof label, "component:%s", c->name);
        sha256_hex(c->digest, value);
        value[KEY_HEX - 1] = ' ';
        sha256_hex(c->own, value + KEY_HEX);
        key_add_text(&k->record, label, value);
    }
}

static bool has_unknown(const struct key_record *record) {
    struct key_field f;
    const unsigned char *bytes = (const unsigned char *)record->bytes.data;
    for (size_t at = 0; key_next(bytes, record->bytes.length, &at, &f);)
        if (!strcmp(f.label, "unknown"))
            return true;
    return false;
}

shoal_code kernel_key(struct kernel_making *k) {
    char number[16];
    unsigned char digest[32];
    struct sha256 hash;
    const char *salt = secure_getenv("SHOAL_CACHE_SALT");
    sha256_init(&hash);
    sha256_add(&hash, k->text.text, k->text.length);
    sha256_end(&hash, digest);
    sha256_hex(digest, k->digest);
    k->text.digest = k->digest;
    snprintf(number, sizeof number, "%d", KERNEL_SCHEMA);
    key_add_text(&k->record, "schema", number);
    key_add_text(&k->record, "backend", k->q.backend->name);
    key_add_text(&k->record, "kind", k->q.backend->kind);
    key_add_text(&k->record, "tier", k->text.hurried ? "hurried" : "full");
    snprintf(number, sizeof number, "%u", k->q.abi);
    key_add_text(&k->record, "abi", number);
    key_add_text(&k->record, "source", k->digest);
    add_components(k);
    key_add_text(&k->record, "salt", salt ? salt : "");
    if (k->q.on_compile) // compilers come into play, and with them the stop flag
        k->q.on_compile(&(shoal_compile){.what = "kernel", .predicted_s = (double)NAN},
                        k->q.on_compile_user);
    int32_t span = log_begin(k->q.log, LOG_compiler_identity);
    shoal_code code = k->q.backend->identity(k->q.device, &k->text, k->q.cache, k->q.stop,
                                             &k->record, log_report(k->q.log));
    log_text(k->q.log, span, "backend", k->q.backend->name);
    log_end(k->q.log, span);
    if (code == SHOAL_OK && k->record.bytes.failed)
        code = report_error(log_report(k->q.log), SHOAL_MEMORY, "out of memory");
    if (code != SHOAL_OK)
        return code;
    key_digest(&k->record, k->key);
    key_hex(k->key, k->hex);
    k->keep = !has_unknown(&k->record);
    return SHOAL_OK;
}

shoal_code kernel_keep_source(const struct kernel_making *k) {
    struct report *r = log_report(k->q.log);
    struct file_part part = {.fd = -1};
    if (!k->q.keep_source)
        return SHOAL_OK;
    struct buf path = {0};
    buf_printf(&path, "%s/shoal-%.16s.%s", k->q.keep_source, k->hex, k->q.backend->source_ending);
    shoal_code code = path.failed ? SHOAL_MEMORY : file_part_open(&part, path.data, r);
    if (code == SHOAL_OK)
        code = file_write(part.fd, path.data, k->text.text, k->text.length, r);
    if (code == SHOAL_OK)
        code = file_part_commit(&part, r);
    if (code == SHOAL_OK)
        report_note(r, "kernel source kept in %s", path.data);
    file_part_discard(&part);
    buf_free(&path);
    return code;
}

// The compiler may know values of library functions that the library rounds otherwise, and how far
// it looks for them depends on how hurried it is.
static bool may_hurry(const struct kernel_request *q, bool needs_libm) {
    return !needs_libm && q->backend->target(q->device)->hurries;
}

bool kernel_all_hurried;

shoal_code kernel_identify(const struct kernel_request *q, struct kernel_making *k) {
    const struct kernel_source *s = q->source;
    *k = (struct kernel_making){
        .q = *q,
        .text = {.text = s->text.data,
                 .length = s->text.length,
                 .needs_sleef = s->needs_sleef,
                 .needs_mvec = s->needs_mvec,
                 .needs_libm = s->needs_libm,
                 .one_unit = s->one_unit,
                 .hurried = kernel_all_hurried && may_hurry(q, s->needs_libm)}};
    shoal_code code = kernel_source_check(s, log_report(q->log));
    return code == SHOAL_OK ? kernel_key(k) : code;
}

void kernel_making_free(struct kernel_making *k) { key_free(&k->record); }

// ---- Lookup -------------------------------------------------------------------------------------

static bool look(struct kernel_making *k, struct cache_item *item, char reason[CACHE_REASON]) {
    if (k->keep)
        return cache_get(k->q.cache, &k->record, k->q.abi, item, reason);
    snprintf(reason, CACHE_REASON, "bypass:unknown-compiler");
    return false;
}

// A kernel that is loaded already is as good as one on disk, but for who wants to see it compiled,
// and for a compiler that may be another each time.
static struct kernel *find(const struct kernel_making *k) {
    enum cache_mode mode = cache_mode(k->q.cache);
    bool wanted = k->keep && mode != CACHE_REFRESH && mode != CACHE_VERIFY;
    return wanted ? kernel_find(k->q.device, k->hex) : NULL;
}

bool kernel_is_cached(struct kernel_making *k) {
    struct cache_item item = {0};
    char reason[CACHE_REASON];
    struct kernel *loaded = find(k);
    bool hit = loaded || look(k, &item, reason);
    kernel_drop(loaded);
    cache_item_free(&item);
    return hit;
}

static void tell_facts(const struct kernel_making *k, int32_t span) {
    const struct shoal_facts *f = &k->facts;
    log_u64(k->q.log, span, "registers", f->registers);
    log_u64(k->q.log, span, "spills", f->spills);
    log_f64(k->q.log, span, "occupancy", f->occupancy);
    log_u64(k->q.log, span, "block", f->block);
}

// A device may start while kernels are looked for.
static shoal_code wait_for_device(const struct kernel_making *k, struct report *r) {
    uint64_t took_ns = 0;
    if (!k->q.backend->ready)
        return SHOAL_OK;
    int32_t span = log_begin(k->q.log, LOG_device_context);
    shoal_code code = k->q.backend->ready(k->q.device, &took_ns, r);
    log_f64(k->q.log, span, "context", (double)took_ns * 1e-6);
    log_end(k->q.log, span);
    return code;
}

static bool is_ready(const struct kernel_making *k) {
    uint64_t took_ns;
    return !k->q.backend->ready || k->q.backend->ready(k->q.device, &took_ns, NULL) == SHOAL_OK;
}

static shoal_code load(struct kernel_making *k, const struct shoal_bytes *bytes, struct report *r,
                       struct kernel **out) {
    struct shoal_module *module = NULL;
    if (!out)
        return k->q.backend->load(k->q.device, bytes, k->q.entry, NULL, NULL, r);
    shoal_code code = wait_for_device(k, r);
    if (code != SHOAL_OK)
        return code;
    uint64_t begin = clock_ns();
    int32_t span = log_begin(k->q.log, LOG_module_load);
    code = k->q.backend->load(k->q.device, bytes, k->q.entry, &module, &k->facts, r);
    k->load_ns = clock_ns() - begin;
    log_u64(k->q.log, span, "bytes", bytes->length);
    if (code == SHOAL_OK && k->facts.block)
        tell_facts(k, span);
    log_end(k->q.log, span);
    if (code != SHOAL_OK)
        return code;
    *out = kernel_add(k->q.device, k->hex, module, k->facts);
    return *out ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "out of memory");
}

// A line for those whom SHOAL_CACHE_LOG makes watch.
static void tell_lookup(const struct kernel_making *k, const char *how, const char *reason,
                        uint64_t begin) {
    const char *wants = secure_getenv("SHOAL_CACHE_LOG");
    if (wants && *wants && strcmp(wants, "0"))
        report_note(log_report(k->q.log), "cache %s%s, key %.8s, %.3f ms", how, reason, k->hex,
                    (double)(clock_ns() - begin) / 1e6);
}

// One that this process has loaded. Where there is none nothing is said: the next lookup does.
static bool find_in_span(struct kernel_making *k, struct kernel **out) {
    uint64_t begin = clock_ns();
    *out = find(k);
    if (!*out)
        return false;
    int32_t span = log_begin(k->q.log, LOG_cache_lookup);
    log_text(k->q.log, span, "result", "hit");
    log_text(k->q.log, span, "reason", "loaded");
    log_text(k->q.log, span, "key", k->hex);
    log_end(k->q.log, span);
    tell_lookup(k, "hit", " (loaded)", begin);
    k->facts = (*out)->facts;
    k->origin = KERNEL_FROM_TABLE;
    return true;
}

// Looks the kernel up in a span of its own.
static bool look_in_span(struct kernel_making *k, struct cache_item *item,
                         char reason[CACHE_REASON]) {
    uint64_t begin = clock_ns();
    int32_t span = log_begin(k->q.log, LOG_cache_lookup);
    reason[0] = 0;
    bool hit = look(k, item, reason);
    log_text(k->q.log, span, "result", hit ? "hit" : "miss");
    log_text(k->q.log, span, "reason", reason);
    log_text(k->q.log, span, "key", k->hex);
    log_u64(k->q.log, span, "bytes", item->payload_length);
    log_u64(k->q.log, span, "tier", (uint64_t)item->tier);
    log_end(k->q.log, span);
    tell_lookup(k, hit ? "hit" : "miss: ", hit && item->tier ? " (read-only)" : reason, begin);
    return hit;
}

// A hit that the loader takes; everything else is a miss.
static bool take(struct kernel_making *k, struct kernel **out) {
    struct cache_item item = {0};
    char reason[CACHE_REASON];
    if (out && find_in_span(k, out))
        return true;
    bool hit = look_in_span(k, &item, reason);
    if (hit) {
        struct shoal_bytes bytes = {.data = item.block ? (unsigned char *)(uintptr_t)item.payload
                                                       : NULL,
                                    .length = item.payload_length};
        if (load(k, &bytes, NULL, out) != SHOAL_OK) {
            if (is_ready(k)) // else the entry is not to blame
                cache_refuse(k->q.cache, &item);
            snprintf(reason, CACHE_REASON, "load-failed");
            hit = false;
        }
    }
    if (hit)
        k->origin = KERNEL_FROM_CACHE;
    cache_count(k->q.cache, hit, reason, item.tier, hit ? item.wall_ms : 0);
    cache_item_free(&item);
    return hit;
}

// ---- Build --------------------------------------------------------------------------------------

static uint32_t children_ms(void) {
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (uint32_t)((u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
                      (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000);
}

// What is known is of compilers that take their time.
static uint32_t predict(const struct kernel_making *k) {
    return k->text.hurried ? 0 : cache_predict(k->q.cache, k->q.backend->kind, k->text.length);
}

static double seconds_of(uint32_t predicted_ms) {
    return predicted_ms ? predicted_ms / 1e3 : (double)NAN;
}

shoal_code kernel_build(struct kernel_making *k, struct shoal_bytes *out) {
    uint64_t begin = clock_ns();
    uint32_t cpu = children_ms(), predicted = predict(k);
    struct compile_watch watch = {.call = k->q.on_compile,
                                  .user = k->q.on_compile_user,
                                  .what = "kernel",
                                  .predicted_s = seconds_of(predicted),
                                  .stop = k->q.stop};
    int32_t span = log_begin(k->q.log, LOG_compile_kernel);
    shoal_code code =
        compile_build(k->q.backend, k->q.device, &k->text, &watch, out, log_report(k->q.log));
    log_text(k->q.log, span, "backend", k->q.backend->name);
    log_text(k->q.log, span, "target", k->q.backend->target(k->q.device)->name);
    log_u64(k->q.log, span, "bytes", out->length);
    log_end(k->q.log, span);
    k->wall_ms = (uint32_t)((clock_ns() - begin) / 1000000);
    k->cpu_ms = children_ms() - cpu;
    k->origin = KERNEL_COMPILED;
    if (code == SHOAL_OK && !k->text.hurried)
        cache_learn(k->q.cache, k->q.backend->kind, k->text.length, k->wall_ms);
    return code;
}

static const char *last_error(shoal_log *log) {
    for (size_t i = shoal_log_message_count(log); i-- > 0;)
        if (shoal_log_message(log, i).severity == SHOAL_ERROR)
            return shoal_log_message(log, i).text;
    return "the kernel could not be compiled";
}

// Loaded before it is stored: what the loader refuses is not published. Without an `out` it is for
// another machine and is only looked at.
static shoal_code build_and_store(struct kernel_making *k, struct cache_work *work,
                                  struct kernel **out) {
    struct shoal_bytes bytes = {0};
    shoal_code code = kernel_build(k, &bytes);
    if (code == SHOAL_OK)
        code = load(k, &bytes, log_report(k->q.log), out);
    if (code == SHOAL_OK)
        kernel_store(k, &bytes, !out);
    if (work)
        cache_done(k->q.cache, work, code, bytes.data, bytes.length,
                   code == SHOAL_OK ? NULL : last_error(k->q.log));
    free(bytes.data);
    return code;
}

// Another thread of this process compiled the same kernel at the same time.
static shoal_code use_shared(struct kernel_making *k, struct cache_shared *shared,
                             struct kernel **out) {
    struct shoal_bytes bytes = {.data = shared->payload, .length = shared->payload_length};
    shoal_code code = SHOAL_OK;
    k->origin = KERNEL_FROM_TABLE;
    if (shared->code != SHOAL_OK)
        code = report_error(log_report(k->q.log), shared->code, "%s",
                            shared->error ? shared->error : "compilation failed");
    else if (!out || !find_in_span(k, out))
        code = load(k, &bytes, log_report(k->q.log), out);
    free(shared->payload);
    free(shared->error);
    return code;
}

struct waiting {
    const struct kernel_making *kernel;
    uint64_t begin;
    double predicted_s;
    bool said;
};

// Whoever watches is told as it happens, the others when it is over.
static void on_wait(void *user, long pid) {
    struct waiting *w = user;
    const struct kernel_making *k = w->kernel;
    shoal_compile now = {.what = "kernel",
                         .elapsed_s = (double)(clock_ns() - w->begin) * 1e-9,
                         .predicted_s = w->predicted_s,
                         .holder = pid};
    if (k->q.on_compile)
        k->q.on_compile(&now, k->q.on_compile_user);
    else if (!w->said && now.elapsed_s >= 1) {
        report_note(log_report(k->q.log), "waited for process %ld, which compiled the same kernel",
                    pid);
        w->said = true;
    }
}

// The turn is ours, but another thread may have had it since we looked: with the cache off only the
// table tells.
static shoal_code take_turn(struct kernel_making *k, struct cache_work *work, struct kernel **out) {
    if (!out || !find_in_span(k, out))
        return build_and_store(k, work, out);
    cache_done(k->q.cache, work, SHOAL_OK, NULL, 0, NULL);
    return SHOAL_OK;
}

static enum cache_turn wait_turn(struct kernel_making *k, struct cache_work **work,
                                 struct cache_shared *shared) {
    uint32_t predicted = predict(k);
    struct waiting w = {k, clock_ns(), seconds_of(predicted), false};
    int32_t span = log_begin(k->q.log, LOG_compile_wait);
    enum cache_turn turn =
        cache_turn(k->q.cache, k->key, predicted, k->q.stop, on_wait, &w, work, shared);
    log_end(k->q.log, span);
    return turn;
}

// Waits its turn, so that a kernel is compiled once; in the end somebody compiles it.
static shoal_code make(struct kernel_making *k, struct kernel **out) {
    for (int tries = 0; tries < 3 && k->keep; tries++) {
        struct cache_work *work = NULL;
        struct cache_shared shared = {0};
        switch (wait_turn(k, &work, &shared)) {
        case CACHE_TURN_MINE:
            return take_turn(k, work, out);
        case CACHE_TURN_SHARED:
            return use_shared(k, &shared, out);
        case CACHE_TURN_STOPPED:
            return SHOAL_STOPPED;
        case CACHE_TURN_LOOK:
            if (take(k, out))
                return SHOAL_OK;
        }
    }
    return build_and_store(k, NULL, out);
}

// SHOAL_CACHE=verify: the entry must be what the compiler makes now.
static shoal_code verify(struct kernel_making *k, struct kernel **out) {
    struct cache_item item = {0};
    struct shoal_bytes bytes = {0};
    char reason[CACHE_REASON];
    bool hit = look_in_span(k, &item, reason);
    cache_count(k->q.cache, hit, reason, item.tier, 0);
    if (!hit) {
        cache_item_free(&item);
        return make(k, out);
    }
    shoal_code code = kernel_build(k, &bytes);
    if (code == SHOAL_OK && (bytes.length != item.payload_length ||
                             memcmp(bytes.data, item.payload, bytes.length) != 0))
        code = report_error(log_report(k->q.log), SHOAL_DEVICE,
                            "the kernel cache is wrong: the compiler now makes %zu bytes that are "
                            "not the %zu of entry %.16s",
                            bytes.length, item.payload_length, k->hex);
    if (code == SHOAL_OK)
        code = load(k, &bytes, log_report(k->q.log), out);
    free(bytes.data);
    cache_item_free(&item);
    return code;
}

// The same text as a kernel with a key of its own; the one that was asked for follows.
static shoal_code make_hurried(struct kernel_making *k, struct kernel **out) {
    struct kernel_making hurried = {.q = k->q, .text = k->text};
    hurried.q.on_miss = NULL;
    hurried.text.hurried = true;
    shoal_code code = kernel_key(&hurried);
    if (code == SHOAL_OK)
        code = kernel_get(&hurried, out);
    k->origin = hurried.origin;
    k->wall_ms = hurried.wall_ms;
    k->cpu_ms = hurried.cpu_ms;
    k->load_ns = hurried.load_ns;
    k->facts = hurried.facts;
    kernel_making_free(&hurried);
    if (code == SHOAL_OK)
        later_begin(k);
    return code;
}

shoal_code kernel_get(struct kernel_making *k, struct kernel **out) {
    if (cache_mode(k->q.cache) == CACHE_VERIFY)
        return verify(k, out);
    if (take(k, out))
        return SHOAL_OK;
    bool hurries = k->q.on_miss && k->q.on_miss(k->q.on_miss_user) && !k->text.hurried && k->keep &&
                   cache_mode(k->q.cache) == CACHE_ON && may_hurry(&k->q, k->text.needs_libm);
    return hurries && out ? make_hurried(k, out) : make(k, out);
}

shoal_code kernel_warm(struct kernel_making *k) { return kernel_get(k, NULL); }
