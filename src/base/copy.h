// SPDX-License-Identifier: MIT
// Copies that go around the caches: what is written is more than they hold, and is not read soon.
// A plain copy would read every line of the target before it writes it.
#ifndef SHOAL_BASE_COPY_H
#define SHOAL_BASE_COPY_H

#include <stddef.h>

void copy_around(void *to, const void *from, size_t bytes);

#endif
