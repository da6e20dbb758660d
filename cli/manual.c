// SPDX-License-Identifier: MIT
// shoal man: the manual page, made from the tables of commands, options, variables and statuses, so
// that it says what the program does. `make install` puts it in place.
#include "cli.h"

#include <ctype.h>
#include <string.h>

// Text as troff takes it: nothing in it is a request, an escape or a hyphen.
static void put_text(const char *text) {
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++)
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else if (*text == '`')
            fputs("\\(ga", stdout);
        else if (*text == '^')
            fputs("\\(ha", stdout);
        else if (*text == '~')
            fputs("\\(ti", stdout);
        else
            putchar(*text);
}

static void put_heading(const char *heading) {
    fputs(".SH ", stdout);
    for (; *heading; heading++)
        putchar(toupper((unsigned char)*heading));
    putchar('\n');
}

// A term in bold, what follows it, and its explanation.
static void put_item(const char *term, const char *more, const char *text) {
    fputs(".TP\n\\fB", stdout);
    put_text(term);
    fputs("\\fR", stdout);
    if (*more) {
        fputs(" \\fI", stdout);
        put_text(more);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_text(text);
    putchar('\n');
}

static void put_commands(void) {
    put_heading("commands");
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = &commands[i];
        char name[64];
        if (c->hidden || (!c->call && !c->parts))
            continue;
        if (c->call)
            put_item(c->name, c->takes, c->help);
        for (const struct command *p = c->parts; p && p->name; p++) {
            snprintf(name, sizeof name, "%s %s", c->name, p->name);
            put_item(name, p->takes, p->help);
        }
    }
}

// Which commands take it, where that is not `run`.
static void put_takers(const shoal_option_info *o) {
    if (args_takes("run", o) || !strcmp(o->name, "help"))
        return;
    fputs("Of ", stdout);
    for (const char *p = o->commands; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        printf("%s\\fB%.*s\\fR", p == o->commands ? "" : ", ", (int)n, p);
        p += n;
    }
    puts(".");
}

static void put_option(const shoal_option_info *o) {
    fputs(".TP\n", stdout);
    if (o->letter)
        printf("\\fB\\-%c\\fR, ", o->letter);
    fputs("\\fB\\-\\-", stdout);
    put_text(o->name);
    fputs("\\fR", stdout);
    if (o->metavar) {
        fputs(" \\fI", stdout);
        put_text(o->metavar);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_text(o->help);
    if (o->metavar && o->default_text[0]) {
        fputs(" (", stdout);
        put_text(o->default_text);
        putchar(')');
    }
    putchar('\n');
    put_takers(o);
}

static void put_options(void) {
    const char *group = "";
    put_heading("options");
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (strcmp(group, o.group))
            printf(".SS %c%s\n", toupper((unsigned char)o.group[0]), o.group + 1);
        group = o.group;
        put_option(&o);
    }
    puts(".PP\nCounts may be written as 4096, 1e6 or 10k (decimal), sizes as 800M or 2G (binary).");
}

static void put_outcomes(void) {
    put_heading("status of a trajectory");
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++) {
        char text[512];
        const char *hint = shoal_status_hint(i);
        snprintf(text, sizeof text, "%s%s%s", shoal_status_text(i), hint[0] ? "; " : "", hint);
        put_item(shoal_status_word(i), "", text);
    }
    put_heading("exit status");
    for (size_t i = 0; i < exit_status_count; i++)
        put_item(exit_statuses[i].code, "", exit_statuses[i].what);
    put_heading("environment");
    for (size_t i = 0; i < variable_count; i++)
        put_item(variables[i].name, "", variables[i].what);
}

int command_man(struct args *a) {
    (void)a;
    printf(".TH SHOAL 1 \"\" \"shoal %s\" \"User Commands\"\n", shoal_version());
    puts(".SH NAME\nshoal \\- integrate one small dynamical system millions of times\n"
         ".SH SYNOPSIS\n.B shoal\n.I command\n[\\fIMODEL\\fR] [\\fIoptions\\fR]\n"
         ".SH DESCRIPTION\n"
         "Shoal takes a system of differential equations, written as text, and integrates as many\n"
         "copies of it as asked for, each with its own parameters and initial values. The system\n"
         "is compiled into a kernel for the CPU or a GPU, which is kept for the next time. A\n"
         "trajectory that fails is a row with a status, never the end of the batch.");
    put_commands();
    put_options();
    put_outcomes();
    put_heading("examples");
    fputs(".nf\n", stdout);
    for (size_t i = 0; i < example_count; i++) {
        put_text(examples[i]);
        putchar('\n');
    }
    puts(".fi");
    return 0;
}
