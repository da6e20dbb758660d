// SPDX-License-Identifier: MIT
// Random batches whose inputs and results lie in memory of shoal_alloc or not, in layouts of all
// kinds: what comes out is what plain memory gives. The kernel of the fake driver fills every array
// with numbers that depend on the inputs of a row and on nothing else.
#include "check.h"
#include "fake_gpu.h"

#include "../kernels/ode/abi.h"
#include "shoal/shoal.h"

OWN_CACHE

static const char text[] = "par k=1,q=2\ninit x=1,y=2\nx'=k-x\ny'=x-y+q\naux z=x+y\n@ t1=2\n";
enum { INPUTS = 4, ARRAYS = 32 };
static const char *const inputs[INPUTS] = {"k", "q", "x(0)", "y(0)"};

// ---- The kernel ---------------------------------------------------------------------------------

static bool f32;
static uint32_t vars, summaries; // elements of a run

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 29;
}

static void put(char *array, uint64_t i, uint64_t h) {
    if (f32)
        ((float *)(void *)array)[i] = (float)(h >> 40);
    else
        ((double *)(void *)array)[i] = (double)(h >> 40);
}

static uint64_t hash_row(const struct shoal_call *call, const char *read, unsigned r) {
    const unsigned *offset = (const unsigned *)(const void *)(read + call->offset);
    const unsigned *step = (const unsigned *)(const void *)(read + call->step);
    uint64_t h = 1;
    for (int i = 0; i < INPUTS; i++) {
        size_t at = offset[i] + (size_t)step[i] * r, bytes = f32 ? 4 : 8;
        uint64_t x = 0;
        memcpy(&x, read + call->in + at * bytes, bytes);
        h = mix(h, x);
    }
    return h;
}

static void put_u32(char *written, uint64_t at, unsigned r, uint64_t h) {
    if (at != SHOAL_NOWHERE)
        ((unsigned *)(void *)(written + at))[r] = (unsigned)(h >> 32);
}

static void one_row(const struct shoal_call *call, uint64_t h, char *written, unsigned r) {
    const struct shoal_sizes *z = &call->z;
    for (uint64_t v = 0; v < vars && call->values != SHOAL_NOWHERE; v++)
        for (uint64_t s = 0; s < (z->samples ? z->samples : 1); s++)
            put(written + call->values,
                v * z->var_stride + r * z->row_stride + s * z->sample_stride, mix(h, v << 32 | s));
    for (uint64_t e = 0; e < summaries && call->summary != SHOAL_NOWHERE; e++)
        put(written + call->summary, e * call->head.rows + r, mix(h, 1000 + e));
    for (uint64_t i = 0; i < 2 && call->t != SHOAL_NOWHERE; i++)
        put(written + call->t, 2 * r + i, mix(h, 2000 + i));
    put_u32(written, call->steps, r, mix(h, 1));
    put_u32(written, call->rejected, r, mix(h, 2));
    put_u32(written, call->newton_iterations, r, mix(h, 3));
    put_u32(written, call->rejected_error, r, mix(h, 4));
    put_u32(written, call->rejected_newton, r, mix(h, 7));
    put_u32(written, call->rejected_nonfinite, r, mix(h, 8));
    put_u32(written, call->rejected_singular, r, mix(h, 9));
    if (call->f_evals != SHOAL_NOWHERE)
        ((uint64_t *)(void *)(written + call->f_evals))[r] = mix(h, 5);
    written[call->status + r] = (char)(mix(h, 6) % SHOAL_STATUS_COUNT);
}

static bool kernel(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop) {
    const struct shoal_call *call = args;
    (void)resident, (void)stop;
    for (unsigned r = 0; r < call->head.rows; r++)
        one_row(call, hash_row(call, read, r), written, r);
    return true;
}

// ---- A batch ------------------------------------------------------------------------------------

