// SPDX-License-Identifier: MIT
// Writes journals; see journal.h.
#include "io/journal.h"

#include "base/clock.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "io/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SYNC_SECONDS = 5 };

uint64_t journal_now_ms(void) { return (uint64_t)clock_unix_ns() / 1000000; }

static shoal_code no_memory(const struct journal *j, struct report *r) {
    return report_error(r, SHOAL_MEMORY, "%s: not enough memory", j->path ? j->path : "journal");
}

static shoal_code failed(const struct journal *j, const char *what, int error, struct report *r) {
    return report_error(r, SHOAL_IO, "%s: cannot %s: %s", j->path, what, strerror(error));
}

// ---- Lines --------------------------------------------------------------------------------------

// Gives the line its checksum and its end.
void journal_close_line(struct journal *j, size_t from) {
    buf_putc(&j->line, ' ');
    if (!j->line.failed)
        j->crc = zip_crc(j->crc, j->line.data + from, j->line.length - from);
    buf_printf(&j->line, "#%08" PRIx32 "\n", j->crc);
}

// Writes the lines that wait.
shoal_code journal_put_lines(struct journal *j, struct report *r) {
    if (j->line.failed)
        return no_memory(j, r);
    shoal_code code = file_write_at(j->fd, j->path, j->end, j->line.data, j->line.length, r);
    j->end += j->line.length;
    j->line.length = 0;
    return code;
}

static void put_facts(struct journal *j, const char *word, const struct journal_fact *fact,
                      uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        size_t from = j->line.length;
        buf_printf(&j->line, "%s %s ", word, fact[i].name);
        buf_json(&j->line, fact[i].value);
        journal_close_line(j, from);
    }
}

void journal_put_time(struct journal *j, const char *word, uint64_t ms) {
    size_t from = j->line.length;
    buf_printf(&j->line, "%s %" PRIu64, word, ms);
    journal_close_line(j, from);
}

void journal_put_head(struct journal *j) {
    buf_puts(&j->line, "shoal-journal 1");
    journal_close_line(j, 0);
    put_facts(j, "is", j->order->is, j->order->is_count);
    put_facts(j, "how", j->order->how, j->order->how_count);
    size_t from = j->line.length;
    buf_printf(&j->line, "meta %s", j->list->of.meta ? j->list->of.meta : "{}");
    journal_close_line(j, from);
}

void journal_digest(const struct journal_order *order, unsigned char out[JOURNAL_DIGEST]) {
    struct sha256 h;
    sha256_init(&h);
    for (uint32_t i = 0; i < order->is_count; i++) {
        const struct journal_fact *f = &order->is[i];
        if (order->mixed_bits && !strcmp(f->name, JOURNAL_KEY))
            continue;
        sha256_add(&h, f->name, strlen(f->name) + 1);
        sha256_add(&h, f->value, strlen(f->value) + 1);
    }
    sha256_end(&h, out);
}

// ---- Begin --------------------------------------------------------------------------------------

// A journal is never followed to where a link points, nor written over what is not ours.
shoal_code journal_open_file(struct journal *j, bool keep, struct report *r) {
    struct stat s;
    j->fd =
        open(j->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (keep ? 0 : O_CREAT), 0666);
    if (j->fd < 0 || fstat(j->fd, &s) < 0)
        return failed(j, "open", errno, r);
    if (!S_ISREG(s.st_mode) || s.st_nlink > 1 || s.st_uid != geteuid())
        return report_error(r, SHOAL_IO, "%s: is in the way and not ours; remove it", j->path);
    return SHOAL_OK;
}

static shoal_code prepare(struct journal *j, const struct journal_order *order,
                          const struct result_list *list, uint32_t streams, const char *part,
                          struct report *r) {
    unsigned char job[JOURNAL_DIGEST];
    *j = (struct journal){
        .fd = -1, .order = order, .list = list, .streams = streams, .ahead.fd = -1};
    pthread_mutex_init(&j->lock, NULL);
    thread_condition(&j->condition);
    j->stream = calloc((size_t)streams + 1, sizeof *j->stream);
    if (asprintf(&j->path, "%s.journal", part) < 0)
        j->path = NULL;
    if (!j->stream || !j->path)
        return no_memory(j, r);
    if (!order)
        return SHOAL_OK;
    journal_digest(order, job);
    return ahead_init(&j->ahead, part, job, r);
}

