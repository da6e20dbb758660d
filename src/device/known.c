// SPDX-License-Identifier: MIT
// The devices that backends count, by what they say of themselves.
#include "device/known.h"

#include "base/sha256.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number_before(const char *text, const char *word) {
    const char *at = strstr(text, word);
    while (at && at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

static void describe(struct device_known *d) {
    unsigned char digest[32];
    struct sha256 hash;
    d->backend->describe(d->index, d->text, sizeof d->text);
    snprintf(d->name, sizeof d->name, "%s:%u", d->backend->name, d->index);
    sha256_init(&hash);
    sha256_add(&hash, d->text, strlen(d->text));
    sha256_end(&hash, digest);
    sha256_hex(digest, d->digest);
    d->units = number_before(d->text, " multiprocessors") + number_before(d->text, " units");
    d->is_cpu_type = strstr(d->text, "PoCL") != NULL;
}

uint32_t device_known(const struct device_known **list, struct report *r) {
    static struct device_known known[KNOWN_MOST];
    uint32_t n = 0;
    char why[192];
    (void)r;
    for (const struct shoal_backend *const *b = device_backends; *b; b++) {
        uint32_t count = strcmp((*b)->name, "cpu") ? (*b)->count(why, sizeof why) : 0;
        for (uint32_t i = 0; i < count && n < KNOWN_MOST; i++) {
            known[n] = (struct device_known){.backend = *b, .index = i};
            describe(&known[n++]);
        }
    }
    *list = known;
    return n;
}
