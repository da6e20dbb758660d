// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as a journal, as they are and as lines with good checksums.
//
// The same bytes are behind such lines as the states of a snapshot.
//
// Besides not crashing: a range that is accepted has as many rows as its statuses.
#include "base/buf.h"
#include "io/snapshot.h"
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STREAMS = 3 };

static void look_at(const struct journal_reader *d, struct arena *arena) {
    struct journal_stream stream[STREAMS];
    struct journal_range g = {.streams = STREAMS, .stream = stream};
    struct journal_fact fact;
    uint64_t time, rows = 0;
    journal_read_fact(d, "is", arena, &fact);
    journal_read_time(d, "begin", &time);
    journal_read_meta(d);
    if (!journal_read_range(d, STREAMS, &g))
        return;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        rows += g.by_status[i];
    if (rows != g.rows || !g.rows)
        abort();
}

static shoal_code take(void *user, uint64_t rows, struct saved_from *from) {
    uint64_t x;
    (void)user;
    while (rows-- && saved_get_u64(from, &x))
        ;
    return SHOAL_OK;
}

static void read_bytes(const void *data, size_t size) {
    char path[] = "/tmp/fuzz-XXXXXX.journal";
    struct journal_reader d;
    struct arena arena = {0};
    bool found, whole;
    int fd = mkstemps(path, 8);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    close(fd);
    struct journal_fact is = {"rtol", "1e-6"};
    struct journal_order order = {.is = &is, .is_count = 1};
    if (journal_open(&d, path, &found, NULL) == SHOAL_OK && found)
        while (journal_next(&d))
            look_at(&d, &arena);
    journal_reader_close(&d);
    if (journal_open(&d, path, &found, NULL) == SHOAL_OK && found)
        journal_check(&d, &order, &whole, NULL);
    journal_reader_close(&d);
    struct sink_there there;
    if (journal_open(&d, path, &found, NULL) == SHOAL_OK && found)
        snapshot_read(&d, take, NULL, &there, NULL);
    journal_reader_close(&d);
    arena_free(&arena);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf lines = {0};
    uint32_t crc = 0;
    read_bytes(data, size);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t n = end ? (size_t)(end - data) - at : size - at, from = lines.length;
        buf_put(&lines, data + at, n);
        buf_putc(&lines, ' ');
        crc = zip_crc(crc, lines.data + from, lines.length - from);
        buf_printf(&lines, "#%08x\n", crc);
        at += n + 1;
    }
    if (lines.length && !lines.failed)
        read_bytes(lines.data, lines.length);
    buf_putc(&lines, '\n');
    size_t states = lines.length;
    buf_put(&lines, &crc, sizeof crc);
    buf_put(&lines, data, size);
    crc = lines.failed ? 0 : zip_crc(0, lines.data + states, lines.length - states);
    buf_put(&lines, &crc, sizeof crc);
    if (!lines.failed)
        read_bytes(lines.data, lines.length);
    buf_free(&lines);
    return 0;
}
