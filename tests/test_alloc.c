// SPDX-License-Identifier: MIT
// shoal_alloc, and devices that copy from and to the caller's memory by themselves: the fake driver
// runs a kernel whose values a formula tells, so that whatever is late, lost or left over shows.
#include "check.h"
#include "fake_gpu.h"

#include "../kernels/ode/abi.h"
#include "shoal/shoal.h"

#include <sys/wait.h>
#include <unistd.h>

OWN_CACHE

static const char text[] = "par k=1\ninit x=1,y=2\nx'=k-x\ny'=x-y\n@ t1=2\n";
enum { VARS = 2 };

// ---- The kernel ---------------------------------------------------------------------------------

static bool f32;          // its numbers
static int stop_at;       // launch that asks for a stop and leaves half of its rows; 0: none
static volatile int stop; // what it sets
static bool finds_stiff;  // some rows of large chunks are left to another method
static int launches;

static double number(const void *array, uint64_t i) {
    return f32 ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

static void put(void *array, uint64_t i, double value) {
    if (f32)
        ((float *)array)[i] = (float)value;
    else
        ((double *)array)[i] = value;
}

static double k_of(size_t row) { return (double)(row % 4093); }
static double x0_of(size_t row) { return (double)(row % 10007) + 1; }

// Exact in both precisions.
static double formula(double k, double x0, unsigned var, uint64_t sample) {
    return (var + 1) * k + 4 * x0 + 0.25 * (double)sample;
}

static bool is_stiff(const struct shoal_call *call, unsigned row) {
    return finds_stiff && call->head.rows > 8192 && row % 997 == 5;
}

static void one_row(const struct shoal_call *call, const char *read, char *written, unsigned r) {
    const unsigned *offset = (const unsigned *)(const void *)(read + call->offset);
    const unsigned *step = (const unsigned *)(const void *)(read + call->step);
    double k = number(read + call->in, offset[0] + step[0] * r);
    double x0 = number(read + call->in, offset[1] + step[1] * r);
    bool stiff = is_stiff(call, r);
    const struct shoal_sizes *z = &call->z;
    for (unsigned v = 0; v < VARS; v++)
        for (uint64_t s = 0; s < (z->samples ? z->samples : 1); s++)
            put(written + call->values,
                v * z->var_stride + r * z->row_stride + s * z->sample_stride,
                stiff ? -1 : formula(k, x0, v, s));
    if (call->steps != SHOAL_NOWHERE)
        ((unsigned *)(void *)(written + call->steps))[r] = stiff ? 1 : (unsigned)k + 3;
    if (stiff)
        ((uint64_t *)(void *)(written + call->totals))[TOTAL_TAKEN]++;
    written[call->status + r] = (char)(stiff ? SHOAL_ROW_STIFF : 0);
}

// One that asks for a stop goes on until it is told to.
static bool kernel(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *told) {
    const struct shoal_call *call = args;
    bool stops = launches + 1 == stop_at;
    (void)resident;
    stop = stop || stops;
    if (stops && !*told)
        return false;
    launches++;
    for (unsigned r = 0; r < (stops ? call->head.rows / 2 : call->head.rows); r++)
        one_row(call, read, written, r);
    return true;
}

static struct fake_cuda *use_kernel(void) {
    struct fake_cuda *fake = use_fake_triple();
    fake->kernel = kernel;
    return fake;
}

// ---- Runs ---------------------------------------------------------------------------------------

enum layout { DENSE, ROWS_FIRST, SPREAD }; // [row][sample], [sample][row], with gaps

struct setup {
    const char *precision, *save, *method;
    uint32_t rows, chunk;
    enum layout layout;
};

// What a run has: memory of shoal_alloc, or not.
struct scene {
    shoal_log *log;
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    bool pinned;
    size_t rows, samples, elem, bytes; // bytes of the values
    void *k, *x0, *values;
    uint32_t *steps;
    unsigned char *status;
    shoal_tally tally;
};

static const char *words_of(const shoal_log *log) {
    static char all[4096];
    all[0] = 0;
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s\n",
                 shoal_log_message(log, i).text);
    return all;
}

static void *memory(struct scene *s, size_t bytes) {
    void *data = NULL;
    if (s->pinned)
        CHECK(shoal_alloc(bytes, "cuda", &data, s->log) == SHOAL_OK);
    else
        data = malloc(bytes);
    REQUIRE(data);
    memset(data, 0x33, bytes);
    return data;
}

static void release(struct scene *s, void *data) {
    if (s->pinned)
        shoal_free(data);
    else
        free(data);
}

static size_t factor_of(const struct setup *u) { return u->layout == SPREAD ? 2 : 1; }

