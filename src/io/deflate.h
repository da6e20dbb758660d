// SPDX-License-Identifier: MIT
// Compression as PNG wants it. What is not enough memory shows in the buffer.
#ifndef SHOAL_IO_DEFLATE_H
#define SHOAL_IO_DEFLATE_H

#include "base/buf.h"

#include <stdint.h>

void deflate_bytes(struct buf *out, const void *bytes, size_t size); // raw; less than 2 GiB
void deflate_zlib(struct buf *out, const void *bytes, size_t size);  // with head and checksum

#endif
