// SPDX-License-Identifier: MIT
// Help, made from the command and option tables.
#include "cli.h"

#include <string.h>

enum { INDENT = 36 };

const struct exit_status exit_statuses[] = {
    {"0", "done, even when some trajectories failed: that is data"},
    {"1", "error in the input or options"},
    {"2", "usage"},
    {"3", "device or compiler"},
    {"4", "files and I/O"},
    {"5", "every trajectory failed"},
    {"75", "stopped by --time-limit, SIGUSR1 or SIGXCPU: run again with --resume"},
    {"128+signal", "stopped; what was finished is in a valid file"},
};
const size_t exit_status_count = sizeof exit_statuses / sizeof *exit_statuses;

const char *const examples[] = {
    "shoal run lorenz.ode --sweep rho=lin:0:21:1000 -o out.csv",
    "shoal run lorenz.ode --save n=101 --vars x,r -o series.npz",
    "shoal run lorenz.ode --sample rho=normal:28:2 --runs 1M --seed 1 -o out.h5",
    "shoal run --job out.npz --only-runs 17 --save steps",
};
const size_t example_count = sizeof examples / sizeof *examples;

// Text from column `column` on, broken between words; continuation lines are indented.
static void wrap(FILE *out, const char *text, uint32_t width, uint32_t indent) {
    uint32_t column = indent;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + n + 1 > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, n, out);
        column += (uint32_t)n;
        text += n + (text[n] == ' ');
    }
    fputc('\n', out);
}

// "  -o, --output FILE", the help and the default.
static void help_option(FILE *out, const shoal_option_info *o, const char *marks, uint32_t width) {
    char head[96], text[512];
    int n = snprintf(head, sizeof head, "  %s%s%c%s--%s%s%s", marks, o->letter ? "-" : "",
                     o->letter ? o->letter : ' ', o->letter ? ", " : "   ", o->name,
                     o->metavar ? " " : "", o->metavar ? o->metavar : "");
    bool show_default = o->metavar && o->default_text[0];
    int indent = INDENT + (int)strlen(marks);
    snprintf(text, sizeof text, "%s%s%s%s", o->help, show_default ? " (" : "",
             show_default ? o->default_text : "", show_default ? ")" : "");
    if (n < indent)
        fprintf(out, "%-*s", indent, head);
    else
        fprintf(out, "%s\n%*s", head, indent, "");
    wrap(out, text, width, (uint32_t)indent);
}

int command_options(struct args *a) {
    (void)a;
    puts("k: another value means another kernel   m: may stand in a model, @ name=value\n"
         "r: may be given several times");
    const char *group = "";
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        char marks[] = {o.in_kernel ? 'k' : ' ', o.in_model ? 'm' : ' ', o.repeatable ? 'r' : ' ',
                        ' ', 0};
        if (strcmp(group, o.group))
            printf("\n%s:\n", o.group);
        group = o.group;
        help_option(stdout, &o, marks, show_width(stdout));
    }
    return 0;
}

static void help_plots(FILE *out) {
    fputs("\nWHAT, chosen by what suits the file:\n", out);
    for (int i = 0; shoal_plot_name(i); i++)
        fprintf(out, "  %-12s %s\n", shoal_plot_name(i), shoal_plot_about(i));
}

static void help_parts(FILE *out, const struct command *c) {
    fputc('\n', out);
    for (const struct command *p = c->parts; p->name; p++) {
        char head[64];
        snprintf(head, sizeof head, "%s %s", p->name, p->takes);
        fprintf(out, "  shoal %s %-32s ", c->name, head);
        wrap(out, p->help, show_width(out), 48);
    }
}

void help_command(FILE *out, const struct command *c) {
    uint32_t width = show_width(out);
    const char *group = "";
    fprintf(out, "usage: shoal %s%s%s%s%s\n\n%s\n", c->part_of ? c->part_of : "",
            c->part_of ? " " : "", c->name, c->takes[0] ? " " : "", c->takes, c->help);
    if (c->parts)
        help_parts(out, c);
    else if (!c->call)
        fprintf(out, "\nNot there yet.\n");
    for (uint32_t i = 0; i < shoal_option_count() && c->call; i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!args_takes(c->name, &o))
            continue;
        if (strcmp(group, o.group))
            fprintf(out, "\n%s:\n", o.group);
        group = o.group;
        help_option(out, &o, "", width);
    }
    if (!strcmp(c->name, "plot"))
        help_plots(out);
    if (strcmp(c->name, "run"))
        return;
    fputs("\nexamples:\n", out);
    for (size_t i = 0; i < example_count; i++)
        fprintf(out, "  %s\n", examples[i]);
}

