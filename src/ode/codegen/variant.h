// SPDX-License-Identifier: MIT
// Variants of a kernel: choices that change how fast it is and none of its bits.
//
// What the compiler makes of a text cannot be known beforehand, so these are found by measurement
// (src/ode/run/tuned.h). A variant enters the text, and with it the key; the default one adds
// nothing to it.
#ifndef SHOAL_CODEGEN_VARIANT_H
#define SHOAL_CODEGEN_VARIANT_H

#include <stdbool.h>
#include <stdint.h>

enum variant_axis {
    VARIANT_WAYS,      // a CPU's vectors in flight
    VARIANT_STATES,    // loops over states: enum variant_loop
    VARIANT_STAGES,    // loops over stages: the same
    VARIANT_REGISTERS, // a CUDA thread's at most, which lets more threads run at a time
    VARIANT_AXES
};
enum variant_loop { VARIANT_BY_SIZE, VARIANT_WRITTEN_OUT, VARIANT_LOOPS };
enum { VARIANT_VALUES = 4, VARIANT_TEXT = 64 }; // of an axis, at most, beside the default

// Blocks of 128 threads that a multiprocessor must have room for, by value of that axis.
extern const uint8_t variant_blocks[VARIANT_VALUES + 1];

// All 0: the generator's own choice, in every axis.
struct kernel_variant {
    uint8_t value[VARIANT_AXES];
};

bool variant_is_default(const struct kernel_variant *v);
// As a number for the tune file, which may hold anything: false, and the default, where it is none.
uint32_t variant_pack(const struct kernel_variant *v);
bool variant_unpack(uint32_t packed, struct kernel_variant *out);
// "ways=3 states=loops"; of the default, "".
void variant_text(const struct kernel_variant *v, char text[VARIANT_TEXT]);

#endif
