// SPDX-License-Identifier: MIT
// The worked examples: each command of docs/examples.md is run as it stands there, and its numbers
// are compared with closed forms, with plain loops, and with what SciPy has.
#include "check.h"

// ---- The commands of the page -------------------------------------------------------------------

// The command that writes `result`, from a page or from the head of a model; on one line, with one
// blank between its words.
static char *command_of(const char *path, const char *result) {
    char *text = check_read(path), ending[64];
    REQUIRE(text != NULL);
    snprintf(ending, sizeof ending, "-o %s\n", result);
    char *end = strstr(text, ending), *start = NULL;
    REQUIRE(end != NULL);
    for (char *at = text; (at = strstr(at, "shoal run ")) && at < end; at++)
        start = at;
    REQUIRE(start != NULL);
    end[strlen(ending) - 1] = 0;
    char *to = start;
    for (char *from = start; *from; from++) {
        char c = strchr("\\\n#", *from) ? ' ' : *from;
        if (c != ' ' || to[-1] != ' ')
            *to++ = c;
    }
    *to = 0;
    char *command = check_keep(strdup(start));
    free(text);
    return command;
}

// Words of a line; those in quotes may hold blanks.
enum { WORDS = 48 };
static int split(char *line, const char *words[WORDS]) {
    int n = 0;
    while (*line && n < WORDS - 8) {
        char stop = *line == '\'' ? '\'' : ' ';
        words[n++] = line += stop == '\'';
        line += strcspn(line, (char[]){stop, 0});
        if (*line)
            *line++ = 0;
        line += strspn(line, " ");
    }
    return n;
}

// Runs it with its result in the test's own directory. Options named in `without` are left out.
static void work(const char *model, const char *result, const char *without) {
    char *command = command_of("docs/examples.md", result);
    CHECK_STR(command_of(model, result), command);
    const char *all[WORDS] = {0}, *words[WORDS] = {check_shoal()};
    int count = split(command, all), n = 1;
    for (int i = 1; i + 1 < count; i++)
        if (without && !strncmp(all[i], "--", 2) && strstr(without, all[i]))
            i++;
        else
            words[n++] = all[i];
    words[n++] = check_path(result);
    words[n++] = "-q";
    struct check_output o = check_command(words);
    CHECK_MSG(o.status == 0, "%s", o.err);
}

// ---- Tables -------------------------------------------------------------------------------------

struct table {
    int columns, rows;
    char **cells; // the first row is the header
};

static struct table table_read(const char *name) {
    char *text = check_keep(check_read(check_path(name)));
    REQUIRE(text != NULL);
    struct table t = {.columns = 1};
    size_t cells = 0, most = 1;
    for (char *c = text; *c; c++)
        most += *c == ',' || *c == '\n';
    for (char *c = text; *c && *c != '\n'; c++)
        t.columns += *c == ',';
    t.cells = check_keep(calloc(most, sizeof *t.cells));
    REQUIRE(t.cells != NULL);
    for (char *at = text; *at;) {
        t.cells[cells++] = at;
        at += strcspn(at, ",\n");
        if (*at)
            *at++ = 0;
    }
    CHECK_INT(cells % (size_t)t.columns, 0);
    t.rows = (int)(cells / (size_t)t.columns) - 1;
    return t;
}

static const char *table_word(const struct table *t, int row, const char *name) {
    REQUIRE(row >= 0 && row < t->rows);
    for (int i = 0; i < t->columns; i++)
        if (!strcmp(t->cells[i], name))
            return t->cells[(row + 1) * t->columns + i];
    check_fail(__FILE__, __LINE__, "no column %s", name);
    check_end();
}

static double table_at(const struct table *t, int row, const char *name) {
    return strtod(table_word(t, row, name), NULL);
}

// ---- The bouncing ball --------------------------------------------------------------------------

// Height at a time, by the flights that are over.
static double height(double e, double t) {
    const double g = 9.81;
    double fall = sqrt(2 / g), speed = g * fall;
    if (t <= fall)
        return 1 - g * t * t / 2;
    for (t -= fall, speed *= e; t > 2 * speed / g; speed *= e)
        t -= 2 * speed / g;
    return speed * t - g * t * t / 2;
}

