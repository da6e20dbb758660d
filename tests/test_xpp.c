// SPDX-License-Identifier: MIT
// XPPAUT's own examples, with xppaut itself as oracle, where both are installed.
//
// Every example is given to both programs without its `@` options, sets and lists of columns, and
// five points of an Euler run are compared. `xpp_equations` takes all examples that we accept and
// does the steps by the right-hand side; `xpp_kernels` takes some, and its long form all of them,
// through the compiler and compares observables too. xppaut keeps results in single precision.
// It starts at 0 where an initial value is a formula, which is its own affair in silent mode.
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"
#include "shoal/shoal.h"

#include <dirent.h>
#include <strings.h>
#include <unistd.h>

enum { POINTS = 5, COLUMNS_MOST = 1000 };
static const double step = 0.05;

static const char *const folders[] = {"/usr/share/doc/xppaut/examples/ode",
                                      "/usr/share/doc/xppaut/html/odes"};

struct table {
    uint32_t rows, columns;
    double values[POINTS][COLUMNS_MOST]; // first column: t
};

struct example {
    struct buf text;
    struct model *model; // NULL: refused
    struct table xpp;
};

static bool starts_with(const char *line, const char *word) {
    size_t n = strlen(word);
    return !strncasecmp(line, word, n) && strchr(" \t\r\n", line[n]);
}

static bool is_dropped(const char *line) {
    return *line == '@' || *line == '"' || starts_with(line, "set") || starts_with(line, "only");
}

// What is left of an example, and our own options. *t0 is its start time.
static void reduce(struct buf *out, const char *text, double *t0) {
    const char *next;
    bool dropped = false, continued = false;
    *t0 = 0;
    for (const char *line = text; *line; line = next) {
        size_t length = strcspn(line, "\r\n");
        next = line + length + strspn(line + length, "\r\n");
        while (*line == ' ' || *line == '\t')
            line++;
        if (starts_with(line, "done") || starts_with(line, "d"))
            break;
        dropped = continued ? dropped : is_dropped(line);
        continued = memchr(line, '\\', (size_t)(next - line));
        const char *start = memmem(line, (size_t)(next - line), "t0=", 3);
        if (dropped && start)
            *t0 = strtod(start + 3, NULL);
        if (!dropped)
            buf_put(out, line, (size_t)(next - line));
    }
    buf_printf(out, "\n@ t0=%g,meth=euler,dt=%g,total=%g,nout=1,bound=1e30,maxstor=100\ndone\n",
               *t0, step, step * (POINTS - 1));
}

// Rows of numbers, behind `skip` lines, without the first `drop` columns.
static bool read_table(const char *text, uint32_t skip, uint32_t drop, struct table *out) {
    out->rows = out->columns = 0;
    while (skip-- && (text = strchr(text, '\n')))
        text++;
    for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL) {
        uint32_t columns = 0;
        char *end;
        if (out->rows == POINTS)
            return false;
        for (const char *at = text; strspn(at, " \r") < strcspn(at, "\n");
             at = end + (*end == ',')) {
            double value = strtod(at, &end);
            if (end == at || columns >= COLUMNS_MOST + drop)
                return false;
            if (columns >= drop)
                out->values[out->rows][columns - drop] = value;
            columns++;
        }
        if (out->rows == 0)
            out->columns = columns - drop;
        if (columns != out->columns + drop)
            return false;
        out->rows++;
    }
    return out->rows == POINTS;
}

static bool run_xpp(const char *model, struct table *out) {
    char *result = (char *)check_path("xpp.dat");
    unlink(result);
    RUN("xppaut", model, "-silent", "-outfile", result);
    char *text = check_read(result);
    bool good = text && read_table(text, 0, 0, out);
    free(text);
    free(result);
    return good;
}

// False when there is nothing to compare: we refuse it, or xppaut does.
static bool read_example(const char *path, struct example *e, double *t0) {
    struct report r = {0};
    char *text = check_read(path);
    REQUIRE(text);
    *e = (struct example){0};
    reduce(&e->text, text, t0);
    free(text);
    e->model = model_parse(path, e->text.data, e->text.length, &r);
    report_free(&r);
    if (!e->model || e->model->rows.count) // see xpp_algebraic
        return false;
    check_write(check_path("model.ode"), e->text.data);
    return run_xpp(check_path("model.ode"), &e->xpp);
}

