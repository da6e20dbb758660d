// SPDX-License-Identifier: MIT
// The devices of a process that is about to end.
#include "kernel/table.h"

bool shoal_devices_leave(void) { return kernel_devices_leave(); }
