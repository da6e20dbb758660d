// SPDX-License-Identifier: MIT
// The program as one process. mpi/ has another main, and the rest of cli/ in common with it.
#include "cli.h"

const struct ranks *cli_ranks(void) { return NULL; }

int main(int argc, char **argv) { return cli_main(argc, argv); }
