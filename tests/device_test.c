// SPDX-License-Identifier: MIT
// Runs a test on each device, and compares what came out of it with the reference.
#include "device_test.h"

#include "device/device.h"

#include <unistd.h>

bool device_test_is_cpu(const char *device) { return !strncmp(device, "cpu", 3); }

// True when the test can run there; ends it where the device must be there and is not.
static bool usable(const char *device, bool named, char *why, size_t room) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(device, ":"), device);
    const struct shoal_backend *b = device_backend(name);
    REQUIRE(b);
    bool found = b->count(why, room) > 0;
    if (!found && named) {
        check_fail(__FILE__, __LINE__, "%s: %s", device, why);
        check_end();
    }
    return found;
}

void device_test_each(void (*test)(const char *device)) {
    const char *named = getenv("SHOAL_TEST_DEVICE");
    char *list = strdup(named && *named ? named : "cpu opencl"), *rest = NULL;
    char why[192] = "", missing[256] = "";
    for (char *d = strtok_r(list, " ", &rest); d; d = strtok_r(NULL, " ", &rest)) {
        if (usable(d, named && *named, why, sizeof why))
            test(d);
        else
            snprintf(missing, sizeof missing, "%s: %s", d, why);
    }
    free(list);
    if (missing[0])
        check_skip("%s", missing);
}

static struct rig make(const char *target, const char *device, const char *model,
                       const char *options) {
    char words[512];
    snprintf(words, sizeof words, "%s device=%s", options, device);
    return rig_new(target, model, words);
}

struct rig device_rig(const char *device, const char *model, const char *options) {
    return make(NULL, device, model, options);
}

struct rig device_rig_reference(const char *model, const char *options) {
    return make("scalar", "cpu", model, options);
}

struct inputs device_sweeps(void) {
    enum { ROWS = 37 };
    const char *names[RIG_NAMES] = {"k", "w"};
    struct inputs in = inputs_new(ROWS, names);
    for (uint64_t i = 0; i < ROWS; i++) { // as f32 has them
        in.value[0][i] = 0.25 + (double)(i * 11 % ROWS) / 64;
        in.value[1][i] = 0.125 + (double)(i * 5 % ROWS) / 64;
    }
    return in;
}

void device_same(const struct outcome *want, const struct outcome *got, const char *what) {
    REQUIRE(want->rows == got->rows);
    for (uint64_t i = 0; i < want->rows; i++)
        if (!outcome_same(want, i, got, i, what))
            break;
    CHECK_MSG(want->tally.steps == got->tally.steps &&
                  want->tally.rejected == got->tally.rejected &&
                  want->tally.f_evals == got->tally.f_evals,
              "%s: totals differ", what);
}

void device_compare(const char *device, const char *model, const char *options, struct inputs in) {
    struct rig reference = device_rig_reference(model, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    struct rig rig = device_rig(device, model, options);
    struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
    char what[600];
    snprintf(what, sizeof what, "%s, %s", device, options);
    device_same(&want, &got, what);
    outcome_free(&want);
    outcome_free(&got);
    rig_free(&reference);
    rig_free(&rig);
    inputs_free(&in);
}

void device_compare_chunks(const char *device, const char *model, const char *options,
                           struct inputs in) {
    static const uint64_t chunks[] = {1, 7, 0};
    static const shoal_refill refills[] = {SHOAL_REFILL_OFF, SHOAL_REFILL_ON};
    struct rig reference = device_rig_reference(model, options);
    struct outcome want = rig_run(&reference, &in, NULL, 0, NULL);
    struct rig rig = device_rig(device, model, options);
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++)
        for (int refill = 0; refill < 2; refill++) {
            rig_turn(rig.solver, (struct rig_way){.chunk = chunks[i], .refill = refills[refill]});
            struct outcome got = rig_run(&rig, &in, NULL, 0, NULL);
            device_same(&want, &got, refill ? "refill" : "no refill");
            outcome_free(&got);
        }
    outcome_free(&want);
    rig_free(&reference);
    rig_free(&rig);
    inputs_free(&in);
}