TEST(worked_bouncing_ball) {
    work("examples/bouncing_ball.ode", "ball.csv", NULL);
    struct table runs = table_read("ball.runs.csv"), hits = table_read("ball.hit.csv");
    struct table series = table_read("ball.csv");
    CHECK_INT(runs.rows, 3);
    CHECK_INT(hits.rows, 3 * 8);
    CHECK_INT(series.rows, 3 * 601);
    double fall = sqrt(2 / 9.81), t = 0, flight = 0;
    for (int i = 0; i < hits.rows; i++) {
        t = i % 8 ? t + flight : fall;
        flight = table_at(&runs, i / 8, "e") * (i % 8 ? flight : 2 * fall);
        double got = table_at(&hits, i, "t");
        CHECK_MSG(t > 3 ? isnan(got) : fabs(got - t) < 1e-9, "hit %d: %.17g, not %.17g", i, got, t);
    }
    for (int i = 0; i < series.rows; i++) {
        double e = table_at(&runs, i / 601, "e"), rest = fall * (1 + e) / (1 - e);
        double at = table_at(&series, i, "t"), y = table_at(&series, i, "y");
        if (at < rest - 1e-6)
            CHECK_NEAR(y, height(e, at), 1e-8);
        else if (at > rest)
            CHECK(isnan(y)); // it lay still: `events`
    }
    static const char *const ends[] = {"events", "events", "ok"};
    for (int i = 0; i < 3; i++)
        CHECK_STR(table_word(&runs, i, "status"), ends[i]);
}

// ---- Integrate and fire -------------------------------------------------------------------------

TEST(worked_integrate_and_fire) {
    const double I = 1.2, tau = 10, w = 0.05, own = tau * log(I / (I - 1));
    const double together =
        tau * log((I - 2 * w) / (I - 1)); // of the first, kicked from both sides
    work("examples/integrate_and_fire.ode", "ring.csv", NULL);
    struct table first = table_read("ring.fire1.csv"), counts = table_read("ring.csv");
    int spikes[2] = {0};
    for (int j = 1; j <= 10; j++) {
        char name[32];
        snprintf(name, sizeof name, "ring.fire%d.csv", j);
        struct table fire = table_read(name);
        CHECK_INT(fire.rows, 2 * 20);
        for (int k = 0; k < 20; k++) {
            double t = tau * log((I - 0.09 * j) / (I - 1)) + k * own, got = table_at(&fire, k, "t");
            CHECK_MSG(t >= 300 ? isnan(got) : fabs(got - t) < 1e-4, "%s: %.17g, not %.17g", name,
                      got, t);
            double kicked = table_at(&fire, 20 + k, "t");
            spikes[0] += !isnan(got);
            spikes[1] += !isnan(kicked);
            if (k >= 11 && k < 18) { // all at once from here on
                CHECK_NEAR(kicked, table_at(&first, 20 + k, "t"), 0);
                CHECK_NEAR(kicked - table_at(&fire, 20 + k - 1, "t"), together, 1e-4);
            }
        }
    }
    CHECK_NEAR(table_at(&counts, 0, "count"), spikes[0], 0);
    CHECK_NEAR(table_at(&counts, 1, "count"), spikes[1], 0);
    CHECK(spikes[0] > 150 && spikes[1] > spikes[0]);
}

// ---- Hodgkin and Huxley -------------------------------------------------------------------------

// Rates of SciPy's DOP853 with tolerances of 1e-11.
static const double rates[][2] = {
    {7, 58.30697018382618}, {10, 68.31382787562171}, {20, 86.46453403593533}};

TEST(worked_firing_rate) {
    work("examples/hodgkin_huxley.ode", "rate.csv", NULL);
    struct table t = table_read("rate.csv");
    CHECK_INT(t.rows, 201);
    double last = 50;
    int found = 0;
    for (int i = 0; i < t.rows; i++) {
        double I = table_at(&t, i, "I"), f = table_at(&t, i, "f"), n = table_at(&t, i, "n");
        if (I < 6.25) {
            CHECK_MSG(isnan(f) && n == 0, "%g: f %g, n %g", I, f, n);
            continue;
        }
        CHECK_MSG(f > last, "%g: %g after %g", I, f, last);
        CHECK_NEAR(n, f * 0.4, 1); // 0.4 s
        last = f;
        for (int k = 0; k < 3; k++)
            if (fabs(I - rates[k][0]) < 1e-9 && ++found)
                CHECK_NEAR(f, rates[k][1], 1e-4);
    }
    CHECK_INT(found, 3);
}

