// SPDX-License-Identifier: MIT
// See result_names.h. The names given so far are kept in a tree of the C library.
#include "result/result_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum result_role role;
} ours[] = {
#define X(name, role, type, axes, from, when) {#name, ROLE_##role},
    RESULT_ROWS(X)
#undef X
        {RESULT_STATUS_WORDS, RESULT_ROLES},
    {RESULT_META, RESULT_ROLES},
};

// Its place among those that files may hold, or -1.
static int find_ours(const char *name) {
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (ours[i].role != ROLE_INTERNAL && !strcmp(name, ours[i].name))
            return (int)i;
    return -1;
}

bool result_name_is_ours(const char *name) { return find_ours(name) >= 0; }

bool result_name_is_no_input(const char *name) {
    int i = find_ours(name);
    return i >= 0 &&
           (ours[i].role == ROLE_RUN || ours[i].role == ROLE_TIME || ours[i].role == ROLE_STATUS);
}

bool result_name_is_read(const char *name, bool times) {
    int i = find_ours(name);
    return !result_name_is_no_input(name) || (times && ours[i].role == ROLE_TIME);
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }
static void keep(void *name) { (void)name; }

enum claim { CLAIMED, CLAIM_TAKEN, CLAIM_MEMORY };

// Takes the name when it is neither ours nor given to another.
static enum claim claim(void **taken, char *name) {
    if (result_name_is_ours(name))
        return CLAIM_TAKEN;
    char **node = tsearch(name, taken, by_text);
    return !node ? CLAIM_MEMORY : *node == name ? CLAIMED : CLAIM_TAKEN;
}

// The name with as many `_` as it takes, and claimed; NULL when memory runs out. Frees `name`.
static char *lengthen(void **taken, char *name) {
    enum claim got;
    while ((got = claim(taken, name)) == CLAIM_TAKEN) {
        size_t length = strlen(name);
        char *longer = realloc(name, length + 2);
        if (!longer)
            break;
        name = longer;
        memcpy(name + length, "_", 2);
    }
    if (got == CLAIMED)
        return name;
    free(name);
    return NULL;
}

enum pass { PASS_AS_THEY_ARE, PASS_TAKEN, PASS_SPELLED, PASSES };

// Gives name i its final form, if this is the pass for it; false when memory runs out.
static bool name_one(struct result_names *n, uint32_t i, const char *from, result_spelling *spell,
                     enum pass pass, void **taken) {
    char *name = strdup(from);
    if (!name)
        return false;
    if (spell)
        spell(name);
    bool later = strcmp(name, from) && pass != PASS_SPELLED;
    if (!later && pass != PASS_AS_THEY_ARE)
        return (n->name[i] = lengthen(taken, name)) != NULL;
    enum claim got = later ? CLAIM_TAKEN : claim(taken, name);
    if (got == CLAIMED)
        n->name[i] = name;
    else
        free(name);
    return got != CLAIM_MEMORY;
}

static shoal_code check_length(const char *name, const char *file, struct report *r) {
    size_t length = strlen(name);
    if (length <= RESULT_NAME_MOST)
        return SHOAL_OK;
    return report_error(r, SHOAL_INPUT,
                        "%s: the name '%.40s...' has %zu bytes; names in results have at most %d",
                        file, name, length, RESULT_NAME_MOST);
}

// The names that are ours stand, whatever the others are.
static bool name_ours(struct result_names *n, uint32_t i, const struct result_array *a,
                      void **taken) {
    return !result_is_ours(a) ||
           ((n->name[i] = strdup(a->name)) != NULL && tsearch(n->name[i], taken, by_text) != NULL);
}

shoal_code result_names_make(struct result_names *n, const struct result_list *list,
                             result_spelling *spell, const char *file, struct report *r) {
    void *taken = NULL;
    shoal_code code = SHOAL_OK;
    *n = (struct result_names){.count = list->count};
    for (uint32_t i = 0; i < n->count && file && code == SHOAL_OK; i++)
        code = check_length(list->array[i].name, file, r);
    if (code != SHOAL_OK)
        return code;
    n->name = calloc((size_t)n->count + 1, sizeof *n->name);
    bool ok = n->name != NULL;
    for (uint32_t i = 0; i < n->count && ok; i++)
        ok = name_ours(n, i, &list->array[i], &taken);
    for (enum pass pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < n->count && ok; i++)
            ok = n->name[i] || name_one(n, i, list->array[i].name, spell, pass, &taken);
    tdestroy(taken, keep);
    return ok ? SHOAL_OK
              : report_error(r, SHOAL_MEMORY, "%s: not enough memory", file ? file : "result");
}

void result_names_free(struct result_names *n) {
    for (uint32_t i = 0; n->name && i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct result_names){0};
}
