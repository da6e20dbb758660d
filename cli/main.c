// SPDX-License-Identifier: MIT
// shoal: picks the command and turns its outcome into an exit code.
//
// Exit codes: 0 done, 1 error in the input or options, 2 usage (also: a command or option that is
// not there yet), 3 device or compiler, 4 files and I/O, 5 every trajectory failed, 128 + signal
// when stopped.
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

const struct command commands[] = {
    {"run", "MODEL [options]", "integrate a batch", command_run, true},
    {"info", "MODEL [options]", "what was understood of a model", command_info, true},
    {"source", "MODEL [options]", "print the generated kernel source", command_source, true},
    {"devices", "", "what can compute here", command_devices, false},
    {"methods", "", "the integration methods", command_methods, false},
    {"options", "", "every option, its default and where it may stand", command_options, false},
    {"env", "", "what is taken from the environment, and the compiler found", command_env, false},
    {"version", "", "the version", command_version, false},
    {"help", "[COMMAND]", "this, or all about a command", command_help, false},
    {"warm", "MODEL [options]", "build the kernels run would need", NULL, true},
    {"calibrate", "[MODEL]", "measure this machine", NULL, false},
    {"cache", "list|show|...", "look after the kernels on disk", NULL, false},
    {"grid", "PIPELINE [options]", "the grid engine", NULL, true},
};
const size_t command_count = sizeof commands / sizeof *commands;

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *known[16];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].call)
            known[count++] = commands[i].name;
    return args_unknown("command", name, known, count, "shoal help");
}

static int call(const struct command *c, int argc, char **argv) {
    if (!c->call) {
        fprintf(stderr, "error: `shoal %s` is not there yet\n", c->name);
        return EXIT_USAGE;
    }
    struct args a;
    int status = args_parse(&a, c->name, argc, argv);
    if (status == 0 && args_flag(&a, "help"))
        help_command(stdout, c);
    else if (status == 0)
        status = c->call(&a);
    args_free(&a);
    return status;
}

// What was printed must have arrived; a full disk or a closed pipe is an error. (While `run` writes
// its result to a pipe, the signal ends it instead.)
static int close_stdout(int status) {
    bool failed = ferror(stdout) != 0;
    errno = 0;
    if ((fclose(stdout) != 0 || failed) && status == 0) {
        fprintf(stderr, "error: cannot write to standard output: %s\n",
                errno ? strerror(errno) : "write failed");
        return EXIT_IO;
    }
    return status;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        help_all(stdout);
        return close_stdout(0);
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version"))
        name = "version";
    const struct command *c = command_find(name);
    return close_stdout(c ? call(c, argc - 2, argv + 2) : unknown_command(name));
}
