// SPDX-License-Identifier: MIT
// Storing a kernel: what its entry says about it, and what is said when storing makes no sense.
#include "base/ascii.h"
#include "base/sha256.h"
#include "kernel/kernel.h"
#include "log/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

LOG_LABEL(cache_store, BUILD, 50, "keeping the kernel in the cache");

static void add_number(struct key_record *m, const char *label, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    key_add_text(m, label, text);
}

// Everything that people ask for, and all it takes to compile it again.
static void describe(const struct kernel_making *k, struct key_record *m) {
    const struct shoal_target *t = k->q.backend->target(k->q.device);
    char host[65] = "", needs[40];
    gethostname(host, sizeof host - 1);
    snprintf(needs, sizeof needs, "%s%s%s%s", k->text.needs_sleef ? " sleef" : "",
             k->text.needs_mvec ? " mvec" : "", k->text.needs_libm ? " libm" : "",
             k->text.one_unit ? " one-unit" : "");
    for (uint32_t i = 0; i < k->q.fields; i++)
        key_add_text(m, k->q.field[i].label, k->q.field[i].text);
    key_add_text(m, "backend", k->q.backend->name);
    key_add_text(m, "target", t->name);
    key_add_text(m, "fast-math", t->fast_math ? "on" : "off");
    key_add_text(m, "needs", needs[0] ? needs + 1 : "");
    if (k->facts.registers) { // known once it was loaded
        add_number(m, "registers", k->facts.registers);
        add_number(m, "spills", k->facts.spills);
    }
    key_add_text(m, "shoal", SHOAL_VERSION);
    key_add_text(m, "host", host);
    key_add(m, "source", k->text.text, k->text.length);
}

// ---- Constants that ought to be parameters ------------------------------------------------------

enum { SHAPES = 32, SHAPE_BYTES = 8, LITERALS_MOST = 8 };

// A text without its numbers.
static void add_without_numbers(struct sha256 *hash, const char *text, size_t length) {
    for (size_t i = 0; i < length;) {
        bool word = ascii_letter(text[i]) || text[i] == '_';
        size_t from = i;
        if (word) // names may hold digits
            while (i < length && ascii_word(text[i]))
                i++;
        else if (ascii_digit(text[i])) {
            while (i < length && (ascii_word(text[i]) || text[i] == '.' ||
                                  (strchr("+-", text[i]) && strchr("eEpP", text[i - 1]))))
                i++;
            from = i;
        } else
            i++;
        sha256_add(hash, text + from, i - from);
    }
}

static void shape_of(const struct kernel_making *k, unsigned char shape[SHAPE_BYTES]) {
    unsigned char digest[32];
    struct sha256 hash;
    sha256_init(&hash);
    for (uint32_t i = 0; i < k->q.source->components; i++) {
        const struct kernel_component *c = &k->q.source->component[i];
        if (c->numbers)
            add_without_numbers(&hash, k->text.text + c->offset, c->length);
        else
            sha256_add(&hash, c->own, sizeof c->own);
    }
    sha256_end(&hash, digest);
    memcpy(shape, digest, SHAPE_BYTES);
}

// Counts compilations of kernels that differ in numbers only; the newest shapes are kept.
static uint32_t count_shape(struct cache *c, const unsigned char shape[SHAPE_BYTES]) {
    enum { ROW = SHAPE_BYTES + 1 };
    unsigned char rows[SHAPES * ROW] = {0};
    struct buf old = {0};
    uint32_t at = 0;
    if (cache_probe_get(c, "literals", &old) && old.length == sizeof rows)
        memcpy(rows, old.data, sizeof rows);
    buf_free(&old);
    while (at < SHAPES - 1 && memcmp(rows + at * ROW, shape, SHAPE_BYTES))
        at++;
    bool known = !memcmp(rows + at * ROW, shape, SHAPE_BYTES);
    unsigned char count = known ? rows[at * ROW + SHAPE_BYTES] : 0;
    count = count < 255 ? (unsigned char)(count + 1) : count;
    memmove(rows + ROW, rows, at * ROW);
    memcpy(rows, shape, SHAPE_BYTES);
    rows[SHAPE_BYTES] = count;
    cache_probe_put(c, "literals", rows, sizeof rows);
    return count;
}

static void watch_literals(struct kernel_making *k) {
    unsigned char shape[SHAPE_BYTES];
    if (!k->q.source)
        return;
    shape_of(k, shape);
    uint32_t count = count_shape(k->q.cache, shape);
    if (count == LITERALS_MOST + 1)
        report_warning(log_report(k->q.log),
                       "this model was compiled %u times with only numbers changed; make them "
                       "parameters and it is compiled once",
                       count);
}

// ---- Store --------------------------------------------------------------------------------------

static bool put(struct kernel_making *k, const struct shoal_bytes *bytes, bool durable,
                char reason[CACHE_REASON]) {
    struct key_record meta = {0};
    struct cache_item item = {
        .abi = k->q.abi,
        .wall_ms = k->wall_ms,
        .cpu_ms = k->cpu_ms,
        .record = (const unsigned char *)k->record.bytes.data,
        .record_length = k->record.bytes.length,
        .payload = bytes->data,
        .payload_length = bytes->length,
    };
    describe(k, &meta);
    item.meta = (const unsigned char *)meta.bytes.data;
    item.meta_length = meta.bytes.length;
    snprintf(reason, CACHE_REASON, "memory");
    bool stored = !meta.bytes.failed && cache_put(k->q.cache, &item, durable, reason);
    key_free(&meta);
    return stored;
}

// Whether the compiler is still the one that the key was made of: it may have been replaced, or
// have changed its mind, while it compiled.
static bool is_same_compiler(const struct kernel_making *k) {
    struct kernel_making now = {.q = k->q, .text = k->text};
    now.q.on_compile = NULL;
    now.q.log = NULL;
    bool same = kernel_key(&now) == SHOAL_OK && !memcmp(now.key, k->key, KEY_BYTES);
    key_free(&now.record);
    return same;
}

void kernel_store(struct kernel_making *k, const struct shoal_bytes *bytes, bool durable) {
    int32_t span = log_begin(k->q.log, LOG_cache_store);
    k->unstored[0] = 0;
    if (!k->keep)
        snprintf(k->unstored, sizeof k->unstored, "bypass:unknown-compiler");
    else if (!is_same_compiler(k))
        snprintf(k->unstored, sizeof k->unstored, "bypass:compiler-changed");
    else
        k->stored = put(k, bytes, durable, k->unstored);
    if (k->stored)
        watch_literals(k);
    log_text(k->q.log, span, "result", k->stored ? "stored" : "skipped");
    log_text(k->q.log, span, "reason", k->unstored);
    log_text(k->q.log, span, "key", k->hex);
    log_u64(k->q.log, span, "bytes", bytes->length);
    log_end(k->q.log, span);
}

// ---- Around it ----------------------------------------------------------------------------------

shoal_code kernel_cache_open(const char *directory, bool to_keep, struct cache **out,
                             shoal_log *log) {
    struct cache *c = *out = cache_open(directory);
    if (!c)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    const char *off = to_keep ? cache_off(c) : NULL;
    if (!off)
        return SHOAL_OK;
    shoal_code code = report_error(log_report(log), SHOAL_IO, "kernels cannot be kept: %s", off);
    cache_close(c);
    *out = NULL;
    return code;
}

void kernel_cache_close(struct cache *c, shoal_log *log) {
    cache_tell(c, log_report(log));
    cache_close(c);
}
