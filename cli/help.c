// SPDX-License-Identifier: MIT
// Help, made from the command and option tables.
#include "cli.h"

#include <string.h>

enum { INDENT = 36 };

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
         "r: may be given several times           -: not supported yet");
    const char *group = "";
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        char marks[] = {o.in_kernel ? 'k' : ' ',
                        o.in_model ? 'm' : ' ',
                        o.repeatable ? 'r' : ' ',
                        o.later ? '-' : ' ',
                        ' ',
                        0};
        if (strcmp(group, o.group))
            printf("\n%s:\n", o.group);
        group = o.group;
        help_option(stdout, &o, marks, show_width(stdout));
    }
    return 0;
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
        if (o.later || !args_takes(c->name, &o))
            continue;
        if (strcmp(group, o.group))
            fprintf(out, "\n%s:\n", o.group);
        group = o.group;
        help_option(out, &o, "", width);
    }
    if (!strcmp(c->name, "run"))
        fputs("\nexamples:\n"
              "  shoal run lorenz.ode --sweep rho=lin:0:21:1000 -o out.csv\n"
              "  shoal run lorenz.ode --save n=101 --vars x,r -o series.npz\n"
              "  shoal run lorenz.ode --sample rho=normal:28:2 --runs 1e6 --seed 1 -o out.h5\n"
              "  shoal run --job out.npz --only-runs 17 --save steps\n",
              out);
}

void help_all(FILE *out) {
    fputs("shoal: one small dynamical system, written as text, integrated millions of times\n\n"
          "usage: shoal COMMAND ...\n\n",
          out);
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].call || commands[i].parts) {
            char head[48];
            snprintf(head, sizeof head, "%s %s", commands[i].name, commands[i].takes);
            fprintf(out, "  shoal %-26s %s\n", head, commands[i].help);
        }
    fputs("\n`shoal help run` explains every option of a run.\n"
          "exit codes: 0 done, 1 error in the input or options, 2 usage, 3 device or compiler,\n"
          "4 files and I/O, 5 every trajectory failed, 128 + signal when stopped\n",
          out);
}

int command_help(struct args *a) {
    if (!a->model) {
        help_all(stdout);
        return 0;
    }
    const struct command *c = command_find(a->model);
    const char *known[16];
    for (size_t i = 0; i < command_count; i++)
        known[i] = commands[i].name;
    if (!c)
        return args_unknown("command", a->model, known, command_count, "shoal help");
    help_command(stdout, c);
    return 0;
}
