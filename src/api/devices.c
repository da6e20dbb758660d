// SPDX-License-Identifier: MIT
// Devices that nobody needs: of a batch that is too small for any, and of a process that is about
// to end.
#include "api/early.h"
#include "device/device.h"
#include "kernel/table.h"

bool shoal_options_few(const shoal_options *options, uint64_t runs) {
    return options && device_is_free(options->device) && !options->threshold &&
           runs <= CHOOSE_CPU_MOST;
}

bool shoal_devices_leave(void) {
    bool works = early_leave();
    return kernel_devices_leave() || works;
}
