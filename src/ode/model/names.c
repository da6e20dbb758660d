// SPDX-License-Identifier: MIT
// The name table: what every name of a model stands for, built-in functions included.
//
// Two open-addressing tables over one list of entries: one for names as written, one ignoring case.
// Built-in names are put in first; those of XPP are reserved, those that only we have give way to
// a model's own. Names are bytes with a length and are never interpreted.
#include "ode/model/parse.h"

#include "base/ascii.h"

#include <stdio.h>
#include <string.h>

// ---- Built-in names -----------------------------------------------------------------------------

// Functions that XPP has too, so that no model can have another meaning for them.
static const char *const reserved_functions[] = {
    "sin", "cos", "tan", "asin", "acos",    "atan",    "atan2",   "sinh",   "cosh", "tanh",
    "exp", "ln",  "log", "sqrt", "abs",     "sign",    "log10",   "heav",   "flr",  "mod",
    "min", "max", "erf", "erfc", "besselj", "bessely", "besseli", "lgamma",
};

// Other spellings of functions of op.h.
static const struct {
    const char *name;
    enum op op;
} spellings[] = {{"log", OP_LN}, {"flr", OP_FLOOR}};

static const struct {
    const char *name;
    enum word word;
    bool reserved;
} words[] = {
    {"if", WORD_IF, true},   {"then", WORD_THEN, true}, {"else", WORD_ELSE, true},
    {"sum", WORD_SUM, true}, {"of", WORD_OF, true},     {"shift", WORD_SHIFT, true},
    {"and", WORD_AND, true}, {"or", WORD_OR, true},     {"not", WORD_NOT, true},
};

static const struct {
    const char *name, *why;
} refused[] = {
    {"ran", "random numbers (`ran`) are not supported; for a random value per run use --sample"},
    {"normal",
     "random numbers (`normal`) are not supported; for a random value per run use --sample"},
    {"poisson",
     "random numbers (`poisson`) are not supported; for a random value per run use --sample"},
    {"delay", "delay equations (`delay`) are not supported"},
    {"del_shft", "delay equations (`del_shft`) are not supported"},
    {"hom_bcs", "homoclinic boundary conditions (`hom_bcs`) are not supported"},
    {"bessi", "`bessi` is not supported; the modified Bessel function is `besseli(n,x)`"},
};

const char *names_refusal(uint32_t index) { return refused[index].why; }

// ---- The tables ---------------------------------------------------------------------------------

static uint32_t hash(const char *s, uint32_t length, bool fold) {
    uint64_t h = 1469598103934665603u;
    for (uint32_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)(fold ? ascii_lower(s[i]) : s[i])) * 1099511628211u;
    h ^= h >> 32;
    return (uint32_t)(h * 0x9e3779b97f4a7c15u >> 32);
}

static bool same(const struct name_entry *e, const char *s, uint32_t length, uint32_t h,
                 bool fold) {
    if (e->length != length || e->hash[fold] != h)
        return false;
    if (!fold)
        return !memcmp(e->name, s, length);
    return ascii_same_prefix(e->name, s, length);
}

// The slot of that name, or the empty one where it belongs. The folded table keeps of names that
// differ in case only the first, marked AMBIGUOUS.
static const uint32_t AMBIGUOUS = 0x80000000u;

static uint32_t find_slot(const struct symbol_table *t, const char *s, uint32_t length, uint32_t h,
                          bool fold) {
    const uint32_t *slots = fold ? t->folded : t->exact;
    uint32_t mask = t->slots - 1, at = h & mask;
    while (slots[at] && !same(&t->entries.items[(slots[at] & ~AMBIGUOUS) - 1], s, length, h, fold))
        at = (at + 1) & mask;
    return at;
}

static void place(struct symbol_table *t, uint32_t entry) {
    const struct name_entry *e = &t->entries.items[entry];
    t->exact[find_slot(t, e->name, e->length, e->hash[0], false)] = entry + 1;
    if (e->alias)
        return;
    uint32_t *folded = &t->folded[find_slot(t, e->name, e->length, e->hash[1], true)];
    *folded = *folded ? *folded | AMBIGUOUS : entry + 1;
}

static void grow(struct arena *a, struct symbol_table *t) {
    t->slots = t->slots ? t->slots * 2 : 256;
    t->exact = arena_new(a, uint32_t, t->slots);
    t->folded = arena_new(a, uint32_t, t->slots);
    for (uint32_t i = 0; i < t->entries.count; i++)
        place(t, i);
}

struct name_entry *names_exact(const struct symbol_table *t, const char *name, uint32_t length) {
    uint32_t slot = t->exact[find_slot(t, name, length, hash(name, length, false), false)];
    return slot ? &t->entries.items[slot - 1] : NULL;
}

struct name_entry *names_folded(const struct symbol_table *t, const char *name, uint32_t length) {
    uint32_t slot = t->folded[find_slot(t, name, length, hash(name, length, true), true)];
    return slot && !(slot & AMBIGUOUS) ? &t->entries.items[slot - 1] : NULL;
}

