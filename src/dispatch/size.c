// SPDX-License-Identifier: MIT
// How many rows a chunk has: what memory allows, what keeps a device busy, what can be numbered.
#include "dispatch/dispatch.h"

enum { CHUNK_ROWS = 1 << 20, CHUNK_BYTES = 256 << 20, CHUNKS_WANTED = 8 };
enum { COPY_BYTES = 4 << 20 }; // of a device, that take some times what a chunk costs

// Rows of the smallest chunk that is worth it. One whose copies take a while needs no more than
// keep a device busy, since the kernel of the next one takes the place of its last rows.
static uint64_t least_rows(const struct dispatch_size *s) {
    uint64_t full = s->limits->rows_wanted, busy = s->resident + (uint64_t)s->resident / 2,
             copied = COPY_BYTES / s->row_bytes, least = busy > copied ? busy : copied;
    return s->resident && least < full ? least : full;
}

// Rows that keep every slot busy. Fewer rows never make larger chunks: a solver has blocks of its
// largest batch.
static uint64_t wanted(const struct dispatch_size *s) {
    uint64_t rows = s->rows / CHUNKS_WANTED, least = least_rows(s);
    return rows < least ? least : rows;
}

static uint64_t by_device(const struct dispatch_size *s) {
    uint64_t memory = s->memory ? s->memory : s->limits->memory / 4 * 3;
    uint64_t rows = memory / s->limits->slots / s->row_bytes;
    return rows < wanted(s) ? rows : wanted(s);
}

static uint64_t by_host(const struct dispatch_size *s) {
    uint64_t places = s->limits->slots + s->extra;
    uint64_t rows = (s->memory ? s->memory / places : CHUNK_BYTES) / s->row_host;
    uint64_t most = wanted(s) < CHUNK_ROWS ? wanted(s) : CHUNK_ROWS;
    return rows < most ? rows : most;
}

uint32_t dispatch_rows(const struct dispatch_size *s) {
    uint64_t rows = s->chunk ? s->chunk : s->limits->memory ? by_device(s) : by_host(s);
    rows = rows > s->most ? s->most : rows;
    rows = rows > s->rows ? s->rows : rows;
    return rows ? (uint32_t)rows : 1;
}

bool dispatch_tapers(const struct dispatch_size *s) {
    return s->limits->memory && !s->chunk && dispatch_rows(s) == s->rows / CHUNKS_WANTED;
}

uint32_t dispatch_next_rows(uint64_t left, uint32_t rows, uint64_t started, bool tapers) {
    uint64_t next = rows, least = rows / 4 + 1;
    if (tapers && started < 2)
        next = started ? rows / 2 + 1 : least;
    else if (tapers && left < 2 * next)
        next = left / 2 > least ? left / 2 : least;
    return (uint32_t)(left < next ? left : next);
}

static uint64_t count_chunks(const struct dispatch_size *s, uint32_t rows) {
    uint64_t chunks = 0;
    bool tapers = dispatch_tapers(s);
    if (!tapers)
        return (s->rows + rows - 1) / rows;
    for (uint64_t left = s->rows; left; chunks++)
        left -= dispatch_next_rows(left, rows, chunks, tapers);
    return chunks;
}

shoal_plan dispatch_plan(const struct dispatch_size *s, uint32_t threads) {
    uint64_t rows = dispatch_rows(s), chunks = count_chunks(s, (uint32_t)rows);
    uint64_t slots = chunks < s->limits->slots ? chunks : s->limits->slots;
    return (shoal_plan){.runs = s->rows,
                        .chunk_runs = rows,
                        .chunks = chunks,
                        .host_bytes = (slots + s->extra) * rows * s->row_host,
                        .device_bytes = s->limits->memory ? slots * rows * s->row_bytes : 0,
                        .threads = threads};
}
