// SPDX-License-Identifier: MIT
// The files of kernels/, embedded at build time.
#ifndef SHOAL_CODEGEN_KERNELS_H
#define SHOAL_CODEGEN_KERNELS_H

#include <stddef.h>

struct kernel_file {
    const char *name, *text;
    size_t length;
};
extern const struct kernel_file kernel_files[]; // ends with a row that has no name and no text
// The file of that name, or the last row.
const struct kernel_file *codegen_file(const char *name);

#endif
