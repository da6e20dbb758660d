// SPDX-License-Identifier: MIT
// Job files: options of a run as text, one `name = value` a line.
//
// Blank lines and comments (# at the start of a line or after a blank) are skipped; a value may be
// in double quotes, with \" and \\ inside, to keep blanks and #. A flag may stand alone. A result
// file holds such a text among its metadata, and so does its model. Names and values are checked
// against the option table here, where their places are known; all errors are reported.
//
// A text is the user's own and may say anything. A result may come from anywhere: nothing in it can
// name a place that is written to, or the batch file of another content.
#include "api/model.h"
#include "api/options.h"
#include "base/file.h"
#include "base/json.h"
#include "io/io.h"
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

enum { JOB_BYTES = 16 << 20 };

struct shoal_job {
    struct arena arena;
    struct source source;
    vec(struct setting) items;
    // Of a result file; else NULL.
    const char *result; // its path
    bool journal;       // it is that of one: what it names is compared before it is used
    const char *model_text;
    const char *batch_digest, *from_digest; // NULL too where it was made without such a file
    const char *doses_digest;               // the same
};

// ---- Lines --------------------------------------------------------------------------------------

struct line {
    const char *name, *value;
    size_t name_at, value_at; // offsets in the text
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// The value that starts at text[at]: quoted, or up to a comment. False when a quote stays open or
// something follows it.
static bool read_value(struct arena *arena, const char *text, size_t at, size_t end,
                       const char **value) {
    char *out = arena_alloc(arena, end - at + 1);
    size_t n = 0;
    *value = out;
    if (at < end && text[at] == '"') {
        for (at++; at < end && text[at] != '"'; at++) {
            at += text[at] == '\\' && at + 1 < end;
            out[n++] = text[at];
        }
        bool closed = at++ < end;
        while (at < end && is_blank(text[at]))
            at++;
        return closed && (at == end || text[at] == '#');
    }
    for (; at < end && !(text[at] == '#' && n && is_blank(text[at - 1])); at++)
        out[n++] = text[at];
    while (n && is_blank(out[n - 1]))
        n--;
    out[n] = 0;
    return true;
}

// Splits one line; false with an error. A line without anything has name NULL.
static bool read_line(shoal_job *job, size_t at, size_t end, struct line *line, struct report *r) {
    const char *text = job->source.text;
    *line = (struct line){0};
    while (at < end && is_blank(text[at]))
        at++;
    if (at == end || text[at] == '#')
        return true;
    size_t start = at;
    while (at < end && !is_blank(text[at]) && text[at] != '=')
        at++;
    line->name = arena_strndup(&job->arena, text + start, at - start);
    line->name_at = start;
    while (at < end && is_blank(text[at]))
        at++;
    if (at < end && text[at] != '=' && text[at] != '#') {
        report_at(r, SHOAL_ERROR, &job->source, at, "expected = after '%s'", line->name);
        return false;
    }
    if (at < end && text[at] == '=')
        for (at++; at < end && is_blank(text[at]);)
            at++;
    else
        at = end; // a flag alone, or a comment
    line->value_at = at < end ? at : start;
    if (read_value(&job->arena, text, at, end, &line->value))
        return true;
    report_at(r, SHOAL_ERROR, &job->source, at, "the quoted value does not end with its line");
    return false;
}

static shoal_code check_line(const shoal_job *job, const struct line *line, struct report *r) {
    struct option_origin name = {&job->source, line->name_at, NULL},
                         value = {&job->source, line->value_at, NULL};
    if (!strcmp(line->name, "model")) {
        if (line->value[0])
            return SHOAL_OK;
        report_at(r, SHOAL_ERROR, &job->source, line->name_at, "model: needs the name of a file");
        return SHOAL_INPUT;
    }
    const struct option *o = option_find(line->name);
    shoal_option_value ignored;
    if (!o)
        return option_unknown(line->name, &name, r);
    if (!strstr(o->info.commands, "run") || !strcmp(o->info.name, "job") ||
        !strcmp(o->info.name, "help"))
        return option_wrong(o, &name, r, "cannot be given in a job file");
    if (job->result && !o->info.kept)
        return option_wrong(o, &name, r, "is not taken from a result file");
    return option_read(o, line->value, &value, &ignored, r);
}

static shoal_code read_lines(shoal_job *job, struct report *r) {
    shoal_code result = SHOAL_OK;
    size_t length = job->source.length;
    for (size_t at = 0; at < length;) {
        const char *text = job->source.text;
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline ? (size_t)(newline - text) : length;
        struct line line;
        if (!read_line(job, at, end, &line, r))
            result = SHOAL_INPUT;
        else if (line.name && job->result && !job->journal && !strcmp(line.name, "driver"))
            ; // a file that somebody else named: --driver gives it again
        else if (line.name && check_line(job, &line, r))
            result = SHOAL_INPUT;
        else if (line.name)
            *vec_push(&job->arena, &job->items) =
                (struct setting){.name = line.name, .value = line.value};
        at = end + 1;
    }
    return result;
}

// ---- Files --------------------------------------------------------------------------------------

static shoal_code load_result(shoal_job *job, const char *path, struct report *r) {
    const char *meta = NULL;
    shoal_code code = io_meta_read(path, &job->arena, &meta, r);
    if (code)
        return code;
    char *text = json_member(&job->arena, meta, "job");
    if (!text)
        return report_error(r, SHOAL_INPUT, "%s holds no job: it was not written by `shoal run`",
                            path);
    job->result = arena_strdup(&job->arena, path);
    job->journal = io_is_journal(path);
    job->source.name = arena_printf(&job->arena, "%s (job)", path);
    job->source.text = text;
    job->source.length = strlen(text);
    job->batch_digest = json_member(&job->arena, meta, "batch_sha256");
    job->from_digest = json_member(&job->arena, meta, "from_sha256");
    job->doses_digest = json_member(&job->arena, meta, "doses_sha256");
    job->model_text = json_member(&job->arena, meta, "model_text");
    if (!job->model_text)
        return report_error(r, SHOAL_INPUT, "%s does not hold the model it was made with", path);
    return SHOAL_OK;
}

static shoal_code load_text(shoal_job *job, const char *path, struct report *r) {
    char *text = NULL;
    size_t length = 0;
    shoal_code code = file_read(path, JOB_BYTES, &text, &length, r);
    if (code)
        return code;
    job->source.name = arena_strdup(&job->arena, path);
    job->source.text = arena_strndup(&job->arena, text, length);
    job->source.length = length;
    free(text);
    if (memchr(job->source.text, 0, length))
        return report_error(r, SHOAL_INPUT, "%s is not text, so it is no job file", path);
    return SHOAL_OK;
}

shoal_code shoal_job_load(const char *path, shoal_job **out, shoal_log *log) {
    struct report *r = log_report(log);
    jmp_buf oom;
    if (!path || !out)
        return report_error(r, SHOAL_USAGE, "shoal_job_load: no path or no place for the job");
    *out = NULL;
    report_begin(r);
    shoal_job *volatile job = calloc(1, sizeof *job);
    if (!job || setjmp(oom)) {
        shoal_job_free(job);
        return report_error(r, SHOAL_MEMORY, "%s: not enough memory", path);
    }
    job->arena.oom = &oom;
    shoal_code code = io_is_data(path) ? load_result(job, path, r) : load_text(job, path, r);
    if (!code)
        code = read_lines(job, r);
    job->arena.oom = NULL;
    if (code) {
        shoal_job_free(job);
        return code;
    }
    *out = job;
    return SHOAL_OK;
}

void shoal_job_free(shoal_job *job) {
    if (job)
        arena_free(&job->arena);
    free(job);
}

uint32_t shoal_job_count(const shoal_job *job) { return job ? job->items.count : 0; }

const char *shoal_job_name(const shoal_job *job, uint32_t index) {
    return index < shoal_job_count(job) ? job->items.items[index].name : NULL;
}

const char *shoal_job_value(const shoal_job *job, uint32_t index) {
    return index < shoal_job_count(job) ? job->items.items[index].value : NULL;
}

shoal_code shoal_job_doses(const shoal_job *job, shoal_log *log) {
    const char *path = NULL; // the last wins
    char digest[65];
    if (!job)
        return api_usage(log, "shoal_job_doses", "job");
    for (uint32_t i = 0; i < shoal_job_count(job); i++)
        if (option_find(job->items.items[i].name) == option_find("doses"))
            path = job->items.items[i].value;
    if (!path || !job->result)
        return SHOAL_OK;
    if (job->doses_digest && api_file_digest(path, digest) && !strcmp(digest, job->doses_digest))
        return SHOAL_OK;
    return report_error(log_report(log), SHOAL_INPUT,
                        "the doses '%s' are not there, or not the ones that %s was made with; give "
                        "--doses FILE to use others",
                        path, job->result);
}

const char *shoal_job_model_text(const shoal_job *job) { return job ? job->model_text : NULL; }

// ---- The files of a batch -----------------------------------------------------------------------

// A file that a job names: by which option, what people call it, and what it held.
struct job_file {
    const char *option, *name, *path, *digest;
};

static struct job_file file_of(const shoal_job *job, const char *option, const char *name,
                               const char *digest) {
    struct job_file f = {option, name, NULL, digest}; // of several the last wins
    for (uint32_t i = 0; i < shoal_job_count(job); i++)
        if (option_find(job->items.items[i].name) == option_find(option))
            f.path = job->items.items[i].value;
    return f;
}

// The places where the file of a result may be, one for each `place` from 0: as it was named, then
// from the result's own directory, then beside it. False when there are no more.
static bool place_at(const shoal_job *job, const char *named, int place, struct buf *out) {
    const char *slash = strrchr(job->result, '/'), *last = strrchr(named, '/');
    int n = slash ? (int)(slash + 1 - job->result) : 0;
    out->length = 0;
    if (place == 0)
        buf_puts(out, named);
    else if (place == 1)
        buf_printf(out, "%.*s%s", *named == '/' ? 0 : n, job->result, named);
    else
        buf_printf(out, "%.*s%s", n, job->result, last ? last + 1 : named);
    return place < 3 && !out->failed;
}

static shoal_code other_content(const shoal_job *job, const struct job_file *f, struct report *r) {
    return report_error(r, SHOAL_INPUT,
                        "the %s '%s' is not the one that %s was made with: its content has "
                        "changed; give --%s FILE to use another",
                        f->name, f->path, job->result, f->option);
}

static shoal_code find_file(const shoal_job *job, const struct job_file *f, struct buf *path,
                            struct report *r) {
    char digest[65];
    bool other = false;
    if (!f->digest)
        return report_error(r, SHOAL_INPUT, "%s does not say what its %s '%s' held; give --%s FILE",
                            job->result, f->name, f->path, f->option);
    for (int i = 0; place_at(job, f->path, i, path); i++)
        if (api_file_digest(path->data, digest)) {
            if (!strcmp(digest, f->digest))
                return SHOAL_OK;
            other = true;
        }
    if (path->failed)
        return report_error(r, SHOAL_MEMORY, "not enough memory");
    if (other)
        return other_content(job, f, r);
    return report_error(r, SHOAL_IO,
                        "the %s '%s' of %s is neither here nor beside it; give --%s FILE", f->name,
                        f->path, job->result, f->option);
}

typedef shoal_code add_file(shoal_batch *batch, const char *path, shoal_log *log);

// `digest` is where the batch has that of the file it was given.
static shoal_code add_job_file(shoal_batch *batch, const shoal_job *job, const struct job_file *f,
                               add_file *add, const char *digest, shoal_log *log) {
    struct report *r = log_report(log);
    struct buf path = {0};
    shoal_code code = job->result ? find_file(job, f, &path, r) : SHOAL_OK;
    if (code == SHOAL_OK)
        code = add(batch, job->result ? path.data : f->path, log);
    if (code == SHOAL_OK && job->result && strcmp(digest, f->digest))
        code = other_content(job, f, r); // since it was found
    buf_free(&path);
    return code;
}

shoal_code shoal_batch_job(shoal_batch *batch, const shoal_job *job, shoal_log *log) {
    struct job_file f = file_of(job, "batch", "batch file", job ? job->batch_digest : NULL);
    if (!batch || !f.path)
        return report_error(log_report(log), SHOAL_USAGE,
                            "shoal_batch_job: no batch, or the job names none");
    return add_job_file(batch, job, &f, shoal_batch_file, batch->digest, log);
}

shoal_code shoal_batch_job_from(shoal_batch *batch, const shoal_job *job, shoal_log *log) {
    struct job_file f = file_of(job, "from", "result", job ? job->from_digest : NULL);
    if (!batch || !f.path)
        return report_error(log_report(log), SHOAL_USAGE,
                            "shoal_batch_job_from: no batch, or the job names no such file");
    return add_job_file(batch, job, &f, shoal_batch_from, batch->from_digest, log);
}
