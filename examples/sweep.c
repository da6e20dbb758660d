// SPDX-License-Identifier: MIT
// The shortest useful program: a sweep into a file, in one call.
//
//   cc sweep.c $(pkg-config --cflags --libs shoal) -o sweep && ./sweep lorenz.ode out.csv
#include <shoal/shoal.h>

#include <stdio.h>

int main(int argc, char **argv) {
    const char *model = argc > 1 ? argv[1] : "examples/lorenz.ode";
    const char *out = argc > 2 ? argv[2] : "-";
    const char *words[] = {"t1=1", "sweep=rho=lin:0:21:22", NULL}; // as for `shoal run`
    shoal_log *log = shoal_log_new();
    shoal_tally tally;

    shoal_code code = shoal_solve(model, words, out, &tally, log);
    for (size_t i = 0; code != SHOAL_OK && i < shoal_log_message_count(log); i++)
        fprintf(stderr, "%s\n", shoal_log_message(log, i).text);
    if (code == SHOAL_OK)
        fprintf(stderr, "%llu trajectories in %.3g s\n", (unsigned long long)tally.done,
                tally.seconds);
    shoal_log_free(log);
    return shoal_code_exit(code);
}
