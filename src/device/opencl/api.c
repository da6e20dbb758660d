// SPDX-License-Identifier: MIT
// libOpenCL as a table of functions, its devices in a list, its errors in words. Opened once in a
// process, when somebody first asks for it.
#include "device/opencl/opencl.h"

#include "base/process.h"
#include "base/thread.h"
#include "device/device.h"
#include "device/known.h"
#include "device/offload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *name;
    size_t at; // of the pointer in the table
} symbols[] = {
#define X(name, type, symbol, parameters) {#symbol, offsetof(struct opencl, name)},
    OPENCL_API(X)
#undef X
};

static struct {
    pthread_once_t once;
    struct opencl_list list;
    pid_t pid;     // that has opened it
    char why[160]; // empty: it can be used
} library = {.once = PTHREAD_ONCE_INIT};

static bool find_symbols(void *handle) {
    for (size_t i = 0; i < COUNT(symbols); i++) {
        void *function = dlsym(handle, symbols[i].name);
        if (!function) {
            snprintf(library.why, sizeof library.why, "libOpenCL.so.1 is too old: it has no %s",
                     symbols[i].name);
            return false;
        }
        memcpy((char *)&library.list.api + symbols[i].at, &function, sizeof function);
    }
    return true;
}

// Devices of a platform that can compile, GPUs or others.
static void add_devices(cl_platform platform, bool gpus) {
    struct opencl_list *list = &library.list;
    cl_device devices[OPENCL_DEVICES];
    unsigned count = 0;
    if (list->api.devices(platform, 0xffffffffu, OPENCL_DEVICES, devices, &count) != CL_OK)
        return;
    for (unsigned i = 0; i < count && i < OPENCL_DEVICES && list->count < OPENCL_DEVICES; i++) {
        uint64_t type = 0;
        unsigned available = 0, compiler = 0;
        list->api.device_info(devices[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
        list->api.device_info(devices[i], CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
        list->api.device_info(devices[i], CL_DEVICE_COMPILER, sizeof compiler, &compiler, NULL);
        if (!available || !compiler || ((type & CL_TYPE_GPU) != 0) != gpus)
            continue;
        list->item[list->count].platform = platform;
        list->item[list->count++].device = devices[i];
    }
}

static void list_devices(void) {
    cl_platform platforms[16];
    unsigned count = 0;
    if (library.list.api.platforms(COUNT(platforms), platforms, &count) != CL_OK || !count) {
        snprintf(library.why, sizeof library.why,
                 "no OpenCL driver is installed (for CPUs: the package pocl-opencl-icd)");
        return;
    }
    count = count < COUNT(platforms) ? count : COUNT(platforms);
    for (int gpus = 1; gpus >= 0; gpus--)
        for (unsigned i = 0; i < count; i++)
            add_devices(platforms[i], gpus);
    if (!library.list.count)
        snprintf(library.why, sizeof library.why, "the OpenCL drivers have no device");
}

static void open_library(void) {
    static const char *const names[] = {"libOpenCL.so.1", NULL};
    char without[VENDORS_NAMES];
    struct vendors_hidden hidden;
    sigset_t old;
    library.pid = process_id();
    known_without(&opencl_backend, without);
    thread_block_signals(&old);
    vendors_hide(without, &hidden); // drivers that would end the process
    void *handle = offload_open_library(names);
    if (!handle)
        snprintf(library.why, sizeof library.why, "libOpenCL.so.1 not found");
    else if (find_symbols(handle))
        list_devices();
    vendors_show(&hidden);
    thread_restore_signals(&old);
}

const struct opencl_list *opencl_list(char *why, size_t room) {
    pthread_once(&library.once, open_library);
    bool forked = library.pid != process_id();
    snprintf(why, room, "%s", forked ? DEVICE_FORKED : library.why);
    return *why ? NULL : &library.list;
}

// ---- Errors -------------------------------------------------------------------------------------

static const struct {
    int error;
    const char *name;
} names[] = {
    {-1, "device not found"},
    {-2, "device not available"},
    {-3, "compiler not available"},
    {-4, "memory of the device ran out"},
    {-5, "out of resources"},
    {-6, "out of host memory"},
    {-11, "build failed"},
    {-14, "a command before it failed"},
    {-30, "invalid value"},
    {-33, "invalid device"},
    {-34, "invalid context"},
    {-36, "invalid queue"},
    {-38, "invalid buffer"},
    {-42, "the driver refuses the binary"},
    {-43, "invalid build options"},
    {-44, "invalid program"},
    {-45, "no executable program"},
    {-46, "no such kernel"},
    {-48, "invalid kernel"},
    {-51, "invalid size of an argument"},
    {-52, "arguments are missing"},
    {-54, "invalid group size"},
    {-55, "invalid number of items"},
    {-61, "larger than a buffer may be"},
};

shoal_code opencl_error(const char *what, int error, struct report *r) {
    const char *name = "unknown error";
    for (size_t i = 0; i < COUNT(names); i++)
        name = names[i].error == error ? names[i].name : name;
    return report_error(r, opencl_no_memory(error) ? SHOAL_MEMORY : SHOAL_DEVICE,
                        "opencl: %s failed: %s (%d)", what, name, error);
}

bool opencl_no_memory(int error) {
    return error == CL_NO_ROOM || error == CL_NO_RESOURCES || error == CL_NO_HOST_ROOM ||
           error == CL_TOO_LARGE;
}
