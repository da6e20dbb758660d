// SPDX-License-Identifier: MIT
// Options that a model brings along: `@` lines and the options in a set, by our names or XPP's.
//
// Names match ignoring case: ours, then XPP's, then as XPP does it, which looks only at the letters
// it knows (`method` is its `meth`, `xlow` its `xlo`), then as the beginning of a single known
// name. XPP's options about windows, plots, AUTO and storage mean nothing here and are ignored; of
// a name that neither program knows a note is made, but in a set it is an error: it may be meant as
// a parameter.
#include "api/options.h"

#include "base/ascii.h"
#include "ode/run/choice.h"
#include "ode/run/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum xpp_what { XPP_IGNORED, XPP_OURS, XPP_TOTAL, XPP_METHOD, XPP_STEP, XPP_BOUND };

// XPP's names with a meaning here.
static const struct xpp_name {
    const char *name;
    enum xpp_what what;
    const char *ours; // option of ours it sets, or is read like
} xpp_names[] = {
    {"total", XPP_TOTAL, "t1"},    {"trans", XPP_OURS, "settle"}, {"tol", XPP_OURS, "rtol"},
    {"atol", XPP_OURS, "atol"},    {"t0", XPP_OURS, "t0"},        {"dtmin", XPP_OURS, "dt-min"},
    {"dtmax", XPP_OURS, "dt-max"}, {"dt", XPP_STEP, "dt"},        {"meth", XPP_METHOD, "method"},
    {"bound", XPP_BOUND, NULL},
};

// Those without.
static const char *const ignored_names[] = {
    "autoeval",  "autovar",     "autoxmax",  "autoxmin",   "autoymax",  "autoymin",   "axes",
    "back",      "backcolor",   "backimage", "bandlo",     "bandup",    "bell",       "big",
    "bigfont",   "but",         "colorhi",   "colorize",   "colorlo",   "colormap",   "colorvia",
    "delay",     "dfdraw",      "dfgrid",    "dll_fun",    "dll_lib",   "ds",         "dsmax",
    "dsmin",     "dwcolor",     "epsl",      "epss",       "epsu",      "fold",       "fontsize",
    "forecolor", "grads",       "height",    "histbins",   "histcol",   "histhi",     "histlo",
    "iad",       "iads",        "iid",       "itmx",       "itnw",      "jac_eps",    "logfile",
    "lt",        "maxstor",     "multiwin",  "mwcolor",    "mxbf",      "ncdraw",     "ncol",
    "newt_iter", "newt_tol",    "njmp",      "nmax",       "nmesh",     "normmax",    "normmin",
    "nout",      "npr",         "nplot",     "ntst",       "nullcl",    "output",     "parmax",
    "parmin",    "phi",         "plotfmt",   "poimap",     "poipln",    "poisgn",     "poistop",
    "poivar",    "postprocess", "ps_color",  "ps_font",    "ps_fsize",  "ps_lw",      "quiet",
    "range",     "rangehigh",   "rangelow",  "rangeoldic", "rangeover", "rangereset", "rangestep",
    "runnow",    "s1",          "s2",        "s3",         "sec",       "seed",       "shi1",
    "shi2",      "shi3",        "simplot",   "slo1",       "slo2",      "slo3",       "small",
    "smallfont", "smc",         "spc",       "speccol",    "speccol2",  "specwidth",  "specwin",
    "stoch",     "theta",       "tor_per",   "tutorial",   "uec",       "umc",        "upc",
    "vmaxpts",   "width",       "xhi",       "xlo",        "xmax",      "xmin",       "xnc",
    "xp",        "yhi",         "ylo",       "ymax",       "ymin",      "ync",        "yp",
    "zhi",       "zlo",         "zmax",      "zmin",       "zp",
};

// XPP's methods, by up to three letters (it looks at the first only). A NULL is nothing we have a
// match for.
static const struct xpp_method {
    const char *word, *ours;
    bool refused;
} xpp_methods[] = {
    {"discrete", NULL, true},
    {"volterra", NULL, true},
    {"euler", "euler", false},
    {"modeuler", "heun-21", false},
    {"rk", "rk4", false},
    {"rungekutta", "rk4", false},
    {"qualrk", "cash-karp-54", false},
    {"5", "dopri5", false},
    {"8", "dop853", false},
    {"2", "rosenbrock23", false},
    {"gear", NULL, false},
    {"stiff", NULL, false},
    {"cvode", NULL, false},
    {"adams", NULL, false},
    {"backeul", "backward-euler", false},
    {"ymplectic", NULL, false},
    {"symplectic", NULL, false},
};

// The controller of XPP's modified Euler, whose steps are fixed: that of the method when a user
// takes another.
const char xpp_fixed[] = "fixed";