static void free_example(struct example *e) {
    model_free(e->model);
    buf_free(&e->text);
}

// Whether they agree to the digits that single precision leaves.
static bool agree(double ours, double xpp) {
    return fabs(ours - xpp) <= 2e-5 * (1e-3 + fabs(xpp)) || (isnan(ours) && isnan(xpp));
}

// Calls for every example of the folders; the result is how many.
static int for_examples(bool (*check)(const char *path)) {
    int count = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *d = opendir(folders[i]);
        for (struct dirent *entry; d && (entry = readdir(d));) {
            const char *ending = strrchr(entry->d_name, '.');
            char path[512];
            if (!ending || strcmp(ending, ".ode"))
                continue;
            snprintf(path, sizeof path, "%s/%s", folders[i], entry->d_name);
            count += check(path);
        }
        if (d)
            closedir(d);
    }
    return count;
}

static void need_xpp(void) {
    unsetenv("DISPLAY");
    DIR *d = opendir(folders[0]);
    if (!d)
        check_skip("the examples of xppaut are not installed");
    closedir(d);
    check_write(check_path("small.ode"), "x'=1\n@ total=.2,dt=.05,meth=euler\ndone\n");
    struct table t;
    if (!run_xpp(check_path("small.ode"), &t))
        check_skip("xppaut is not installed, or does not run here");
    CHECK_NEAR(t.values[4][1], 0.2, 1e-7);
}

// ---- Right-hand sides ---------------------------------------------------------------------------

static void check_start(const char *path, const struct example *e) {
    const struct model *m = e->model;
    for (uint32_t i = 0; i < m->states.count; i++) {
        const struct symbol *s = &m->symbols.items[m->states.items[i]];
        if (!s->init.count && !agree(s->value, e->xpp.values[0][i + 1]))
            check_fail(__FILE__, __LINE__, "%s: %s starts at %.9g, not %.9g", path, s->name,
                       s->value, e->xpp.values[0][i + 1]);
    }
}

static void check_steps(const char *path, const struct example *e, shoal_model *m, double t0) {
    uint32_t n = shoal_model_count(m, SHOAL_STATE);
    double *dydt = calloc(n, sizeof *dydt);
    for (uint32_t row = 0; row + 1 < POINTS; row++) {
        const double *y = e->xpp.values[row] + 1, *next = e->xpp.values[row + 1] + 1;
        shoal_model_rhs(m, t0 + row * step, y, dydt);
        for (uint32_t i = 0; i < n; i++)
            if (!agree(y[i] + step * dydt[i], next[i]))
                check_fail(__FILE__, __LINE__, "%s: %s is %.9g in row %u, not %.9g", path,
                           shoal_model_symbol(m, SHOAL_STATE, i), y[i] + step * dydt[i], row + 1,
                           next[i]);
    }
    free(dydt);
}

static bool check_equations(const char *path) {
    struct example e;
    double t0;
    bool there = read_example(path, &e, &t0);
    shoal_log *log = shoal_log_new();
    shoal_model *m = NULL;
    if (there) {
        CHECK_INT(shoal_model_parse(path, e.text.data, e.text.length, &m, log), SHOAL_OK);
        uint32_t columns =
            1 + shoal_model_count(m, SHOAL_STATE) + shoal_model_count(m, SHOAL_OBSERVABLE);
        CHECK_MSG(columns == e.xpp.columns, "%s: %u columns, not %u", path, columns, e.xpp.columns);
        check_start(path, &e);
        check_steps(path, &e, m, t0);
    }
    shoal_model_free(m);
    shoal_log_free(log);
    free_example(&e);
    return there;
}

TEST(xpp_equations) {
    need_xpp();
    int count = for_examples(check_equations);
    CHECK_MSG(count >= 40, "only %d of xppaut's examples could be compared", count);
}

// ---- Kernels ------------------------------------------------------------------------------------

static bool has_formula_start(const struct model *m) {
    for (uint32_t i = 0; i < m->states.count; i++)
        if (m->symbols.items[m->states.items[i]].init.count)
            return true;
    return false;
}

