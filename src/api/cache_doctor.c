// SPDX-License-Identifier: MIT
// Facts about the place of the cache and about the compilers, for people who look for a fault.
#include "api/cache.h"

#include "api/model.h"
#include "base/clock.h"
#include "device/device.h"
#include "dispatch/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

struct doctor {
    void (*fact)(const char *name, const char *text, bool good, void *user);
    void *user;
};

static void say(const struct doctor *d, const char *name, bool good, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void say(const struct doctor *d, const char *name, bool good, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d->fact(name, text, good, d->user);
}

// Kinds of file system by their number; on a shared one no lock is taken between machines.
static const struct {
    long type;
    const char *name;
    bool shared;
} file_systems[] = {
    {0xEF53, "ext4", false},      {0x58465342, "xfs", false},     {0x9123683E, "btrfs", false},
    {0x01021994, "tmpfs", false}, {0x794C7630, "overlay", false}, {0x2FC12FC1, "zfs", false},
    {0x6969, "nfs", true},        {0xFF534D42, "cifs", true},     {0xFE534D42, "smb2", true},
    {0x0BD00BD0, "lustre", true}, {0x47504653, "gpfs", true},     {0x19830326, "beegfs", true},
    {0x65735546, "fuse", true},   {0x01021997, "9p", true},
};

static void file_system(const struct doctor *d, const char *place) {
    struct statfs fs;
    struct statvfs vfs;
    if (statfs(place, &fs) || statvfs(place, &vfs))
        return;
    const char *name = "other";
    bool shared = false;
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++)
        if (file_systems[i].type == (long)fs.f_type) {
            name = file_systems[i].name;
            shared = file_systems[i].shared;
        }
    say(d, "file system", true, "%s (0x%lx)%s", name, (unsigned long)fs.f_type,
        shared ? ": other machines may compile the same kernel at the same time" : "");
    double free_mib = (double)vfs.f_bavail * (double)vfs.f_frsize / 1048576;
    say(d, "free space", free_mib > 64, "%.0f MiB", free_mib);
    say(d, "noexec", true, "%s", vfs.f_flag & ST_NOEXEC ? "yes; kernels load from memory" : "no");
}

static void place(const struct doctor *d, const struct cache *c) {
    static const char *const modes[] = {"on", "off", "ro", "refresh", "verify"};
    const char *root = cache_place(c);
    struct stat s;
    say(d, "place", *root != 0, "%s", *root ? root : "none");
    say(d, "mode", true, "%s", modes[cache_mode(c)]);
    if (cache_off(c))
        say(d, "off", cache_mode(c) == CACHE_OFF, "%s", cache_off(c));
    if (!*root || stat(root, &s)) {
        say(d, "directory", true, "not there yet");
        return;
    }
    say(d, "owner", s.st_uid == geteuid(), "%ld%s", (long)s.st_uid,
        s.st_uid == geteuid() ? "" : ", not you");
    say(d, "permissions", !(s.st_mode & 022), "%04o", (unsigned)s.st_mode & 07777);
    file_system(d, root);
}

// What the backend's compiler is, from the key of an empty kernel.
static void compiler(const struct doctor *d, const struct shoal_backend *b, struct cache *c,
                     shoal_log *log) {
    struct shoal_device *device = NULL;
    struct key_record record = {0};
    struct key_field f;
    const struct shoal_kernel_text none = {.text = "", .digest = ""};
    char why[192] = "", name[96];
    if (!b->count(why, sizeof why)) {
        say(d, b->name, true, "not usable: %s", why);
        return;
    }
    if (b->open(0, NULL, false, &device, log_report(log)) == SHOAL_OK &&
        b->identity(device, &none, c, NULL, &record, log_report(log)) == SHOAL_OK)
        for (size_t at = 0;
             key_next((const unsigned char *)record.bytes.data, record.bytes.length, &at, &f);) {
            bool is_unknown = !strcmp(f.label, "unknown");
            if (!strcmp(f.label, "argument") || !strcmp(f.label, "arguments"))
                continue;
            snprintf(name, sizeof name, "%s %s", b->name, f.label);
            say(d, name, !is_unknown, "%.*s%s", (int)(f.length < 800 ? f.length : 800),
                (const char *)f.bytes, is_unknown ? ": its kernels are not kept" : "");
        }
    key_free(&record);
    if (device)
        b->close(device);
}

// What `auto` goes by.
static void measured(const struct doctor *d, struct cache *c) {
    struct tune *t = calloc(1, sizeof *t);
    struct machine m;
    char name[TUNE_NAME];
    if (!t)
        return;
    machine_find(&m, NULL);
    tune_load(t, c, m.digest, clock_unix_ns());
    machine_point("cpu", MACHINE_LAUNCH, NULL, name);
    if (tune_find(t, name))
        say(d, "calibrated", true, "yes; %u numbers of this machine are known", t->points);
    else
        say(d, "calibrated", true, "no; `shoal calibrate` measures this machine in 30 s%s",
            m.count > 1 ? ", for --device auto" : "");
    free(t);
}

shoal_code shoal_cache_doctor(shoal_cache *cache,
                              void (*fact)(const char *name, const char *text, bool good,
                                           void *user),
                              void *user, shoal_log *log) {
    const struct doctor d = {.fact = fact, .user = user};
    if (!cache || !fact)
        return api_usage(log, "shoal_cache_doctor", "cache or call");
    place(&d, cache->cache);
    for (const struct shoal_backend *const *b = device_backends; *b; b++)
        compiler(&d, *b, cache->cache, log);
    measured(&d, cache->cache);
    return SHOAL_OK;
}
