// SPDX-License-Identifier: MIT
// See ranks.h.
#include "ranks.h"

#include "check.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

const char *ranks_program(void) {
    static char program[PATH_MAX];
    char *shoal = check_keep(realpath(check_shoal(), NULL));
    REQUIRE(shoal != NULL);
    snprintf(program, sizeof program, "%s-mpi", shoal);
    if (RUN("sh", "-c", "command -v mpirun").status)
        check_skip("mpirun is not installed");
    if (access(program, X_OK))
        check_skip("%s is not there: make mpi", program);
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_orte_tmpdir_base", "/tmp", 1); // names of sockets are short
    return program;
}

int ranks_reap(pid_t mpirun) {
    enum { POLL_US = 5000, POLLS = 4000 };
    int status = 0;
    for (int i = 0; waitpid(mpirun, &status, WNOHANG) == 0; i++) {
        if (i >= POLLS)
            kill(mpirun, SIGKILL);
        usleep(POLL_US);
    }
    return status;
}

// MPICH has a process between.
int ranks_find(pid_t mpirun, pid_t rank[RANKS_MOST]) {
    char parent[32], *rest;
    int n = 0;
    snprintf(parent, sizeof parent, "%d", mpirun);
    char *found =
        RUN("sh", "-c", "pgrep -P $(pgrep -P \"$0\" hydra_pmi || echo \"$0\")", parent).out;
    for (char *p = strtok_r(found, "\n", &rest); p && n < RANKS_MOST;
         p = strtok_r(NULL, "\n", &rest))
        rank[n++] = (pid_t)atoi(p);
    return n;
}

static bool has_number(pid_t rank, const char *name, int number) {
    char path[64], want[64], text[65536];
    snprintf(path, sizeof path, "/proc/%d/environ", rank);
    int length = snprintf(want, sizeof want, "%s=%d", name, number) + 1;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    return n && memmem(text, n, want, (size_t)length);
}

pid_t ranks_find_one(pid_t mpirun, int number) {
    pid_t rank[RANKS_MOST];
    for (int i = ranks_find(mpirun, rank); i-- > 0;)
        if (has_number(rank[i], "OMPI_COMM_WORLD_RANK", number) ||
            has_number(rank[i], "PMI_RANK", number))
            return rank[i];
    return 0;
}