#define LENGTH(array) (sizeof(array) / sizeof *(array))
enum { NAMES = LENGTH(xpp_names), ALL_NAMES = LENGTH(xpp_names) + LENGTH(ignored_names) };

static const char *xpp_name_at(size_t i) {
    return i < NAMES ? xpp_names[i].name : ignored_names[i - NAMES];
}

// What a name turned out to be: an option of ours, or one of XPP's (xpp < ALL_NAMES).
struct match {
    const struct option *ours;
    size_t xpp;
};

static bool is_ours(const struct option *o) { return o->info.in_model; }

static struct match match_exact(const char *name) {
    char lower[64];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof lower; n++)
        lower[n] = ascii_lower(name[n]);
    lower[n] = 0;
    const struct option *o = option_find(lower);
    struct match m = {o && is_ours(o) ? o : NULL, ALL_NAMES};
    for (size_t i = 0; i < ALL_NAMES; i++)
        if (!strcmp(xpp_name_at(i), lower))
            m.xpp = i;
    return m;
}

// XPP's rule: the longest of its names that the written one begins with. Short names that are also
// the beginning of ours are left out.
static struct match match_longer(const char *name) {
    struct match m = {NULL, ALL_NAMES};
    size_t best = 0;
    for (size_t i = 0; i < ALL_NAMES; i++) {
        const char *known = xpp_name_at(i);
        size_t n = strlen(known);
        bool plot = n == 2 && known[1] == 'p'; // xp yp zp
        if ((n > 2 || plot) && n > best && ascii_same_prefix(name, known, n)) {
            m.xpp = i;
            best = n;
        }
    }
    return m;
}

static struct match match_prefix(const char *name) {
    struct match m = {NULL, ALL_NAMES};
    size_t n = strlen(name), found = 0;
    for (size_t i = 0; i < option_table_count && n; i++)
        if (is_ours(&option_table[i]) && ascii_same_prefix(name, option_table[i].info.name, n)) {
            m.ours = &option_table[i];
            found++;
        }
    for (size_t i = 0; i < ALL_NAMES && n; i++)
        if (ascii_same_prefix(name, xpp_name_at(i), n)) {
            m.xpp = i;
            found++;
        }
    return found == 1 ? m : (struct match){NULL, ALL_NAMES};
}

static bool matched(struct match m) { return m.ours || m.xpp < ALL_NAMES; }

static struct match match_name(const char *name) {
    struct match m = match_exact(name);
    if (!matched(m))
        m = match_longer(name);
    return matched(m) ? m : match_prefix(name);
}

static shoal_code unknown(const struct setting *s, const struct source *source, bool in_set,
                          struct report *r) {
    const char *name = s->name;
    const struct option *o = option_find(name);
    if (o) {
        report_at(r, SHOAL_ERROR, source, s->at,
                  "%s is an option of the command line, not of a model", o->info.name);
        return SHOAL_INPUT;
    }
    struct nearest n = {.wanted = name};
    for (uint32_t i = 0; i < option_table_count; i++)
        if (is_ours(&option_table[i]))
            nearest_offer(&n, option_table[i].info.name);
    for (size_t i = 0; i < ALL_NAMES; i++)
        nearest_offer(&n, xpp_name_at(i));
    const char *best = nearest_best(&n), *ask = best ? "; did you mean " : "";
    report_at(r, in_set ? SHOAL_ERROR : SHOAL_NOTE, source, s->at, "unknown option '%s'%s%s%s%s",
              name, in_set ? "" : " is ignored", ask, best ? best : "", best ? "?" : "");
    return in_set ? SHOAL_INPUT : SHOAL_OK;
}

static const struct xpp_method *find_method(const char *value) {
    for (size_t i = 0; i < LENGTH(xpp_methods); i++) {
        const char *word = xpp_methods[i].word;
        size_t n = strlen(value), most = ascii_digit(word[0]) ? 1 : 3;
        n = n < most ? n : most;
        if (n && ascii_same_prefix(value, word, n))
            return &xpp_methods[i];
    }
    return NULL;
}

// XPP solves `0=` rows beside any method. An explicit one cannot here, so the default does it.
static bool is_possible(const struct method *m, const struct setting *s,
                        const shoal_options *options, const struct option_origin *origin,
                        struct report *r) {
    if (m->scheme != EXPLICIT || !origin->model->rows.count)
        return true;
    report_at(r, SHOAL_NOTE, origin->source, origin->at,
              "method '%s' cannot run algebraic rows (`0=...`); the default, %s, stands in for it",
              s->value, options->method);
    return false;
}