static void name_columns(struct buf *vars, const struct model *m) {
    for (uint32_t i = 0; i < m->states.count; i++)
        buf_printf(vars, "%s%s", i ? "," : "", m->symbols.items[m->states.items[i]].name);
    for (uint32_t i = 0; i < m->observables.count; i++)
        buf_printf(vars, ",%s", m->observables.items[i].label);
}

static void compare(const char *path, const struct table *ours, const struct table *xpp) {
    CHECK_MSG(ours->columns == xpp->columns, "%s: %u columns, not %u", path, ours->columns,
              xpp->columns);
    for (uint32_t row = 0; row < POINTS; row++)
        for (uint32_t i = 0; i < ours->columns && i < xpp->columns; i++)
            if (!agree(ours->values[row][i], xpp->values[row][i]))
                check_fail(__FILE__, __LINE__, "%s: column %u is %.9g in row %u, not %.9g", path, i,
                           ours->values[row][i], row, xpp->values[row][i]);
}

static bool check_kernel(const char *path) {
    struct example e;
    double t0;
    bool there = read_example(path, &e, &t0) && !has_formula_start(e.model);
    if (there) {
        struct buf vars = {0}, points = {0};
        name_columns(&vars, e.model);
        buf_printf(&points, "n=%d", POINTS);
        struct check_output o =
            RUN(check_shoal(), "run", check_path("model.ode"), "--save", points.data, "--vars",
                vars.data, "--keep-failed", "-q", "--timing", "none", "-o", "-");
        static struct table ours;
        CHECK_MSG((o.status == 0 || o.status == 5) && read_table(o.out, 1, 1, &ours), "%s: %d\n%s",
                  path, o.status, o.err);
        compare(path, &ours, &e.xpp);
        buf_free(&vars);
        buf_free(&points);
    }
    free_example(&e);
    return there;
}

TEST(xpp_kernels) {
    // Arrays, blocks, sums, tables of functions, cases, conditions, labels, derived parameters.
    static const char *const names[] = {
        "6x6",   "atcoaster", "cable",  "chemotax", "elaspen", "fhn3d",  "forcpend",
        "gberg", "greg",      "henhei", "hhred",    "lamprey", "lecar",  "lorenz2",
        "nnet",  "pend",      "r3b",    "toy_ok",   "torus",   "triple", "tsthomi",
        "vlsi",  "wave",      "wcring", "wta",
    };
    need_xpp();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        if (!check_does(i, 0, 3))
            continue;
        snprintf(path, sizeof path, "%s/%s.ode", folders[0], names[i]);
        if (!access(path, R_OK) && !check_kernel(path))
            check_fail(__FILE__, __LINE__, "%s could not be compared", path);
    }
}

TEST(xpp_derived_of_states) {
    need_xpp();
    check_write(check_path("derived.ode"),
                "par p=2\ninit x=3,y=4\nx'=-.1*b*x\ny'=.1*c-y\n!b=x*2+p-y\n!c=b*y+f(p)\nf(u)=u+x\n"
                "@ t0=2\ndone\n");
    CHECK(check_kernel(check_path("derived.ode")));
}

LONG_TEST(xpp_all_kernels) {
    need_xpp();
    int count = for_examples(check_kernel);
    CHECK_MSG(count >= 40, "only %d of xppaut's examples could be compared", count);
}

// ---- Algebraic rows -----------------------------------------------------------------------------

// The only differential state, which is our first; xppaut takes Runge-Kutta steps.
static void check_algebraic(const char *path) {
    static struct table ours, xpp;
    struct buf text = {0}, model = {0};
    char *file = check_read(path);
    double t0;
    REQUIRE(file);
    reduce(&text, file, &t0);
    char *method = strstr(text.data, "meth=euler");
    REQUIRE(method);
    buf_put(&model, text.data, (size_t)(method - text.data));
    buf_printf(&model, "meth=runge%s", method + strlen("meth=euler"));
    check_write(check_path("model.ode"), model.data);
    REQUIRE(run_xpp(check_path("model.ode"), &xpp));
    struct check_output o = RUN(check_shoal(), "run", check_path("model.ode"), "--save", "n=5",
                                "--method", "rodas5p", "-q", "--timing", "none", "-o", "-");
    CHECK_MSG(o.status == 0 && read_table(o.out, 1, 1, &ours), "%s: %d\n%s", path, o.status, o.err);
    for (uint32_t row = 0; row < POINTS; row++)
        CHECK_MSG(agree(ours.values[row][1], xpp.values[row][1]), "%s: %.9g, not %.9g", path,
                  ours.values[row][1], xpp.values[row][1]);
    buf_free(&text);
    buf_free(&model);
    free(file);
}

