// SPDX-License-Identifier: MIT
// The kernel cache stores and finds: round trip, modes, tiers, probes, statistics, walks.
#include "shelf.h"

#include <sys/stat.h>
#include <unistd.h>

TEST(cache_store_round_trip) {
    struct cache *c = shelf_open();
    CHECK_STR(cache_place(c), check_path("cache"));
    CHECK(cache_off(c) == NULL);
    CHECK_MISS(c, 1, "absent");
    CHECK(shelf_put(c, 1));
    CHECK(shelf_get(c, 1));
    CHECK_MISS(c, 2, "absent");
    CHECK(shelf_put_size(c, 3, 0));
    CHECK(shelf_get(c, 3));
    CHECK(shelf_put_size(c, 4, 1 << 20));
    CHECK(shelf_get(c, 4));
    CHECK_INT(shelf_count("tmp"), 0);
    struct stat s;
    CHECK(stat(shelf_file(c, 1), &s) == 0 && (s.st_mode & 0777) == 0600);
    CHECK(stat(check_path("cache/v1"), &s) == 0 && (s.st_mode & 0777) == 0700);
    CHECK_HAS(check_read(check_path("cache/CACHEDIR.TAG")), "Signature: 8a477f597d28d172");
    CHECK(cache_warning(c) == NULL);
    cache_close(c);
    c = shelf_open();
    CHECK(shelf_get(c, 1));
    cache_close(c);
}
