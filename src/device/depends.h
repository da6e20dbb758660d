// SPDX-License-Identifier: MIT
// What a driver's answer depends on, as the name of a record and as files that it lists.
#ifndef SHOAL_DEVICE_DEPENDS_H
#define SHOAL_DEVICE_DEPENDS_H

#include "cache/key.h"
#include "shoal/backend.h"

enum { DEPENDS_NAME = 96 };

// The name of what is remembered: another where this machine, or anything the backend's answer
// depends on, is another.
void depends_name(const struct shoal_backend *b, char name[DEPENDS_NAME]);

// All libraries of this process, as fields `file` and `stamp`; whether those of a record are what
// they were.
void depends_add_libraries(struct key_record *out);
bool depends_still_true(const unsigned char *record, size_t length);

#endif
