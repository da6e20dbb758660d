// SPDX-License-Identifier: MIT
// --report: a page about the run, made of its result file and of what this process knows.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { MODEL_MOST = 1 << 20 };

static const char begins[] = "<!DOCTYPE html>\n<html lang=\"en\" xmlns=";

// A page of the user's that is none of ours is not replaced, unless --force says so.
static bool is_foreign(const char *path) {
    char head[sizeof begins] = "";
    struct stat s;
    if (stat(path, &s) || !s.st_size)
        return false;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(head, 1, sizeof begins - 1, f) : 0;
    if (f)
        fclose(f);
    return n < sizeof begins - 1 || memcmp(head, begins, sizeof begins - 1) != 0;
}

shoal_code report_check(const struct args *a, const char *output) {
    const char *path = args_value(a, "report");
    if (!path)
        return SHOAL_OK;
    if (!output || !strcmp(output, "-")) {
        fputs("error: --report needs -o FILE: it shows what the file holds\n", stderr);
        return SHOAL_USAGE;
    }
    if (args_flag(a, "force") || !is_foreign(path))
        return SHOAL_OK;
    fprintf(stderr, "error: %s: is there already and no report; --force replaces it\n", path);
    return SHOAL_IO;
}

// As a shell would take it.
static char *command_line(const struct args *a) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "shoal %s", a->command);
    for (int i = 0; i < a->argc; i++)
        rest_put_word(out, a->argv[i]);
    fclose(out);
    return text;
}

// System, processor and how many there are; no name of the machine.
static void describe_machine(char *text, size_t room) {
    struct utsname u;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    if (uname(&u))
        u.sysname[0] = u.release[0] = u.machine[0] = 0;
    snprintf(text, room, "%s %s, %s, %ld CPUs", u.sysname, u.release, u.machine, cpus);
}

// The model, for results that do not hold it; NULL where it was no file.
static char *read_model(const char *path) {
    char *text = calloc(1, MODEL_MOST + 1);
    FILE *f = text && path && strcmp(path, "-") ? fopen(path, "re") : NULL;
    size_t n = f ? fread(text, 1, MODEL_MOST, f) : 0;
    if (f)
        fclose(f);
    if (n)
        return text;
    free(text);
    return NULL;
}

shoal_code report_write(const struct args *a, const shoal_solver *solver, const char *output,
                        shoal_log *log) {
    const char *path = args_value(a, "report");
    if (!path)
        return SHOAL_OK;
    char *command = command_line(a), *model = read_model(a->model), machine[512];
    describe_machine(machine, sizeof machine);
    shoal_report_facts facts = {.size = sizeof facts,
                                .command = command,
                                .device = shoal_solver_device(solver),
                                .machine = machine,
                                .model_text = model,
                                .times = log};
    shoal_code code = shoal_report(output, &facts, path, log);
    free(command);
    free(model);
    return code;
}
