// SPDX-License-Identifier: MIT
// The source of a kernel: one text that the compiler sees as it is, made by an engine.
//
// The text is made of named components, each hashed by itself and with what it is built on, so that
// a change can be traced to one of them.
#ifndef SHOAL_KERNEL_SOURCE_H
#define SHOAL_KERNEL_SOURCE_H

#include "base/buf.h"
#include "shoal/shoal.h"

#include <stdint.h>

struct report;
struct shoal_target;

enum { KERNEL_COMPONENTS = 32 };

struct kernel_component {
    const char *name;
    const char *children;     // what it is built on, blank-separated; they stand before it
    size_t offset, length;    // in the text
    unsigned char own[32];    // SHA-256 of its text
    unsigned char digest[32]; // of its text and the digests of its children
    bool numbers;             // the user's: kernels that differ in nothing else are counted
};

struct kernel_source {
    struct buf text;
    uint32_t components;
    struct kernel_component component[KERNEL_COMPONENTS];
    bool needs_sleef, needs_mvec, needs_libm; // what must be linked
    bool one_unit;       // SHOAL_PART (kernels/dialect/dialect.h) does not split the text in two
    size_t workspace;    // bytes a device's thread needs; a CPU's kernel says itself
    const char *missing; // name of a file that is not there; NULL: none
};

// What is put into the text between these two is a component. A child that the source does not have
// is passed over.
struct kernel_component *kernel_component_begin(struct kernel_source *s, const char *name,
                                                const char *children);
void kernel_component_end(struct kernel_source *s);
// Puts a file of kernels/ into the text: of the folder of the engine, or else of the dialect.
void kernel_source_file(struct kernel_source *s, const char *engine, const char *name);
// Puts what makes the dialect for a target. It is given W, lanes of a register, and F32.
void kernel_source_prelude(struct kernel_source *s, const struct shoal_target *target);
// Whether the text is whole.
shoal_code kernel_source_check(const struct kernel_source *s, struct report *r);
// The component of that name, or NULL.
const struct kernel_component *kernel_component(const struct kernel_source *s, const char *name);
void kernel_source_free(struct kernel_source *s);

#endif