// A method by our name, else by XPP's.
static shoal_code apply_method(shoal_options *options, const struct setting *s,
                               const struct option_origin *origin, struct report *r) {
    const struct option *o = option_find("method");
    const char *known = choice_name(s->value);
    const struct xpp_method *x = known ? NULL : find_method(s->value);
    const struct method *named = known ? method_find(known) : NULL;
    if (named && !is_possible(named, s, options, origin, r))
        return SHOAL_OK;
    if (options->controller == xpp_fixed)
        options->controller = NULL;
    if (!x)
        return option_store(o, s->value, origin, options, r);
    if (x->refused)
        return option_wrong(o, origin, r, "'%s' is for %s, which are not supported", s->value,
                            x->word[0] == 'd' ? "maps" : "Volterra equations");
    const struct method *ours = x->ours ? method_find(x->ours) : NULL;
    if (ours && !is_possible(ours, s, options, origin, r))
        return SHOAL_OK;
    if (ours)
        options->method = ours->name;
    if (ours && x->word[0] == 'm' && !options->controller)
        options->controller = xpp_fixed;
    if (!ours)
        report_at(r, SHOAL_NOTE, origin->source, origin->at,
                  "XPP's method '%s' is not here; the default, %s, stands in for it", s->value,
                  options->method);
    return SHOAL_OK;
}

// Effects that wait for the end of the list, because they depend on t0.
struct pending {
    double total; // NaN: none
    bool in_set;
};

static shoal_code apply_one(shoal_options *options, const struct setting *s,
                            const struct option_origin *origin, struct pending *pending,
                            struct report *r) {
    struct match m = match_name(s->name);
    const struct xpp_name *x = m.xpp < NAMES ? &xpp_names[m.xpp] : NULL;
    const struct option *o = x && x->ours ? option_find(x->ours) : m.ours;
    bool method = m.ours && m.ours->type == OPTION_METHOD;
    shoal_option_value v;
    shoal_code code = SHOAL_OK;
    if (!matched(m))
        return unknown(s, origin->source, pending->in_set, r);
    if (method || (x && x->what == XPP_METHOD))
        return apply_method(options, s, origin, r);
    if (x && x->what == XPP_BOUND)
        report_at(r, SHOAL_NOTE, origin->source, origin->at,
                  "bound is not checked; a trajectory ends when it becomes infinite");
    else if (x && x->what == XPP_TOTAL) {
        code = option_read(o, s->value, origin, &v, r);
        pending->total = code ? pending->total : v.number;
    } else if (o) {
        shoal_options before = *options;
        code = option_store(o, s->value, origin, options, r);
        if (code == SHOAL_OK && x && x->what == XPP_STEP) { // for methods of fixed steps
            options->dt_model = options->dt;
            options->dt = before.dt;
        }
        if (code == SHOAL_OK && !strcmp(o->info.name, "t1"))
            pending->total = NAN;
    }
    return code;
}

shoal_code xpp_apply(shoal_options *options, struct model *m, const struct setting *settings,
                     uint32_t count, bool in_set, struct report *r) {
    shoal_code result = SHOAL_OK;
    struct pending pending = {NAN, in_set};
    for (uint32_t i = 0; i < count; i++) {
        const struct setting *s = &settings[i];
        struct option_origin origin = {&m->source, s->value[0] ? s->value_at : s->at, m};
        shoal_code code = apply_one(options, s, &origin, &pending, r);
        result = code ? code : result;
    }
    if (!isnan(pending.total))
        options->t1 = options->t0 + pending.total;
    return result;
}

bool xpp_gives(const struct model *m, const char *ours) {
    for (uint32_t i = 0; i < m->options.count; i++) {
        struct match match = match_name(m->options.items[i].name);
        const char *xpp = match.xpp < NAMES ? xpp_names[match.xpp].ours : NULL;
        if ((match.ours && !strcmp(match.ours->info.name, ours)) || (xpp && !strcmp(xpp, ours)))
            return true;
    }
    return false;
}

void xpp_tell(const shoal_options *options, const struct method *method, const struct model *m,
              struct report *r) {
    double step = options->dt_model;
    bool fixed = plan_is_fixed(options, method), own = isnan(options->dt) && !isnan(step);
    if (m->done && options->t1 == options->t0 + XPP_T1 && !xpp_gives(m, "t1"))
        report_note(r, "the model gives no end time; t1=%g, as XPP does it", options->t1);
    if (fixed && own && m->done && step == XPP_DT && !xpp_gives(m, "dt"))
        report_note(r, "the model gives no step; dt=%g, as XPP does it", step);
    if (!fixed && own && xpp_gives(m, "dt"))
        report_note(r, "dt of the model is ignored: method %s adapts its step", options->method);
}
