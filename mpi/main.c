// SPDX-License-Identifier: MIT
// The program: MPI around the command line.
#include "ranks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct ranks *ranks;

const struct ranks *cli_ranks(void) { return ranks; }

// Ranks but the first say nothing, unless it turns out that they must.
static int keep_quiet(void) {
    int said = memfd_create("said", 0), nowhere = open("/dev/null", O_WRONLY), real = dup(2);
    if (said >= 0)
        dup2(said, 2);
    if (nowhere >= 0) {
        dup2(nowhere, 1);
        close(nowhere);
    }
    return real;
}

static void say_after_all(int real, int rank) {
    char line[512];
    FILE *said = fdopen(2, "r"), *out = fdopen(real, "w");
    if (!said || !out)
        return;
    rewind(said);
    while (fgets(line, sizeof line, said))
        fprintf(out, "rank %d: %s", rank, line);
    fflush(out);
}

static bool is_shared(int argc, char **argv) {
    return argc > 1 && (!strcmp(argv[1], "run") || !strcmp(argv[1], "resume"));
}

// Standard input is that of the first rank alone.
static bool reads_input(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "-") && strcmp(argv[i - 1], "-o") && strcmp(argv[i - 1], "--output"))
            return true;
    return false;
}

static int run(int rank, int argc, char **argv) {
    if (!rank)
        return first_end(cli_main(argc, argv));
    int real = keep_quiet(), status = cli_main(argc, argv), all;
    fflush(stderr);
    all = other_end(status);
    if (all < 0) // this one has something to say
        say_after_all(real, rank);
    return all < 0 ? -all - 1 : all;
}

int main(int argc, char **argv) {
    int provided, rank, count, status = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (provided < MPI_THREAD_SERIALIZED || (count > 1 && reads_input(argc, argv))) {
        if (!rank)
            fputs(provided < MPI_THREAD_SERIALIZED
                      ? "error: this MPI has no MPI_THREAD_SERIALIZED\n"
                      : "error: standard input cannot be read by several ranks; name a file\n",
                  stderr);
        status = EXIT_USAGE;
    } else if (is_shared(argc, argv)) {
        ranks = rank ? &other_ranks : &first_ranks;
        place_find();
        status = run(rank, argc, argv);
    } else if (!rank)
        status = cli_main(argc, argv);
    MPI_Finalize();
    _exit(status);
}
