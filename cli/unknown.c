// SPDX-License-Identifier: MIT
// What to say to a word that is no command, option or file: the nearest one that there is.
#include "cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

// Words of other programs, and what they are called here.
static const struct {
    const char *word, *here;
} others[] = {
    {"solve", "run"},         {"simulate", "run"},    {"integrate", "run"},    {"sim", "run"},
    {"build", "warm"},        {"compile", "warm"},    {"show", "info"},        {"describe", "info"},
    {"list", "cache"},        {"clean", "cache"},     {"tend", "t1"},          {"t-end", "t1"},
    {"tmax", "t1"},           {"tstop", "t1"},        {"tfinal", "t1"},        {"end", "t1"},
    {"tstart", "t0"},         {"t-start", "t0"},      {"start", "t0"},         {"tol", "rtol"},
    {"reltol", "rtol"},       {"abstol", "atol"},     {"param", "set"},        {"params", "set"},
    {"parameter", "set"},     {"par", "set"},         {"init", "set"},         {"solver", "method"},
    {"integrator", "method"}, {"gpu", "device"},      {"backend", "device"},   {"jobs", "threads"},
    {"cores", "threads"},     {"nproc", "threads"},   {"n", "runs"},           {"samples", "runs"},
    {"out", "output"},        {"file", "output"},     {"variables", "vars"},   {"columns", "vars"},
    {"step", "dt"},           {"timestep", "dt"},     {"stepsize", "dt"},      {"range", "sweep"},
    {"scan", "sweep"},        {"grid", "sweep"},      {"random", "sample"},    {"silent", "quiet"},
    {"f32", "precision"},     {"float", "precision"}, {"double", "precision"},
};

static const char *other_word(const char *word, const char *const *known, size_t count) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (size_t k = 0; k < count && !strcmp(others[i].word, word); k++)
            if (!strcmp(others[i].here, known[k]))
                return known[k];
    return NULL;
}

int args_unknown(const char *kind, const char *word, const char *const *known, size_t count,
                 const char *see) {
    const char *best = other_word(word, known, count);
    best = best ? best : shoal_nearest(word, known, count);
    const char *dashes = !strcmp(kind, "option") ? "--" : "";
    if (best)
        fprintf(stderr, "error: unknown %s '%s'; did you mean %s%s?\n", kind, word, dashes, best);
    else
        fprintf(stderr, "error: unknown %s '%s'; see `%s`\n", kind, word, see);
    return EXIT_USAGE;
}

// As an option that takes any number would have it.
static bool is_number(const char *text) {
    return shoal_option_read("t1", text, NULL, NULL) == SHOAL_OK;
}

int unknown_option(const char *command, const char *name, size_t length, const char *next) {
    const char *known[128];
    char see[64], *word = cli_realloc(NULL, length + 1);
    size_t count = 0;
    bool sets = false;
    memcpy(word, name, length);
    word[length] = 0;
    for (uint32_t i = 0; i < shoal_option_count() && count < 128; i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!args_takes(command, &o))
            continue;
        known[count++] = o.name;
        sets = sets || !strcmp(o.name, "set");
    }
    snprintf(see, sizeof see, "shoal help %s", command);
    int status = args_unknown("option", word, known, count, see);
    if (sets && next && is_number(next))
        fprintf(stderr, "  (a value of the model is given by --set %s=%s)\n", word, next);
    free(word);
    return status;
}

int unknown_word(const struct args *a, const struct command *c, const char *word) {
    const struct item *last = a->count ? &a->items[a->count - 1] : NULL;
    bool names = last && last->option.repeatable && last->option.metavar &&
                 strchr(last->option.metavar, '=') && !strchr(last->value, '=');
    if (names)
        fprintf(stderr, "error: --%s takes %s in one word: --%s '%s=%s'\n", last->option.name,
                last->option.metavar, last->option.name, last->value,
                word[0] == '=' ? "..." : word);
    else if (strchr(word, '=') && word[0] != '=' && !c->part_of)
        fprintf(stderr, "error: '%s' is one word too many; a value is given by --set %s\n", word,
                word);
    else
        fprintf(stderr, "error: '%s' is one word too many; see `shoal help %s%s%s`\n", word,
                c->part_of ? c->part_of : "", c->part_of ? " " : "", c->name);
    return EXIT_USAGE;
}

static bool ends_with(const char *text, const char *ending) {
    size_t n = strlen(text), m = strlen(ending);
    return n > m && !strcasecmp(text + n - m, ending);
}

int unknown_command(const char *name) {
    const char *known[COMMANDS_MOST];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].call || commands[i].parts)
            known[count++] = commands[i].name;
    if (ends_with(name, ".ode") || (*name && access(name, F_OK) == 0))
        fprintf(stderr, "error: unknown command '%s'; to run a model: shoal run %s\n", name, name);
    else if (name[0] == '-')
        fprintf(stderr, "error: '%s' stands before the command; write: shoal COMMAND ... %s\n",
                name, name);
    else
        return args_unknown("command", name, known, count, "shoal help");
    return EXIT_USAGE;
}

bool refuse_result(const char *path) {
    if (!ends_with(path, ".npz") && !ends_with(path, ".h5") && !ends_with(path, ".hdf5"))
        return false;
    fprintf(stderr, "error: %s is not a model; `shoal run --job %s` repeats a result\n", path,
            path);
    return true;
}

// A name that may be shown: it does nothing to a terminal.
static bool is_plain(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name < 32 || *name == 127)
            return false;
    return true;
}

static void suggest_of(DIR *dir, const char *folder, const char *base) {
    const char *names[1024];
    size_t count = 0;
    char whole[300];
    snprintf(whole, sizeof whole, "%s.ode", base);
    for (struct dirent *e; count < 1024 && (e = readdir(dir)) != NULL;)
        if (ends_with(e->d_name, ".ode") && is_plain(e->d_name))
            count += (names[count] = strdup(e->d_name)) != NULL;
    const char *best = NULL;
    for (size_t i = 0; i < count && !best; i++)
        best = strcmp(names[i], whole) ? NULL : names[i];
    best = best ? best : shoal_nearest(base, names, count);
    if (best)
        fprintf(stderr, "  did you mean %s%s?\n", folder, best);
    for (size_t i = 0; i < count; i++)
        free((char *)(uintptr_t)names[i]);
}

void suggest_model(const char *path) {
    const char *slash = strrchr(path, '/');
    char folder[4096] = "";
    if (access(path, F_OK) == 0 || strlen(path) >= sizeof folder)
        return;
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - path), path);
    DIR *dir = opendir(folder[0] ? folder : ".");
    if (dir)
        suggest_of(dir, folder, slash ? slash + 1 : path);
    if (dir)
        closedir(dir);
}