shoal_code journal_begin(struct journal *j, const struct journal_order *order,
                         const struct result_list *list, uint32_t streams, const char *part,
                         struct report *r) {
    shoal_code code = prepare(j, order, list, streams, part, r);
    if (code == SHOAL_OK && order)
        code = journal_open_file(j, false, r);
    struct stat older;
    if (code != SHOAL_OK || !order)
        return code;
    if (!order->resume && fstat(j->fd, &older) == 0 && older.st_size > 0)
        report_warning(r, "%s: a run that was not finished is replaced; --resume goes on with one",
                       j->path);
    if (ftruncate(j->fd, 0) < 0)
        return failed(j, "write", errno, r);
    ahead_remove(&j->ahead);
    journal_put_head(j);
    journal_put_time(j, "begin", journal_now_ms());
    return journal_put_lines(j, r);
}

shoal_code journal_continue(struct journal *j, const struct journal_order *order,
                            const struct result_list *list, uint32_t streams, const char *part,
                            const struct journal_found *found, struct report *r) {
    shoal_code code = prepare(j, order, list, streams, part, r);
    if (code == SHOAL_OK)
        code = journal_open_file(j, true, r);
    if (code != SHOAL_OK)
        return code;
    j->end = found->end;
    j->crc = found->crc;
    j->ranges = found->ranges;
    for (uint32_t i = 0; i < streams; i++)
        j->stream[i].width = found->stream[i].width;
    if (ftruncate(j->fd, (off_t)j->end) < 0)
        return failed(j, "write", errno, r);
    journal_put_time(j, "begin", journal_now_ms());
    return journal_put_lines(j, r);
}

// ---- Onto the disk ------------------------------------------------------------------------------

static int sync_all(struct journal *j) {
    int error = 0;
    for (uint32_t i = 0; i < j->files && !error; i++)
        if (fdatasync(j->file[i]) < 0 && errno != EINVAL && errno != ENOSYS && errno != EINTR)
            error = errno;
    if (!error && fdatasync(j->fd) < 0 && errno != EINVAL && errno != ENOSYS && errno != EINTR)
        error = errno;
    return error;
}

// The directory has the names of both once the first round is over.
void journal_sync_directory(const struct journal *j) {
    const char *slash = strrchr(j->path, '/');
    char *directory = slash ? strndup(j->path, (size_t)(slash - j->path) + 1) : strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(directory);
}