// As close as the page says, and rates with more digits.
TEST(worked_firing_rate_closely) {
    struct check_output o =
        RUN(check_shoal(), "run", "examples/hodgkin_huxley.ode", "--sweep", "I=6.26,6.28,7,10,20",
            "--t1", "1200", "--settle", "600", "--rtol", "1e-10", "--atol", "1e-10", "--summary",
            "f=1000*frequency(v,-20), n=crossings(v,-20,rising)", "-q", "-o", check_path("o.csv"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    struct table t = table_read("o.csv");
    CHECK_NEAR(table_at(&t, 0, "n"), 0, 0);
    CHECK_NEAR(table_at(&t, 1, "n"), 31, 0); // as SciPy's LSODA has it
    CHECK(table_at(&t, 1, "f") > 50);        // as the page says
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(table_at(&t, 2 + k, "f"), rates[k][1], 1e-7);
}

// SciPy's LSODA with its own spline, rtol 1e-10: the number of spikes, and where it ends.
TEST(worked_recorded_current) {
    static const double spikes[] = {0, 5, 7},
                        ends[] = {-64.96781341310225, -65.28416238188674, -66.07925894217908};
    work("examples/recorded_current.ode", "spikes.csv", NULL);
    struct table runs = table_read("spikes.runs.csv"), t = table_read("spikes.csv");
    CHECK_INT(t.rows, 3 * 1001);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(table_at(&runs, i, "n"), spikes[i], 0);
        CHECK_NEAR(table_at(&t, 1001 * i + 1000, "v"), ends[i], 1e-3);
    }
    CHECK_NEAR(table_at(&t, 1001 + 500, "t"), 50, 0);
    CHECK_NEAR(table_at(&t, 1001 + 500, "current"), 8.953, 1e-9); // a sample of the file
}

// ---- Two compartments ---------------------------------------------------------------------------

struct patient {
    double v1, part[2], rate[2]; // c behind a unit dose at once: sum of part exp(-rate t) / v1
    double amount, infused;      // a dose, and how long it takes
};

static struct patient patient_of(const struct table *runs, const struct table *doses, int i) {
    double kg = table_at(runs, i, "weight"), small = pow(kg / 70, 0.75);
    double CL = 3 * small * exp(table_at(runs, i, "eta_cl")), Q = 4 * small;
    double V1 = 15 * (kg / 70) * exp(table_at(runs, i, "eta_v")), V2 = 30 * (kg / 70);
    double k10 = CL / V1, k12 = Q / V1, k21 = Q / V2, sum = k10 + k12 + k21;
    double root = sqrt(sum * sum - 4 * k10 * k21), a = (sum + root) / 2, b = (sum - root) / 2;
    double rate = table_at(doses, i, "RATE"), amount = table_at(doses, i, "AMT");
    CHECK_STR(table_word(doses, i, "ID"), table_word(runs, i, "_ID"));
    CHECK_INT(rate == 0, !strcmp(table_word(runs, i, "_arm"), "bolus"));
    return (struct patient){.v1 = V1,
                            .part = {(a - k21) / (a - b), (k21 - b) / (a - b)},
                            .rate = {a, b},
                            .amount = amount,
                            .infused = rate > 0 ? amount / rate : 0};
}

// The concentration by one dose a time t ago, and its integral since then.
static void one_dose(const struct patient *p, double t, double *c, double *area) {
    double T = fmin(t, p->infused);
    for (int i = 0; i < 2; i++) {
        double k = p->rate[i], size = p->amount * p->part[i] / p->v1;
        if (p->infused == 0) {
            *c += size * exp(-k * t);
            *area += size / k * -expm1(-k * t);
        } else {
            double now = (exp(-k * (t - T)) - exp(-k * t)) / k;
            *c += size / p->infused * now;
            *area += size / p->infused / k * (T - now);
        }
    }
}

// Six doses, 12 hours apart; at the time of one it is not given yet, but at the start.
static double concentration(const struct patient *p, double t, double *area) {
    double c = 0;
    *area = 0;
    for (int k = 0; k < 6; k++)
        if (t > 12 * k || (t == 0 && k == 0))
            one_dose(p, t - 12 * k, &c, area);
    return c;
}

// What is highest is so when a dose is in: at once, or at the end of an infusion.
static double highest(const struct patient *p) {
    double top = 0, area;
    for (int k = 0; k < 6; k++) {
        double c = concentration(p, 12 * k + p->infused, &area);
        top = fmax(top, c + (p->infused == 0 && k ? p->amount / p->v1 : 0));
    }
    return top;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { PATIENTS = 500, ARM = 250, TIMES = 385 };

// Percentiles of one arm, whose rows are every other one: `reduced` against `of`.
static void check_percentiles(const struct table *reduced, int row, const struct table *of,
                              const char *name, int first, int stride) {
    double values[ARM];
    for (int i = 0; i < ARM; i++)
        values[i] = table_at(of, first + i * stride, name);
    qsort(values, ARM, sizeof *values, by_value);
    static const double parts[] = {0.05, 0.5, 0.95};
    for (int k = 0; k < 3; k++) {
        char column[32];
        snprintf(column, sizeof column, "%s.q%g", name, parts[k]);
        double place = parts[k] * (ARM - 1), low = floor(place);
        double want = values[(int)low], next = values[(int)low + 1];
        want += (place - low) * (next - want);
        CHECK_NEAR(table_at(reduced, row, column), want, 1e-13 * fabs(want));
    }
}

TEST(worked_two_compartment_patients) {
    work("examples/two_compartment.ode", "percentiles.csv", "--reduce --by");
    struct table t = table_read("percentiles.csv"), runs = table_read("percentiles.runs.csv");
    char *text = check_read("examples/doses.csv");
    check_write(check_path("doses.csv"), text);
    free(text);
    struct table doses = table_read("doses.csv");
    CHECK_INT(runs.rows, PATIENTS);
    CHECK_INT(doses.rows, PATIENTS);
    CHECK_INT(t.rows, PATIENTS * TIMES);
    for (int i = 0; i < PATIENTS; i++) {
        struct patient p = patient_of(&runs, &doses, i);
        double area = 0;
        for (int k = 0; k < TIMES; k++) {
            double at = table_at(&t, i * TIMES + k, "t"), want = concentration(&p, at, &area);
            CHECK_NEAR(table_at(&t, i * TIMES + k, "c"), want, 1e-6 * (want + 1e-3));
        }
        CHECK_NEAR(table_at(&runs, i, "auc"), area, 1e-6 * area);
        CHECK_NEAR(table_at(&runs, i, "top"), highest(&p), 1e-6 * highest(&p));
    }
}

TEST(worked_two_compartment_percentiles) {
    work("examples/two_compartment.ode", "percentiles.csv", "--reduce --by");
    struct table t = table_read("percentiles.csv"), runs = table_read("percentiles.runs.csv");
    work("examples/two_compartment.ode", "percentiles.csv", NULL);
    struct table few = table_read("percentiles.csv"), sums = table_read("percentiles.runs.csv");
    CHECK_INT(few.rows, 2 * TIMES);
    CHECK_INT(sums.rows, 2);
    for (int arm = 0; arm < 2; arm++) {
        CHECK_STR(table_word(&sums, arm, "_arm"), arm ? "infusion" : "bolus");
        check_percentiles(&sums, arm, &runs, "auc", arm, 2);
        check_percentiles(&sums, arm, &runs, "top", arm, 2);
        for (int k = 0; k < TIMES; k += 8) {
            int row = arm * TIMES + k;
            CHECK_NEAR(table_at(&few, row, "t"), table_at(&t, k, "t"), 0);
            CHECK_NEAR(table_at(&few, row, "c.n"), ARM, 0);
            check_percentiles(&few, row, &t, "c", arm * TIMES + k, 2 * TIMES);
        }
    }
}

// ---- Lorenz -------------------------------------------------------------------------------------

typedef void slope_fn(const double *y, double mu, double *dy);

static void lorenz(const double *y, double mu, double *dy) {
    (void)mu;
    dy[0] = 10 * (y[1] - y[0]);
    dy[1] = y[0] * (28 - y[2]) - y[1];
    dy[2] = y[0] * y[1] - 8.0 / 3 * y[2];
}

// One step of the classical method.
static void step(slope_fn *f, double mu, const double *y, double h, double *out) {
    static const double part[] = {0, 0.5, 0.5, 1}, weight[] = {1, 2, 2, 1};
    double k[3] = {0}, sum[3] = {0}, at[3];
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 3; i++)
            at[i] = y[i] + part[s] * h * k[i];
        f(at, mu, k);
        for (int i = 0; i < 3; i++)
            sum[i] += weight[s] * k[i];
    }
    for (int i = 0; i < 3; i++)
        out[i] = y[i] + h / 6 * sum[i];
}

