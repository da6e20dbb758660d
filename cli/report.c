// SPDX-License-Identifier: MIT
// --report: a page about the run, made of its result file and of what this process knows.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

shoal_code report_write(const struct args *a, const shoal_solver *solver, const char *output,
                        shoal_log *log) {
    const char *path = args_value(a, "report");
    if (!path)
        return SHOAL_OK;
    char *command = command_line(a);
    shoal_report_facts facts = {.size = sizeof facts,
                                .command = command,
                                .device = shoal_solver_device(solver),
                                .times = log};
    shoal_code code = shoal_report(output, &facts, path, log);
    free(command);
    return code;
}
