// SPDX-License-Identifier: MIT
// Tests that are given a device: DEVICE_TEST(name) { ... device ... } runs once for each device
// that SHOAL_TEST_DEVICE names (blanks between; without it cpu and opencl). Of these, one that was
// named must be there; opencl, when it was not, is skipped with the reason.
//
// Their names start with device_: a run of all tests in which none of them ran on a device fails.
#ifndef SHOAL_TESTS_DEVICE_TEST_H
#define SHOAL_TESTS_DEVICE_TEST_H

#include "check.h"
#include "rig.h"

#define DEVICE_TEST_(name, kind)                                                                   \
    static void on_##name(const char *device);                                                     \
    kind(device_##name) { device_test_each(on_##name); }                                           \
    static void on_##name(const char *device)
#define DEVICE_TEST(name) DEVICE_TEST_(name, TEST)
#define LONG_DEVICE_TEST(name) DEVICE_TEST_(name, LONG_TEST)

void device_test_each(void (*test)(const char *device));
bool device_test_is_cpu(const char *device);

// A solver on the device, and the reference: the same source on the CPU, one lane.
struct rig device_rig(const char *device, const char *model, const char *options);
struct rig device_rig_reference(const char *model, const char *options);

// Some rows of the parameters k and w, around a half, in no order.
struct inputs device_sweeps(void);

// Every row is the same, bit for bit.
void device_same(const struct outcome *want, const struct outcome *got, const char *what);
// Runs both and compares; the inputs are freed.
void device_compare(const char *device, const char *model, const char *options, struct inputs in);
// The same with refill and chunks turned this way and that.
void device_compare_chunks(const char *device, const char *model, const char *options,
                           struct inputs in);

#endif
