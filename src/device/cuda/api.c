// SPDX-License-Identifier: MIT
// The driver and NVRTC as tables of functions, and their errors in words.
//
// The driver is opened and started once in a process, when somebody first asks for it. What is
// declared in cuda.h by hand is what CUDA 12 and 13 have in common.
#include "device/cuda/cuda.h"

#include "base/process.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/offload.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_DRIVER = 12000 };

// ---- Functions by name --------------------------------------------------------------------------

struct symbol {
    const char *name;
    size_t at; // of the pointer in its table
};

// The name of the first function that the library lacks; NULL: it has all.
static const char *find_symbols(void *library, const struct symbol *symbols, size_t count,
                                void *table) {
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, symbols[i].name);
        if (!function)
            return symbols[i].name;
        memcpy((char *)table + symbols[i].at, &function, sizeof function);
    }
    return NULL;
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- The driver ---------------------------------------------------------------------------------

static const struct symbol driver_symbols[] = {
#define X(name, symbol, parameters) {#symbol, offsetof(struct cuda_driver, name)},
    CUDA_DRIVER(X)
#undef X
};

static struct {
    pthread_once_t once;
    struct cuda_driver table;
    pid_t pid;     // that has opened it
    char why[160]; // empty: it can be used
} driver = {.once = PTHREAD_ONCE_INIT};

static const char *words(int (*ask)(int, const char **), int result) {
    const char *text = NULL;
    return ask(result, &text) == CU_OK && text ? text : "unknown error";
}

static void start_driver(void) {
    struct cuda_driver *cu = &driver.table;
    int result = cu->init(0);
    if (result == CU_NO_DEVICE)
        snprintf(driver.why, sizeof driver.why, "the driver found no CUDA device");
    else if (result != CU_OK)
        snprintf(driver.why, sizeof driver.why, "the driver cannot be started: %s (%s)",
                 words(cu->error_text, result), words(cu->error_name, result));
    else if (cu->driver_version(&cu->version) != CU_OK || cu->version < OLDEST_DRIVER)
        snprintf(driver.why, sizeof driver.why,
                 "the driver is too old: it is made for CUDA %d.%d, and 12.0 is needed",
                 cu->version / 1000, cu->version % 1000 / 10);
}

static void name_driver(void *library, char *name, size_t room) {
    struct link_map *map = NULL;
    char real[PATH_MAX];
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && realpath(map->l_name, real))
        snprintf(name, room, "%s", strrchr(real, '/') + 1);
}

static void open_driver(void) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    sigset_t old;
    driver.pid = process_id();
    thread_block_signals(&old);
    void *library = offload_open_library(names);
    const char *lacks =
        library ? find_symbols(library, driver_symbols, COUNT(driver_symbols), &driver.table)
                : NULL;
    if (!library)
        snprintf(driver.why, sizeof driver.why, "libcuda.so.1 not found");
    else if (lacks)
        snprintf(driver.why, sizeof driver.why, "the driver is too old: libcuda.so.1 has no %s",
                 lacks);
    else
        start_driver();
    if (library)
        name_driver(library, driver.table.file, sizeof driver.table.file);
    thread_restore_signals(&old);
}

const struct cuda_driver *cuda_driver(char *why, size_t room) {
    pthread_once(&driver.once, open_driver);
    bool forked = driver.pid != process_id();
    snprintf(why, room, "%s", forked ? DEVICE_FORKED : driver.why);
    return *why ? NULL : &driver.table;
}

// ---- Errors -------------------------------------------------------------------------------------

static const struct {
    int result;
    const char *hint;
} hints[] = {
    {2, "the device has not enough free memory"},
    {3, DEVICE_FORKED},
    {46, "another process has the device for itself"},
    {200, "the driver may be too old for this NVRTC"},
    {209, "the kernel was made for another architecture"},
    {214, "the device's memory is failing"},
    {222, "the driver is too old for this NVRTC"},
    {700, "the kernel failed; this process cannot use the device any more"},
    {702, "the system does not allow kernels to run that long; a smaller --chunk may help"},
    {719, "the kernel failed; this process cannot use the device any more"},
    {999, "the device may be lost; `nvidia-smi` tells more"},
};

