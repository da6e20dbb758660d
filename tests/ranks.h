// SPDX-License-Identifier: MIT
// shoal-mpi under mpirun, for tests: of Open MPI or of MPICH.
#ifndef SHOAL_TESTS_RANKS_H
#define SHOAL_TESTS_RANKS_H

#include <sys/types.h>

enum { RANKS_MOST = 8 };

// The whole path of the program, with the environment that mpirun wants here; skips the test where
// either is missing.
const char *ranks_program(void);
// The processes of the ranks that mpirun started; how many there are.
int ranks_find(pid_t mpirun, pid_t rank[RANKS_MOST]);
pid_t ranks_find_one(pid_t mpirun, int number); // 0: there is none
// Waits for the end of a process, whose status it returns. Open MPI's mpirun now and then waits for
// ever when all its ranks were killed: it is ended then.
int ranks_reap(pid_t mpirun);

#endif
