// SPDX-License-Identifier: MIT
// shoal completions: what bash, zsh and fish offer behind `shoal`, made from the tables of commands
// and options. `make install` puts the scripts where the shells look for them.
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- Values of options --------------------------------------------------------------------------

enum value { VALUE_NONE, VALUE_ANY, VALUE_FILE, VALUE_DIRECTORY, VALUE_WORDS };

static enum value value_of(const shoal_option_info *o) {
    if (!o->metavar)
        return VALUE_NONE;
    if (strchr(o->metavar, '|') || !strcmp(o->name, "method"))
        return VALUE_WORDS;
    return !strcmp(o->metavar, "FILE")  ? VALUE_FILE
           : !strcmp(o->metavar, "DIR") ? VALUE_DIRECTORY
                                        : VALUE_ANY;
}

// The words between `|`, up to where the user's own part begins: cuda[:I] is cuda, n=N is n=.
static void put_choices(const char *text) {
    const char *blank = "";
    for (const char *p = text; *p; blank = " ") {
        size_t n = strcspn(p, "|"), kept = 0;
        while (kept < n && p[kept] != '[' && !isupper((unsigned char)p[kept]))
            kept++;
        printf("%s%.*s", blank, (int)kept, p);
        p += n + (p[n] == '|');
    }
}

static void put_words(const shoal_option_info *o) {
    if (!strcmp(o->name, "method")) {
        fputs("auto", stdout);
        for (uint32_t i = 0; i < shoal_method_count(); i++)
            printf(" %s", shoal_method_at(i).name);
        return;
    }
    put_choices(o->metavar);
}

// Every command with a name of its own, parts of `cache` after their command.
static void each_command(void (*call)(const struct command *c)) {
    for (size_t i = 0; i < command_count; i++) {
        if (commands[i].call)
            call(&commands[i]);
        for (const struct command *p = commands[i].parts; p && p->name; p++)
            call(p);
    }
}

// Commands, without those that only a build asks for.
static void put_names(void) {
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden && (commands[i].call || commands[i].parts))
            printf("%s ", commands[i].name);
}

static void put_parts(const struct command *c) {
    for (const struct command *p = c->parts; p->name; p++)
        printf("%s ", p->name);
}

// All that `shoal help` explains; an option named like a command is that command there.
static void put_topics(void) {
    put_names();
    for (uint32_t i = 0; i < shoal_option_count(); i++)
        if (!command_find(shoal_option_at(i).name))
            printf("%s ", shoal_option_at(i).name);
    for (uint32_t i = 0; i < shoal_method_count(); i++)
        printf("%s ", shoal_method_at(i).name);
    for (int i = 0; i < SHOAL_STATUS_COUNT; i++)
        printf("%s ", shoal_status_word(i));
    for (size_t i = 0; i < variable_count; i++)
        printf("%s ", variables[i].name);
}

// The words that can follow the command itself, if they are known.
static bool has_words(const struct command *c) {
    return c->parts || !strcmp(c->name, "help") || strchr(c->takes, '|');
}

static void put_words_of(const struct command *c) {
    if (c->parts)
        put_parts(c);
    else if (!strcmp(c->name, "help"))
        put_topics();
    else
        put_choices(c->takes);
}

// ---- bash ---------------------------------------------------------------------------------------

static void bash_options(const struct command *c) {
    printf("    '%s%s%s')\n        options='", c->part_of ? c->part_of : "", c->part_of ? " " : "",
           c->name);
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (!args_takes(c->name, &o))
            continue;
        printf("--%s ", o.name);
        if (o.letter)
            printf("-%c ", o.letter);
    }
    puts("' ;;");
}

static void bash_value(const shoal_option_info *o) {
    enum value v = value_of(o);
    if (v == VALUE_NONE)
        return;
    if (o->letter)
        printf("    -%c | ", o->letter);
    printf("%s--%s) ", o->letter ? "" : "    ", o->name);
    if (v == VALUE_WORDS) {
        fputs("words='", stdout);
        put_words(o);
        puts("' kind=words ;;");
    } else
        printf("kind=%s ;;\n", v == VALUE_FILE        ? "file"
                               : v == VALUE_DIRECTORY ? "directory"
                                                      : "any");
}

static const char bash_head[] =
    "# Completion of shoal for bash, made by `shoal completions bash`.\n"
    "_shoal() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} options= words= kind=\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then # --name=value is three words\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

static const char bash_tail[] =
    "    if [[ $kind == words ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    elif [[ $kind == directory ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -d -- \"$cur\"))\n"
    "    elif [[ $kind == any ]]; then\n"
    "        :\n"
    "    elif [[ -z $kind && $cur == -* ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
    "    else\n"
    "        local IFS=$'\\n'\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
    "    fi\n"
    "}\n"
    "complete -F _shoal shoal\n";

// Offers words and is done.
static void bash_offer(const struct command *c) {
    fputs("        COMPREPLY=($(compgen -W '", stdout);
    if (c)
        put_words_of(c);
    else
        put_names();
    puts("' -- \"$cur\"))\n        return\n    fi");
}

static void bash(void) {
    fputs(bash_head, stdout);
    puts("    if ((COMP_CWORD == 1)); then");
    bash_offer(NULL);
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = &commands[i];
        if (!has_words(c))
            continue;
        printf("    if ((COMP_CWORD == 2)) && [[ $command == %s ]]; then\n", c->name);
        bash_offer(c);
        if (c->parts)
            printf("    [[ $command == %s ]] && command=\"$command ${COMP_WORDS[2]}\"\n", c->name);
    }
    puts("    case $command in");
    each_command(bash_options);
    puts("    esac\n    [[ \" $options\" == *\" $prev \"* ]] && case $prev in");
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        bash_value(&o);
    }
    puts("    esac");
    fputs(bash_tail, stdout);
}

