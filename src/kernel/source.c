// SPDX-License-Identifier: MIT
// Components of a source, put together and hashed.
#include "kernel/source.h"

#include "base/sha256.h"

#include <string.h>

struct kernel_component *kernel_component_begin(struct kernel_source *s, const char *name,
                                                const char *children) {
    bool full = s->components == KERNEL_COMPONENTS;
    s->components -= full; // an engine has as many as there is room for
    s->text.failed |= full;
    struct kernel_component *c = &s->component[s->components];
    *c = (struct kernel_component){.name = name, .children = children, .offset = s->text.length};
    buf_printf(&s->text, "// ---- %s\n", name);
    return c;
}

static bool is_child(const char *name, const char *children) {
    size_t n = strlen(name);
    for (const char *p = children; (p = strstr(p, name)); p += n)
        if ((p == children || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

static void hash_component(const struct kernel_source *s, struct kernel_component *c) {
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, s->text.data + c->offset, c->length);
    sha256_end(&hash, c->own);
    sha256_init(&hash);
    sha256_add(&hash, c->own, sizeof c->own);
    for (const struct kernel_component *k = s->component; k < c; k++)
        if (is_child(k->name, c->children))
            sha256_add(&hash, k->digest, sizeof k->digest);
    sha256_end(&hash, c->digest);
}

void kernel_component_end(struct kernel_source *s) {
    struct kernel_component *c = &s->component[s->components++];
    c->length = s->text.length - c->offset;
    if (!s->text.failed)
        hash_component(s, c);
}

const struct kernel_component *kernel_component(const struct kernel_source *s, const char *name) {
    for (uint32_t i = 0; i < s->components; i++)
        if (!strcmp(s->component[i].name, name))
            return &s->component[i];
    return NULL;
}

void kernel_source_free(struct kernel_source *s) {
    if (s)
        buf_free(&s->text);
}
