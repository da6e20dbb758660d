// SPDX-License-Identifier: MIT
// What compiles for an OpenCL device, for the key: platform, device and driver by the strings they
// give, the options, and the variables that change what PoCL makes.
#include "device/opencl/opencl.h"

#include "cache/key.h"

#include <stdlib.h>

static void add(struct key_record *key, const char *label, int error, const char *text) {
    key_add_text(key, error == CL_OK ? label : "unknown", error == CL_OK ? text : label);
}

static void add_strings(const struct shoal_device *d, struct key_record *key) {
    static const struct {
        const char *label;
        bool of_platform;
        unsigned what;
    } fields[] = {{"platform", true, CL_PLATFORM_NAME},
                  {"platform-version", true, CL_PLATFORM_VERSION},
                  {"target", false, CL_DEVICE_NAME},
                  {"device-version", false, CL_DEVICE_VERSION},
                  {"driver", false, CL_DEVICE_DRIVER}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char text[OPENCL_NAME] = "";
        int error = fields[i].of_platform
                        ? d->cl->platform_info(d->platform, fields[i].what, sizeof text, text, NULL)
                        : d->cl->device_info(d->device, fields[i].what, sizeof text, text, NULL);
        add(key, fields[i].label, error, text);
    }
}

shoal_code opencl_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                           struct cache *probes, const volatile int *stop, struct key_record *key,
                           struct report *r) {
    // Not those that say where PoCL keeps its files or how many threads it has.
    static const char *const variables[] = {"POCL_DEVICES", "POCL_EXTRA_BUILD_FLAGS",
                                            "POCL_WORK_GROUP_METHOD",
                                            "POCL_WORK_GROUP_SPECIALIZATION"};
    char options[OPENCL_OPTIONS];
    (void)k, (void)probes, (void)r;
    add_strings(d, key);
    opencl_options(d, options);
    key_add_text(key, "arguments", options);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = secure_getenv(variables[i]);
        if (value)
            key_add_text(key, variables[i], value);
    }
    return stop && *stop ? SHOAL_STOPPED : SHOAL_OK;
}
