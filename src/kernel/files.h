// SPDX-License-Identifier: MIT
// The files of kernels/, embedded at build time, for all engines.
#ifndef SHOAL_KERNEL_FILES_H
#define SHOAL_KERNEL_FILES_H

#include <stddef.h>

struct kernel_file {
    const char *name; // with its folder: dialect/head.h
    const char *text;
    size_t length;
};
extern const struct kernel_file kernel_files[]; // ends with a row that has no name and no text

// The file of that name in the folder of an engine, or else in that of the dialect; or the last
// row.
const struct kernel_file *kernel_file_find(const char *engine, const char *name);

#endif