// ---- zsh ----------------------------------------------------------------------------------------

// Text inside '...' where `:` and brackets have a meaning.
static void zsh_text(const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(const shoal_option_info *o) {
    enum value v = value_of(o);
    fputs("            '", stdout);
    if (o->repeatable)
        putchar('*');
    else if (o->letter)
        printf("(-%c --%s)", o->letter, o->name);
    if (o->letter)
        printf("'{-%c%s,--%s%s}'", o->letter, v ? "+" : "", o->name, v ? "=" : "");
    else
        printf("--%s%s", o->name, v ? "=" : "");
    putchar('[');
    zsh_text(o->help);
    putchar(']');
    if (v) {
        putchar(':');
        zsh_text(o->name);
        putchar(':');
    }
    if (v == VALUE_WORDS) {
        putchar('(');
        put_words(o);
        putchar(')');
    } else if (v == VALUE_FILE)
        fputs("_files", stdout);
    else if (v == VALUE_DIRECTORY)
        fputs("_files -/", stdout);
    puts("' \\");
}

static void zsh_command(const struct command *c) {
    printf("    '%s%s%s')\n        _arguments -s \\\n", c->part_of ? c->part_of : "",
           c->part_of ? " " : "", c->name);
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (args_takes(c->name, &o))
            zsh_option(&o);
    }
    if (has_words(c)) {
        fputs("            ':word:(", stdout);
        put_words_of(c);
        puts(")' ;;");
    } else
        puts(c->needs_model ? "            '*:file:_files' ;;" : "            && : ;;");
}

static void zsh_list(const struct command *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (list[i].hidden || !(list[i].call || list[i].parts))
            continue;
        printf("            '%s:", list[i].name);
        zsh_text(list[i].help);
        puts("'");
    }
    puts("        )\n        _describe command list\n        return\n    fi");
}

static void zsh(void) {
    puts("#compdef shoal\n"
         "# Completion of shoal for zsh, made by `shoal completions zsh`.\n"
         "_shoal() {\n"
         "    local command=$words[2]\n"
         "    local -a list\n"
         "    if ((CURRENT == 2)); then\n"
         "        list=(");
    zsh_list(commands, command_count);
    for (size_t i = 0; i < command_count; i++) {
        size_t parts = 0;
        if (!commands[i].parts)
            continue;
        while (commands[i].parts[parts].name)
            parts++;
        printf("    if [[ $command == %s ]] && ((CURRENT == 3)); then\n        list=(\n",
               commands[i].name);
        zsh_list(commands[i].parts, parts);
        printf("    if [[ $command == %s ]]; then\n        command=\"$command $words[3]\"\n"
               "        shift words\n        ((CURRENT--))\n    fi\n",
               commands[i].name);
    }
    puts("    shift words\n    ((CURRENT--))\n    case $command in");
    each_command(zsh_command);
    puts("    esac\n}\n"
         "if [[ $funcstack[1] == _shoal ]]; then _shoal \"$@\"; else compdef _shoal shoal; fi");
}

// ---- fish ---------------------------------------------------------------------------------------

static void fish_text(const char *text) {
    putchar('\'');
    for (; *text; text++)
        printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('\'');
}

static void fish_words(const struct command *c) {
    if (c->parts || c->part_of || !has_words(c))
        return;
    printf("complete -c shoal -n '__fish_seen_subcommand_from %s' -f -a '", c->name);
    put_words_of(c);
    puts("'");
}

static void fish_command(const struct command *c) {
    fish_words(c);
    if (c->hidden)
        return;
    fputs("complete -c shoal -n ", stdout);
    if (c->part_of) { // once: not behind another part
        printf("'__fish_seen_subcommand_from %s; and not __fish_seen_subcommand_from ", c->part_of);
        put_parts(command_find(c->part_of));
        putchar('\'');
    } else
        fputs("__fish_use_subcommand", stdout);
    printf(" -f -a %s -d ", c->name);
    fish_text(c->help);
    putchar('\n');
}

static void fish_option(const shoal_option_info *o) {
    static const char *const flags[] = {[VALUE_NONE] = "",
                                        [VALUE_ANY] = " -x",
                                        [VALUE_FILE] = " -r -F",
                                        [VALUE_DIRECTORY] =
                                            " -x -a '(__fish_complete_directories)'",
                                        [VALUE_WORDS] = " -x -a '"};
    enum value v = value_of(o);
    printf("complete -c shoal -n '__fish_seen_subcommand_from %s' -l %s", o->commands, o->name);
    if (o->letter)
        printf(" -s %c", o->letter);
    fputs(flags[v], stdout);
    if (v == VALUE_WORDS) {
        put_words(o);
        putchar('\'');
    }
    fputs(" -d ", stdout);
    fish_text(o->help);
    putchar('\n');
}

static void fish(void) {
    puts("# Completion of shoal for fish, made by `shoal completions fish`.");
    for (size_t i = 0; i < command_count; i++)
        if (commands[i].parts)
            fish_command(&commands[i]);
    each_command(fish_command);
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        fish_option(&o);
    }
}

int command_completions(struct args *a) {
    static const struct {
        const char *name;
        void (*call)(void);
    } shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
    const char *known[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(a->model, shells[i].name)) {
            shells[i].call();
            return 0;
        }
    return args_unknown("shell", a->model, known, 3, "shoal help completions");
}
