// SPDX-License-Identifier: MIT
// A GPU for tests on machines without one: the driver and the compiler of tests/fakes.
#ifndef SHOAL_TESTS_FAKE_GPU_H
#define SHOAL_TESTS_FAKE_GPU_H

#include "fakes/libcuda.h"

// The driver of this process and its children from now on. Skips the test where there is no C
// compiler.
struct fake_cuda *use_fake_cuda(void);
// NVRTC 12.4 (SHOAL_NVRTC), for this process and its children, with that build-id; always at the
// same path.
void use_fake_nvrtc(const char *build_id);

#endif
