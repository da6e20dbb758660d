// SPDX-License-Identifier: MIT
// What NVRTC is, for the key: its version, the build-ids of its two libraries, its arguments.
//
// Loading NVRTC takes longer than loading a kernel from the cache. So the answer is kept, with all
// that the search for NVRTC depends on and a stamp of each file; while these are the same NVRTC is
// not loaded, and if there is none any more the last answer stands: kernels that are there already
// still run. A build loads the very file that the key names.
#include "device/cuda/cuda.h"

#include "cache/cache.h"
#include "device/file_id.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] = "nvrtc 1";
static const char loader_list[] = "/etc/ld.so.cache"; // where the system's search looks

// ---- Asking NVRTC -------------------------------------------------------------------------------

static void add_file(struct key_record *answer, const char *path) {
    char stamp[FILE_STAMP_ROOM], id[FILE_ID_ROOM], none[ELF_NAME];
    const char *slash = strrchr(path, '/');
    file_stamp(path, stamp);
    if (!file_id(path, id, none)) {
        key_add_text(answer, "unknown", slash ? slash + 1 : path);
        return;
    }
    key_add_text(answer, "file", path);
    key_add_text(answer, "stamp", stamp);
    key_add_text(answer, "id", id);
}

// NVRTC's second library, which it loads when it compiles: beside the first, else by its name.
static void add_builtins(struct key_record *answer, const struct nvrtc *n) {
    char name[64], path[CUDA_PATH_ROOM + 64], stamp[FILE_STAMP_ROOM];
    struct link_map *map = NULL;
    const char *slash = strrchr(n->path, '/');
    snprintf(name, sizeof name, "libnvrtc-builtins.so.%d.%d", n->major, n->minor);
    snprintf(path, sizeof path, "%.*s/%s", (int)(slash - n->path), n->path, name);
    file_stamp(path, stamp);
    void *library = stamp[0] ? NULL : dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (stamp[0])
        add_file(answer, path);
    else if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
        add_file(answer, map->l_name);
    else
        key_add_text(answer, "unknown", name);
}

