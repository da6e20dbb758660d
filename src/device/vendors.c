// SPDX-License-Identifier: MIT
// See vendors.h.
#include "device/vendors.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char variable[] = "OCL_ICD_VENDORS";

void vendors_find(struct vendors *v) {
    const char *given = secure_getenv(variable), *folder = given ? given : "/etc/OpenCL/vendors";
    char pattern[VENDORS_PATH];
    struct stat s;
    glob_t found;
    v->count = 0;
    if (stat(folder, &s) != 0 || !S_ISDIR(s.st_mode) ||
        snprintf(pattern, sizeof pattern, "%s/*.icd", folder) >= (int)sizeof pattern)
        return;
    size_t count = glob(pattern, 0, NULL, &found) ? 0 : found.gl_pathc;
    for (size_t i = 0; i < count && v->count < VENDORS_MOST; i++)
        if (strlen(found.gl_pathv[i]) < VENDORS_PATH)
            snprintf(v->file[v->count++], VENDORS_PATH, "%s", found.gl_pathv[i]);
    globfree(&found);
}

bool vendors_link(const struct vendors *v, const bool wanted[VENDORS_MOST],
                  char folder[VENDORS_PATH]) {
    const char *named = secure_getenv("TMPDIR"), *tmp = named && *named == '/' ? named : "/tmp";
    char link[VENDORS_PATH + 16];
    int length = snprintf(folder, VENDORS_PATH, "%s/shoal-vendors.XXXXXX", tmp);
    if (length >= VENDORS_PATH || !mkdtemp(folder))
        return false;
    for (uint32_t i = 0; i < v->count; i++) {
        snprintf(link, sizeof link, "%s/%u.icd", folder, i);
        if (wanted[i] && symlink(v->file[i], link) != 0) {
            vendors_unlink(folder);
            return false;
        }
    }
    return true;
}

void vendors_unlink(const char *folder) {
    char link[VENDORS_PATH + 16];
    for (uint32_t i = 0; i < VENDORS_MOST; i++) {
        snprintf(link, sizeof link, "%s/%u.icd", folder, i);
        unlink(link);
    }
    rmdir(folder);
}

// ---- For a while --------------------------------------------------------------------------------

static bool has(const char *names, const char *file) {
    size_t n = strlen(file);
    for (const char *at = names; (at = strstr(at, file)); at++)
        if ((at == names || at[-1] == ':') && (!at[n] || at[n] == ':'))
            return true;
    return false;
}

void vendors_hide(const char *names, struct vendors_hidden *out) {
    struct vendors v;
    bool wanted[VENDORS_MOST];
    *out = (struct vendors_hidden){0};
    if (!names[0])
        return;
    vendors_find(&v);
    for (uint32_t i = 0; i < v.count; i++)
        wanted[i] = !has(names, v.file[i]);
    if (!vendors_link(&v, wanted, out->folder)) {
        out->folder[0] = 0;
        return;
    }
    const char *before = secure_getenv(variable);
    out->before = before ? strdup(before) : NULL;
    setenv(variable, out->folder, 1);
}

void vendors_show(struct vendors_hidden *h) {
    if (!h->folder[0])
        return;
    if (h->before)
        setenv(variable, h->before, 1);
    else
        unsetenv(variable);
    free(h->before);
    vendors_unlink(h->folder);
}
