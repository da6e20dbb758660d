// SPDX-License-Identifier: MIT
// Finds and loads the HDF5 library; see hdf5.h. It stays loaded: the program may use it too.
#include "io/hdf5.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

// Soname numbers are 103 for 1.10, 200 for 1.12, 310 for 1.14, 320 for 2.0.
static const char *const libraries[] = {
    "libhdf5_serial.so.103", "libhdf5.so.103", "libhdf5_serial.so.200", "libhdf5.so.200",
    "libhdf5_serial.so.310", "libhdf5.so.310", "libhdf5_serial.so.320", "libhdf5.so.320",
    "libhdf5_serial.so",     "libhdf5.so",     "libhdf5.dylib",
};

static struct hdf5 library; // set once, before its first use
static const char *problem; // why it cannot be used
static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t in_use = PTHREAD_MUTEX_INITIALIZER; // guards the library and:
static void *saved_call, *saved_user;

static void *open_library(int flags) {
    void *handle = NULL;
    for (size_t i = 0; !handle && i < sizeof libraries / sizeof *libraries; i++)
        handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | flags);
    return handle;
}

static void load(void) {
    void *handle = open_library(RTLD_NOLOAD);
    bool ours = !handle;
    if (ours)
        handle = open_library(0);
    if (!handle) {
        problem = "library not found; install libhdf5 (Debian, Ubuntu: libhdf5-103-1 or "
                  "libhdf5-dev; Fedora: hdf5), or use .npz";
        return;
    }
    bool all = true;
    void *at;
#define X(result, name, arguments)                                                                 \
    at = dlsym(handle, #name);                                                                     \
    memcpy(&library.name, &at, sizeof at);                                                         \
    all = all && at;
    HDF5_FUNCTIONS(X)
#undef X
    if (all && ours) // at exit it crashes over a file that a full disk kept it from closing
        library.H5dont_atexit();
    unsigned major = 0, minor = 0, release = 0;
    if (all && (library.H5open() < 0 || library.H5get_libversion(&major, &minor, &release) < 0 ||
                (major == 1 && minor < 10)))
        all = false;
#define X(name)                                                                                    \
    at = dlsym(handle, #name);                                                                     \
    if (all && at)                                                                                 \
        memcpy(&library.name, at, sizeof library.name);                                            \
    all = all && at;
    HDF5_VARIABLES(X)
#undef X
    if (!all)
        problem = "the library found is too old or incomplete; version 1.10 or later is needed, or "
                  "use .npz";
}

const struct hdf5 *hdf5_enter(const char *path, struct report *r) {
    pthread_once(&load_once, load);
    if (problem) {
        report_error(r, SHOAL_IO, "%s: hdf5: %s", path, problem);
        return NULL;
    }
    pthread_mutex_lock(&in_use);
    library.H5Eget_auto2(H5_DEFAULT, &saved_call, &saved_user);
    library.H5Eset_auto2(H5_DEFAULT, NULL, NULL);
    return &library;
}

void hdf5_leave(const struct hdf5 *h) {
    h->H5Eset_auto2(H5_DEFAULT, saved_call, saved_user);
    pthread_mutex_unlock(&in_use);
}

static h5err keep_first(unsigned n, const struct h5error_item *item, void *user) {
    const char **text = user;
    (void)n;
    if (!*text && item->text && *item->text)
        *text = item->text;
    return 0;
}

shoal_code hdf5_failed(const struct hdf5 *h, const char *path, const char *what, struct report *r) {
    static const char system_says[] = "error message = '"; // among the time and much else
    const char *why = NULL;
    h->H5Ewalk2(H5_DEFAULT, H5_DEEPEST_FIRST, keep_first, &why);
    why = why ? why : "no reason given";
    const char *reason = strstr(why, system_says);
    reason = reason ? reason + strlen(system_says) : why;
    int length = (int)(reason == why ? strlen(why) : strcspn(reason, "'"));
    return report_error(r, SHOAL_IO, "%s: hdf5 cannot %s: %.*s", path, what, length, reason);
}

h5id hdf5_text_type(const struct hdf5 *h, size_t size) {
    h5id type = h->H5Tcopy(h->H5T_C_S1_g);
    if (type >= 0 && (h->H5Tset_size(type, size) < 0 || h->H5Tset_cset(type, H5_UTF8) < 0)) {
        h->H5Tclose(type);
        return -1;
    }
    return type;
}

bool hdf5_put_attribute(const struct hdf5 *h, h5id object, const char *name, h5id type,
                        h5size count, const void *data) {
    if (!*name || h->H5Aexists(object, name) > 0)
        return true;
    h5id space = count ? h->H5Screate_simple(1, &count, NULL) : h->H5Screate(H5_SCALAR);
    h5id made = h->H5Acreate2(object, name, type, space, H5_DEFAULT, H5_DEFAULT);
    bool ok = made >= 0 && h->H5Awrite(made, type, data) >= 0;
    if (made >= 0)
        h->H5Aclose(made);
    if (space >= 0)
        h->H5Sclose(space);
    return ok;
}
