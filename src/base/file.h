// SPDX-License-Identifier: MIT
// Files: read whole, write under another name and put in place, disk space.
//
// Every failure is told in the report with the name of the file and the reason of the system, and
// has the code SHOAL_IO. Interrupted and short reads and writes are taken up again. A closed pipe
// is an error like any other; the caller decides what SIGPIPE does.
#ifndef SHOAL_BASE_FILE_H
#define SHOAL_BASE_FILE_H

#include "base/report.h"

// All of a file (a pipe too), malloc'ed, with a NUL after its last byte that *length does not
// count. More than `most` bytes are an error.
shoal_code file_read(const char *path, uint64_t most, char **text, size_t *length,
                     struct report *r);

// The same, but "-" is standard input; file_input_name is what messages call it.
shoal_code file_read_input(const char *path, uint64_t most, char **text, size_t *length,
                           struct report *r);
bool file_is_input(const char *path);
const char *file_input_name(const char *path);

// The descriptor of a regular file to read from, and its size.
shoal_code file_open(const char *path, int *fd, uint64_t *size, struct report *r);
// Exactly `length` bytes from `offset`; `name` is for the message. A file that ends before is an
// error.
shoal_code file_read_at(int fd, const char *name, uint64_t offset, void *bytes, size_t length,
                        struct report *r);

shoal_code file_write(int fd, const char *name, const void *bytes, size_t length, struct report *r);
shoal_code file_write_at(int fd, const char *name, uint64_t offset, const void *bytes,
                         size_t length, struct report *r);

// A file that is being made: FILE.part, locked while it is open, so that two runs never write the
// same one and what a killed run left behind is taken over. Start with {.fd = -1}.
struct file_part {
    char *path; // where it will be; a symbolic link was followed
    char *part; // what it is called while it is made
    int fd;     // readable too; -1 when it is not open
    bool whole; // it is called `path` still; see file_part_find
};

// Also finds out what would fail at the end: no such directory, no right to write, not a plain
// file.
shoal_code file_part_open(struct file_part *f, const char *path, struct report *r);
// Whether that would succeed; nothing is created or changed.
shoal_code file_part_check(const char *path, struct report *r);
// What an earlier run left, as it is: FILE.part, or where there is none FILE itself, which keeps
// its name until file_part_adopt. It is locked. *found false: there is neither, and nothing is
// open.
shoal_code file_part_find(struct file_part *f, const char *path, bool *found, struct report *r);
// FILE becomes FILE.part, unless it is that already.
shoal_code file_part_adopt(struct file_part *f, struct report *r);
// Onto the disk: what fails here fails before anything is replaced.
shoal_code file_part_sync(struct file_part *f, struct report *r);
// Onto the disk and in place, replacing an older file of that name.
shoal_code file_part_commit(struct file_part *f, struct report *r);
// Removes what was not committed and frees. Can be called at any time, any number of times.
void file_part_discard(struct file_part *f);
// The same, but leaves it for another run to find.
void file_part_leave(struct file_part *f);

// Whether somebody makes a file of that name.
bool file_is_locked(const char *part);

// A file that belongs to one that is being made: FILE.part.NAME. It is emptied, unless `keep` says
// that it must be there.
shoal_code file_beside(const struct file_part *f, const char *name, bool keep, int *fd,
                       struct report *r);
void file_beside_remove(const char *part, const char *name);
// Fills `length` bytes of a file with an item of `size` bytes, a power of two.
shoal_code file_fill(int fd, const char *name, uint64_t offset, uint64_t length, const void *item,
                     size_t size, struct report *r);

// A file without a name in the directory of `path`, for data that find their place later.
shoal_code file_scratch(const char *path, int *fd, struct report *r);
// A file without a name in memory, with that content; `name` is for the message.
shoal_code file_in_memory(const char *name, const void *bytes, size_t length, int *fd,
                          struct report *r);

// Bytes that can still be written in the directory of `path`; UINT64_MAX when nobody knows.
uint64_t file_free_bytes(const char *path);
// An error with both numbers when `bytes` do not fit.
shoal_code file_check_space(const char *path, uint64_t bytes, struct report *r);

#endif
