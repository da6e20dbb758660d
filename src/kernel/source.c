// SPDX-License-Identifier: MIT
// Components of a source, put together and hashed.
#include "kernel/source.h"

#include "base/report.h"
#include "base/sha256.h"
#include "kernel/files.h"
#include "shoal/backend.h"

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

// The last row, which has no text, stands for a file that is not there: that ends as an error.
void kernel_source_file(struct kernel_source *s, const char *engine, const char *name) {
    const struct kernel_file *k = kernel_file_find(engine, name);
    if (!k->name)
        s->missing = name;
    buf_put(&s->text, k->text, k->length);
}

void kernel_source_prelude(struct kernel_source *s, const struct shoal_target *target) {
    kernel_source_file(s, "dialect", target->prelude);
    if (target->device)
        kernel_source_file(s, "dialect", "threads.h");
}

shoal_code kernel_source_check(const struct kernel_source *s, struct report *r) {
    if (s->missing)
        return report_error(r, SHOAL_DEVICE, "there is no kernel file `%s`", s->missing);
    return s->text.failed ? report_error(r, SHOAL_MEMORY, "out of memory") : SHOAL_OK;
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
