// SPDX-License-Identifier: MIT
// argv by the option table: --name value, --name=value, -o FILE, flags, and the model.
//
// Only names and the presence of values are judged here; what a value means is the library's to
// say, when it is used. Options keep their order; of a scalar one the last counts. A job's options
// come before, and give way where the command line names the same thing.
#include "cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void *cli_realloc(void *old, size_t size) {
    void *p = realloc(old, size ? size : 1);
    if (!p) {
        fputs("error: not enough memory\n", stderr);
        exit(1);
    }
    return p;
}

bool args_takes(const char *command, const shoal_option_info *o) {
    size_t n = strlen(command);
    for (const char *p = o->commands; (p = strstr(p, command)); p += n)
        if ((p == o->commands || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
            return true;
    return false;
}

static char plain(char c) { return c == '_' ? '-' : c; }

// By the name up to `length` or the letter; false when the table has none.
static bool find_option(const char *name, size_t length, char letter, shoal_option_info *out) {
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        *out = shoal_option_at(i);
        size_t n = 0;
        while (n < length && out->name[n] == plain(name[n]))
            n++;
        if (letter ? out->letter == letter : n == length && !out->name[n])
            return true;
    }
    return false;
}

static void add(struct args *a, struct item item) {
    if (a->count == a->room) {
        a->room = a->room ? 2 * a->room : 16;
        a->items = cli_realloc(a->items, a->room * sizeof *a->items);
    }
    a->items[a->count++] = item;
}

static char *own(struct args *a, const char *text, size_t length) {
    char *copy = cli_realloc(NULL, length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    a->owned = cli_realloc(a->owned, (a->owned_count + 1) * sizeof *a->owned);
    return a->owned[a->owned_count++] = copy;
}

// Of an option of a solver that is repeatable the last one has the values of all, as a list.
static void join(struct args *a, struct item *item) {
    for (size_t i = a->count; item->option.repeatable && item->option.field && i-- > 0;) {
        const struct item *other = &a->items[i];
        if (strcmp(other->option.name, item->option.name) || other->from_job != item->from_job)
            continue;
        size_t length = strlen(other->value) + strlen(item->value) + 2;
        char *text = cli_realloc(NULL, length);
        snprintf(text, length, "%s,%s", other->value, item->value);
        item->value = own(a, text, length);
        free(text);
        return;
    }
}

// Of a=1,b=2 each part on its own, so that a sweep of `a` can take the place of one of them.
static void add_value(struct args *a, struct item item) {
    const char *value = item.value;
    int depth = 0;
    size_t start = 0, i = 0;
    item.list = value;
    if (strcmp(item.option.name, "set")) {
        join(a, &item);
        add(a, item);
        return;
    }
    for (;; i++) {
        depth += (value[i] == '(') - (value[i] == ')');
        if (value[i] && !(value[i] == ',' && depth <= 0))
            continue;
        item.value = own(a, value + start, i - start);
        add(a, item);
        item.list = NULL;
        if (!value[i])
            return;
        start = i + 1;
    }
}

// Whether that is written as an option, and not as a value that begins with dashes.
static bool is_option(const char *text) {
    shoal_option_info o;
    return !strncmp(text, "--", 2) && find_option(text + 2, strcspn(text + 2, "="), 0, &o);
}

// Where the text of argv[at] names an option: how it is called, and its value (NULL: none yet).
struct written {
    const char *name, *value;
    size_t length;
    bool is_long;
};

static struct written read_written(const char *text) {
    struct written w = {.is_long = text[1] == '-'};
    w.name = text + (w.is_long ? 2 : 1);
    w.length = w.is_long ? strcspn(w.name, "=") : 1;
    if (w.name[w.length])
        w.value = w.name + w.length + w.is_long;
    return w;
}

// -qv is -q -v.
static bool are_flags(const char *letters) {
    shoal_option_info o;
    for (; *letters; letters++)
        if (!find_option("", 0, *letters, &o) || o.metavar)
            return false;
    return true;
}

// Whether the command takes it; says so where it does not.
static bool is_taken(const struct args *a, const shoal_option_info *o) {
    bool taken = args_takes(a->command, o);
    if (!taken)
        fprintf(stderr, "error: --%s is not an option of `shoal %s`\n", o->name, a->command);
    return taken;
}

static int parse_flags(struct args *a, const char *letters, int at) {
    for (; *letters; letters++) {
        shoal_option_info o;
        find_option("", 0, *letters, &o);
        if (!is_taken(a, &o))
            return EXIT_USAGE;
        add_value(a, (struct item){.option = o, .value = "", .at = at, .words = 1});
    }
    return 0;
}

// One option at argv[*at]; moves *at to its value where it takes one.
static int parse_option(struct args *a, int argc, char **argv, int *at) {
    struct written w = read_written(argv[*at]);
    const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    int first = *at;
    shoal_option_info o;
    if (!w.is_long && are_flags(w.name))
        return parse_flags(a, w.name, first);
    if (!find_option(w.name, w.length, w.is_long ? 0 : *w.name, &o) ||
        (!w.is_long && w.value && !o.metavar))
        return unknown_option(a->command, w.name, w.is_long ? w.length : strlen(w.name), next);
    if (!is_taken(a, &o))
        return EXIT_USAGE;
    if (o.metavar && !w.value) {
        if (!next || is_option(next)) {
            fprintf(stderr, "error: --%s needs a value: %s\n", o.name, o.metavar);
            return EXIT_USAGE;
        }
        w.value = argv[++*at];
    }
    add_value(a, (struct item){.option = o,
                               .value = w.value ? w.value : "",
                               .at = first,
                               .words = *at - first + 1});
    return 0;
}

static int add_word(struct args *a, const struct command *c, const char *word) {
    if (a->word_count >= (c->words ? c->words : c->needs_model))
        return unknown_word(a, c, word);
    if (!*word) {
        fprintf(stderr, "error: an empty word; usage: shoal %s%s%s %s\n",
                c->part_of ? c->part_of : "", c->part_of ? " " : "", c->name, c->takes);
        return EXIT_USAGE;
    }
    a->words = cli_realloc(a->words, (a->word_count + 1) * sizeof *a->words);
    a->words[a->word_count++] = word;
    a->model = a->words[0];
    return 0;
}

int args_parse(struct args *a, const struct command *c, int argc, char **argv) {
    *a = (struct args){.command = c->name, .argv = argv, .argc = argc};
    bool only_words = c->only_words;
    for (int i = 0; i < argc; i++) {
        int status = 0;
        if (!only_words && !strcmp(argv[i], "--"))
            only_words = true;
        else if (!only_words && argv[i][0] == '-' && argv[i][1])
            status = parse_option(a, argc, argv, &i);
        else
            status = add_word(a, c, argv[i]);
        if (status)
            return status;
    }
    if (c->needs_model && !a->model && !args_flag(a, "help") && !args_value(a, "job") &&
        !args_value(a, "grid")) {
        char what[16] = "";
        for (size_t i = 0; i + 1 < sizeof what && isupper((unsigned char)c->takes[i]); i++)
            what[i] = (char)tolower((unsigned char)c->takes[i]);
        fprintf(stderr, "error: no %s; usage: shoal %s%s%s %s\n", what[0] ? what : "name",
                c->part_of ? c->part_of : "", c->part_of ? " " : "", c->name, c->takes);
        return EXIT_USAGE;
    }
    return 0;
}

void args_give(struct args *a, const char *name, const char *value) {
    shoal_option_info o;
    if (find_option(name, strlen(name), 0, &o))
        add_value(a, (struct item){.option = o, .value = own(a, value, strlen(value))});
}

const char *args_value(const struct args *a, const char *name) {
    for (size_t i = a->count; i-- > 0;)
        if (!strcmp(a->items[i].option.name, name))
            return a->items[i].value;
    return NULL;
}

bool args_flag(const struct args *a, const char *name) { return args_choice(a, name, 0) != 0; }

uint32_t args_choice(const struct args *a, const char *name, uint32_t otherwise) {
    const char *value = args_value(a, name);
    shoal_option_value v;
    bool good = value && shoal_option_read(name, value, &v, NULL) == SHOAL_OK;
    return good ? v.choice : otherwise;
}

shoal_code args_check(const struct args *a, shoal_log *log) {
    shoal_code result = SHOAL_OK;
    for (size_t i = 0; i < a->count; i++) {
        shoal_code code = shoal_option_read(a->items[i].option.name, a->items[i].value, NULL, log);
        result = code ? code : result;
    }
    return result;
}

// The name before `=`, without blanks, as the model knows it; false when it has none.
static bool target_of(const struct item *item, const shoal_model *model, shoal_kind *kind,
                      uint32_t *index) {
    const char *name = item->value, *end = strchr(name, '=');
    char text[256];
    if (!item->option.repeatable || !end || !strcmp(item->option.name, "zip"))
        return false;
    while (name < end && isspace((unsigned char)*name))
        name++;
    while (end > name && isspace((unsigned char)end[-1]))
        end--;
    int n = snprintf(text, sizeof text, "%.*s", (int)(end - name), name);
    return n > 0 && (size_t)n < sizeof text && shoal_model_find(model, text, kind, index);
}

static bool overridden(const struct args *a, const struct item *job, const shoal_model *model) {
    shoal_kind kind, other_kind;
    uint32_t index, other;
    if (!job->from_job || !target_of(job, model, &kind, &index))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!a->items[i].from_job && target_of(&a->items[i], model, &other_kind, &other) &&
            kind == other_kind && index == other)
            return true;
    return false;
}

void args_settle(struct args *a, const shoal_model *model) {
    for (size_t k = a->count; k-- > 0;)
        if (overridden(a, &a->items[k], model)) {
            a->count--;
            memmove(&a->items[k], &a->items[k + 1], (a->count - k) * sizeof *a->items);
        }
}

void args_add_job(struct args *a, const shoal_job *job) {
    struct args joined = *a;
    joined.items = NULL;
    joined.count = joined.room = 0;
    for (uint32_t i = 0; i < shoal_job_count(job); i++) {
        const char *name = shoal_job_name(job, i), *value = shoal_job_value(job, i);
        shoal_option_info o;
        if (strcmp(name, "model") && find_option(name, strlen(name), 0, &o))
            add_value(&joined, (struct item){.option = o, .value = value, .from_job = true});
    }
    for (size_t i = 0; i < a->count; i++)
        add(&joined, a->items[i]);
    free(a->items);
    *a = joined;
}

static bool same_name(const struct item *a, const struct item *b) {
    size_t n = strcspn(a->value, "="), m = strcspn(b->value, "=");
    return n == m && !memcmp(a->value, b->value, n);
}

// A name that comes again has its last value; spelt another way it was hardly meant.
static bool spelt_twice(const struct args *a, const struct item *one, const shoal_model *model) {
    shoal_kind kind, other_kind;
    uint32_t index, other;
    if (strcmp(one->option.name, "set") || !target_of(one, model, &kind, &index))
        return false;
    for (const struct item *two = one + 1; two < a->items + a->count; two++) {
        if (strcmp(two->option.name, "set") || same_name(one, two) ||
            !target_of(two, model, &other_kind, &other) || kind != other_kind || index != other)
            continue;
        fprintf(stderr, "error: --set gives the same value by two names, `%.*s` and `%.*s`\n",
                (int)strcspn(one->value, "="), one->value, (int)strcspn(two->value, "="),
                two->value);
        return true;
    }
    return false;
}

// Which driver an item gives samples of, by its name as written, else but for upper case; NULL:
// none.
static const char *driver_of(const struct item *item, const shoal_model *model) {
    const char *found = NULL, *name;
    if (strcmp(item->option.name, "driver"))
        return NULL;
    size_t length = strcspn(item->value, "=");
    for (uint32_t i = 0; (name = shoal_model_symbol(model, SHOAL_DRIVER, i)); i++) {
        if (strlen(name) != length || strncasecmp(name, item->value, length))
            continue;
        if (!strncmp(name, item->value, length))
            return name;
        found = name;
    }
    return found;
}

// A driver that is given both by a job and on the command line is the latter's; one that is given
// twice in one place was hardly meant.
static bool driven_twice(const struct args *a, const struct item *one, const shoal_model *model) {
    const char *name = driver_of(one, model);
    for (const struct item *two = one + 1; name && two < a->items + a->count; two++) {
        if (one->from_job != two->from_job || driver_of(two, model) != name)
            continue;
        fprintf(stderr, "error: --driver gives `%s` twice, as `%s` and as `%s`\n", name, one->value,
                two->value);
        return true;
    }
    return false;
}

// A run takes one file of these: the other was hardly meant to be left out.
static bool filed_twice(const struct args *a, const struct item *one) {
    const char *name = one->option.name;
    if (strcmp(name, "batch") && strcmp(name, "from") && strcmp(name, "doses"))
        return false;
    for (const struct item *two = one + 1; two < a->items + a->count; two++) {
        if (one->from_job != two->from_job || strcmp(two->option.name, name) ||
            !strcmp(one->value, two->value))
            continue;
        fprintf(stderr, "error: --%s is given twice, as `%s` and as `%s`; a run takes one file\n",
                name, one->value, two->value);
        return true;
    }
    return false;
}

shoal_code args_events(const struct args *a, shoal_model *model, shoal_log *log) {
    shoal_code code = SHOAL_OK;
    for (size_t i = 0; i < a->count && !code; i++)
        if (!strcmp(a->items[i].option.name, "event"))
            code = shoal_model_add_event(model, a->items[i].value, log);
    return code;
}

shoal_code args_apply(const struct args *a, shoal_model *model, shoal_options *options,
                      shoal_log *log) {
    shoal_code code = SHOAL_OK;
    for (size_t i = 0; i < a->count; i++)
        if (spelt_twice(a, &a->items[i], model) || driven_twice(a, &a->items[i], model) ||
            filed_twice(a, &a->items[i]))
            return SHOAL_INPUT;
    for (size_t i = 0; i < a->count && !code; i++) {
        const struct item *item = &a->items[i];
        const char *values = item->from_job ? item->value : item->list; // a job's part may be gone
        if (item->option.field)
            code = shoal_options_set(options, item->option.name, item->value, log);
        else if (!strcmp(item->option.name, "set") && values)
            code = shoal_model_set(model, values, log);
        else if (!strcmp(item->option.name, "driver"))
            code = shoal_model_driver_file(model, item->value, log);
    }
    return code;
}

void args_free(struct args *a) {
    for (size_t i = 0; i < a->owned_count; i++)
        free(a->owned[i]);
    free(a->owned);
    free(a->words);
    free(a->items);
    *a = (struct args){0};
}

static void put_line(FILE *out, const char *name, const char *value) {
    bool quote = !*value || strpbrk(value, "#\"") || isspace((unsigned char)*value) ||
                 isspace((unsigned char)value[strlen(value) - 1]);
    fprintf(out, "%s = %s", name, quote ? "\"" : "");
    for (const char *p = value; *p; p++) {
        if (quote && (*p == '"' || *p == '\\'))
            fputc('\\', out);
        fputc(*p == '\n' ? ' ' : *p, out);
    }
    fprintf(out, "%s\n", quote ? "\"" : "");
}

// The whole value of an option, however long, in a buffer that grows; NULL when it was not given.
static const char *whole_value(const shoal_options *options, const char *name, char **value,
                               size_t *room) {
    for (;; *room *= 2) {
        *value = cli_realloc(*value, *room);
        if (!shoal_options_get(options, name, *value, *room))
            return NULL;
        if (strlen(*value) + 1 < *room)
            return *value;
    }
}

// A word that is as usual may have been set back from what the model says. `save` tells itself
// whether it was given.
static bool is_usual(const shoal_option_info *o, const char *value) {
    return o->in_model && strcmp(o->name, "save") && *value && !strcmp(value, o->default_text);
}

char *args_job_text(const struct args *a, const shoal_options *options) {
    char *text = NULL, *value = NULL;
    size_t length, room = 1024;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    if (a->model)
        put_line(out, "model", a->model);
    for (size_t i = 0; i < a->count; i++) {
        const struct item *item = &a->items[i];
        bool last = item->option.repeatable || args_value(a, item->option.name) == item->value;
        if (item->option.kept && !item->option.field && last)
            put_line(out, item->option.name, item->value);
    }
    for (uint32_t i = 0; i < shoal_option_count(); i++) {
        shoal_option_info o = shoal_option_at(i);
        if (o.kept && o.field &&
            (whole_value(options, o.name, &value, &room) || is_usual(&o, value)))
            put_line(out, o.name, value);
    }
    free(value);
    fclose(out);
    return text;
}
