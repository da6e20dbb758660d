// SPDX-License-Identifier: MIT
// shoal-hdf5 table|signal|ends|samples|list|meta FILE, shoal-hdf5 array FILE NAME: reads an HDF5
// file and writes the messages of src/io/hdf5_read.h to standard output.
//
// The library starts it, so that a damaged file can crash or block only this program. It takes away
// from itself what it does not need: memory and time without bound, files to write, descriptors.
#include "io/hdf5_read.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    CPU_S = 20,                  // for any file,
    BYTES_OF_A_SECOND = 1 << 20, // and this for a long one
    BUFFER = 1 << 16,
};
static const rlim_t memory_most = (rlim_t)4 << 30;

static void limit(int resource, rlim_t most) { setrlimit(resource, &(struct rlimit){most, most}); }

static void limit_all(const char *path) {
    struct stat s;
    uint64_t size = stat(path, &s) == 0 ? (uint64_t)s.st_size : 0;
    limit(RLIMIT_CPU, CPU_S + (rlim_t)(size / BYTES_OF_A_SECOND));
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__ // which reserves terabytes
    limit(RLIMIT_AS, memory_most);
#else
    (void)memory_most;
#endif
#ifdef SYS_close_range
    syscall(SYS_close_range, 3u, ~0u, 0u);
#endif
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// Small messages are written together.
struct pipe_end {
    char bytes[BUFFER];
    size_t length;
};

static shoal_code put(const char *bytes, size_t length) {
    while (length) {
        ssize_t n = write(STDOUT_FILENO, bytes, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return SHOAL_IO;
        bytes += n;
        length -= (size_t)n;
    }
    return SHOAL_OK;
}

static shoal_code flush(struct pipe_end *p) {
    shoal_code code = put(p->bytes, p->length);
    p->length = 0;
    return code;
}

static shoal_code put_message(void *user, uint32_t kind, const void *bytes, size_t length) {
    struct pipe_end *p = user;
    struct hdf5_head head = {kind, (uint32_t)length};
    shoal_code code = SHOAL_OK;
    if (sizeof head + length > BUFFER - p->length)
        code = flush(p);
    memcpy(p->bytes + p->length, &head, sizeof head);
    p->length += sizeof head;
    if (length > BUFFER - p->length) {
        code = code ? code : flush(p);
        return code ? code : put(bytes, length);
    }
    if (length)
        memcpy(p->bytes + p->length, bytes, length);
    p->length += length;
    return code;
}

static void put_errors(struct pipe_end *p, const struct report *r, shoal_code code) {
    static const char prefix[] = "error: "; // which the report over there puts in front again
    for (uint32_t i = 0; i < r->messages.count; i++) {
        const shoal_message *m = &r->messages.items[i];
        const char *text =
            m->text + (strncmp(m->text, prefix, strlen(prefix)) ? 0 : strlen(prefix));
        char message[4096];
        uint32_t number = m->code ? m->code : code;
        memcpy(message, &number, sizeof number);
        size_t room = sizeof message - sizeof number, length = strnlen(text, room);
        memcpy(message + sizeof number, text, length);
        put_message(p, HDF5_ERROR, message, sizeof number + length);
    }
}

static int find_way(const char *word) {
    int way = 0;
    while (way < HDF5_READS && strcmp(word, hdf5_way_words[way]))
        way++;
    return way;
}

int main(int argc, char **argv) {
    static struct pipe_end end;
    struct report r = {0};
    int way = argc >= 3 ? find_way(argv[1]) : HDF5_READS;
    if (way == HDF5_READS || argc != 3 + (way == HDF5_READ_array)) {
        static const char usage[] = "usage: shoal-hdf5 table|ends|samples|list|meta FILE\n"
                                    "       shoal-hdf5 array FILE NAME\n"
                                    "Shoal starts this program to read HDF5 files.\n";
        return write(STDERR_FILENO, usage, sizeof usage - 1) < 0 ? 1 : 2;
    }
    limit_all(argv[2]);
    struct hdf5_outlet out = {
        .take = put_message, .user = &end, .variable = true, .array = argv[3]};
    shoal_code code = hdf5_read((enum hdf5_way)way, argv[2], &out, &r);
    if (code == SHOAL_MEMORY && !r.messages.count)
        report_error(&r, SHOAL_MEMORY, "%s: not enough memory", argv[2]);
    put_errors(&end, &r, code);
    put_message(&end, HDF5_DONE, NULL, 0);
    // The library might still crash over what it could not close; all is said.
    _exit(flush(&end) == SHOAL_OK ? 0 : 1);
}
