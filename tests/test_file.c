// SPDX-License-Identifier: MIT
// Files: reading with a limit, files in the making, two writers, leftovers, links.
#include "base/file.h"
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *last_message(const struct report *r) {
    check_keep(r->messages.items);
    return r->messages.count ? r->messages.items[r->messages.count - 1].text : "";
}

TEST(file_read_whole) {
    struct report r = {0};
    char *text;
    size_t length;
    check_write(check_path("a"), "hello");
    CHECK_INT(file_read(check_path("a"), 5, &text, &length, &r), SHOAL_OK);
    CHECK_INT(length, 5);
    CHECK_STR(text, "hello");
    free(text);
    CHECK_INT(file_read(check_path("a"), 4, &text, &length, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "longer than the 4 bytes");
    check_write(check_path("empty"), "");
    CHECK_INT(file_read(check_path("empty"), 0, &text, &length, &r), SHOAL_OK);
    CHECK_INT(length, 0);
    free(text);
    CHECK_INT(file_read(check_path("none"), 10, &text, &length, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "none: cannot open: No such file or directory");
    CHECK_INT(file_read(check_dir(), 10, &text, &length, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "is a directory");
    report_free(&r);
}

TEST(file_read_without_size) { // files of /proc say 0, a pipe says nothing
    char *text;
    size_t length;
    CHECK_INT(file_read("/proc/self/status", 1 << 20, &text, &length, NULL), SHOAL_OK);
    CHECK(length > 100);
    free(text);
    CHECK_INT(mkfifo(check_path("pipe"), 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(check_path("pipe"), O_WRONLY);
        for (int i = 0; i < 3000; i++)
            if (write(fd, "0123456789", 10) != 10)
                _exit(1);
        _exit(0);
    }
    CHECK_INT(file_read(check_path("pipe"), 1 << 20, &text, &length, NULL), SHOAL_OK);
    CHECK_INT(length, 30000);
    free(text);
    waitpid(child, NULL, 0);
}

TEST(file_read_at_checks_the_end) {
    struct report r = {0};
    int fd;
    uint64_t size;
    char bytes[8] = {0};
    check_write(check_path("a"), "hello");
    CHECK_INT(file_open(check_path("a"), &fd, &size, &r), SHOAL_OK);
    CHECK_INT(size, 5);
    CHECK_INT(file_read_at(fd, "a", 1, bytes, 4, &r), SHOAL_OK);
    CHECK_STR(bytes, "ello");
    CHECK_INT(file_read_at(fd, "a", 1, bytes, 5, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "a: ends too early, at byte 5");
    CHECK_INT(file_read_at(fd, "a", UINT64_MAX, bytes, 5, &r), SHOAL_IO);
    close(fd);
    CHECK_INT(file_open(check_dir(), &fd, &size, &r), SHOAL_IO);
}

TEST(file_part_commit_and_discard) {
    struct file_part f;
    const char *path = check_path("out"), *part = check_path("out.part");
    check_write(path, "old");
    CHECK_INT(file_part_open(&f, path, NULL), SHOAL_OK);
    CHECK_INT(file_write(f.fd, "out", "new", 3, NULL), SHOAL_OK);
    CHECK_STR(check_read(path), "old");
    CHECK_STR(check_read(part), "new");
    CHECK_INT(file_part_commit(&f, NULL), SHOAL_OK);
    CHECK_STR(check_read(path), "new");
    CHECK(access(part, F_OK) < 0);
    file_part_discard(&f); // does nothing now
    CHECK_STR(check_read(path), "new");
    CHECK_INT(file_part_open(&f, path, NULL), SHOAL_OK);
    file_part_discard(&f);
    file_part_discard(&f);
    CHECK_STR(check_read(path), "new");
    CHECK(access(part, F_OK) < 0);
}

TEST(file_part_one_writer_at_a_time) {
    struct file_part a, b;
    struct report r = {0};
    const char *path = check_path("out");
    CHECK_INT(file_part_open(&a, path, &r), SHOAL_OK);
    CHECK_INT(file_part_open(&b, path, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "out.part: another run is writing it");
    CHECK(access(check_path("out.part"), F_OK) == 0); // the other one's stays
    file_part_discard(&b);
    CHECK(access(check_path("out.part"), F_OK) == 0);
    CHECK_INT(file_part_commit(&a, &r), SHOAL_OK);
    CHECK_INT(file_part_open(&b, path, &r), SHOAL_OK);
    file_part_discard(&b);
}

TEST(file_part_leftover_is_taken_over) {
    struct file_part f;
    check_write(check_path("out.part"), "left by a run that was killed");
    CHECK_INT(file_part_open(&f, check_path("out"), NULL), SHOAL_OK);
    CHECK_STR(check_read(check_path("out.part")), "");
    file_part_discard(&f);
}

TEST(file_part_follows_no_traps) {
    struct file_part f;
    struct report r = {0};
    check_write(check_path("precious"), "precious");
    CHECK_INT(symlink(check_path("precious"), check_path("a.part")), 0);
    CHECK_INT(file_part_open(&f, check_path("a"), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "in the way and not ours");
    CHECK_INT(link(check_path("precious"), check_path("b.part")), 0);
    CHECK_INT(file_part_open(&f, check_path("b"), &r), SHOAL_IO);
    CHECK_INT(mkfifo(check_path("c.part"), 0600), 0);
    CHECK_INT(file_part_open(&f, check_path("c"), &r), SHOAL_IO);
    CHECK_STR(check_read(check_path("precious")), "precious");
    CHECK(access(check_path("b.part"), F_OK) == 0);
}

TEST(file_part_keeps_links) {
    struct file_part f;
    struct report r = {0};
    mkdir(check_path("disk"), 0700);
    check_write(check_path("disk/real"), "old");
    CHECK_INT(symlink("disk/real", check_path("out")), 0);
    CHECK_INT(file_part_open(&f, check_path("out"), &r), SHOAL_OK);
    CHECK_INT(file_write(f.fd, "out", "new", 3, &r), SHOAL_OK);
    CHECK_INT(file_part_commit(&f, &r), SHOAL_OK);
    CHECK_STR(check_read(check_path("disk/real")), "new");
    struct stat s;
    CHECK(lstat(check_path("out"), &s) == 0 && S_ISLNK(s.st_mode));
    CHECK_INT(symlink("nowhere", check_path("dangling")), 0);
    CHECK_INT(file_part_open(&f, check_path("dangling"), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "cannot follow the link");
}

TEST(file_part_bad_places) {
    struct file_part f;
    struct report r = {0};
    CHECK_INT(file_part_open(&f, "", &r), SHOAL_IO);
    CHECK_INT(file_part_open(&f, check_path("no/such"), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "there is no directory");
    CHECK_INT(file_part_open(&f, check_dir(), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "is a directory");
    check_write(check_path("file"), "");
    CHECK_INT(file_part_open(&f, check_path("file/below"), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "is not a directory");
    CHECK_INT(file_part_open(&f, check_path("new/"), &r), SHOAL_IO);
    CHECK_INT(mkfifo(check_path("pipe"), 0600), 0);
    CHECK_INT(file_part_open(&f, check_path("pipe"), &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "is not a plain file");
}

TEST(file_scratch_has_no_name) {
    int fd;
    CHECK_INT(file_scratch(check_path("out"), &fd, NULL), SHOAL_OK);
    CHECK_INT(file_write_at(fd, "scratch", 1000, "x", 1, NULL), SHOAL_OK);
    char back = 0;
    CHECK_INT(file_read_at(fd, "scratch", 1000, &back, 1, NULL), SHOAL_OK);
    CHECK(back == 'x');
    CHECK_INT(rmdir(check_dir()), 0); // empty
    close(fd);
}

TEST(file_space) {
    struct report r = {0};
    CHECK(file_free_bytes(check_path("out")) > 0);
    CHECK_INT(file_check_space(check_path("out"), 1, &r), SHOAL_OK);
    CHECK_INT(file_check_space(check_path("out"), UINT64_MAX - 1, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "18446744073709551614 bytes");
    CHECK_HAS(last_message(&r), "are free there");
    CHECK(file_free_bytes(check_path("no/such")) == UINT64_MAX);
}

TEST(file_write_to_a_full_device) {
    struct report r = {0};
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0)
        check_skip("no /dev/full");
    CHECK_INT(file_write(fd, "out.csv.part", "x", 1, &r), SHOAL_IO);
    CHECK_HAS(last_message(&r), "out.csv.part: cannot write: No space left on device");
    close(fd);
}

// A pipe that nobody writes to is refused at once.
TEST(file_open_of_a_pipe) {
    const char *path = check_path("pipe");
    uint64_t size;
    int fd;
    REQUIRE(mkfifo(path, 0600) == 0);
    CHECK_INT(file_open(path, &fd, &size, NULL), SHOAL_IO);
}