static struct scene scene_new(const struct setup *u, bool pinned) {
    struct scene s = {.log = shoal_log_new(), .pinned = pinned, .rows = u->rows};
    f32 = !strcmp(u->precision, "f32");
    stop = 0;
    s.elem = f32 ? sizeof(float) : sizeof(double);
    REQUIRE(!shoal_model_parse("test.ode", text, strlen(text), &s.model, s.log));
    REQUIRE(!shoal_options_init(&s.options, s.model, s.log));
    CHECK(!shoal_options_set(&s.options, "precision", u->precision, s.log));
    CHECK(!shoal_options_set(&s.options, "save", u->save, s.log));
    CHECK(!shoal_options_set(&s.options, "method", u->method, s.log));
    s.options.device = "cuda";
    s.options.chunk = u->chunk;
    s.options.stop = &stop;
    s.k = memory(&s, s.rows * s.elem);
    s.x0 = memory(&s, s.rows * s.elem);
    for (size_t i = 0; i < s.rows; i++) {
        put(s.k, i, k_of(i));
        put(s.x0, i, x0_of(i));
    }
    REQUIRE(!shoal_batch_new(s.model, &s.batch, s.log));
    CHECK(!shoal_batch_lend(s.batch, "k", s.k, s.options.precision, s.rows, s.log));
    CHECK(!shoal_batch_lend(s.batch, "x(0)", s.x0, s.options.precision, s.rows, s.log));
    CHECK_MSG(!shoal_solver_new(s.model, &s.options, &s.solver, s.log), "%s", words_of(s.log));
    REQUIRE(s.solver);
    s.samples = (size_t)shoal_solver_save_count(s.solver);
    s.bytes = VARS * s.rows * s.samples * factor_of(u) * s.elem;
    s.values = memory(&s, s.bytes);
    s.steps = memory(&s, s.rows * sizeof *s.steps);
    s.status = memory(&s, s.rows);
    return s;
}

static shoal_array block_of(const struct scene *s, const struct setup *u) {
    size_t f = factor_of(u);
    shoal_array a = {.data = s->values};
    if (u->layout == DENSE)
        return a;
    a.row_stride = f * (u->layout == ROWS_FIRST ? 1 : s->samples);
    a.sample_stride = f * (u->layout == ROWS_FIRST ? s->rows : 1);
    a.var_stride = f * s->rows * s->samples;
    return a;
}

static shoal_code run(struct scene *s, const struct setup *u) {
    shoal_array a[] = {
        block_of(s, u), {.name = "status", .data = s->status}, {.name = "steps", .data = s->steps}};
    launches = 0;
    stop = 0;
    return shoal_solver_run_arrays(s->solver, s->batch, a, 3, &s->tally, s->log);
}

static void scene_free(struct scene *s) {
    shoal_solver_free(s->solver);
    shoal_batch_free(s->batch);
    shoal_model_free(s->model);
    shoal_log_free(s->log);
    void *all[] = {s->k, s->x0, s->values, s->steps, s->status};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        release(s, all[i]);
}

// The first rows are what the formula says.
static void check_rows(const struct scene *s, const struct setup *u, size_t rows) {
    shoal_array a = block_of(s, u);
    size_t row = a.var_stride ? a.row_stride : s->samples,
           sample = a.var_stride ? a.sample_stride : 1,
           var = a.var_stride ? a.var_stride : s->rows * s->samples, wrong = 0;
    for (size_t r = 0; r < rows; r++) {
        double k = k_of(r), x0 = x0_of(r);
        wrong += s->status[r] != 0 || s->steps[r] != (unsigned)k + 3;
        for (unsigned v = 0; v < VARS; v++)
            for (size_t i = 0; i < s->samples; i++)
                wrong += number(s->values, v * var + r * row + i * sample) != formula(k, x0, v, i);
    }
    CHECK_MSG(!wrong, "%zu numbers of the first %zu rows are wrong", wrong, rows);
}

static const struct setup setups[] = {
    {"f64", "final", "tsit5", 100001, 16411, DENSE},
    {"f32", "final", "tsit5", 100001, 16411, DENSE},
    {"f32", "final", "tsit5", 40000, 20000, SPREAD},
    {"f64", "n=3", "tsit5", 50001, 9001, ROWS_FIRST},
    {"f32", "n=5", "tsit5", 40003, 20000, ROWS_FIRST},
    {"f64", "n=3", "tsit5", 30001, 10000, DENSE},
    {"f64", "final", "tsit5", 8191, 8191, DENSE}, // too few
    {"f64", "final", "tsit5", 8192, 8192, DENSE},
    {"f64", "final", "auto", 50001, 10000, DENSE},
    {"f32", "n=3", "auto", 50001, 20000, ROWS_FIRST},
};
enum { SETUPS = sizeof setups / sizeof *setups };

