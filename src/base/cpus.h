// SPDX-License-Identifier: MIT
// How many CPUs this process may use.
#ifndef SHOAL_BASE_CPUS_H
#define SHOAL_BASE_CPUS_H

#include <stdint.h>

// By the affinity mask and the cgroup's quota; at least 1.
uint32_t cpus_usable(void);

#endif
