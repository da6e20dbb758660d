// SPDX-License-Identifier: MIT
// What the environment says about the cache. A program with raised privileges has none.
#include "cache/place.h"

#include "base/amount.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static void read_mode(struct place_settings *s) {
    static const char *const words[] = {
        [CACHE_ON] = "on",           [CACHE_OFF] = "off",       [CACHE_RO] = "ro",
        [CACHE_REFRESH] = "refresh", [CACHE_VERIFY] = "verify",
    };
    const char *word = secure_getenv("SHOAL_CACHE");
    if (!word || !*word)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            s->mode = (enum cache_mode)i;
    if (s->mode == CACHE_OFF)
        buf_puts(&s->off, "SHOAL_CACHE=off");
    else if (strcmp(word, words[s->mode]) != 0)
        buf_puts(&s->off, "SHOAL_CACHE is not one of on, off, ro, refresh, verify");
}

// A cap, where the environment has one; 0: no limit.
static void read_cap(struct place_settings *s, const char *name,
                     bool (*read)(const char *text, uint64_t *out), uint64_t *cap) {
    const char *text = secure_getenv(name);
    uint64_t value;
    if (!text || !*text)
        return;
    if (read(text, &value))
        *cap = value ? value : UINT64_MAX;
    else
        buf_printf(&s->notes, "%s is not %s; the default is used\n", name,
                   read == amount_bytes ? "a size such as 500M" : "a number such as 4096");
}

// The home of the password file, not $HOME: a run by sudo must not leave root's files in a user's
// home. No home, or "/", is none.
void place_home(struct buf *b, const char *below) {
    char *room = malloc(16384);
    struct passwd entry, *found = NULL;
    if (room && getpwuid_r(geteuid(), &entry, room, 16384, &found) == 0 && found && found->pw_dir &&
        found->pw_dir[0] == '/' && found->pw_dir[1])
        buf_printf(b, "%s/%s", found->pw_dir, below);
    free(room);
}

static void read_root(struct place_settings *s, const char *dir) {
    struct buf path = {0};
    const char *named = dir && *dir ? dir : secure_getenv("SHOAL_CACHE_DIR");
    const char *xdg = secure_getenv("XDG_CACHE_HOME");
    if (named && *named) {
        char *here = *named == '/' ? strdup("") : getcwd(NULL, 0);
        if (here)
            buf_printf(&path, "%s%s%s", here, *here ? "/" : "", named);
        else
            buf_printf(&s->off, "%s: %s", named, strerror(errno));
        free(here);
    } else if (xdg && *xdg == '/')
        buf_printf(&path, "%s/shoal", xdg);
    else
        place_home(&path, ".cache/shoal");
    s->root = path.data;
    if (!s->root && !s->off.length)
        buf_puts(&s->off, "no home directory; SHOAL_CACHE_DIR can name a place");
}

void place_read(struct place_settings *s, const char *dir) {
    *s = (struct place_settings){
        .mode = CACHE_ON, .cap_bytes = (uint64_t)1 << 30, .cap_entries = 4096};
    if (getauxval(AT_SECURE) || getuid() != geteuid() || getgid() != getegid()) {
        buf_puts(&s->off, "the program runs with the rights of another user");
        return;
    }
    read_mode(s);
    if (s->off.length || s->mode == CACHE_OFF)
        return;
    read_cap(s, "SHOAL_CACHE_MAX", amount_bytes, &s->cap_bytes);
    read_cap(s, "SHOAL_CACHE_ENTRIES", amount_count, &s->cap_entries);
    read_root(s, dir);
    const char *tiers = secure_getenv("SHOAL_CACHE_RO");
    if (tiers && *tiers)
        s->read_only = strdup(tiers);
}

void place_settings_free(struct place_settings *s) {
    free(s->root);
    free(s->read_only);
    buf_free(&s->off);
    buf_free(&s->notes);
}