// Values that lie as the kernel has them, or the steps, of which 16384 are enough.
static bool is_direct(const struct setup *u) {
    size_t least = u->precision[1] == '3' ? 16384 : 8192;
    bool lies = u->layout == ROWS_FIRST || (u->layout == DENSE && u->save[0] == 'f');
    return (lies && u->chunk >= least) || u->chunk >= 16384;
}

// Values of plain memory, and those of the formula. That they came by themselves shows in the
// number of copies: one for each variable and sample.
TEST(alloc_gives_the_values_of_plain_memory) {
    struct fake_cuda *fake = use_kernel();
    for (size_t i = 0; i < SETUPS; i++) {
        const struct setup *u = &setups[i];
        int copies[2];
        finds_stiff = !strcmp(u->method, "auto");
        struct scene s[2] = {scene_new(u, false), scene_new(u, true)};
        for (int pinned = 0; pinned < 2; pinned++) {
            copies[pinned] = -fake->copies_out;
            CHECK_MSG(run(&s[pinned], u) == SHOAL_OK, "%s", words_of(s[pinned].log));
            copies[pinned] += fake->copies_out;
            CHECK(s[pinned].tally.complete && s[pinned].tally.by_status[0] == u->rows);
            check_rows(&s[pinned], u, u->rows);
        }
        CHECK(!memcmp(s[0].values, s[1].values, s[0].bytes));
        CHECK_INT(s[0].tally.found_stiff, s[1].tally.found_stiff);
        CHECK(!finds_stiff || s[1].tally.found_stiff);
        CHECK_MSG((copies[1] > copies[0]) == is_direct(u), "case %zu: %d and %d copies", i,
                  copies[0], copies[1]);
        for (int pinned = 0; pinned < 2; pinned++) {
            CHECK(run(&s[pinned], u) == SHOAL_OK); // and again
            check_rows(&s[pinned], u, u->rows);
            scene_free(&s[pinned]);
        }
    }
    CHECK_INT(fake->host_blocks, 0);
}

// What is still under way, if anything, ends with the solver.
static void check_left_alone(struct scene *s) {
    void *copy = malloc(s->bytes);
    REQUIRE(copy);
    memcpy(copy, s->values, s->bytes);
    shoal_solver_free(s->solver);
    s->solver = NULL;
    CHECK(!memcmp(copy, s->values, s->bytes));
    free(copy);
}

// Rows that a stop leaves are pending, whatever the device has written there, and nothing is
// written once the call has returned.
TEST(alloc_is_left_alone_after_a_stop) {
    use_kernel();
    for (int at = 1; at <= 4; at++) {
        const struct setup all = {"f64", "final", "tsit5", 300001, 70001, DENSE}, *u = &all;
        struct scene s = scene_new(u, true);
        stop_at = at;
        CHECK_INT(run(&s, u), SHOAL_STOPPED);
        size_t done = (size_t)s.tally.done;
        CHECK(done < s.rows && !s.tally.complete);
        check_rows(&s, u, done);
        for (size_t r = done; r < s.rows; r++)
            if (s.status[r] != SHOAL_STATUS_PENDING) {
                check_fail(__FILE__, __LINE__, "row %zu of %zu: status %u", r, done, s.status[r]);
                break;
            }
        stop_at = 0;
        check_left_alone(&s);
        scene_free(&s);
    }
}

// ---- Devices that fail --------------------------------------------------------------------------

static void fill(void *array, size_t rows) {
    for (size_t i = 0; i < rows; i++)
        put(array, i, x0_of(i));
}

// Rows of the device, then those of the CPU.
static void check_mixed(const struct scene *s, const double *want, const char *call) {
    const double *x = s->values;
    size_t n = 0, wrong = 0;
    while (n < s->rows && x[n] == formula(k_of(n), x0_of(n), 0, 0))
        n++;
    for (size_t i = n; i < s->rows; i++)
        wrong += x[i] != want[i] || s->status[i];
    CHECK_MSG(!wrong && n % 8192 == 0 && n < s->rows, "%s: %zu rows of the device, %zu wrong", call,
              n, wrong);
}

