// SPDX-License-Identifier: MIT
// How many CPUs this process may use.
#include "base/cpus.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "quota period" of a cgroup v2 file as CPUs rounded up; 0 when there is no limit.
static uint32_t quota_of(const char *path) {
    char text[64] = "";
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    long long quota = 0, period = 0;
    if (fgets(text, sizeof text, f) && sscanf(text, "%lld %lld", &quota, &period) != 2)
        quota = 0;
    fclose(f);
    return quota > 0 && period > 0 ? (uint32_t)((quota + period - 1) / period) : 0;
}

// The tightest quota on the way from our cgroup to the root.
static uint32_t cgroup_quota(void) {
    char line[512], path[600];
    uint32_t least = 0;
    FILE *f = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = !strncmp(line, "0::/", 4);
    if (f)
        fclose(f);
    if (!found)
        return 0;
    line[strcspn(line, "\n")] = 0;
    for (char *group = line + 3;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
        uint32_t quota = quota_of(path);
        if (quota && (!least || quota < least))
            least = quota;
        char *slash = strrchr(group, '/');
        if (!slash || slash == group)
            return least;
        *slash = 0;
    }
}

uint32_t cpus_usable(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    uint32_t cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
    uint32_t quota = cgroup_quota();
    if (quota && quota < cpus)
        cpus = quota;
    return cpus ? cpus : 1;
}