static void add_search(const struct shoal_device *d, struct buf *out) {
    static const char *const names[] = {"SHOAL_NVRTC", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"};
    buf_printf(out, "%s\n%d\n", schema, d->cu ? d->cu->version / 1000 : 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = secure_getenv(names[i]);
        buf_printf(out, "%s\n", value ? value : "");
    }
}

static bool probe(struct shoal_device *d, struct key_record *answer) {
    char version[48], stamp[FILE_STAMP_ROOM];
    if (!d->nvrtc.path[0] &&
        cuda_nvrtc_load(&d->nvrtc, NULL, d->cu ? d->cu->version : 0, NULL) != SHOAL_OK)
        return false;
    file_stamp(loader_list, stamp);
    snprintf(version, sizeof version, "NVRTC %d.%d", d->nvrtc.major, d->nvrtc.minor);
    key_add_text(answer, "loader", stamp);
    key_add_text(answer, "version", version);
    add_file(answer, d->nvrtc.path);
    add_builtins(answer, &d->nvrtc);
    return true;
}

// ---- Kept answers -------------------------------------------------------------------------------

static bool field_is(const struct key_field *f, const char *text) {
    return f->length == strlen(text) && !memcmp(f->bytes, text, f->length);
}

// Every file is what it was; the first one is NVRTC itself, and goes to the device.
static bool still_true(struct shoal_device *d, const struct buf *answer) {
    const unsigned char *record = (const unsigned char *)answer->data;
    char path[CUDA_PATH_ROOM] = "", nvrtc[CUDA_PATH_ROOM] = "", now[FILE_STAMP_ROOM];
    struct key_field f;
    size_t at = 0;
    while (key_next(record, answer->length, &at, &f)) {
        bool same = strcmp(f.label, "unknown") != 0;
        if (!strcmp(f.label, "file")) {
            snprintf(path, sizeof path, "%.*s", (int)f.length, (const char *)f.bytes);
            if (!nvrtc[0])
                memcpy(nvrtc, path, sizeof nvrtc);
        } else if (!strcmp(f.label, "stamp") || !strcmp(f.label, "loader")) {
            file_stamp(f.label[0] == 's' ? path : loader_list, now);
            same = field_is(&f, now);
        }
        if (!same)
            return false;
    }
    if (at != answer->length || !nvrtc[0])
        return false;
    memcpy(d->nvrtc_path, nvrtc, sizeof d->nvrtc_path);
    return true;
}

void cuda_search(const struct shoal_device *d, char name[CUDA_SEARCH]) {
    struct buf search = {0};
    unsigned char digest[32];
    struct sha256 hash;
    add_search(d, &search);
    sha256_init(&hash);
    sha256_add(&hash, search.data, search.length);
    sha256_end(&hash, digest);
    memcpy(name, "nvrtc-", 6);
    sha256_hex(digest, name + 6);
    buf_free(&search);
}

bool cuda_is_current(struct shoal_device *d) {
    char name[CUDA_SEARCH], stamp[FILE_STAMP_ROOM] = "";
    cuda_search(d, name);
    pthread_mutex_lock(&d->lock);
    if (d->nvrtc.path[0])
        file_stamp(d->nvrtc.path, stamp);
    bool same = !strcmp(name, d->search) && !strcmp(stamp, d->nvrtc.stamp);
    pthread_mutex_unlock(&d->lock);
    return same;
}

// The answer that holds now; false when NVRTC is not there and never was.
static bool find_answer(struct shoal_device *d, struct cache *probes, struct buf *answer,
                        struct report *r) {
    char name[CUDA_SEARCH];
    struct key_record fresh = {0};
    cuda_search(d, name);
    bool kept = probes && cache_probe_get(probes, name, answer);
    if (kept && still_true(d, answer))
        return true;
    if (!probe(d, &fresh)) {
        if (kept)
            report_note(r, "there is no NVRTC now; kernels that it made are still used");
        key_free(&fresh);
        return kept;
    }
    buf_free(answer);
    *answer = fresh.bytes;
    if (probes && !answer->failed)
        cache_probe_put(probes, name, answer->data, answer->length);
    return true;
}

// ---- The key ------------------------------------------------------------------------------------

static void add_answer(const struct buf *answer, struct key_record *key) {
    const unsigned char *record = (const unsigned char *)answer->data;
    char label[ELF_NAME + 8] = "";
    struct key_field f;
    for (size_t at = 0; key_next(record, answer->length, &at, &f);) {
        if (!strcmp(f.label, "file")) {
            const char *path = (const char *)f.bytes, *slash = memrchr(path, '/', f.length);
            size_t skip = slash ? (size_t)(slash + 1 - path) : 0;
            snprintf(label, sizeof label, "tool:%.*s", (int)(f.length - skip), path + skip);
        } else if (!strcmp(f.label, "id"))
            key_add(key, label, f.bytes, f.length);
        else if (!strcmp(f.label, "version") || !strcmp(f.label, "unknown"))
            key_add(key, f.label, f.bytes, f.length);
    }
}

// Whether that NVRTC may be told to hurry.
static bool knows_hurry(const struct buf *answer) {
    const unsigned char *record = (const unsigned char *)answer->data;
    struct key_field f;
    char version[48] = "";
    int major = 0;
    for (size_t at = 0; key_next(record, answer->length, &at, &f);)
        if (!strcmp(f.label, "version"))
            snprintf(version, sizeof version, "%.*s", (int)f.length, (const char *)f.bytes);
    return sscanf(version, "NVRTC %d.", &major) == 1 && major >= 13;
}

shoal_code cuda_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                         struct cache *probes, const volatile int *stop, struct key_record *key,
                         struct report *r) {
    const char *options[CUDA_OPTIONS];
    char arch[48], count[16];
    struct buf answer = {0};
    key_add_text(key, "target", d->arch);
    pthread_mutex_lock(&d->lock);
    bool found = find_answer(d, probes, &answer, r);
    pthread_mutex_unlock(&d->lock);
    if (found)
        add_answer(&answer, key);
    else
        key_add_text(key, "unknown", "NVRTC");
    d->target.hurries = found && !d->target.fast_math && knows_hurry(&answer);
    buf_free(&answer);
    int n = cuda_options(d, k->hurried, arch, options);
    snprintf(count, sizeof count, "%d", n);
    key_add_text(key, "arguments", count);
    for (int i = 0; i < n; i++)
        key_add_text(key, "argument", options[i]);
    return stop && *stop ? SHOAL_STOPPED : SHOAL_OK;
}