// What is left to the CPU is right, also where results replace inputs.
TEST(alloc_on_a_device_that_fails) {
    static const struct fake_fault more[] = {{"cuMemcpyDtoHAsync_v2", 1, 11, 0, 9},
                                             {"cuEventQuery", 700, 0, 0, 0}};
    const struct setup u = {"f64", "final", "tsit5", 98304, 8192, DENSE};
    struct fake_cuda *fake = use_kernel();
    struct scene s = scene_new(&u, true);
    double *want = check_keep(malloc(s.bytes));
    shoal_array all = {.data = want};
    CHECK(!shoal_options_set(&s.options, "device", "cpu", s.log));
    shoal_solver *cpu = NULL;
    REQUIRE(!shoal_solver_new(s.model, &s.options, &cpu, s.log));
    REQUIRE(!shoal_solver_run_arrays(cpu, s.batch, &all, 1, NULL, s.log));
    shoal_solver_free(cpu);
    shoal_solver_free(s.solver);
    CHECK(!shoal_options_set(&s.options, "device", "cuda", s.log));
    for (int i = 0; i < 9; i++) {
        const struct fake_fault *f = i < 7 ? &fake_faults[i] : &more[i - 7];
        for (int in_place = 0; in_place < 2; in_place++) {
            REQUIRE(!shoal_solver_new(s.model, &s.options, &s.solver, s.log));
            void *values = s.values;
            if (in_place)
                s.values = s.x0;
            fake_fail(fake, f);
            shoal_array a[] = {{.name = "x", .data = s.values},
                               {.name = "status", .data = s.status}};
            CHECK_MSG(!shoal_solver_run_arrays(s.solver, s.batch, a, 2, &s.tally, s.log), "%s: %s",
                      f->call, words_of(s.log));
            fake_fail(fake, NULL);
            CHECK(s.tally.complete && s.tally.by_status[0] == s.rows);
            check_mixed(&s, want, f->call);
            s.values = values;
            check_left_alone(&s);
            fill(s.x0, s.rows);
        }
    }
    scene_free(&s);
}

// ---- The calls ----------------------------------------------------------------------------------

TEST(alloc_and_free) {
    struct fake_cuda *fake = use_kernel();
    shoal_log *log = shoal_log_new();
    static const char *const devices[] = {NULL, "auto", "cuda", "cuda:0", "cpu+cuda:0", "cuda:all"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        void *a = NULL, *b = NULL;
        CHECK_MSG(!shoal_alloc(1000, devices[i], &a, log), "%s", words_of(log));
        CHECK(!shoal_alloc(0, devices[i], &b, log) && a && b && a != b);
        CHECK_INT(fake->host_blocks, 2);
        memset(a, 1, 1000);
        shoal_free(a);
        shoal_free(a);             // once is enough
        shoal_free((char *)b + 1); // that is none
        shoal_free(&fake);         // nor is that
        CHECK_INT(fake->host_blocks, 1);
        shoal_free(b);
        CHECK_INT(fake->host_blocks, 0);
        CHECK_INT(fake->contexts, 0);
    }
    CHECK_INT(shoal_log_message_count(log), 0);
    shoal_log_free(log);
}

TEST(alloc_of_ordinary_memory) {
    struct fake_cuda *fake = use_kernel();
    shoal_log *log = shoal_log_new();
    static const size_t sizes[] = {1, 4097, 3 << 20};
    void *a = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CHECK(!shoal_alloc(sizes[i], "cpu", &a, log) && a);
        CHECK((uintptr_t)a % (sizes[i] > 2 << 20 ? 2 << 20 : 4096) == 0);
        memset(a, 1, sizes[i]);
        shoal_free(a);
    }
    CHECK_INT(shoal_alloc(SIZE_MAX - 5, "cpu", &a, log), SHOAL_MEMORY);
    CHECK(!a);
    CHECK_INT(shoal_alloc(1, "gpu", &a, log), SHOAL_INPUT);
    CHECK_INT(shoal_alloc(1, "cuda:7", &a, log), SHOAL_DEVICE);
    CHECK_INT(shoal_alloc(1, "cpu", NULL, log), SHOAL_USAGE);
    CHECK_INT(fake->made, 0);
    fake->fail = "cuMemHostAlloc"; // the device pins no more
    fake->fail_result = 2;
    CHECK(!shoal_alloc(5000, NULL, &a, log) && a);
    CHECK_HAS(words_of(log), "note: cuda:0 does not pin 5000 bytes; ordinary memory is used");
    fake->fail = NULL;
    shoal_free(a);
    CHECK_INT(fake->contexts, 0);
    shoal_log_free(log);
}

// A child may free what it likes: the parent's memory stays.
TEST(alloc_before_a_fork) {
    struct fake_cuda *fake = use_kernel();
    void *pinned = NULL, *plain = NULL;
    REQUIRE(!shoal_alloc(10000, "cuda", &pinned, NULL) && !shoal_alloc(10000, "cpu", &plain, NULL));
    memset(pinned, 7, 10000);
    memset(plain, 7, 10000);
    pid_t child = fork();
    if (child == 0) {
        void *own = NULL;
        shoal_free(pinned);
        shoal_free(plain);
        bool good = fake->host_blocks == 1 && !shoal_alloc(10, "cpu", &own, NULL) && own;
        shoal_free(own);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    CHECK(((char *)pinned)[9999] == 7 && ((char *)plain)[9999] == 7);
    shoal_free(pinned);
    shoal_free(plain);
    CHECK_INT(fake->host_blocks, 0);
    CHECK_INT(fake->contexts, 0);
}
