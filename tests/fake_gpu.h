// SPDX-License-Identifier: MIT
// A GPU for tests on machines without one: the driver and the compiler of tests/fakes.
#ifndef SHOAL_TESTS_FAKE_GPU_H
#define SHOAL_TESTS_FAKE_GPU_H

#include "fakes/libcuda.h"

#include <stdint.h>

// The driver of this process and its children from now on. Skips the test where there is no C
// compiler.
struct fake_cuda *use_fake_cuda(void);
// NVRTC 12.4 (SHOAL_NVRTC), for this process and its children, with that build-id; always at the
// same path.
void use_fake_nvrtc(const char *build_id);
// Both, and a kernel that ends every run of a model with one state and one input k at 3 k, of which
// nobody can think that it came from the CPU.
struct fake_cuda *use_fake_triple(void);
bool fake_triple(const void *args, const char *read, char *written, const char *resident,
                 const volatile int *stop); // the kernel
extern uint64_t fake_evals_of_row;          // that it says it took

// Calls of the driver that fail in the middle of a batch of ten chunks or more, and how many chunks
// it has delivered then; in the order of the list, until one has no call.
struct fake_fault {
    const char *call;
    int result, after;
    uint64_t least, most;
};
extern const struct fake_fault fake_faults[];
// All later calls of it fail, too; NULL: none does.
void fake_fail(struct fake_cuda *fake, const struct fake_fault *fault);

#endif
