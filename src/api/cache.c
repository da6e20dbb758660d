// SPDX-License-Identifier: MIT
// Opens, lists, shows, counts, clears, exports and imports a kernel cache for the public calls.
#include "api/cache.h"

#include "api/model.h"
#include "device/device.h"
#include "dispatch/machine.h"
#include "ode/codegen/variant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

shoal_code shoal_cache_open(const char *directory, shoal_cache **out, shoal_log *log) {
    if (!out)
        return api_usage(log, "shoal_cache_open", "place for the cache");
    shoal_cache *c = calloc(1, sizeof *c);
    *out = c;
    if (c && (c->cache = cache_open(directory))) {
        if (!cache_off(c->cache)) // which shoal_cache_off tells
            cache_tell(c->cache, log_report(log));
        return SHOAL_OK;
    }
    free(c);
    *out = NULL;
    return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

void shoal_cache_close(shoal_cache *cache) {
    if (cache)
        cache_close(cache->cache);
    free(cache);
}

const char *shoal_cache_place(const shoal_cache *cache) {
    return cache ? cache_place(cache->cache) : NULL;
}

const char *shoal_cache_off(const shoal_cache *cache) {
    return cache ? cache_off(cache->cache) : "there is no cache";
}

// ---- Entries in words ---------------------------------------------------------------------------

bool field_find(const unsigned char *record, size_t length, const char *label,
                struct key_field *out) {
    for (size_t at = 0; key_next(record, length, &at, out);)
        if (!strcmp(out->label, label))
            return true;
    return false;
}

void field_text(const unsigned char *record, size_t length, const char *label, char *text,
                size_t room) {
    struct key_field f;
    text[0] = 0;
    if (field_find(record, length, label, &f))
        snprintf(text, room, "%.*s", (int)(f.length < room ? f.length : room),
                 (const char *)f.bytes);
}

void entry_describe(const struct cache_item *item, const char *file, uint64_t bytes,
                    int64_t used_ns, const char *reason, struct entry_text *out) {
    char states[16];
    *out = (struct entry_text){0};
    struct {
        const char *label;
        char *text;
    } const texts[] = {{"backend", out->backend},
                       {"target", out->target},
                       {"model", out->model},
                       {"method", out->method},
                       {"precision", out->precision}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        field_text(item->meta, item->meta_length, texts[i].label, texts[i].text, ENTRY_TEXT);
    field_text(item->meta, item->meta_length, "states", states, sizeof states);
    key_hex(item->key, out->key);
    out->entry = (shoal_cache_entry){
        .key = out->key,
        .kind = item->kind,
        .backend = out->backend,
        .target = out->target,
        .model = out->model,
        .method = out->method,
        .precision = out->precision,
        .file = file,
        .defect = reason && *reason ? reason : NULL,
        .states = (uint32_t)strtoul(states, NULL, 10),
        .tier = (uint32_t)item->tier,
        .bytes = bytes,
        .compile_s = item->wall_ms / 1e3,
        .created = (int64_t)(item->created_ns / 1000000000u),
        .used = used_ns / 1000000000,
    };
}

// ---- list, show ---------------------------------------------------------------------------------

struct listing {
    const char *model;
    shoal_cache_visit *visit;
    void *user;
};

static bool list_one(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                     int64_t used_ns, const char *reason) {
    const struct listing *l = user;
    struct entry_text text;
    if (item->record && !cache_is_kernel(item))
        return true;
    entry_describe(item, file, bytes, used_ns, reason, &text);
    return (l->model && strcmp(l->model, text.model)) || l->visit(&text.entry, l->user);
}

void shoal_cache_list(shoal_cache *cache, const char *model, shoal_cache_visit *visit, void *user) {
    struct listing l = {.model = model, .visit = visit, .user = user};
    const struct cache_walk walk = {.entry = list_one, .user = &l};
    if (cache && visit)
        cache_walk(cache->cache, &walk);
}

struct showing {
    const char *key;
    struct cache *cache;
    shoal_cache_visit *visit;
    void (*field)(const shoal_cache_field *field, void *user);
    void *user;
    uint32_t found;
};

static void show_fields(const struct showing *s, const unsigned char *record, size_t length,
                        bool in_key) {
    struct key_field f;
    for (size_t at = 0; s->field && key_next(record, length, &at, &f);) {
        char *text = strndup((const char *)f.bytes, f.length);
        shoal_cache_field field = {
            .label = f.label, .text = text, .length = text ? strlen(text) : 0, .in_key = in_key};
        if (text)
            s->field(&field, s->user);
        free(text);
    }
}

static void show_time(const struct showing *s, const char *label, double seconds) {
    char text[32];
    int length = snprintf(text, sizeof text, "%.3g ms", seconds * 1e3);
    shoal_cache_field field = {.label = label, .text = text, .length = (size_t)length};
    if (seconds > 0)
        s->field(&field, s->user);
}

// What it took when it ran here, by the tune file.
static void show_times(const struct showing *s, const char *key) {
    struct machine m;
    struct tune *t = s->field ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return;
    machine_find(&m, NULL);
    if (tune_load(t, s->cache, m.digest, (int64_t)time(NULL) * 1000000000)) {
        const struct tune_kernel *k = tune_kernel(t, key);
        show_time(s, "load", k ? k->load : 0);
        show_time(s, "first launch", k ? k->first : 0);
        show_time(s, "typical launch", k ? k->typical : 0);
    }
    free(t);
}

static void show_text(const struct showing *s, const char *label, const char *text) {
    s->field(&(shoal_cache_field){.label = label, .text = text, .length = strlen(text)}, s->user);
}

// Of a kernel that was compared with its variants: which of them is taken, and what that gains.
static bool show_gain(const struct showing *s, const char *key, const char *device) {
    struct tune *t = calloc(1, sizeof *t);
    const struct tune_kernel *k = NULL;
    struct kernel_variant v;
    char words[VARIANT_TEXT], text[32];
    if (t && tune_load(t, s->cache, device, (int64_t)time(NULL) * 1000000000))
        k = tune_kernel(t, key);
    bool has = k && k->gain > 0;
    if (has) {
        snprintf(text, sizeof text, "%.3g times", k->gain);
        show_text(s, "gain", text);
    }
    if (has && variant_unpack(k->variant, &v) && !variant_is_default(&v)) {
        variant_text(&v, words);
        show_text(s, "variant that is taken", words);
    }
    free(t);
    return has;
}

// Each device has a file of its own for them.
static void show_variants(const struct showing *s, const char *key) {
    const struct device_known *list;
    struct shoal_card cpu = {0};
    char device[KEY_HEX];
    if (!s->field)
        return;
    device_backend("cpu")->describe(0, &cpu);
    machine_device(device_backend("cpu"), &cpu, device);
    bool shown = show_gain(s, key, device);
    for (uint32_t i = 0, count = device_known(&list, NULL); i < count && !shown; i++) {
        machine_known(&list[i], device);
        shown = show_gain(s, key, device);
    }
}

static bool show_one(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                     int64_t used_ns, const char *reason) {
    struct showing *s = user;
    struct entry_text text;
    if (!cache_is_kernel(item))
        return true;
    entry_describe(item, file, bytes, used_ns, reason, &text);
    if (strncmp(text.key, s->key, strlen(s->key)))
        return true;
    if (s->found++ || !s->visit) // the first of several; the count is said below
        return true;
    s->visit(&text.entry, s->user);
    show_fields(s, item->record, item->record_length, true);
    show_times(s, text.key);
    show_variants(s, text.key);
    show_fields(s, item->meta, item->meta_length, false); // its source comes last
    return true;
}

shoal_code shoal_cache_show(shoal_cache *cache, const char *key, shoal_cache_visit *visit,
                            void (*field)(const shoal_cache_field *field, void *user), void *user,
                            shoal_log *log) {
    struct showing s = {.key = key};
    const struct cache_walk walk = {.entry = show_one, .user = &s};
    if (!cache || !key)
        return api_usage(log, "shoal_cache_show", "cache or key");
    cache_walk(cache->cache, &walk); // first only counted
    if (s.found != 1)
        return report_error(log_report(log), SHOAL_INPUT,
                            s.found ? "%u kernels have a key that begins with '%.64s'"
                                    : "%u kernels have a key that begins with '%.64s'; `shoal "
                                      "cache list` shows them all",
                            s.found, key);
    s = (struct showing){
        .key = key, .cache = cache->cache, .visit = visit, .field = field, .user = user};
    cache_walk(cache->cache, &walk);
    return SHOAL_OK;
}

// ---- stat, clear, export, import ----------------------------------------------------------------

void shoal_cache_stat(shoal_cache *cache, shoal_cache_counts *out) {
    if (!out)
        return;
    *out = (shoal_cache_counts){0};
    if (!cache)
        return;
    struct cache_stat s = {0};
    cache_stat(cache->cache, &s);
    *out = (shoal_cache_counts){.entries = s.entries,
                                .bytes = s.bytes,
                                .cap_bytes = s.cap_bytes,
                                .cap_entries = s.cap_entries,
                                .hits = s.hits,
                                .hits_read_only = s.hits_read_only,
                                .misses = s.misses,
                                .corrupt = s.corrupt,
                                .refused = s.refused,
                                .evicted = s.evicted,
                                .stored = s.stored,
                                .saved_s = (double)s.saved_ms / 1e3};
    for (int i = 0; i < SHOAL_CACHE_REASONS; i++) {
        out->missed[i].count = s.by_reason[i].count;
        memcpy(out->missed[i].reason, s.by_reason[i].reason, sizeof out->missed[i].reason);
    }
}

struct clearing {
    const shoal_cache_filter *filter;
    struct cache *cache;
    int64_t before_ns; // last used before this
    unsigned char (*keys)[KEY_BYTES];
    size_t count, room;
    bool failed;
};

static bool wanted(const struct clearing *c, const struct cache_item *item, int64_t used_ns) {
    char model[ENTRY_TEXT];
    struct rebuild again;
    if (c->filter->unused_s > 0 && used_ns > c->before_ns)
        return false;
    field_text(item->meta, item->meta_length, "model", model, sizeof model);
    if (c->filter->model && strcmp(c->filter->model, model))
        return false;
    if (!c->filter->stale)
        return true;
    bool current = rebuild_open(item, c->cache, &again);
    rebuild_close(&again);
    return !current;
}

static bool clear_one(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                      int64_t used_ns, const char *reason) {
    struct clearing *c = user;
    (void)file, (void)bytes, (void)reason;
    if (item->tier || !cache_is_kernel(item) || !wanted(c, item, used_ns))
        return true;
    if (c->count == c->room) {
        void *more = realloc(c->keys, (c->room = 2 * c->room + 64) * sizeof *c->keys);
        c->failed = !more;
        if (c->failed)
            return false;
        c->keys = more;
    }
    memcpy(c->keys[c->count++], item->key, KEY_BYTES);
    return true;
}

shoal_code shoal_cache_clear(shoal_cache *cache, const shoal_cache_filter *filter,
                             uint64_t *removed, shoal_log *log) {
    if (!cache || !filter || !removed)
        return api_usage(log, "shoal_cache_clear", "cache, filter or place for the count");
    struct clearing c = {.filter = filter, .cache = cache->cache};
    const struct cache_walk walk = {.entry = clear_one, .user = &c};
    bool all = !filter->model && !filter->stale && !(filter->unused_s > 0);
    *removed = 0;
    if (all) {
        kernel_forget_idle(); // what was cleared is compiled when it is needed next
        *removed = cache_remove(cache->cache, NULL);
        return SHOAL_OK;
    }
    c.before_ns = (int64_t)(((double)time(NULL) - filter->unused_s) * 1e9);
    cache_walk(cache->cache, &walk);
    for (size_t i = 0; i < c.count; i++)
        *removed += cache_remove(cache->cache, c.keys[i]);
    free(c.keys);
    return c.failed ? report_error(log_report(log), SHOAL_MEMORY, "out of memory") : SHOAL_OK;
}

void shoal_cache_forget(void) { kernel_forget_idle(); }

shoal_code shoal_cache_export(shoal_cache *cache, const char *path, uint64_t *count,
                              shoal_log *log) {
    if (!cache || !path || !count)
        return api_usage(log, "shoal_cache_export", "cache, path or place for the count");
    return cache_export(cache->cache, path, count, log_report(log));
}

shoal_code shoal_cache_import(shoal_cache *cache, const char *path, uint64_t *count,
                              uint64_t *refused, shoal_log *log) {
    if (!cache || !path || !count || !refused)
        return api_usage(log, "shoal_cache_import", "cache, path or place for the counts");
    return cache_import(cache->cache, path, count, refused, log_report(log));
}
