// SPDX-License-Identifier: MIT
// shoal plot: a figure of a result, into a file or onto the terminal.
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { ROWS = 26, COLUMNS_MOST = 160, COLOURS_TRUE = 1 << 24 };

static bool read_kind(const char *word, shoal_plot_kind *kind) {
    for (int i = 0; i < SHOAL_PLOT_AUTO; i++)
        if (!strcmp(shoal_plot_name(i), word)) {
            *kind = (shoal_plot_kind)i;
            return true;
        }
    return false;
}

static int unknown_kind(const char *word) {
    const char *known[SHOAL_PLOT_AUTO];
    for (int i = 0; i < SHOAL_PLOT_AUTO; i++)
        known[i] = shoal_plot_name(i);
    return args_unknown("plot", word, known, SHOAL_PLOT_AUTO, "shoal help plot");
}

// Whether characters beyond ASCII would be shown, by the locale that the user has set.
static bool knows_unicode(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = getenv("TERM");
    if (term && !strcmp(term, "dumb"))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

static uint32_t count_colours(void) {
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR"), *more = getenv("COLORTERM");
    if (!isatty(1) || (no && *no) || !term || !strcmp(term, "dumb"))
        return 0;
    return more && (!strcmp(more, "truecolor") || !strcmp(more, "24bit")) ? COLOURS_TRUE : 256;
}

static void fit_terminal(const struct args *a, shoal_plot_options *o) {
    struct winsize size;
    o->columns = show_width(stdout);
    o->columns = o->columns < COLUMNS_MOST ? o->columns : COLUMNS_MOST;
    o->rows = ROWS;
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_row > 12)
        o->rows = size.ws_row - 2u;
    o->unicode = !args_flag(a, "ascii") && knows_unicode();
    o->colours = args_flag(a, "ascii") ? 0 : count_colours();
    o->dark = args_value(a, "theme") ? o->dark : true; // most terminals are
}

static shoal_code read_number(const struct args *a, const char *name, double *out, shoal_log *log) {
    const char *value = args_value(a, name);
    shoal_option_value v;
    shoal_code code = value ? shoal_option_read(name, value, &v, log) : SHOAL_OK;
    if (value && !code)
        *out = v.number;
    return code;
}

static shoal_code read_count(const struct args *a, const char *name, uint32_t *out,
                             shoal_log *log) {
    const char *value = args_value(a, name);
    shoal_option_value v;
    shoal_code code = value ? shoal_option_read(name, value, &v, log) : SHOAL_OK;
    if (value && !code)
        *out = (uint32_t)v.count;
    return code;
}

static shoal_code read_options(const struct args *a, shoal_plot_options *o, shoal_log *log) {
    shoal_plot_options_init(o);
    o->x = args_value(a, "x");
    o->y = args_value(a, "y");
    o->fix = args_value(a, "fix");
    o->runs = args_value(a, "only-runs");
    o->x_range = args_value(a, "x-range");
    o->y_range = args_value(a, "y-range");
    o->log = args_value(a, "log");
    o->map = args_value(a, "map");
    o->levels = args_value(a, "levels");
    o->title = args_value(a, "title");
    o->shade = (shoal_shade)args_choice(a, "shade", SHOAL_SHADE_LOG);
    o->dark = args_choice(a, "theme", 0) == 1;
    o->bare = args_flag(a, "bare");
    shoal_code code = args_check(a, log);
    if (!code)
        code = read_count(a, "width", &o->width, log);
    if (!code)
        code = read_count(a, "height", &o->height, log);
    return code ? code : read_number(a, "dpi", &o->dpi, log);
}

int command_plot(struct args *a) {
    shoal_log *log = shoal_log_new();
    struct talk talk = talk_new(a);
    const char *output = args_value(a, "output");
    char *text = NULL;
    shoal_plot_options o;
    shoal_code code = read_options(a, &o, log);
    if (!code && a->word_count > 1 && !read_kind(a->words[1], &o.kind)) {
        shoal_log_free(log);
        return unknown_kind(a->words[1]);
    }
    if (!output)
        fit_terminal(a, &o);
    if (!code)
        code = shoal_plot(a->model, &o, output, &text, log);
    talk_messages(&talk, log);
    if (text)
        fputs(text, stdout);
    else if (!code)
        talk_say(&talk, "wrote %s\n", output);
    free(text);
    shoal_log_free(log);
    return shoal_code_exit(code);
}
