// SPDX-License-Identifier: MIT
// shoal: picks the command and turns its outcome into an exit code.
//
// Exit codes: 0 done, 1 error in the input or options, 2 usage (also: a command or option that is
// not there yet), 3 device or compiler, 4 files and I/O, 5 every trajectory failed, 75 when time
// was up and it is to be run again, 128 + signal when stopped.
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const struct command commands[] = {
    {"run", "MODEL [options]", "integrate a batch", command_run, .needs_model = true},
    {"info", "MODEL [options]", "what was understood of a model", command_info,
     .needs_model = true},
    {"source", "MODEL [options]", "print the generated kernel source", command_source,
     .needs_model = true},
    {"warm", "MODEL... [options]", "build the kernels run would need", command_warm,
     .needs_model = true, .words = MANY_WORDS},
    {"calibrate", "[MODEL] [options]", "measure this machine, for the choice of a device",
     .call = command_calibrate, .words = 1},
    {"cache", "list|show|...", "look after the kernels on disk", .parts = cache_parts},
    {"plot", "RESULT [WHAT] [options]", "draw a result, into a file or on the terminal",
     command_plot, .needs_model = true, .words = 2},
    {"grid", "PIPELINE [options]", "a pipeline on batches of integer grids", command_grid,
     .needs_model = true},
    {"resume", "FILE [options]", "go on with a run that was stopped or killed, into the same file",
     command_resume, .needs_model = true},
    {"merge", "OUT SHARD... [options]", "put results of --shard together", command_merge,
     .needs_model = true, .words = MANY_WORDS},
    {"status", "FILE", "how far a run into a file is", command_status, .needs_model = true},
    {"devices", "", "what can compute here", .call = command_devices},
    {"methods", "", "the integration methods", .call = command_methods},
    {"options", "", "every option, its default and where it may stand", .call = command_options},
    {"env", "", "what is taken from the environment, and the compiler found", .call = command_env},
    {"version", "", "the version", .call = command_version},
    {"help", "[NAME]", "this, or about a command, option, method, status or variable",
     .call = command_help, .words = 2, .only_words = true},
    {"man", "", "the manual page, for man(1)", .call = command_man, .hidden = true},
    {"completions", "bash|zsh|fish", "a script that lets a shell complete what is typed",
     .call = command_completions, .needs_model = true, .hidden = true},
};
const size_t command_count = sizeof commands / sizeof *commands;
_Static_assert(sizeof commands / sizeof *commands <= COMMANDS_MOST, "more commands than expected");

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

// A flag may have a value, which is on or off: what else it says is not taken for one of them.
static int check_flags(const struct args *a) {
    for (size_t i = 0; i < a->count; i++) {
        const struct item *item = &a->items[i];
        if (item->option.metavar || !shoal_option_read(item->option.name, item->value, NULL, NULL))
            continue;
        fprintf(stderr, "error: --%s: '%s' is neither on nor off\n", item->option.name,
                item->value);
        return shoal_code_exit(SHOAL_INPUT);
    }
    return 0;
}

// Whether whoever read our output has closed it.
static bool reader_left(void) {
    struct pollfd out = {.fd = 1, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

// What was printed must have arrived: a full disk is an error. A reader that has enough ends the
// program as it ends every other, without a word.
static int close_stdout(int status) {
    bool failed = ferror(stdout) != 0;
    errno = 0;
    failed = fflush(stdout) != 0 || failed;
    int why = errno;
    if (failed && reader_left()) {
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    if ((fclose(stdout) != 0 || failed) && status == 0) {
        fprintf(stderr, "error: cannot write to standard output: %s\n",
                why ? strerror(why) : "write failed");
        return EXIT_IO;
    }
    return status;
}

static int call(const struct command *c, int argc, char **argv) {
    struct args a;
    int status = args_parse(&a, c, argc, argv);
    status = status ? status : check_flags(&a);
    if (status == 0 && args_flag(&a, "help"))
        help_command(stdout, c);
    else if (status == 0)
        status = c->call(&a);
    args_free(&a);
    if (a.leaves && !cli_ranks()) // those end together, and then so
        _exit(close_stdout(status));
    return status;
}

// A command of several parts: the first word says which.
static int call_part(const struct command *c, int argc, char **argv) {
    const char *known[COMMANDS_MOST];
    size_t count = 0;
    if (argc < 1) {
        help_command(stderr, c);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
        help_command(stdout, c);
        return 0;
    }
    for (const struct command *p = c->parts; p->name; p++) {
        if (!strcmp(p->name, argv[0]))
            return call(p, argc - 1, argv + 1);
        known[count++] = p->name;
    }
    return args_unknown("command", argv[0], known, count, "shoal help cache");
}

// A file that is opened must never become one of the standard streams, where those were closed:
// talk would land in it. What takes their place can be used the wrong way only, so that reading
// and writing fail as they do on a closed one.
static void hold_streams(void) {
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", wrong_way[fd]) != fd)
            _exit(EXIT_IO);
}

int cli_main(int argc, char **argv) {
    hold_streams();
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        help_all(stdout);
        return close_stdout(0);
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h"))
        name = "help";
    if (!strcmp(name, "--version") || !strcmp(name, "-V"))
        name = "version";
    const struct command *c = command_find(name);
    if (!c)
        return close_stdout(unknown_command(name));
    return close_stdout((c->parts ? call_part : call)(c, argc - 2, argv + 2));
}