shoal_code cuda_error(const struct cuda_driver *cu, const char *what, int result,
                      struct report *r) {
    const char *hint = NULL;
    for (size_t i = 0; i < COUNT(hints) && !hint; i++)
        hint = hints[i].result == result ? hints[i].hint : NULL;
    return report_error(r, result == CU_OUT_OF_MEMORY ? SHOAL_MEMORY : SHOAL_DEVICE,
                        "cuda: %s failed: %s (%s)%s%s", what, words(cu->error_text, result),
                        words(cu->error_name, result), hint ? "; " : "", hint ? hint : "");
}

// ---- NVRTC --------------------------------------------------------------------------------------

static const struct symbol nvrtc_symbols[] = {
#define X(name, symbol, parameters) {#symbol, offsetof(struct nvrtc, name)},
    CUDA_NVRTC(X)
#undef X
};

// Majors that make cubins for the driver, newest first; it runs those of an older CUDA too.
static int majors_for(int driver_version, int majors[2]) {
    int n = 0;
    for (int major = 13; major >= 12; major--)
        if (!driver_version || major <= driver_version / 1000)
            majors[n++] = major;
    return n;
}

static void *open_in(const char *directory, int major) {
    static const char *const folders[] = {"lib64", "lib", NULL};
    char path[CUDA_PATH_ROOM];
    void *library = NULL;
    for (int i = 0; directory && *directory && folders[i] && !library; i++) {
        int n = snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d", directory, folders[i], major);
        if (n > 0 && (size_t)n < sizeof path)
            library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return library;
}

static void *search_nvrtc(int driver_version) {
    int majors[2] = {0}, count = majors_for(driver_version, majors);
    const char *const places[] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"),
                                  "/usr/local/cuda"};
    void *library = NULL;
    for (int i = 0; i < count && !library; i++) {
        char name[32];
        snprintf(name, sizeof name, "libnvrtc.so.%d", majors[i]);
        library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
        for (size_t k = 0; k < COUNT(places) && !library; k++)
            library = open_in(places[k], majors[i]);
    }
    return library;
}

static shoal_code not_found(const char *named, int driver_version, struct report *r) {
    int majors[2] = {0}, count = majors_for(driver_version, majors);
    if (named)
        return report_error(r, SHOAL_DEVICE, "cuda: NVRTC cannot be loaded: %s", dlerror());
    return report_error(r, SHOAL_DEVICE,
                        "cuda: NVRTC, the compiler of CUDA, was not found: libnvrtc.so.%d%s is not "
                        "on the library path, in CUDA_HOME or in /usr/local/cuda; install it, or "
                        "name its file in SHOAL_NVRTC",
                        majors[0], count > 1 ? " or .12" : "");
}

static shoal_code take_nvrtc(struct nvrtc *n, void *library, struct report *r) {
    struct link_map *map = NULL;
    char real[PATH_MAX] = "";
    const char *lacks = find_symbols(library, nvrtc_symbols, COUNT(nvrtc_symbols), n);
    if (lacks)
        return report_error(r, SHOAL_DEVICE, "cuda: NVRTC is too old: it has no %s", lacks);
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !realpath(map->l_name, real) ||
        n->version(&n->major, &n->minor))
        return report_error(r, SHOAL_DEVICE, "cuda: NVRTC does not say what it is");
    snprintf(n->path, sizeof n->path, "%s", real);
    file_stamp(n->path, n->stamp);
    return SHOAL_OK;
}

shoal_code cuda_nvrtc_load(struct nvrtc *n, const char *path, int driver_version,
                           struct report *r) {
    const char *named = path ? path : secure_getenv("SHOAL_NVRTC");
    named = named && *named ? named : NULL;
    sigset_t old;
    thread_block_signals(&old);
    void *library = named ? dlopen(named, RTLD_LAZY | RTLD_LOCAL) : search_nvrtc(driver_version);
    thread_restore_signals(&old);
    return library ? take_nvrtc(n, library, r) : not_found(named, driver_version, r);
}
