// SPDX-License-Identifier: MIT
// Which part of a job a batch is: I/N, I/N:strided, or what a batch system says.
#include "api/model.h"

#include <stdlib.h>
#include <string.h>

static bool read_number(const char **at, uint64_t *out) {
    const char *start = *at;
    for (*out = 0; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*out, 10, out) ||
            __builtin_add_overflow(*out, (uint64_t)(**at - '0'), out))
            return false;
    return *at > start;
}

// The number that a variable of the environment is; `otherwise` where there is none.
static bool read_variable(const char *name, const uint64_t *otherwise, uint64_t *out) {
    const char *text = secure_getenv(name);
    if (!text && otherwise) {
        *out = *otherwise;
        return true;
    }
    return text && read_number(&text, out) && !*text;
}

// Tasks of an array are MIN, MIN + STEP, ..., MAX.
static shoal_code read_task(uint64_t *shard, uint64_t *shards, struct report *r) {
    const uint64_t one = 1;
    uint64_t id, min, max, step;
    if (read_variable("SLURM_ARRAY_TASK_ID", NULL, &id) &&
        read_variable("SLURM_ARRAY_TASK_MIN", NULL, &min) &&
        read_variable("SLURM_ARRAY_TASK_MAX", NULL, &max) &&
        read_variable("SLURM_ARRAY_TASK_STEP", &one, &step) && step && id >= min && id <= max &&
        (id - min) % step == 0 && max - min < UINT64_MAX) {
        *shard = (id - min) / step;
        *shards = (max - min) / step + 1;
        return SHOAL_OK;
    }
    return report_error(r, SHOAL_INPUT,
                        "--shard: auto is for a task of a SLURM array, which has "
                        "SLURM_ARRAY_TASK_ID, _MIN and _MAX in its environment");
}

static shoal_code read_shard(const char *text, uint64_t *shard, uint64_t *shards, const char **rest,
                             struct report *r) {
    const char *at = text;
    if (!strncmp(text, "auto", 4)) {
        *rest = text + 4;
        return read_task(shard, shards, r);
    }
    bool good = read_number(&at, shard) && *at == '/';
    at += good;
    good = good && read_number(&at, shards);
    *rest = at;
    if (good && *shard < *shards)
        return SHOAL_OK;
    if (good && *shards)
        return report_error(r, SHOAL_INPUT, "--shard: of %llu shards the last is %llu, not %llu",
                            (unsigned long long)*shards, (unsigned long long)*shards - 1,
                            (unsigned long long)*shard);
    *rest = "?";
    return SHOAL_OK;
}

shoal_code shoal_batch_shard(shoal_batch *batch, const char *shard, shoal_log *log) {
    uint64_t index = 0, count = 0;
    const char *rest;
    if (!batch || !shard)
        return api_usage(log, "shoal_batch_shard", "batch or text");
    struct report *r = log_report(log);
    report_begin(r);
    shoal_code code = read_shard(shard, &index, &count, &rest, r);
    if (code != SHOAL_OK)
        return code;
    if (*rest && strcmp(rest, ":strided"))
        return report_error(r, SHOAL_INPUT, "--shard: '%s' is not I/N, I/N:strided or auto", shard);
    batch_set_shard(batch->batch, index, count, *rest != 0);
    return SHOAL_OK;
}