void help_all(FILE *out) {
    fputs("shoal: one small dynamical system, written as text, integrated millions of times\n\n"
          "usage: shoal COMMAND ...\n\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden && (commands[i].call || commands[i].parts)) {
            char head[48];
            snprintf(head, sizeof head, "%s %s", commands[i].name, commands[i].takes);
            fprintf(out, "  shoal %-26s %s\n", head, commands[i].help);
        }
    fputs("\n`shoal help run` explains every option of a run, `shoal help rtol` one of them.\n"
          "exit codes:\n",
          out);
    for (size_t i = 0; i < exit_status_count; i++)
        fprintf(out, "  %-12s %s\n", exit_statuses[i].code, exit_statuses[i].what);
}

// ---- About a name -------------------------------------------------------------------------------

static bool help_named_option(const char *name) {
    bool dashes = !strncmp(name, "--", 2);
    const char *word = dashes ? name + 2 : name;
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        bool letter = name[0] == '-' && o.letter && name[1] == o.letter && !name[2];
        if (!letter && strcmp(o.name, word))
            continue;
        help_option(stdout, &o, "", show_width(stdout));
        printf("\ntaken by: %s%s%s%s\n", o.commands,
               o.repeatable ? "; may be given several times" : "",
               o.in_model ? "\nmay stand in a model: @ name=value" : "",
               o.in_kernel ? "\nanother value means another kernel" : "");
        return true;
    }
    return false;
}

static bool has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *p = words; n && (p = strstr(p, word)); p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

static bool help_method(const char *name) {
    for (uint32_t i = 0; i < shoal_method_count(); i++) {
        shoal_method_info m = shoal_method_at(i);
        if (strcmp(m.name, name) && !has_word(m.aliases, name))
            continue;
        printf("method %s: %s\n  order %u, %u stages, %s\n", m.name, m.good_for, m.order, m.stages,
               m.embedded_order ? "steps that follow the error" : "fixed steps, with --dt");
        if (m.aliases[0])
            printf("  also called %s\n", m.aliases);
        return true;
    }
    return false;
}

static bool help_status(const char *name) {
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        if (!strcmp(shoal_status_word(i), name)) {
            const char *hint = shoal_status_hint(i);
            printf("status %s: %s\n%s%s%s", name, shoal_status_text(i), hint[0] ? "  " : "", hint,
                   hint[0] ? "\n" : "");
            return true;
        }
    return false;
}

static bool help_variable(const char *name) {
    for (size_t i = 0; i < variable_count; i++)
        if (!strcmp(variables[i].name, name)) {
            printf("%s, in the environment: %s\n", name, variables[i].what);
            return true;
        }
    return false;
}

static int unknown_name(const char *name) {
    const char *known[256];
    size_t count = 0;
    const char *word = name + strspn(name, "-");
    for (size_t i = 0; i < command_count; i++)
        known[count++] = commands[i].name;
    for (uint32_t i = 0; i < shoal_option_count() && count < 128; i++)
        known[count++] = shoal_option_at(i).name;
    for (uint32_t i = 0; i < shoal_method_count() && count < 200; i++)
        known[count++] = shoal_method_at(i).name;
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        known[count++] = shoal_status_word(i);
    for (size_t i = 0; i < variable_count && count < 256; i++)
        known[count++] = variables[i].name;
    return args_unknown("command", word, known, count, "shoal help");
}

// A part of a command: `shoal help cache list`.
static int help_part(const struct command *c, const char *name) {
    const char *known[COMMANDS_MOST];
    size_t count = 0;
    for (const struct command *p = c->parts; p && p->name && count < COMMANDS_MOST; p++) {
        if (!strcmp(p->name, name)) {
            help_command(stdout, p);
            return 0;
        }
        known[count++] = p->name;
    }
    return args_unknown("command", name, known, count, "shoal help");
}

// Parts go by their own name too.
static const struct command *find_command(const char *name) {
    const struct command *found = command_find(name);
    for (size_t i = 0; i < command_count && !found; i++)
        for (const struct command *p = commands[i].parts; p && p->name && !found; p++)
            found = strcmp(p->name, name) ? NULL : p;
    return found;
}

int command_help(struct args *a) {
    const char *name = a->model;
    const struct command *c = name ? find_command(name) : NULL;
    if (!name || !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h")) {
        help_all(stdout);
        return 0;
    }
    if (a->word_count > 1)
        return c ? help_part(c, a->words[1]) : unknown_name(name);
    if (c)
        help_command(stdout, c);
    else if (!help_named_option(name) && !help_method(name) && !help_status(name) &&
             !help_variable(name))
        return unknown_name(name);
    return 0;
}