// The first maxima of z by short steps; the turn by bisection of the last one.
static void lorenz_maxima(double *maxima, int count) {
    double y[3] = {1, 0, 0}, next[3], dy[3], h = 1e-4;
    for (int n = 0; n < count; memcpy(y, next, sizeof y)) {
        lorenz(y, 0, dy);
        bool rises = dy[2] > 0;
        step(lorenz, 0, y, h, next);
        lorenz(next, 0, dy);
        if (!rises || dy[2] > 0)
            continue;
        double low = 0, high = h, turn[3];
        for (int i = 0; i < 40; i++) {
            step(lorenz, 0, y, (low + high) / 2, turn);
            lorenz(turn, 0, dy);
            *(dy[2] > 0 ? &low : &high) = (low + high) / 2;
        }
        maxima[n++] = turn[2];
    }
}

TEST(worked_lorenz_first_maxima) {
    struct check_output o =
        RUN(check_shoal(), "run", "examples/lorenz.ode", "--t1", "10", "--rtol", "1e-12", "--atol",
            "1e-12", "--summary", "m=peaks(z,10)", "-q", "-o", check_path("o.csv"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    struct table t = table_read("o.csv");
    double want[10];
    lorenz_maxima(want, 10);
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "m.%d", i + 1);
        CHECK_NEAR(table_at(&t, 0, name), want[i], 1e-7);
    }
}

