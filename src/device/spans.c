// SPDX-License-Identifier: MIT
// Spans of devices in the time log: one track a stream, recorded when the chunk is done.
#include "device/offload.h"

#include "device/device.h"
#include "log/log.h"

#include <stdio.h>

LOG_SHARED_LABEL(kernel_launch, RUNTIME, 60, "the kernel, on one chunk");

bool offload_timed(const struct shoal_launch *l) { return l->log && l->log->recording; }

static int32_t begin_span(const struct offload_spans *s, const struct log_label *label,
                          uint64_t t0_ns, uint64_t dur_ns) {
    shoal_log *log = s->launch->log;
    uint64_t t0 = t0_ns > log->start_ns ? t0_ns - log->start_ns : 0;
    int32_t span = log_device(log, s->track, label, log->open, t0, dur_ns ? dur_ns : 1);
    log_u64(log, span, "chunk_index", s->launch->chunk);
    return span;
}

void offload_span_copy(const struct offload_spans *s, const struct shoal_piece *piece,
                       uint64_t t0_ns, uint64_t dur_ns) {
    const struct shoal_sizes *z = &s->launch->args->z;
    shoal_log *log = s->launch->log;
    char slice[48];
    const struct log_label *label = log_label_find(piece->label);
    int32_t span = label ? begin_span(s, label, t0_ns, dur_ns) : -1;
    snprintf(slice, sizeof slice, "%llu:%llu", z->base, z->base + z->rows);
    log_nbytes(log, span, piece->bytes);
    log_text(log, span, "chunk_slice", slice);
    log_u64(log, span, "is_chunked", s->launch->chunked);
    log_end(log, span);
}

void offload_span_kernel(const struct offload_spans *s, uint64_t t0_ns, uint64_t dur_ns) {
    shoal_log *log = s->launch->log;
    int32_t span = begin_span(s, LOG_kernel_launch, t0_ns, dur_ns);
    log_u64(log, span, "numruns", s->launch->args->z.rows);
    log_f64(log, span, "gpu_time_ms", (double)dur_ns * 1e-6);
    log_end(log, span);
}
