// SPDX-License-Identifier: MIT
// See keep.h. Options are facts by their names, so that a difference can be told; long things are
// digests.
#include "api/keep.h"

#include "api/options.h"
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// More than there is room for is a mistake of the program's, and ends as an error.
static void add(struct keep *k, const char *name, const char *value) {
    uint32_t n = k->order.is_count++;
    if (n < KEEP_FACTS)
        k->is[n] =
            (struct journal_fact){arena_strdup(&k->arena, name), arena_strdup(&k->arena, value)};
}

static void add_how(struct keep *k, const char *name, const char *value) {
    uint32_t n = k->order.how_count++;
    if (n < KEEP_FACTS)
        k->how[n] = (struct journal_fact){name, arena_strdup(&k->arena, value)};
}

static void add_digest(struct keep *k, const char *name, struct sha256 *h) {
    unsigned char digest[32];
    char hex[65];
    sha256_end(h, digest);
    sha256_hex(digest, hex);
    add(k, name, hex);
}

static void add_number(struct keep *k, const char *name, uint64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    add(k, name, text);
}

// ---- Facts --------------------------------------------------------------------------------------

// The text with the lines that were added to it.
static void add_model(struct keep *k, const struct model *m) {
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, m->source.text, m->source.length);
    add_digest(k, "model", &h);
    sha256_init(&h);
    for (uint32_t i = 0; i < m->symbols.count; i++) {
        const struct symbol *s = &m->symbols.items[i];
        const uint64_t what[] = {s->kind, s->init.count};
        sha256_add(&h, what, sizeof what);
        sha256_add(&h, &s->value, sizeof s->value);
    }
    add_digest(k, "values", &h);
}

// The options that applied, as the result has them. Where doses are from is not what they are.
static void add_options(struct keep *k, const struct buf *options) {
    struct json j;
    json_open_text(&j, options->data, options->length);
    enum json_kind kind = json_next(&j);
    while (kind == JSON_OBJECT && json_next(&j) == JSON_NAME) {
        char *name = arena_strdup(&k->arena, j.text.data);
        if (json_next(&j) != JSON_TEXT)
            break;
        if (strcmp(name, "doses"))
            add(k, name, j.text.data);
    }
    json_close(&j);
}

static void add_files(struct keep *k, const shoal_solver *s) {
    struct sha256 h;
    char digest[65];
    if (s->model->model->signals.count) {
        sha256_init(&h);
        driver_digest(s->model->model, s->model->driver, &h);
        add_digest(k, "drivers", &h);
    }
    if (s->given.doses && api_file_digest(s->given.doses, digest))
        add(k, "doses-file", digest);
}

static void add_batch(struct keep *k, const struct batch *b) {
    struct sha256 h;
    sha256_init(&h);
    batch_digest(b, &h);
    add_digest(k, "batch", &h);
    add_number(k, JOURNAL_ALL_ROWS, batch_all_rows(b));
    add_number(k, JOURNAL_ROWS, batch_rows(b));
    uint64_t shard, shards;
    bool strided;
    if (!batch_shard(b, &shard, &shards, &strided))
        return;
    char *text = arena_printf(&k->arena, "%llu/%llu%s", (unsigned long long)shard,
                              (unsigned long long)shards, strided ? ":strided" : "");
    add(k, JOURNAL_SHARD, text);
    k->order.stays = true; // whoever merges shards looks at it
}

static void add_how_all(struct keep *k, const shoal_solver *s) {
    static const char *const names[] = {"threads", "chunk", "memory", "refill"};
    char text[64];
    snprintf(text, sizeof text, "%s", s->backend->name);
    if (s->backend->target(s->device)->device)
        snprintf(text, sizeof text, "%s:%u", s->backend->name, s->device_index);
    if (s->several)
        snprintf(text, sizeof text, "%s", s->given.device);
    add_how(k, "device", text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (shoal_options_get(&s->given, names[i], text, sizeof text))
            add_how(k, names[i], text);
}

static void make(struct keep *k, const shoal_solver *s, const shoal_batch *b) {
    add(k, "shoal", SHOAL_VERSION);
    add_model(k, s->model->model);
    add_options(k, &s->options);
    add_files(k, s);
    add_batch(k, b->batch);
    if (plan_takes_over(s->plan))
        add(k, "stiff-method", s->plan->kernel[PLAN_STIFF].method->name);
    add(k, JOURNAL_KEY, s->runner.kernel[PLAN_FIRST].computation);
    add_how_all(k, s);
}

shoal_code keep_make(struct keep *k, const shoal_solver *s, const shoal_batch *b, const char *path,
                     struct report *r) {
    jmp_buf oom;
    *k = (struct keep){.order = {.is = k->is,
                                 .how = k->how,
                                 .path = path,
                                 .resume = s->given.resume,
                                 .mixed_bits = s->given.mixed_bits}};
    if (setjmp(oom))
        return report_error(r, SHOAL_MEMORY, "out of memory");
    k->arena.oom = &oom;
    make(k, s, b);
    k->arena.oom = NULL;
    bool fits = k->order.is_count <= KEEP_FACTS && k->order.how_count <= KEEP_FACTS;
    return fits ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "too many facts for a journal");
}

const struct journal_order *keep_order(const struct keep *k) {
    return strcmp(k->order.path, "-") ? &k->order : NULL;
}

void keep_free(struct keep *k) { arena_free(&k->arena); }
