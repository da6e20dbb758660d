// SPDX-License-Identifier: MIT
// Entries compiled again from the source they hold, and entries that this machine would not make.
#include "api/cache.h"

#include "api/model.h"
#include "device/device.h"
#include "ode/run/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- The same kernel again ----------------------------------------------------------------------

static bool is_component(const char *label) { return !strncmp(label, "component:", 10); }

// The next field that is no component: the source is compared as a whole.
static bool next_plain(const unsigned char *record, size_t length, size_t *at,
                       struct key_field *f) {
    while (key_next(record, length, at, f))
        if (!is_component(f->label))
            return true;
    return false;
}

static bool same_record(const struct cache_item *item, const struct key_record *now) {
    const unsigned char *mine = (const unsigned char *)now->bytes.data;
    size_t at = 0, my_at = 0;
    struct key_field a, b;
    for (;;) {
        bool more = next_plain(item->record, item->record_length, &at, &a),
             my_more = next_plain(mine, now->bytes.length, &my_at, &b);
        if (!more || !my_more)
            return more == my_more;
        if (strcmp(a.label, b.label) || a.length != b.length || memcmp(a.bytes, b.bytes, a.length))
            return false;
    }
}

static bool is_hurried(const struct cache_item *item) {
    char tier[ENTRY_TEXT];
    field_text(item->record, item->record_length, "tier", tier, sizeof tier);
    return !strcmp(tier, "hurried");
}

static bool meta_has(const struct cache_item *item, const char *label, const char *word) {
    char text[ENTRY_TEXT];
    field_text(item->meta, item->meta_length, label, text, sizeof text);
    return strstr(text, word) != NULL;
}

bool rebuild_open(const struct cache_item *item, struct cache *cache, struct rebuild *out) {
    char target[ENTRY_TEXT];
    struct key_field source;
    *out = (struct rebuild){0};
    field_text(item->meta, item->meta_length, "target", target, sizeof target);
    if (!field_find(item->meta, item->meta_length, "source", &source) ||
        device_open_target(target, meta_has(item, "fast-math", "on"), &out->backend, &out->device,
                           NULL) != SHOAL_OK)
        return false;
    out->kernel = (struct kernel_making){
        .q = {.backend = out->backend, .device = out->device, .abi = build_abi, .cache = cache},
        .text = {.text = (const char *)source.bytes,
                 .length = source.length,
                 .needs_sleef = meta_has(item, "needs", "sleef"),
                 .needs_mvec = meta_has(item, "needs", "mvec"),
                 .needs_libm = meta_has(item, "needs", "libm"),
                 .one_unit = meta_has(item, "needs", "one-unit"),
                 .hurried = is_hurried(item)},
    };
    return kernel_key(&out->kernel) == SHOAL_OK && same_record(item, &out->kernel.record);
}

void rebuild_close(struct rebuild *r) {
    kernel_making_free(&r->kernel);
    if (r->device)
        r->backend->close(r->device);
}

// ---- Verify -------------------------------------------------------------------------------------

struct verifying {
    struct cache *cache;
    bool recompile;
    shoal_cache_visit *visit;
    void *user;
    shoal_cache_check *out;
};

// Why the entry is not what it should be; NULL: it is.
static const char *recompile(struct verifying *v, const struct cache_item *item) {
    struct rebuild again;
    struct shoal_bytes bytes = {0};
    const char *defect = NULL;
    if (!rebuild_open(item, v->cache, &again))
        v->out->stale++;
    else if (kernel_build(&again.kernel, &bytes) != SHOAL_OK)
        defect = "it no longer compiles";
    else if (bytes.length != item->payload_length ||
             memcmp(bytes.data, item->payload, bytes.length) != 0)
        defect = "the compiler makes other bytes of its source";
    v->out->recompiled += bytes.data != NULL;
    v->out->differ += defect != NULL;
    free(bytes.data);
    rebuild_close(&again);
    return defect;
}

static bool verify_one(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                       int64_t used_ns, const char *reason) {
    struct verifying *v = user;
    struct entry_text text;
    bool whole = item->record && !(reason && *reason);
    const char *defect = whole ? NULL : reason;
    v->out->good += whole;
    v->out->bad += !whole;
    if (whole && v->recompile && cache_is_kernel(item))
        defect = recompile(v, item);
    entry_describe(item, file, bytes, used_ns, defect, &text);
    return !defect || !v->visit || v->visit(&text.entry, v->user);
}

shoal_code shoal_cache_verify(shoal_cache *cache, bool recompile_too, shoal_cache_visit *visit,
                              void *user, shoal_cache_check *out, shoal_log *log) {
    if (!cache || !out)
        return api_usage(log, "shoal_cache_verify", "cache or place for the counts");
    struct verifying v = {.cache = cache->cache,
                          .recompile = recompile_too,
                          .visit = visit,
                          .user = user,
                          .out = out};
    const struct cache_walk walk = {.payload = true, .entry = verify_one, .user = &v};
    *out = (shoal_cache_check){0};
    cache_walk(cache->cache, &walk);
    return SHOAL_OK;
}
