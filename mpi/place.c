// SPDX-License-Identifier: MIT
// Where a rank is: ranks of one machine share out its GPUs and its cores.
#include "ranks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int number, sharing = 1; // among the ranks of this machine; how many have these cores

void place_find(void) {
    MPI_Comm here;
    int ranks = 1;
    cpu_set_t own;
    CPU_ZERO(&own);
    sched_getaffinity(0, sizeof own, &own);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &number);
    MPI_Comm_size(here, &ranks);
    cpu_set_t *all = calloc((size_t)ranks, sizeof *all);
    if (all) {
        sharing = 0;
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, here);
        for (int i = 0; i < ranks; i++) {
            cpu_set_t both;
            CPU_AND(&both, &own, &all[i]);
            sharing += CPU_COUNT(&both) > 0;
        }
    }
    free(all);
    MPI_Comm_free(&here);
}

static uint32_t count_gpus(void) {
    uint32_t n = 0, all = shoal_device_count();
    for (uint32_t i = 0; i < all; i++) {
        shoal_device_info d = shoal_device_at(i);
        n += d.usable && !strncmp(d.name, "cuda", 4);
    }
    return n;
}

static void choose_device(shoal_options *o) {
    static char name[32];
    bool open = !o->device || !strcmp(o->device, "auto"),
         cuda = !open && !strcmp(o->device, "cuda");
    uint32_t gpus = open || cuda ? count_gpus() : 0;
    if (gpus) {
        snprintf(name, sizeof name, "cuda:%u", (uint32_t)number % gpus);
        o->device = name;
    } else if (open)
        o->device = "cpu";
}

void place_settle(shoal_options *o) {
    cpu_set_t own;
    choose_device(o);
    CPU_ZERO(&own);
    if (o->threads || sharing < 2 || sched_getaffinity(0, sizeof own, &own))
        return;
    int threads = CPU_COUNT(&own) / sharing;
    o->threads = threads > 1 ? (uint32_t)threads : 1;
}
