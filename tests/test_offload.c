// SPDX-License-Identifier: MIT
// Waiting for a device that is not there.
#include "device/offload.h"

#include "check.h"

struct shoal_slot {
    int stops;
};

static int deaf_to_the_first(struct shoal_slot *s) { return s->stops > 1; }
static void tell(struct shoal_slot *s) { s->stops++; }

// A launch that waits for other processes on a card clears its word when it starts at last: a stop
// that came before is lost, and must be told again.
TEST(offload_tells_a_stop_again) {
    volatile int stop = 1;
    struct shoal_slot slot = {0};
    struct shoal_launch launch = {.stop = &stop};
    struct offload_link link = {.launch = &launch, .slot = &slot};
    struct offload_busy busy = {.lock = PTHREAD_MUTEX_INITIALIZER};
    offload_busy_add(&busy, &link);
    CHECK_INT(offload_wait(&(struct offload_wait){&busy, &link, deaf_to_the_first, tell}), 1);
    CHECK_INT(slot.stops, 2);
    offload_busy_remove(&busy, &link);
}
