// SPDX-License-Identifier: MIT
// A program's own arrays in and out: many logistic growth curves, checked against the formula; then
// a change of the solver, which does not compile again for a parameter.
#include <shoal/shoal.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RUNS = 1000, SAMPLES = 11 };

static const char text[] = "par r=1, k=10\n"
                           "init n=1\n"
                           "n' = r*n*(1-n/k)\n"
                           "@ t1=5, rtol=1e-8\n";

static double r[RUNS], n[RUNS][SAMPLES];
static uint8_t status[RUNS];

// The largest difference from the formula.
static double error_of(const shoal_solver *solver, double k) {
    double worst = 0;
    for (int i = 0; i < RUNS; i++)
        for (int s = 0; s < SAMPLES; s++) {
            double t = shoal_solver_save_time(solver, (uint64_t)s);
            worst = fmax(worst, fabs(n[i][s] - k / (1 + (k - 1) * exp(-r[i] * t))));
        }
    return worst;
}

int main(void) {
    shoal_log *log = shoal_log_new();
    shoal_model *model = NULL;
    shoal_batch *batch = NULL;
    shoal_solver *solver = NULL;
    shoal_options options;
    for (int i = 0; i < RUNS; i++)
        r[i] = 0.5 + 0.001 * i;

    shoal_array arrays[] = {{.name = "n", .data = n}, {.name = "status", .data = status}};
    shoal_code code = shoal_model_parse("logistic", text, strlen(text), &model, log);
    if (code == SHOAL_OK)
        code = shoal_options_init(&options, model, log);
    options.save = SHOAL_SAVE_N;
    options.save_n = SAMPLES;
    if (code == SHOAL_OK)
        code = shoal_batch_new(model, &batch, log);
    if (code == SHOAL_OK)
        code = shoal_batch_lend(batch, "r", r, SHOAL_F64, RUNS, log); // without a copy
    if (code == SHOAL_OK)
        code = shoal_solver_new(model, &options, &solver, log);
    if (code == SHOAL_OK)
        code = shoal_solver_run_arrays(solver, batch, arrays, 2, NULL, log);

    double worst = code == SHOAL_OK ? error_of(solver, 10) : 0;

    shoal_effect effect = SHOAL_COMPILED;
    if (code == SHOAL_OK)
        code = shoal_solver_set_values(solver, "k=5", &effect, log);
    if (code == SHOAL_OK)
        code = shoal_solver_run_arrays(solver, batch, arrays, 2, NULL, log);
    if (code == SHOAL_OK)
        worst = fmax(worst, error_of(solver, 5));

    for (size_t i = 0; code != SHOAL_OK && i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
    if (code == SHOAL_OK)
        printf("%d curves of %d samples, largest error %.1e\n", RUNS, SAMPLES, worst);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
    return code == SHOAL_OK && worst < 1e-6 && effect == SHOAL_KEPT ? 0 : 1;
}
