// SPDX-License-Identifier: MIT
// Rows that whoever ran them writes to their place in a file that another process gathers.
//
// Numbers of variables and summaries, the bulk of a result, go into FILE.part where they belong;
// what is sent has their checksums instead (packed.h). Status, counts and the journal stay with who
// gathers, so that a row is done only when that one says so.
#include "api/gather.h"

#include "base/file.h"
#include "io/formats.h"
#include "io/journal.h"
#include "io/zip.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

struct shoal_direct {
    char *path;
    int fd;
    unsigned char job[PACKED_JOB];
    struct result_list list;
    struct arena arena;
    struct result_view *view;   // [arrays]
    uint64_t *start;            // [arrays] of the data in the file
    struct result_there *there; // [arrays]
    struct buf message;
};

// ---- The same file ------------------------------------------------------------------------------

// File systems on which what one machine wrote may be late or lost on another.
static bool is_coherent(int fd) {
    static const uint32_t not [] = {
        0x6969,     // NFS
        0x517b,     // SMB
        0xfe534d42, // SMB 2
        0xff534d42, // CIFS
        0x65735546, // FUSE
        0x01021997, // 9P
        0x5346414f, // AFS
        0x73757245, // Coda
    };
    struct statfs s;
    bool good = fstatfs(fd, &s) == 0;
    for (size_t i = 0; i < sizeof not / sizeof *not &&good; i++)
        good = (uint32_t)s.f_type != not [i];
    return good;
}

// Who gathers has left the mark where the file begins.
static bool has_mark(int fd, uint64_t mark) {
    uint64_t found = 0;
    return file_read_at(fd, "", 0, &found, sizeof found, NULL) == SHOAL_OK && found == mark;
}

bool shoal_direct_open(shoal_direct *p, uint64_t mark) {
    if (!p || !mark || p->fd >= 0)
        return false;
    p->fd = open(p->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (p->fd >= 0 && is_coherent(p->fd) && has_mark(p->fd, mark))
        return true;
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    return false;
}

// ---- Making one ---------------------------------------------------------------------------------

static shoal_code find_places(shoal_direct *p, const shoal_solver *s, const shoal_batch *batch,
                              const char *path, struct report *r) {
    shoal_code code = packed_job(s, batch, p->job, r);
    if (code == SHOAL_OK)
        code = run_list(s->plan, batch->batch, "{}", &p->arena, &p->list, r);
    if (code != SHOAL_OK)
        return code;
    size_t arrays = (size_t)p->list.count + 1;
    if (asprintf(&p->path, "%s.part", path) < 0)
        p->path = NULL;
    struct journal_stream *none = calloc(arrays, sizeof *none);
    p->view = calloc(arrays, sizeof *p->view);
    p->start = calloc(arrays, sizeof *p->start);
    p->there = calloc(arrays, sizeof *p->there);
    code = p->path && none && p->view && p->start && p->there
               ? npz_places(path, &p->list, none, p->start, r)
               : report_error(r, SHOAL_MEMORY, "out of memory");
    free(none);
    return code;
}

void shoal_direct_free(shoal_direct *p) {
    if (!p)
        return;
    if (p->fd >= 0) {
        fdatasync(p->fd); // who gathers can do that for what it wrote
        close(p->fd);
    }
    free(p->path);
    free(p->view);
    free(p->start);
    free(p->there);
    buf_free(&p->message);
    arena_free(&p->arena);
    free(p);
}

shoal_code shoal_direct_new(shoal_solver *solver, const shoal_batch *batch, const char *path,
                            shoal_direct **out, shoal_log *log) {
    shoal_solver *worker;
    if (!path || !out)
        return api_usage(log, "shoal_direct_new", "path or place for it");
    *out = NULL;
    shoal_code code = ranges_check(solver, batch, "shoal_direct_new", &worker, log);
    if (code != SHOAL_OK)
        return code;
    shoal_direct *p = calloc(1, sizeof *p);
    if (!p)
        return report_error(log_report(log), SHOAL_MEMORY, "out of memory");
    p->fd = -1;
    code = find_places(p, worker, batch, path, log_report(log));
    if (code == SHOAL_OK)
        *out = p;
    else
        shoal_direct_free(p);
    return code;
}

// ---- Rows ---------------------------------------------------------------------------------------

static shoal_code write_array(shoal_direct *p, uint32_t i, const struct packed_head *h,
                              struct report *r) {
    const struct result_array *a = &p->list.array[i];
    uint64_t row = result_width(&p->list, a) * result_type_bytes(a->type);
    p->there[i].crc = zip_crc(0, p->view[i].data, (size_t)(h->rows * row));
    return file_write_at(p->fd, p->path, p->start[i] + h->first * row, p->view[i].data,
                         (size_t)(h->rows * row), r);
}

shoal_code shoal_direct_put(shoal_direct *p, const void *bytes, size_t length, const void **out,
                            size_t *out_length, shoal_log *log) {
    struct packed_head h;
    struct report *r = log_report(log);
    if (!p || p->fd < 0 || !bytes || !out || !out_length)
        return api_usage(log, "shoal_direct_put", "place that is open, or bytes");
    shoal_code code = packed_open(bytes, length, &p->list, p->job, &h, p->view, NULL, r);
    for (uint32_t i = 0; i < p->list.count && code == SHOAL_OK; i++)
        if (packed_may_be_there(&p->list.array[i]))
            code = write_array(p, i, &h, r);
    if (code == SHOAL_OK && !packed_without(&h, &p->list, p->view, p->there, &p->message))
        code = report_error(r, SHOAL_MEMORY, "out of memory");
    *out = p->message.data;
    *out_length = p->message.length;
    return code;
}
