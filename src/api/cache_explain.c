// SPDX-License-Identifier: MIT
// Which field sets a kernel apart from the one in the cache that is most like it.
//
// A component is compared by its own text, so that only what changed is named and not all that is
// built on it. The digest of the whole source, and the seed made from it, say nothing more.
#include "api/cache.h"
#include "api/options.h"
#include "api/solver.h"

#include <stdio.h>
#include <string.h>

static bool is_component(const char *label) { return !strncmp(label, "component:", 10); }

static bool says_nothing(const struct key_field *f) {
    static const char seed[] = "-frandom-seed=";
    return !strcmp(f->label, "source") ||
           (f->length > strlen(seed) && !memcmp(f->bytes, seed, strlen(seed)));
}

static struct key_field own_text(struct key_field f) {
    const unsigned char *blank = is_component(f.label) ? memchr(f.bytes, ' ', f.length) : NULL;
    if (blank) {
        f.length -= (size_t)(blank + 1 - f.bytes);
        f.bytes = blank + 1;
    }
    return f;
}

static bool same_bytes(struct key_field a, struct key_field b) {
    a = own_text(a);
    b = own_text(b);
    return a.length == b.length && !memcmp(a.bytes, b.bytes, a.length);
}

struct record {
    const unsigned char *bytes;
    size_t length;
};

// The field of the other record with that label, the n-th of its kind.
static bool nth(struct record r, const char *label, uint32_t n, struct key_field *out) {
    for (size_t at = 0; key_next(r.bytes, r.length, &at, out);)
        if (!strcmp(out->label, label) && n-- == 0)
            return true;
    return false;
}

// How often the label of the field at `end` came before it.
static uint32_t earlier(struct record r, size_t end, const char *label) {
    struct key_field f;
    uint32_t n = 0;
    for (size_t at = 0; at < end && key_next(r.bytes, r.length, &at, &f);)
        n += at <= end && !strcmp(f.label, label);
    return n;
}

static void put_value(char text[96], const struct key_field *f) {
    struct key_field own = own_text(*f);
    size_t n = own.length < 95 ? own.length : 95;
    if (is_component(f->label) && n > 16)
        n = 16; // of a digest
    snprintf(text, 96, "%.*s", (int)n, (const char *)own.bytes);
}

static void add_difference(shoal_cache_explanation *out, const struct key_field *here,
                           const struct key_field *there) {
    uint32_t i = out->differences++;
    if (i >= SHOAL_CACHE_DIFFERENCES)
        return;
    snprintf(out->difference[i].label, sizeof out->difference[i].label, "%s",
             here ? here->label : there->label);
    if (here)
        put_value(out->difference[i].here, here);
    if (there)
        put_value(out->difference[i].there, there);
}

// Counts what is the same; lists what is not where `out` is given.
static uint32_t compare(struct record a, struct record b, shoal_cache_explanation *out) {
    struct key_field f, g;
    uint32_t same = 0;
    for (size_t at = 0, before = 0; key_next(a.bytes, a.length, &at, &f); before = at) {
        bool has = nth(b, f.label, earlier(a, before, f.label), &g);
        bool equal = has && same_bytes(f, g);
        same += equal;
        if (out && !equal && !says_nothing(&f))
            add_difference(out, &f, has ? &g : NULL);
    }
    for (size_t at = 0, before = 0; out && key_next(b.bytes, b.length, &at, &g); before = at)
        if (!nth(a, g.label, earlier(b, before, g.label), &f))
            add_difference(out, NULL, &g);
    return same;
}

// What was asked for, by the words that a kernel is described with.
static void compare_words(const struct build *mine, const struct cache_item *item,
                          shoal_cache_explanation *out) {
    out->words = 0;
    for (uint32_t i = 0; i < BUILD_FIELDS && out->words < SHOAL_CACHE_WORDS; i++) {
        const struct kernel_field *f = &mine->field[i];
        char there[sizeof out->word->there];
        field_text(item->meta, item->meta_length, f->label, there, sizeof there);
        if (!strcmp(f->label, "model") || !strcmp(f->text, there))
            continue;
        uint32_t n = out->words++;
        snprintf(out->word[n].label, sizeof out->word[n].label, "%s", f->label);
        snprintf(out->word[n].here, sizeof out->word[n].here, "%s", f->text);
        memcpy(out->word[n].there, there, sizeof there);
    }
}

struct search {
    struct record mine;
    const struct build *build;
    const unsigned char *key;
    shoal_cache_explanation *out;
};

static bool look_at(void *user, const struct cache_item *item, const char *file, uint64_t bytes,
                    int64_t used_ns, const char *reason) {
    struct search *s = user;
    (void)file, (void)bytes, (void)used_ns, (void)reason;
    if (!cache_is_kernel(item))
        return true;
    struct record other = {item->record, item->record_length};
    s->out->cached = s->out->cached || !memcmp(item->key, s->key, KEY_BYTES);
    uint32_t same = memcmp(item->key, s->key, KEY_BYTES) ? compare(s->mine, other, NULL) : 0;
    if (same <= s->out->same)
        return true;
    s->out->same = same;
    s->out->differences = 0;
    memset(s->out->difference, 0, sizeof s->out->difference);
    compare(s->mine, other, s->out);
    compare_words(s->build, item, s->out);
    key_hex(item->key, s->out->nearest);
    field_text(item->meta, item->meta_length, "model", s->out->nearest_model,
               sizeof s->out->nearest_model);
    return true;
}

shoal_code shoal_cache_explain(shoal_cache *cache, const shoal_model *model,
                               const shoal_options *options, shoal_cache_explanation *out,
                               shoal_log *log) {
    struct order order;
    shoal_options o;
    if (!cache || !model || !out)
        return api_usage(log, "shoal_cache_explain", "cache, model or place for the answer");
    *out = (shoal_cache_explanation){0};
    shoal_code code = options_take(options, "shoal_cache_explain", &o, log);
    if (code != SHOAL_OK)
        return code;
    code = order_open(model, &o, NULL, &order, log);
    struct build_how how = {0};
    struct build b = {0};
    if (code == SHOAL_OK) {
        how = solver_how(order.model, &o, order.backend, order.device);
        memcpy(how.variants, order.variants, sizeof how.variants);
        how.keep_source = NULL;
        code = build_begin(&order.kernel[PLAN_FIRST], api_system(order.model, log), &how,
                           cache->cache, &b, log);
    }
    if (code == SHOAL_OK) {
        const struct kernel_making *k = &b.making;
        struct search s = {
            .mine = {(const unsigned char *)k->record.bytes.data, k->record.bytes.length},
            .build = &b,
            .key = k->key,
            .out = out};
        const struct cache_walk walk = {.entry = look_at, .user = &s};
        memcpy(out->key, k->hex, sizeof out->key);
        cache_walk(cache->cache, &walk);
    }
    build_free(&b);
    order_close(&order);
    return code;
}
