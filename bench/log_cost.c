// SPDX-License-Identifier: MIT
// What the time log costs: one event, disabled and enabled, and all events of a short solve.
//
// Prints Markdown. Events are started and stopped by label, as a program does it; the library's own
// need no lookup and cost less. Best of several rounds.
#include "shoal/shoal.h"

#include "lorenz.h"

#include <string.h>

enum { EVENTS = 20000, ROUNDS = 20 };

static void row(const char *what, double ns) { printf("| %s | %.1f ns |\n", what, ns); }

static shoal_log *new_log(shoal_timing timing) {
    shoal_log *log = shoal_log_new();
    shoal_log_set_timing(log, timing);
    shoal_log_register(log, "mine", SHOAL_RUNTIME, "");
    return log;
}

// Nanoseconds of a start and a stop, memory included; a new log each round.
static double cost(shoal_timing timing, const char *json) {
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        shoal_log *log = new_log(timing);
        if (json && shoal_log_json(log, json) != SHOAL_OK)
            exit(1);
        double start = lorenz_seconds();
        for (int i = 0; i < EVENTS; i++) {
            shoal_log_start(log, "mine");
            shoal_log_stop(log, "mine");
        }
        double took = lorenz_seconds() - start;
        best = took < best ? took : best;
        shoal_log_free(log);
    }
    return best * 1e9 / EVENTS;
}

static double clock_cost(void) {
    double best = INFINITY, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = lorenz_seconds();
        for (int i = 0; i < EVENTS; i++)
            sum += lorenz_seconds();
        double took = lorenz_seconds() - start;
        best = took < best ? took : best;
    }
    return sum > 0 ? best * 1e9 / EVENTS : 0;
}

// Seconds of one solve of about a millisecond with a new log; *events: how many it recorded.
static double solve(shoal_solver *solver, const shoal_batch *batch, shoal_timing timing,
                    size_t *events) {
    static double values[4096];
    shoal_array arrays = {.data = values};
    shoal_log *log = new_log(timing);
    double start = lorenz_seconds();
    shoal_solver_run_arrays(solver, batch, &arrays, 1, NULL, log);
    double took = lorenz_seconds() - start;
    *events = shoal_log_span_count(log);
    shoal_log_free(log);
    return took;
}

static int short_solve(double event_ns) {
    static const char text[] = "par a=1\ninit x=1\nx'=-a*x\n@ t1=200, rtol=1e-9\n";
    shoal_model *model = NULL;
    shoal_batch *batch = NULL;
    shoal_solver *solver = NULL;
    shoal_options options;
    if (shoal_model_parse("decay", text, strlen(text), &model, NULL) ||
        shoal_options_init(&options, model, NULL) || shoal_batch_new(model, &batch, NULL) ||
        shoal_batch_sweep(batch, "a=lin:1:2:1000", NULL) ||
        shoal_options_set(&options, "threads", "1", NULL) ||
        shoal_solver_new(model, &options, &solver, NULL))
        return 1;
    size_t none = 0, events = 0;
    double without = INFINITY, with = INFINITY;
    for (int round = 0; round < 20 * ROUNDS; round++) { // in turns
        without = fmin(without, solve(solver, batch, SHOAL_TIMING_NONE, &none));
        with = fmin(with, solve(solver, batch, SHOAL_TIMING_DEFAULT, &events));
    }
    printf("| solve of %.2f ms: its %zu events, at that price | %.2f us |\n", without * 1e3, events,
           (double)events * event_ns * 1e-3);
    printf("| the same, measured as a difference | %.2f us |\n", (with - without) * 1e6);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    return 0;
}

int main(void) {
    puts("| time log | cost |\n|---|---|");
    row("the clock", clock_cost());
    double enabled = cost(SHOAL_TIMING_DEFAULT, NULL);
    row("event, disabled", cost(SHOAL_TIMING_NONE, NULL));
    row("event, enabled", enabled);
    row("event, as a JSON line to /dev/null", cost(SHOAL_TIMING_NONE, "/dev/null"));
    return short_solve(enabled);
}
