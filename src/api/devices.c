// SPDX-License-Identifier: MIT
// The devices of a process that is about to end.
#include "api/early.h"
#include "kernel/table.h"

bool shoal_devices_leave(void) {
    bool works = early_leave();
    return kernel_devices_leave() || works;
}