static uint32_t state;
static uint32_t any(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

struct memory {
    void *data;
    size_t bytes;
    bool pinned;
};

static void take(struct memory *m, size_t bytes, bool pinned) {
    *m = (struct memory){.bytes = bytes, .pinned = pinned};
    m->data = pinned ? NULL : malloc(bytes);
    CHECK(!pinned || !shoal_alloc(bytes, "cuda", &m->data, NULL));
    REQUIRE(m->data);
    memset(m->data, 0x44, bytes);
}

static void drop(struct memory *m) {
    if (m->pinned)
        shoal_free(m->data);
    else
        free(m->data);
}

// All that two runs have in common.
struct trial {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_solver *solver;
    uint64_t rows;
    bool lent[INPUTS], of_f32[INPUTS], some_rows;
    uint32_t arrays;
    shoal_array array[ARRAYS]; // without memory
    size_t bytes[ARRAYS];
};

static void choose_options(struct trial *t) {
    static const char *const saves[] = {"final", "n=2", "n=3"};
    static const uint32_t chunks[] = {5000, 8192, 9001, 16384, 20011, 70000};
    f32 = any(2);
    CHECK(!shoal_options_set(&t->options, "precision", f32 ? "f32" : "f64", t->log));
    CHECK(!shoal_options_set(&t->options, "save", saves[any(3)], t->log));
    CHECK(!shoal_options_set(&t->options, "method", "tsit5", t->log));
    if (any(2))
        CHECK(!shoal_options_set(&t->options, "summary", "max(x),mean(y),min(x)", t->log));
    if (t->options.summary && any(2))
        CHECK(!shoal_options_set(&t->options, "window", "0.5", t->log));
    if (t->options.summary && any(2))
        CHECK(!shoal_options_set(&t->options, "save", "final", t->log));
    t->options.counters = any(2);
    t->options.device = "cuda";
    t->options.no_fallback = true;
    t->options.chunk = chunks[any(6)];
    t->rows = 1 + any(any(3) ? 60000 : 150000);
}

// An array of the list, spread somehow.
static void choose_array(struct trial *t, const shoal_array_info *info) {
    static const size_t sizes[] = {1, 4, 8, 4, 8};
    size_t width = info->per_sample ? (size_t)shoal_solver_save_count(t->solver) : 1;
    width *= info->axis[0] ? info->axis[0] : 1;
    width *= info->axis[1] ? info->axis[1] : 1;
    shoal_array *a = &t->array[t->arrays];
    *a = (shoal_array){.name = info->name};
    switch (any(4)) {
    case 0: // dense
        break;
    case 1: // with gaps
        a->row_stride = width * 2;
        a->sample_stride = 2;
        break;
    default: // as the kernel has it
        a->row_stride = 1;
        a->sample_stride = t->rows + any(2) * 5;
    }
    t->bytes[t->arrays++] = (width * 2 * t->rows + 10 * width) * sizes[info->type];
}

static void choose_arrays(struct trial *t) {
    vars = shoal_solver_var_count(t->solver);
    summaries = 0;
    for (uint32_t i = 0; i < shoal_solver_array_count(t->solver); i++) {
        shoal_array_info info = shoal_solver_array_at(t->solver, i);
        if (info.is_summary && !info.once)
            summaries +=
                (uint32_t)((info.axis[0] ? info.axis[0] : 1) * (info.axis[1] ? info.axis[1] : 1));
        if (!info.once && strcmp(info.name, "t") && any(4) && t->arrays < ARRAYS - INPUTS)
            choose_array(t, &info);
    }
    for (int i = 0; i < INPUTS; i++) // inputs come out as doubles
        if (t->lent[i] && any(3) == 0) {
            t->array[t->arrays] = (shoal_array){.name = inputs[i]};
            t->bytes[t->arrays++] = t->rows * sizeof(double);
        }
}

static struct trial trial_new(void) {
    struct trial t = {.log = shoal_log_new(), .some_rows = any(2)};
    REQUIRE(!shoal_model_parse("m.ode", text, strlen(text), &t.model, t.log));
    REQUIRE(!shoal_options_init(&t.options, t.model, t.log));
    choose_options(&t);
    for (int i = 0; i < INPUTS; i++) {
        t.lent[i] = i == 0 || any(2);
        t.of_f32[i] = any(4) ? f32 : !f32;
    }
    CHECK(!shoal_solver_new(t.model, &t.options, &t.solver, t.log));
    REQUIRE(t.solver);
    choose_arrays(&t);
    return t;
}

static void fill_input(const struct trial *t, int i, const struct memory *m, uint64_t count) {
    for (uint64_t r = 0; r < count; r++) {
        float x = (float)(r * 7 % 100003) + (float)i;
        if (t->of_f32[i])
            ((float *)m->data)[r] = x;
        else
            ((double *)m->data)[r] = (double)x;
    }
}

// Runs it with memory of one kind, or of both; `out` has room for all arrays.
static void run(const struct trial *t, bool pins, struct memory *out, shoal_tally *tally) {
    struct memory in[INPUTS] = {0};
    shoal_array array[ARRAYS];
    shoal_batch *batch;
    uint64_t count = t->some_rows ? t->rows + 500 : t->rows; // of the table
    REQUIRE(!shoal_batch_new(t->model, &batch, t->log));
    for (int i = 0; i < INPUTS; i++)
        if (t->lent[i]) {
            take(&in[i], count * (t->of_f32[i] ? 4 : 8), pins && any(4));
            fill_input(t, i, &in[i], count);
            CHECK(!shoal_batch_lend(batch, inputs[i], in[i].data,
                                    t->of_f32[i] ? SHOAL_F32 : SHOAL_F64, count, t->log));
        }
    if (t->some_rows) { // with a gap in the middle
        char only[64];
        uint64_t cut = t->rows / 3;
        snprintf(only, sizeof only, "0:%llu,%llu:", (unsigned long long)cut,
                 (unsigned long long)(cut + 500));
        CHECK(!shoal_batch_only(batch, cut ? only : "500:", t->log));
    }
    for (uint32_t i = 0; i < t->arrays; i++) {
        take(&out[i], t->bytes[i], pins && any(4));
        array[i] = t->array[i];
        array[i].data = out[i].data;
    }
    shoal_code code = shoal_solver_run_arrays(t->solver, batch, array, t->arrays, tally, t->log);
    size_t n = shoal_log_message_count(t->log);
    CHECK_MSG(!code, "%s", n ? shoal_log_message(t->log, n - 1).text : "");
    CHECK_INT(tally->done, t->rows);
    shoal_batch_free(batch);
    for (int i = 0; i < INPUTS; i++)
        drop(&in[i]);
}

static void one_trial(uint32_t number) {
    struct memory out[2][ARRAYS];
    shoal_tally tally[2];
    state = number * 2654435761u;
    struct trial t = trial_new();
    for (int pins = 0; pins < 2; pins++)
        run(&t, pins, out[pins], &tally[pins]);
    CHECK(!memcmp(tally[0].by_status, tally[1].by_status, sizeof tally[0].by_status));
    for (uint32_t i = 0; i < t.arrays; i++) {
        CHECK_MSG(!memcmp(out[0][i].data, out[1][i].data, t.bytes[i]), "trial %u: %s differs",
                  number, t.array[i].name);
        drop(&out[0][i]);
        drop(&out[1][i]);
    }
    shoal_solver_free(t.solver);
    shoal_model_free(t.model);
    shoal_log_free(t.log);
}

TEST(alloc_random) {
    struct fake_cuda *fake = use_fake_triple();
    fake->kernel = kernel;
    for (uint32_t i = 0; i < 12; i++)
        one_trial(i);
    CHECK_INT(fake->host_blocks, 0);
}

LONG_TEST(alloc_random_many) {
    struct fake_cuda *fake = use_fake_triple();
    fake->kernel = kernel;
    for (uint32_t i = 100; i < 700; i++)
        one_trial(i);
    CHECK_INT(fake->host_blocks, 0);
}