struct pair {
    double now, next; // `now` first: by_value orders by it
};

TEST(worked_lorenz_map) {
    work("examples/lorenz.ode", "maxima.csv", NULL);
    struct table t = table_read("maxima.csv");
    CHECK_INT(t.rows, 20);
    struct pair pairs[20 * 99];
    int n = 0, top = 0;
    for (int i = 0; i < 20; i++)
        for (int k = 1; k < 100; k++) {
            char now[16], next[16];
            snprintf(now, sizeof now, "m.%d", k);
            snprintf(next, sizeof next, "m.%d", k + 1);
            pairs[n++] = (struct pair){table_at(&t, i, now), table_at(&t, i, next)};
            CHECK(pairs[n - 1].now > 28 && pairs[n - 1].next < 49);
        }
    qsort(pairs, (size_t)n, sizeof *pairs, by_value);
    for (int i = 0; i < n; i++)
        top = pairs[i].next > pairs[top].next ? i : top;
    CHECK_NEAR(pairs[top].now, 38.55, 0.05);
    CHECK(top > n / 4 && top < 3 * n / 4);
    for (int i = 0, j = 1; j < n;
         j++) { // a function, steeper than 1: up to the top, down behind it
        double rise = (pairs[j].next - pairs[i].next) * (j <= top ? 1 : -1);
        double run = pairs[j].now - pairs[i].now;
        if (j == top + 1)
            i = j;
        else
            CHECK_MSG(rise > run - 5e-3, "%g to %g: %g", pairs[i].now, pairs[j].now, rise);
        i = run > 0.1 ? j : i;
    }
}

// ---- Van der Pol --------------------------------------------------------------------------------

static void vanderpol(const double *y, double mu, double *dy) {
    dy[0] = y[1];
    dy[1] = mu * (1 - y[0] * y[0]) * y[1] - y[0];
    dy[2] = 1; // time
}

// Between two rising zeros of x behind t = 200, by short steps; the last one by Newton's method.
static double vanderpol_period(double mu) {
    double y[3] = {2, 0, 0}, next[3], zero[3], before = NAN, h = fmin(0.01, 0.02 / mu);
    for (;; memcpy(y, next, sizeof y)) {
        step(vanderpol, mu, y, h, next);
        if (next[2] < 200 || !(y[0] < 0 && next[0] >= 0))
            continue;
        double part = 0;
        memcpy(zero, y, sizeof zero);
        for (int i = 0; i < 8; i++) {
            part -= zero[0] / zero[1];
            step(vanderpol, mu, y, part, zero);
        }
        if (!isnan(before))
            return zero[2] - before;
        before = zero[2];
    }
}

TEST(worked_van_der_pol_periods) {
    work("examples/vanderpol.ode", "periods.csv", NULL);
    struct table t = table_read("periods.csv");
    CHECK_INT(t.rows, 100);
    for (int i = 0; i < t.rows; i++) {
        double want = vanderpol_period(table_at(&t, i, "mu"));
        CHECK_NEAR(table_at(&t, i, "T"), want, 1e-5 * want);
    }
}

// A number of many digits that is known, and one of SciPy's DOP853 with tolerances of 1e-13.
TEST(worked_van_der_pol_closely) {
    struct check_output o =
        RUN(check_shoal(), "run", "examples/vanderpol.ode", "--sweep", "mu=1,5", "--t1", "200",
            "--settle", "100", "--rtol", "1e-11", "--atol", "1e-11", "--summary",
            "T=period(x), C=period(x,0)", "-q", "-o", check_path("o.csv"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    struct table t = table_read("o.csv");
    static const double want[] = {6.6632868593231301495, 11.612230667719526};
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(table_at(&t, i, "T"), want[i], 1e-9);
        CHECK_NEAR(table_at(&t, i, "C"), want[i], 1e-9);
    }
}
