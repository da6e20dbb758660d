// SPDX-License-Identifier: MIT
// See result_names.h. The names given so far are kept in a tree of the C library.
#include "result/result_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char *const ours[] = {"run",     "t",       "status",       "steps", "rejected",
                                   "f_evals", "offsets", "status_words", "meta"};
enum { NO_INPUTS = 3 }; // the first of them

static bool is_among(const char *name, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(name, ours[i]))
            return true;
    return false;
}

bool result_name_is_ours(const char *name) { return is_among(name, sizeof ours / sizeof *ours); }
bool result_name_is_no_input(const char *name) { return is_among(name, NO_INPUTS); }

static const char *original(const struct sink_shape_info *info, uint32_t i) {
    return i < info->columns ? info->column[i].name : info->var[i - info->columns];
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

shoal_code result_names_make(struct result_names *n, const struct sink_shape_info *info,
                             result_spelling *spell, const char *file, struct report *r) {
    void *taken = NULL;
    shoal_code code = SHOAL_OK;
    *n = (struct result_names){.columns = info->columns, .count = info->columns + info->vars};
    for (uint32_t i = 0; i < n->count && code == SHOAL_OK; i++)
        code = check_length(original(info, i), file, r);
    if (code != SHOAL_OK)
        return code;
    n->name = calloc((size_t)n->count + 1, sizeof *n->name);
    bool ok = n->name != NULL;
    for (enum pass pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < n->count && ok; i++)
            ok = n->name[i] || name_one(n, i, original(info, i), spell, pass, &taken);
    tdestroy(taken, keep);
    return ok ? SHOAL_OK : report_error(r, SHOAL_MEMORY, "%s: not enough memory", file);
}

void result_names_free(struct result_names *n) {
    for (uint32_t i = 0; n->name && i < n->count; i++)
        free(n->name[i]);
    free(n->name);
    *n = (struct result_names){0};
}