TEST(xpp_algebraic) {
    static const char *const names[] = {"dae", "dae_ex1", "dae_ex2"};
    need_xpp();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s.ode", folders[0], names[i]);
        if (!access(path, R_OK))
            check_algebraic(path);
    }
}

// ---- Events -------------------------------------------------------------------------------------

// A model's text, for both; xppaut takes short Runge-Kutta steps, and finds events to their square.
static void check_global(const char *text, const char *vars, const char *method) {
    static struct table ours, xpp;
    struct buf model = {0};
    buf_printf(&model, "%s@ total=2,dt=.0005,nout=1000,meth=runge,maxstor=100\ndone\n", text);
    check_write(check_path("model.ode"), model.data);
    REQUIRE(run_xpp(check_path("model.ode"), &xpp));
    struct check_output o = RUN(check_shoal(), "run", check_path("model.ode"), "--save", "n=5",
                                "--vars", vars, "--method", method, "-q", "-o", "-");
    CHECK_MSG(o.status == 0 && read_table(o.out, 1, 1, &ours), "%s: %d\n%s", text, o.status, o.err);
    for (uint32_t row = 0; row < POINTS; row++)
        for (uint32_t i = 1; i < ours.columns; i++) {
            double want = xpp.values[row][i];
            CHECK_MSG(fabs(ours.values[row][i] - want) <= 2e-3 * (1 + fabs(want)),
                      "%s: column %u is %.9g in row %u, not %.9g", text, i, ours.values[row][i],
                      row, want);
        }
    buf_free(&model);
}

// Forms of xppaut's own examples: delta, kohonen, tyson, and Huygens' pendulums with their
// algebraic rows.
TEST(xpp_globals) {
    need_xpp();
    check_global("x'=4\ny'=4*w\nglobal 1 {x-2*pi} {x=0;y=b*r(y)+y}\n"
                 "global 1 {y-2*pi} {y=0;x=b*r(x)+x}\nr(x)=sin(x+phi)-sin(phi)\n"
                 "par b=-.25,phi=0,w=1.1\n",
                 "x,y", "tsit5");
    check_global("x[1..3]'=[j]*1.1\npar p=1\nglobal 0 t {x[1..3]=.1*[j];p=2}\n"
                 "%[1..3]\nglobal -1 {2-x[j]} {x[j]=-[j]}\n%\n",
                 "x1,x2,x3", "tsit5");
    check_global("par g=9.8,l=1,mp=1,mc=1,fp=.1,fc=.1,k=0.1,p0=.5,c=.1,eps=.3\n"
                 "0=p1dd+fp*q1+(g/l)*sin(p1)+xdd*cos(p1)/l\n"
                 "0=p2dd+fp*q2+(g/l)*sin(p2)+xdd*cos(p2)/l\n"
                 "0=(mc+2*mp)*xdd+fc*v+k*x+mp*l*(cos(p1)*p1dd-sin(p1)*q1^2+cos(p2)*p2dd-"
                 "sin(p2)*q2^2)\nsolv p1dd=0\nsolv p2dd=0\nsolve xdd=0\nx'=v\nv'=xdd\np1'=q1\n"
                 "q1'=p1dd\np2'=q2\nq2'=p2dd\nglobal -1 p1+p0 {q1=(1-c)*abs(q1)+eps}\n"
                 "global 1 p1-p0 {q1=-(1-c)*abs(q1)-eps}\nglobal -1 p2+p0 {q2=(1-c)*abs(q2)+eps}\n"
                 "global 1 p2-p0 {q2=-(1-c)*abs(q2)-eps}\ninit p1=1.5,p2=1.8\n",
                 "x,v,p1,q1,p2,q2", "rodas5p");
}
