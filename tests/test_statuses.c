// SPDX-License-Identifier: MIT
// Statuses that a device gives: how they are counted, and those that there are not.
#include "check.h"
#include "fake_gpu.h"

#include "../kernels/ode/abi.h"
#include "shoal/shoal.h"

OWN_CACHE

enum { ROWS = 700 };
static unsigned char given[ROWS];

static bool kernel(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop) {
    const struct shoal_call *call = args;
    (void)read, (void)resident, (void)stop;
    memcpy(written + call->status, given + call->head.base, call->head.rows);
    return true;
}

static shoal_code run(uint64_t rows, uint64_t chunk, shoal_tally *tally, char *words, size_t room) {
    static const char text[] = "par k=1\ninit x=1\nx'=k-x\n@ t1=2, method=tsit5\n";
    shoal_log *log = shoal_log_new();
    shoal_model *model;
    shoal_options options;
    shoal_batch *batch;
    shoal_solver *solver;
    unsigned char status[ROWS];
    shoal_array array = {.name = "status", .data = status};
    double k[ROWS] = {0};
    REQUIRE(!shoal_model_parse("m.ode", text, strlen(text), &model, log));
    REQUIRE(!shoal_options_init(&options, model, log));
    options.device = "cuda";
    options.chunk = chunk;
    options.no_fallback = true;
    REQUIRE(!shoal_batch_new(model, &batch, log));
    REQUIRE(!shoal_batch_values(batch, "k", k, rows, log));
    REQUIRE(!shoal_solver_new(model, &options, &solver, log));
    shoal_code code = shoal_solver_run_arrays(solver, batch, &array, 1, tally, log);
    size_t messages = shoal_log_message_count(log);
    snprintf(words, room, "%s", messages ? shoal_log_message(log, messages - 1).text : "");
    if (code == SHOAL_OK)
        CHECK(!memcmp(status, given, rows));
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
    return code;
}

static void check_counts(const shoal_tally *t, uint64_t rows) {
    for (int s = 0; s < SHOAL_STATUS_COUNT; s++) {
        uint64_t count = 0, first = 0;
        for (uint64_t r = rows; r-- > 0;)
            if (given[r] == s) {
                count++;
                first = r;
            }
        CHECK_INT(t->by_status[s], count);
        CHECK(!count || t->first[s] == first);
    }
    CHECK_INT(t->done, rows);
}

// Mostly good ones, and some of each other kind; chunks end within words.
TEST(statuses_are_counted) {
    static const uint64_t rows[] = {1, 7, 8, 64, 65, 200, ROWS}, chunks[] = {64, 77, ROWS};
    static const unsigned rare[] = {1, 3, 40, 1000000};
    use_fake_triple()->kernel = kernel;
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t k = 0; k < sizeof chunks / sizeof *chunks; k++) {
            shoal_tally tally;
            char words[256];
            for (int r = 0; r < ROWS; r++) {
                seed = seed * 1664525u + 1013904223u;
                given[r] = seed >> 16 < 65536 / rare[(i + k) % 4]
                               ? (unsigned char)((seed >> 8 & 255) % SHOAL_STATUS_COUNT)
                               : 0;
            }
            CHECK_MSG(!run(rows[i], chunks[k], &tally, words, sizeof words), "%s", words);
            check_counts(&tally, rows[i]);
        }
}

TEST(statuses_that_there_are_not) {
    static const int at[] = {0, 7, 63, 64, 100, 127, 199};
    static const unsigned char status[] = {SHOAL_STATUS_COUNT, 127, 128, SHOAL_ROW_STIFF,
                                           SHOAL_ROW_PENDING};
    use_fake_triple()->kernel = kernel;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        shoal_tally tally;
        char words[256], want[64];
        unsigned char strange = status[i % sizeof status];
        memset(given, (int)(i % 3), sizeof given);
        given[at[i]] = strange;
        CHECK_INT(run(200, 200, &tally, words, sizeof words), SHOAL_DEVICE);
        snprintf(want, sizeof want, "run %d came back from cuda with the status %u", at[i],
                 strange);
        CHECK_HAS(words, want);
    }
}
