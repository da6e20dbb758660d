// SPDX-License-Identifier: MIT
// Makes entries of a number, reads and ages their files, and runs functions in children.
#include "cache_shelf.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char last_reason[CACHE_REASON];

struct shelf_entry shelf_entry(unsigned n, size_t payload) {
    struct shelf_entry e = {0};
    char text[32];
    snprintf(text, sizeof text, "source %u", n);
    key_add_text(&e.record, "schema", "test");
    key_add_text(&e.record, "kind", "so");
    key_add_text(&e.record, "source", text);
    key_add_text(&e.meta, "model", text);
    key_add_text(&e.meta, "n", "3"); // no multiple of 16: there is padding
    e.payload = malloc(payload ? payload : 1);
    for (size_t i = 0; i < payload; i++)
        e.payload[i] = (unsigned char)((n * 2654435761u + i * 40503u) >> 7);
    e.item = (struct cache_item){.abi = SHELF_ABI,
                                 .wall_ms = 100 + n,
                                 .cpu_ms = 90,
                                 .record = (const unsigned char *)e.record.bytes.data,
                                 .record_length = e.record.bytes.length,
                                 .meta = (const unsigned char *)e.meta.bytes.data,
                                 .meta_length = e.meta.bytes.length,
                                 .payload = e.payload,
                                 .payload_length = payload};
    key_digest(&e.record, e.item.key);
    check_keep(e.record.bytes.data);
    check_keep(e.meta.bytes.data);
    check_keep(e.payload);
    return e;
}

void shelf_free(struct shelf_entry *e) {
    key_free(&e->record);
    key_free(&e->meta);
    free(e->payload);
}

bool shelf_put_size(struct cache *c, unsigned n, size_t payload) {
    struct shelf_entry e = shelf_entry(n, payload);
    bool stored = cache_put(c, &e.item, false, last_reason);
    shelf_free(&e);
    return stored;
}

bool shelf_put(struct cache *c, unsigned n) { return shelf_put_size(c, n, SHELF_PAYLOAD); }

bool shelf_get(struct cache *c, unsigned n) {
    struct shelf_entry e = shelf_entry(n, 0);
    struct cache_item got;
    bool hit = cache_get(c, &e.record, SHELF_ABI, &got, last_reason);
    shelf_free(&e);
    if (!hit)
        return false;
    e = shelf_entry(n, got.payload_length);
    CHECK_INT(got.wall_ms, 100 + n);
    CHECK(!memcmp(got.key, e.item.key, KEY_BYTES));
    CHECK(got.meta_length == e.item.meta_length);
    CHECK(!memcmp(got.meta, e.item.meta, got.meta_length));
    CHECK_MSG(!memcmp(got.payload, e.payload, got.payload_length), "payload of %u", n);
    CHECK((uintptr_t)got.payload % 16 == 0);
    shelf_free(&e);
    cache_item_free(&got);
    return true;
}

const char *shelf_reason(void) { return last_reason; }

const char *shelf_file(struct cache *c, unsigned n) {
    struct shelf_entry e = shelf_entry(n, 0);
    char name[STORE_NAME], *path = NULL;
    store_entry_name(e.item.key, name);
    if (asprintf(&path, "%s/%s", cache_place(c), name) < 0)
        abort();
    shelf_free(&e);
    return check_keep(path);
}

struct cache *shelf_open(void) {
    struct cache *c = cache_open(NULL);
    REQUIRE(c != NULL);
    return c;
}

size_t shelf_count(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/cache/v1/%s", check_dir(), name);
    DIR *dir = opendir(path);
    size_t count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return count;
}

unsigned char *shelf_load(const char *path, size_t *length) {
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &s) == 0);
    unsigned char *bytes = malloc((size_t)s.st_size + 1);
    REQUIRE(read(fd, bytes, (size_t)s.st_size) == s.st_size);
    close(fd);
    *length = (size_t)s.st_size;
    return check_keep(bytes);
}

void shelf_save(const char *path, const void *bytes, size_t length) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, bytes, length) == (ssize_t)length && close(fd) == 0);
}

void shelf_age(const char *path, int64_t seconds) {
    struct timespec t[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    REQUIRE(utimensat(AT_FDCWD, path, t, AT_SYMLINK_NOFOLLOW) == 0);
}

pid_t shelf_start(int (*run)(void *user), void *user) {
    fflush(NULL);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        int status = run(user);
        if (status == 0)
            check_end(); // tells of failed checks
        fflush(NULL);
        _exit(status);
    }
    return pid;
}

int shelf_wait(pid_t pid) {
    int status = 0;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int shelf_child(int (*run)(void *user), void *user) { return shelf_wait(shelf_start(run, user)); }

bool shelf_drop_rights(const char *dir) {
    if (geteuid() != 0)
        return true;
    setenv("XDG_CONFIG_HOME", check_path("config.other"), 1); // the first one is root's
    return chown(dir, 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
           setresuid(65534, 65534, 65534) == 0;
}
