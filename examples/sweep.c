// SPDX-License-Identifier: MIT
// The shortest useful program: a sweep into a file.
//
//   cc sweep.c $(pkg-config --cflags --libs shoal) -o sweep && ./sweep lorenz.ode out.csv
#include <shoal/shoal.h>

#include <stdio.h>

static int fail(shoal_log *log, shoal_code code) {
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
    return shoal_code_exit(code);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "examples/lorenz.ode";
    const char *out = argc > 2 ? argv[2] : "-";
    shoal_log *log = shoal_log_new();
    shoal_model *model = NULL;
    shoal_batch *batch = NULL;
    shoal_solver *solver = NULL;
    shoal_options options;
    shoal_summary summary = {0};

    shoal_code code = shoal_model_load(path, &model, log);
    if (code == SHOAL_OK)
        code = shoal_options_init(&options, model, log);
    if (code == SHOAL_OK)
        code = shoal_options_set(&options, "t1", "1", log);
    if (code == SHOAL_OK)
        code = shoal_batch_new(model, &batch, log);
    if (code == SHOAL_OK)
        code = shoal_batch_sweep(batch, "rho=lin:0:21:22", log);
    if (code == SHOAL_OK)
        code = shoal_solver_new(model, &options, &solver, log);
    if (code == SHOAL_OK)
        code = shoal_solver_run_file(solver, batch, out, &summary, log);

    int status = code == SHOAL_OK ? 0 : fail(log, code);
    if (code == SHOAL_OK)
        fprintf(stderr, "%llu trajectories in %.3g s\n", (unsigned long long)summary.done,
                summary.seconds);
    shoal_solver_free(solver);
    shoal_batch_free(batch);
    shoal_model_free(model);
    shoal_log_free(log);
    return status;
}
