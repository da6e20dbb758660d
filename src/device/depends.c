// SPDX-License-Identifier: MIT
// See depends.h.
#include "device/depends.h"

#include "device/file_id.h"

#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

enum { TEXT_MOST = 16 << 10, PATH_ROOM = 4096 };

static const char loader_list[] = "/etc/ld.so.cache"; // where the system's search looks

// ---- The name -----------------------------------------------------------------------------------

// What a short file says, and of another its stamp: those of /proc have no dates that mean
// anything.
static void add_file(struct key_record *k, const char *path) {
    char text[TEXT_MOST], stamp[FILE_STAMP_ROOM];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    file_stamp(path, stamp);
    key_add_text(k, "file", path);
    if (n < sizeof text)
        key_add(k, "text", text, n);
    else
        key_add_text(k, "stamp", stamp);
}

static void add_path(struct key_record *k, const char *path) {
    struct stat s;
    char node[64];
    if (stat(path, &s) != 0)
        return;
    if (S_ISREG(s.st_mode))
        add_file(k, path);
    else if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) {
        snprintf(node, sizeof node, "%llu %o", (unsigned long long)s.st_rdev, s.st_mode & 0777u);
        key_add_text(k, "node", path);
        key_add_text(k, "is", node);
    }
}

static void add_paths(struct key_record *k, const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_path(k, found.gl_pathv[i]);
    globfree(&found);
}

// The stamps of a library where the search finds it before it looks into its list.
static void add_library(struct key_record *k, const char *name) {
    const char *p = secure_getenv("LD_LIBRARY_PATH");
    char path[PATH_ROOM], stamp[FILE_STAMP_ROOM];
    file_stamp(loader_list, stamp);
    key_add_text(k, "loader", stamp);
    key_add_text(k, "library", name);
    for (size_t n; p && *p; p += n + (p[n] == ':')) {
        n = strcspn(p, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", (int)n, p, name) >= (int)sizeof path)
            continue;
        file_stamp(path, stamp);
        key_add_text(k, "path", path);
        key_add_text(k, "stamp", stamp);
    }
}

static void add_variable(struct key_record *k, const char *name) {
    const char *value = secure_getenv(name);
    key_add_text(k, "variable", name);
    if (value)
        key_add_text(k, "value", value);
}

// A cache may be shared by machines.
static void add_machine(struct key_record *k) {
    struct utsname names;
    if (uname(&names) == 0)
        key_add_text(k, "machine", names.nodename);
    add_path(k, "/etc/machine-id");
}

void depends_name(const struct shoal_backend *b, char name[DEPENDS_NAME]) {
    struct key_record k = {0};
    unsigned char digest[KEY_BYTES];
    char hex[KEY_HEX];
    add_machine(&k);
    for (const char *const *d = b->depends; *d; d++) {
        if (**d == '$')
            add_variable(&k, *d + 1);
        else if (**d == '/')
            add_paths(&k, *d);
        else
            add_library(&k, *d);
    }
    key_digest(&k, digest);
    key_hex(digest, hex);
    snprintf(name, DEPENDS_NAME, "devices-%.15s-%s", b->name, hex);
    key_free(&k);
}

// ---- Files of an answer -------------------------------------------------------------------------

static int add_loaded(struct dl_phdr_info *info, size_t size, void *user) {
    struct key_record *out = user;
    char stamp[FILE_STAMP_ROOM];
    (void)size;
    if (info->dlpi_name[0] != '/')
        return 0;
    file_stamp(info->dlpi_name, stamp);
    key_add_text(out, "file", info->dlpi_name);
    key_add_text(out, "stamp", stamp);
    return 0;
}

void depends_add_libraries(struct key_record *out) { dl_iterate_phdr(add_loaded, out); }

bool depends_still_true(const unsigned char *record, size_t length) {
    char path[PATH_ROOM] = "", now[FILE_STAMP_ROOM];
    struct key_field f;
    bool same = true;
    for (size_t at = 0; same && key_next(record, length, &at, &f);) {
        if (!strcmp(f.label, "file"))
            snprintf(path, sizeof path, "%.*s", (int)(f.length < PATH_ROOM ? f.length : 0),
                     (const char *)f.bytes);
        else if (!strcmp(f.label, "stamp")) {
            file_stamp(path, now);
            same = f.length == strlen(now) && !memcmp(f.bytes, now, f.length);
        }
    }
    return same;
}