static struct name_entry *add_entry(struct arena *a, struct symbol_table *t,
                                    struct name_entry entry) {
    entry.hash[0] = hash(entry.name, entry.length, false);
    entry.hash[1] = hash(entry.name, entry.length, true);
    *vec_push(a, &t->entries) = entry;
    if (t->entries.count * 2 > t->slots)
        grow(a, t);
    else
        place(t, t->entries.count - 1);
    return &t->entries.items[t->entries.count - 1];
}

struct name_entry *names_add(struct arena *a, struct symbol_table *t, const char *name,
                             uint32_t length) {
    return add_entry(a, t, (struct name_entry){.name = name, .length = length});
}

struct name_entry *names_alias(struct arena *a, struct symbol_table *t, const char *name,
                               const struct name_entry *of) {
    struct name_entry alias = *of;
    alias.name = name;
    alias.alias = true;
    return add_entry(a, t, alias);
}

static void add_builtin(struct arena *a, struct symbol_table *t, const char *name,
                        enum name_kind kind, uint32_t index, bool reserved) {
    struct name_entry *e = names_add(a, t, name, (uint32_t)strlen(name));
    e->kind = (uint8_t)kind;
    e->index = index;
    e->reserved = reserved;
}

struct symbol_table *names_empty(struct arena *a) {
    struct symbol_table *t = arena_new(a, struct symbol_table, 1);
    grow(a, t);
    return t;
}

struct symbol_table *names_new(struct arena *a) {
    struct symbol_table *t = names_empty(a);
    for (uint32_t op = OP_IF + 1; op < OP_COUNT; op++)
        add_builtin(a, t, op_names[op], NAME_OP, op, false);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        add_builtin(a, t, spellings[i].name, NAME_OP, spellings[i].op, false);
    for (size_t i = 0; i < sizeof reserved_functions / sizeof *reserved_functions; i++)
        names_exact(t, reserved_functions[i], (uint32_t)strlen(reserved_functions[i]))->reserved =
            true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add_builtin(a, t, words[i].name, NAME_WORD, words[i].word, words[i].reserved);
    for (uint32_t i = 0; i < sizeof refused / sizeof *refused; i++)
        add_builtin(a, t, refused[i].name, NAME_REFUSED, i, true);
    add_builtin(a, t, "t", NAME_TIME, 0, true);
    add_builtin(a, t, "pi", NAME_PI, 0, true);
    return t;
}

// ---- Looking for what the user meant ------------------------------------------------------------

// No name whose length differs by more can be near enough; most are spared the comparison.
enum { NEAR = 3 };

static void offer(struct nearest *n, size_t length, const char *candidate) {
    size_t other = strlen(candidate);
    if (other <= length + NEAR && length <= other + NEAR)
        nearest_offer(n, candidate);
}

static void offer_symbols(struct nearest *n, size_t length, const struct model *m) {
    for (uint32_t i = 0; i < m->symbols.count; i++)
        offer(n, length, m->symbols.items[i].name);
}

const char *names_nearest(const struct model *m, const char *wanted, uint32_t length,
                          const char *const *extra, uint32_t extra_count) {
    char name[64];
    if (length >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, wanted);
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < extra_count; i++)
        offer(&n, length, extra[i]);
    offer_symbols(&n, length, m);
    for (uint32_t i = 0; i < m->functions.count; i++)
        offer(&n, length, m->functions.items[i].name);
    for (uint32_t i = 0; i < m->signals.count; i++)
        offer(&n, length, m->signals.items[i].name);
    for (uint32_t op = OP_IF + 1; op < OP_COUNT; op++)
        offer(&n, length, op_names[op]);
    return nearest_best(&n);
}

// Without blanks and brackets: x[ 3 ] is x3.
static const char *plain_name(struct arena *a, const char *name, uint32_t *length) {
    char *plain = arena_alloc(a, strlen(name) + 1);
    if (!plain)
        return NULL;
    *length = 0;
    for (; *name; name++)
        if (!strchr(" \t[]", *name))
            plain[(*length)++] = *name;
    return plain;
}

static uint32_t symbol_of(struct model *m, const char *name, uint32_t length, const char *where,
                          struct report *r) {
    struct name_entry *e = names_exact(m->by_name, name, length);
    if (e && e->kind == NAME_SYMBOL)
        return e->index;
    e = names_folded(m->by_name, name, length);
    if (e && e->kind == NAME_SYMBOL) {
        report_note(r, "%s: `%s` is read as `%s`", where, name, m->symbols.items[e->index].name);
        return e->index;
    }
    if (!r)
        return UINT32_MAX;
    struct nearest n = {.wanted = name};
    offer_symbols(&n, length, m);
    const char *best = nearest_best(&n);
    report_error(r, SHOAL_INPUT, "%s: the model has no name `%.60s`%s%s%s", where, name,
                 best ? "; did you mean `" : "", best ? best : "", best ? "`?" : "");
    return UINT32_MAX;
}

uint32_t model_find(struct model *m, const char *name, const char *where, struct report *r) {
    struct arena scratch = {0};
    uint32_t length = 0, found = UINT32_MAX;
    const char *plain = plain_name(&scratch, name, &length);
    if (plain)
        found = symbol_of(m, plain, length, where, r);
    else
        report_error(r, SHOAL_MEMORY, "out of memory");
    arena_free(&scratch);
    return found;
}