static void *sync_now_and_then(void *user) {
    struct journal *j = user;
    bool named = false;
    pthread_mutex_lock(&j->lock);
    while (!j->stop && !j->error) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += SYNC_SECONDS;
        if (pthread_cond_timedwait(&j->condition, &j->lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&j->lock);
        int error = sync_all(j);
        if (!error && !named)
            journal_sync_directory(j);
        named = true;
        pthread_mutex_lock(&j->lock);
        j->error = error;
    }
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

void journal_watch(struct journal *j, const int *files, uint32_t count, struct report *r) {
    if (!j->order)
        return;
    j->files = count < JOURNAL_FILES ? count : JOURNAL_FILES;
    memcpy(j->file, files, j->files * sizeof *files);
    j->runs = thread_start(&j->thread, sync_now_and_then, j) == 0;
    if (!j->runs)
        report_warning(r, "%s: no thread can be started for it: power that fails may cost runs",
                       j->path);
}

static void end_thread(struct journal *j) {
    if (!j->runs)
        return;
    pthread_mutex_lock(&j->lock);
    j->stop = true;
    pthread_cond_signal(&j->condition);
    pthread_mutex_unlock(&j->lock);
    pthread_join(j->thread, NULL);
    j->runs = false;
}

static int disk_error(struct journal *j) {
    pthread_mutex_lock(&j->lock);
    int error = j->error;
    pthread_mutex_unlock(&j->lock);
    return error;
}

// ---- Ranges -------------------------------------------------------------------------------------

void journal_put(struct journal *j, uint32_t stream, const void *bytes, size_t length) {
    struct journal_stream *s = &j->stream[stream];
    s->crc = zip_crc(s->crc, bytes, length);
    s->bytes += length;
}

void journal_there(struct journal *j, uint32_t stream, uint32_t crc, uint64_t length) {
    struct journal_stream *s = &j->stream[stream];
    s->crc = zip_crc_join(s->crc, crc, length);
    s->bytes += length;
}

void journal_width(struct journal *j, uint32_t stream, uint64_t width) {
    if (width > j->stream[stream].width)
        j->stream[stream].width = (uint32_t)width;
}

// The data of an array that is ours, in a chunk; NULL: it is not there.
static const void *data_of(const struct result_list *list, const struct result_chunk *c,
                           enum result_field field) {
    const struct result_array *a = result_list_ours(list, field);
    return a && a < list->array + list->count ? c->view[a - list->array].data : NULL;
}

static uint64_t sum_u32(const uint32_t *v, uint32_t rows) {
    uint64_t sum = 0;
    for (uint32_t i = 0; v && i < rows; i++)
        sum += v[i];
    return sum;
}

void journal_count(const struct result_list *list, const struct result_chunk *c,
                   struct sink_there *to) {
    const uint8_t *status = data_of(list, c, FIELD_status);
    const uint64_t *run = data_of(list, c, FIELD_run), *evals = data_of(list, c, FIELD_f_evals);
    for (uint32_t i = 0; i < c->rows && status; i++)
        if (status[i] < SHOAL_STATUS_COUNT && !to->by_status[status[i]]++)
            to->first[status[i]] = run ? run[i] : 0;
    for (uint32_t i = 0; i < c->rows && evals; i++)
        to->f_evals += evals[i];
    to->steps += sum_u32(data_of(list, c, FIELD_steps), c->rows);
    to->rejected += sum_u32(data_of(list, c, FIELD_rejected), c->rows);
    to->rows += c->rows;
}

void journal_put_rows(struct journal *j, uint64_t first, uint64_t samples, uint64_t ms,
                      const struct sink_there *rows) {
    buf_printf(&j->line,
               "range %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
               " %" PRIu64 " ",
               first, rows->rows, samples, ms, rows->steps, rows->rejected, rows->f_evals);
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        buf_printf(&j->line, rows->by_status[i] ? "%s%" PRIu64 "@%" PRIu64 : "%s%" PRIu64,
                   i ? "," : "", rows->by_status[i], rows->first[i]);
    buf_putc(&j->line, ' ');
}

shoal_code journal_range(struct journal *j, const struct result_chunk *c, uint64_t first,
                         struct report *r) {
    shoal_code code = SHOAL_OK;
    if (j->order) {
        struct sink_there rows = {0};
        journal_count(j->list, c, &rows);
        journal_put_rows(j, first, c->offsets ? c->offsets[c->rows] : 0, journal_now_ms(), &rows);
        for (uint32_t i = 0; i < j->streams; i++)
            buf_printf(&j->line, "%s%" PRIu64 ":%08" PRIx32 ":%" PRIu32, i ? "," : "",
                       j->stream[i].bytes, j->stream[i].crc, j->stream[i].width);
        journal_close_line(j, 0);
        code = journal_put_lines(j, r);
        j->ranges += code == SHOAL_OK;
        int error = disk_error(j);
        if (code == SHOAL_OK && error)
            code = failed(j, "put the result onto the disk", error, r);
    }
    for (uint32_t i = 0; i < j->streams; i++) {
        j->stream[i].bytes = 0;
        j->stream[i].crc = 0;
    }
    return code;
}

// ---- End ----------------------------------------------------------------------------------------

// Until the result has its name the journal has that of a stopped one: whoever finds one of the two
// finds the other. The lock of the .part still keeps others away.
shoal_code journal_seal(struct journal *j, const char *path, bool complete, struct report *r) {
    end_thread(j);
    if (!j->order)
        return SHOAL_OK;
    char *final = NULL;
    journal_put_time(j, complete ? "end" : "stop", journal_now_ms());
    shoal_code code = journal_put_lines(j, r);
    if (code == SHOAL_OK && asprintf(&final, "%s.journal", path) < 0) {
        final = NULL;
        code = no_memory(j, r);
    }
    if (code == SHOAL_OK && fdatasync(j->fd) < 0 && errno != EINVAL && errno != ENOSYS)
        code = failed(j, "write", errno, r);
    if (code == SHOAL_OK && rename(j->path, final) < 0)
        code = failed(j, "rename", errno, r);
    if (code != SHOAL_OK) {
        free(final);
        return code;
    }
    free(j->path);
    j->path = final;
    return SHOAL_OK;
}

void journal_end(struct journal *j, bool complete) {
    if (complete)
        ahead_remove(&j->ahead);
    if (j->order && complete && !j->order->stays)
        unlink(j->path);
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}

bool journal_close(struct journal *j) {
    bool has = j->order && j->fd >= 0 && (j->ranges || j->ahead.size);
    if (!j->path)
        return false;
    end_thread(j);
    if (j->fd >= 0)
        close(j->fd);
    if (j->order && j->fd >= 0 && !has) {
        ahead_remove(&j->ahead);
        unlink(j->path);
    }
    ahead_free(&j->ahead);
    pthread_mutex_destroy(&j->lock);
    pthread_cond_destroy(&j->condition);
    buf_free(&j->line);
    free(j->stream);
    free(j->path);
    *j = (struct journal){.fd = -1};
    return has;
}
