// SPDX-License-Identifier: MIT
// Figures: golden SVGs of every kind, PNGs by their pixels, text on pipes and dumb terminals, names
// and values that nobody would choose.
//
// After an intended change: SHOAL_GOLDEN=renew build/test plot_golden, then look at the files.
#include "check.h"
#include "io/zip.h"
#include "npz_file.h"
#include "plot/figure.h"
#include "shoal/shoal.h"

#include <ctype.h>
#include <unistd.h>

// ---- Results ------------------------------------------------------------------------------------

enum { RUNS = 40, SAMPLES = 21 };

// run,a,t,x,y,status over one input; some fail.
static const char *line_file(void) {
    struct buf b = {0};
    buf_puts(&b, "run,a,t,x,y,status\n");
    for (int i = 0; i < RUNS; i++) {
        double a = i * 0.25;
        if (i >= 18 && i < 23)
            buf_printf(&b, "%d,%g,1,nan,nan,nonfinite\n", i, a);
        else
            buf_printf(&b, "%d,%g,1,%.6f,%.6f,ok\n", i, a, a * a / 10, 5 - a);
    }
    check_write(check_path("line.csv"), b.data);
    buf_free(&b);
    return check_path("line.csv");
}

// A grid of a (logarithmic) and b; one corner fails.
static const char *heat_file(void) {
    struct buf b = {0};
    buf_puts(&b, "run,a,b,t,x,status\n");
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 7; k++) {
            static const double a[] = {0.01, 0.1, 1, 10, 100};
            bool fails = i > 2 && k > 4;
            buf_printf(&b, "%d,%g,%d,1,%s,%s\n", 7 * i + k, a[i], k - 3,
                       fails       ? "nan"
                       : i + k > 5 ? "2.5"
                       : i % 2     ? "-1"
                                   : "1",
                       fails ? "dt_min" : "ok");
        }
    check_write(check_path("heat.csv"), b.data);
    buf_free(&b);
    return check_path("heat.csv");
}

// Runs x = c t and v = c, with c = 0, 1, ... as input.
static const char *series_file(void) {
    static double run[RUNS], c[RUNS], status[RUNS], t[SAMPLES], x[RUNS][SAMPLES], v[RUNS][SAMPLES];
    for (int i = 0; i < RUNS; i++) {
        run[i] = c[i] = i;
        for (int k = 0; k < SAMPLES; k++) {
            t[k] = k * 0.5;
            x[i][k] = i * t[k];
            v[i][k] = i - 0.1 * t[k] * t[k];
        }
    }
    const struct npz_array arrays[] = {
        {"run", run, 1, {RUNS}}, {"c", c, 1, {RUNS}},           {"status", status, 1, {RUNS}},
        {"t", t, 1, {SAMPLES}},  {"x", *x, 2, {RUNS, SAMPLES}}, {"v", *v, 2, {RUNS, SAMPLES}}};
    npz_file_write(check_path("series.npz"), arrays, 6,
                   "{\"complete\": true, \"shoal\": \"0\", \"model\": \"somewhere/lines.ode\", "
                   "\"options\": {\"t1\": \"10\", \"method\": \"rk4\", \"rtol\": \"1e-6\"}, "
                   "\"grid\": [{\"names\": [\"c\"], \"count\": 40}]}");
    return check_path("series.npz");
}

// ---- Drawing ------------------------------------------------------------------------------------

static shoal_plot_options fresh(void) {
    shoal_plot_options o;
    CHECK_INT(shoal_plot_options_init(&o), SHOAL_OK);
    return o;
}

// What was drawn, or NULL; notes and errors go to *said.
static char *draw(const char *result, const shoal_plot_options *o, const char *ending,
                  char **said) {
    char *text = NULL, name[32];
    struct buf talk = {0};
    shoal_log *log = shoal_log_new();
    snprintf(name, sizeof name, "figure.%s", ending ? ending : "txt");
    const char *path = check_path(name);
    unlink(path);
    shoal_code code = shoal_plot(result, o, ending ? path : NULL, &text, log);
    for (size_t i = 0; i < shoal_log_message_count(log); i++)
        buf_printf(&talk, "%s\n", shoal_log_message(log, i).text);
    if (said)
        *said = check_keep(talk.data ? talk.data : strdup(""));
    else
        buf_free(&talk);
    shoal_log_free(log);
    return check_keep(code ? NULL : ending ? check_read(path) : text);
}

// ---- Well-formed --------------------------------------------------------------------------------

static const char *xml_wrong;

static const char *skip_name(const char *p) {
    while (isalnum((unsigned char)*p) || strchr("-_:.", *p ? *p : ' '))
        p++;
    return p;
}

// Text up to `end`: no naked mark, only character references.
static const char *skip_text(const char *p, char end) {
    while (*p && *p != end) {
        if (*p == '&') {
            size_t n = strspn(p + 1, "#0123456789abcdefghijklmnopqrstuvwxyz");
            if (p[n + 1] != ';' || n == 0)
                xml_wrong = "a naked &";
        } else if (*p == '<' || ((unsigned char)*p < 32 && *p != '\n'))
            xml_wrong = "a naked < or a control character";
        p++;
    }
    return p;
}

static const char *skip_attributes(const char *p) {
    while (*p == ' ') {
        const char *name = ++p;
        p = skip_name(p);
        if (p == name || p[0] != '=' || p[1] != '"') {
            xml_wrong = "an attribute without quotes";
            return p;
        }
        p = skip_text(p + 2, '"');
        p += *p == '"';
    }
    return p;
}

// Elements that close in the order they opened in; NULL, or what is wrong.
static const char *check_xml(const char *p) {
    char open[32][16];
    int depth = 0;
    xml_wrong = NULL;
    while (*p && !xml_wrong) {
        p = skip_text(p, '<');
        if (!*p)
            break;
        bool closing = *++p == '/';
        const char *name = p + closing, *end = skip_name(name);
        size_t length = (size_t)(end - name);
        if (length == 0 || length > 15)
            return "a tag without a name";
        if (closing) {
            if (!depth || strncmp(open[depth - 1], name, length) || open[depth - 1][length])
                return "an element that closes out of order";
            depth--;
            p = end;
        } else {
            p = skip_attributes(end);
            if (*p == '/')
                p++;
            else if (depth < 32)
                snprintf(open[depth++], 16, "%.*s", (int)length, name);
        }
        if (*p++ != '>')
            return "a tag that does not end";
    }
    return xml_wrong ? xml_wrong : depth ? "an element that stays open" : NULL;
}

static void check_python_reads(const char *svg) {
    const char *python = check_python(NULL);
    if (!python)
        return;
    check_write(check_path("check.svg"), svg);
    struct check_output o =
        RUN(python, "-c", "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])",
            check_path("check.svg"));
    CHECK_MSG(o.status == 0, "%s", o.err);
}

TEST(plot_xml_check_can_fail) {
    CHECK(!check_xml("<a b=\"c &#60;\"><d/>text</a>\n"));
    CHECK(check_xml("<a><b></a></b>") && check_xml("<a>") && check_xml("<a b=c/>"));
    CHECK(check_xml("<a>&</a>") && check_xml("<a b=\"<\"/>") && check_xml("<a>\001</a>"));
}

// ---- Golden -------------------------------------------------------------------------------------

static void check_golden(const char *name, const char *result, const shoal_plot_options *o) {
    char path[128], *said;
    snprintf(path, sizeof path, "tests/golden/plot_%s.svg", name);
    char *got = draw(result, o, "svg", &said);
    CHECK_MSG(got != NULL, "%s: %s", name, said);
    REQUIRE(got);
    const char *wrong = check_xml(got), *renew = getenv("SHOAL_GOLDEN");
    CHECK_MSG(!wrong, "%s has %s", name, wrong);
    check_python_reads(got);
    if (renew && !strcmp(renew, "renew"))
        check_write(path, got);
    char *want = check_read(path);
    REQUIRE(want);
    size_t same = 0;
    while (got[same] && got[same] == want[same])
        same++;
    CHECK_MSG(!strcmp(got, want), "%s differs from \"%.60s\" on: \"%.60s\"", path, want + same,
              got + same);
    free(want);
}

static shoal_plot_options small(shoal_plot_kind kind) {
    shoal_plot_options o = fresh();
    o.kind = kind;
    o.width = 400;
    o.height = 300;
    return o;
}

TEST(plot_golden_values) {
    shoal_plot_options o = small(SHOAL_PLOT_AUTO);
    check_golden("line", line_file(), &o);
    o.kind = SHOAL_PLOT_points;
    o.y = "x";
    o.log = "x,y"; // of which some are 0
    o.dark = true;
    check_golden("points", line_file(), &o);
    o = small(SHOAL_PLOT_histogram);
    o.y = "x";
    check_golden("histogram", line_file(), &o);
}

TEST(plot_golden_heat) {
    shoal_plot_options o = small(SHOAL_PLOT_AUTO);
    check_golden("heat", heat_file(), &o);
    struct buf b = {0};
    buf_puts(&b, "run,a,b,c,t,x,status\n");
    for (int i = 0; i < 60; i++) // a panel for each c
        buf_printf(&b, "%d,%d,%d,%d,1,%d,ok\n", i, i / 15, i / 3 % 5, i % 3, i % 3 * 10 + i / 15);
    check_write(check_path("multiples.csv"), b.data);
    buf_free(&b);
    check_golden("multiples", check_path("multiples.csv"), &o);
    o.kind = SHOAL_PLOT_line; // a line for each value of the other input
    o.x = "b";
    check_golden("lines", heat_file(), &o);
}

TEST(plot_golden_series) {
    shoal_plot_options o = small(SHOAL_PLOT_series);
    o.runs = "0,10:12,39";
    check_golden("series", series_file(), &o);
    o = small(SHOAL_PLOT_AUTO);
    check_golden("fan", series_file(), &o);
    o.kind = SHOAL_PLOT_phase;
    o.x = "x";
    o.y = "v";
    check_golden("phase", series_file(), &o);
    o.kind = SHOAL_PLOT_density;
    check_golden("density", series_file(), &o);
}

// Events of three runs, one of which has none; windows; statistics of two groups.
static const char *records_file(void) {
    static double run[] = {0, 1, 2}, w[] = {1, 2, 3}, status[3], spike_t[3][4], spike_v[3][4],
                  burst_t[3][4], edges[] = {0, 2, 4, 5}, f[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            spike_t[i][k] = i == 1 ? (double)NAN : (k + 1) * (i + 1);
            spike_v[i][k] = k * k + i;
            burst_t[i][k] = k < 2 ? 5 + k + i : (double)NAN;
            if (k < 3)
                f[i][k] = i == 2 && k == 2 ? (double)NAN : 10 * i + k;
        }
    const struct npz_array arrays[] = {{"run", run, 1, {3}},
                                       {"w", w, 1, {3}},
                                       {"status", status, 1, {3}},
                                       {"spike.t", *spike_t, 2, {3, 4}},
                                       {"spike.v", *spike_v, 2, {3, 4}},
                                       {"burst.t", *burst_t, 2, {3, 4}},
                                       {"f", *f, 2, {3, 3}},
                                       {"window_t", edges, 1, {4}}};
    npz_file_write(check_path("records.npz"), arrays, 8,
                   "{\"complete\": true, \"shoal\": \"0\", \"model\": \"cells.ode\", \"options\": "
                   "{\"save\": \"final\", \"summary\": \"f=mean(v)\", \"window\": \"2\"}, "
                   "\"grid\": [{\"names\": [\"w\"], \"count\": 3}]}");
    return check_path("records.npz");
}

static const char *groups_file(void) {
    struct buf b = {0};
    buf_puts(&b, "_arm,t,x.mean,x.std,x.q0.05,x.q0.5,x.q0.95,x.n,failed\n");
    for (int i = 0; i < 2; i++)
        for (int t = 0; t < 11; t++)
            buf_printf(&b, "%s,%d,99,98,%d,%d,%d,100,0\n", i ? "pills" : "none", t, t,
                       2 * t + 30 * i, 4 * t + 30 * i);
    check_write(check_path("groups.csv"), b.data);
    buf_free(&b);
    return check_path("groups.csv");
}

TEST(plot_golden_records) {
    shoal_plot_options o = small(SHOAL_PLOT_raster);
    check_golden("raster", records_file(), &o); // two events, a panel for each run
    o.y = "spike.t";
    check_golden("raster_runs", records_file(), &o);
    o = small(SHOAL_PLOT_next);
    check_golden("next", records_file(), &o);
}

TEST(plot_golden_groups) {
    shoal_plot_options o = small(SHOAL_PLOT_heat);
    o.y = "f";
    check_golden("windows", records_file(), &o);
    o = small(SHOAL_PLOT_AUTO);
    check_golden("groups", groups_file(), &o);
    check_write(check_path("words.csv"), "_arm,auc.min,auc.mean,auc.max,auc.n,failed\n"
                                         "none,1,2,5,9,0\n\"<b>&\",2,3,4,9,1\n");
    check_golden("words", check_path("words.csv"), &o);
}

static const char log_text[] =
    "{\"shoal_timing\": 1, \"version\": \"0\"}\n"
    "{\"id\":1,\"parent\":0,\"label\":\"<compile>\",\"category\":\"compile\",\"t0_ns\":2000000,"
    "\"dur_ns\":4000000,\"track\":\"main\",\"meta\":{\"a\":[1,2]}}\n"
    "{\"id\":2,\"parent\":0,\"label\":\"kernel\",\"category\":\"runtime\",\"t0_ns\":6000000,"
    "\"dur_ns\":3000000,\"track\":\"stream 1\"}\n"
    "{\"id\":0,\"parent\":null,\"label\":\"solve\",\"category\":\"runtime\",\"t0_ns\":1000000,"
    "\"dur_ns\":9000000,\"track\":\"main\"}\n";

TEST(plot_golden_flame) {
    shoal_plot_options o = small(SHOAL_PLOT_AUTO);
    char *said;
    check_write(check_path("t.ndjson"), log_text);
    check_golden("flame", check_path("t.ndjson"), &o);
    draw(check_path("t.ndjson"), &o, NULL, &said);
    CHECK_HAS(said, "plot: flame of 3 events on 2 tracks");
    static const char *const wrong[] = {"", "{}\n", "{\"shoal_timing\": 1}\n{\"id\": \"x\"}\n",
                                        "nothing\n", "{\"shoal_timing\": 1}\n{\"id\": 1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_write(check_path("t.ndjson"), wrong[i]);
        CHECK(!draw(check_path("t.ndjson"), &o, "svg", &said));
        CHECK_HAS(said, "time log");
    }
}

// The last point of the n-th polyline of a colour: its height.
static double end_of_line(const char *svg, const char *ink) {
    const char *end = strstr(svg, ink), *comma = end;
    REQUIRE(end);
    while (comma > svg && *comma != ',')
        comma--;
    return atof(comma + 1);
}

// Where the number stands beside an axis to the left.
static double height_of(const char *svg, const char *number) {
    char label[32];
    snprintf(label, sizeof label, ">%s</text>", number);
    const char *p = strstr(svg, label);
    REQUIRE(p);
    while (p > svg && strncmp(p, " y=\"", 4))
        p--;
    return atof(p + 4);
}

// The median of x = c t, c = 0 to 39, is 19.5 t; read back from the file through its own axis.
TEST(plot_fan_is_of_quantiles) {
    shoal_plot_options o = small(SHOAL_PLOT_fan);
    o.y = "x";
    o.y_range = "0:400";
    char *svg = draw(series_file(), &o, "svg", NULL);
    REQUIRE(svg);
    double zero = height_of(svg, "100"), unit = (height_of(svg, "300") - zero) / 200;
    double end = end_of_line(svg, "\" stroke=\"#d55e00\" stroke-width=\"1.5\"");
    // Numbers stand 0.36 of their size and half a pixel below their line.
    CHECK_NEAR(100 + (end - (zero - 0.36 * 11.5 - 0.5)) / unit, 195, 2);
}

TEST(plot_golden_grid) {
    shoal_plot_options o = fresh();
    o.width = 400;
    check_write(check_path("g.json"), "[[[0,1,2],[3,4,9]],[[5,6],[7,8]]]");
    check_golden("grid", check_path("g.json"), &o);
    check_write(check_path("g.txt"), "0 1\n1 0\n");
    o.height = 300;
    o.bare = true; // nothing but cells: 1 is ink, the first row is on top
    REQUIRE(draw(check_path("g.txt"), &o, "svg", NULL));
    char *said;
    check_write(check_path("g.npy"), "no array");
    CHECK(!draw(check_path("g.npy"), &o, "svg", &said) && strstr(said, "error: "));
    check_write(check_path("e.json"), "[]");
    CHECK(!draw(check_path("e.json"), &o, "svg", &said) && strstr(said, "error: "));
}

// ---- Numbers read back --------------------------------------------------------------------------

// From places to numbers: by two ticks of each axis, which a small figure of one panel has.
struct scale {
    double x0, x_unit, y0, y_unit;
};

static double x_of(const char *svg, const char *number) {
    char label[40];
    snprintf(label, sizeof label, "text-anchor=\"middle\">%s</text>", number);
    const char *p = strstr(svg, label);
    REQUIRE(p);
    while (p > svg && strncmp(p, " x=\"", 4))
        p--;
    return atof(p + 4);
}

static double y_of(const char *svg, const char *number) {
    char label[40];
    snprintf(label, sizeof label, "text-anchor=\"end\">%s</text>", number);
    const char *p = strstr(svg, label);
    REQUIRE(p);
    while (p > svg && strncmp(p, " y=\"", 4))
        p--;
    return atof(p + 4) - 0.36 * 11.5; // numbers stand that much below their line
}

static struct scale scale_of(const char *svg, const char *xa, const char *xb, const char *ya,
                             const char *yb) {
    struct scale s = {.x_unit = (x_of(svg, xb) - x_of(svg, xa)) / (atof(xb) - atof(xa)),
                      .y_unit = (y_of(svg, yb) - y_of(svg, ya)) / (atof(yb) - atof(ya))};
    s.x0 = x_of(svg, xa) - atof(xa) * s.x_unit;
    s.y0 = y_of(svg, ya) - atof(ya) * s.y_unit;
    return s;
}

// The next point of an element, as numbers; false where it ends.
static bool next_point(const char **p, const struct scale *s, double *x, double *y) {
    char *end;
    double px = strtod(*p, &end);
    if (end == *p)
        return false;
    double py = strtod(end + 1, &end);
    *p = end;
    *x = (px - s->x0) / s->x_unit;
    *y = (py - s->y0) / s->y_unit;
    return true;
}

// The n-th line of a colour and of the width of data.
static const char *find_line(const char *svg, const char *ink, int n) {
    char end[64];
    snprintf(end, sizeof end, "\" stroke=\"#%s\" stroke-width=\"1.5\"", ink);
    const char *p = svg;
    for (int i = 0; i <= n; i++) {
        p = strstr(p + (i > 0), end);
        REQUIRE(p);
    }
    while (strncmp(p, "points=\"", 8))
        p--;
    return p + 8;
}

// x = a^2 / 10 over a, where it did not fail: two pieces of one line.
TEST(plot_lines_read_back) {
    shoal_plot_options o = small(SHOAL_PLOT_line);
    o.y = "x";
    char *svg = draw(line_file(), &o, "svg", NULL);
    REQUIRE(svg);
    struct scale s = scale_of(svg, "2", "8", "2", "8");
    int points = 0;
    for (int piece = 0; piece < 2; piece++) {
        double x, y;
        for (const char *p = find_line(svg, "0072b2", piece); next_point(&p, &s, &x, &y);
             p += *p == ' ', points++)
            CHECK_NEAR(y, x * x / 10, 0.15);
    }
    CHECK_INT(points, RUNS - 5);
    o = small(SHOAL_PLOT_series); // x = c t of the run with c = 39
    o.y = "x";
    o.runs = "39";
    svg = draw(series_file(), &o, "svg", NULL);
    REQUIRE(svg);
    s = scale_of(svg, "2", "8", "100", "300");
    double x, y;
    points = 0;
    for (const char *p = find_line(svg, "0072b2", 0); next_point(&p, &s, &x, &y);
         p += *p == ' ', points++)
        CHECK_NEAR(y, 39 * x, 3);
    CHECK_INT(points, SAMPLES);
}

// The phase plane of a run: v = c - 0.1 (x / c)^2.
TEST(plot_phase_reads_back) {
    shoal_plot_options o = small(SHOAL_PLOT_phase);
    o.x = "x";
    o.y = "v";
    o.runs = "10";
    char *svg = draw(series_file(), &o, "svg", NULL);
    REQUIRE(svg);
    struct scale s = scale_of(svg, "20", "80", "2", "8");
    double x, y;
    int points = 0;
    for (const char *p = find_line(svg, "0072b2", 0); next_point(&p, &s, &x, &y);
         p += *p == ' ', points++)
        CHECK_NEAR(y, 10 - 0.1 * (x / 10) * (x / 10), 0.1);
    CHECK_INT(points, SAMPLES);
}

// Bars are as high as values are often, counted here once more.
TEST(plot_histogram_reads_back) {
    static const int often[] = {100, 60, 0, 140};
    struct buf b = {0};
    buf_puts(&b, "x\n");
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < often[i]; k++)
            buf_printf(&b, "%d\n", 10 * i);
    check_write(check_path("h.csv"), b.data);
    buf_free(&b);
    shoal_plot_options o = small(SHOAL_PLOT_histogram);
    char *svg = draw(check_path("h.csv"), &o, "svg", NULL);
    REQUIRE(svg);
    struct scale s = scale_of(svg, "10", "20", "50", "100");
    int bars = 0;
    for (const char *p = svg; (p = strstr(p, "<polygon points=\"")); bars++) {
        double x[4], y[4];
        p += 17;
        for (int i = 0; i < 4; i++, p += *p == ' ')
            REQUIRE(next_point(&p, &s, &x[i], &y[i]));
        int value = (int)lround((x[0] + x[2]) / 20); // the bin is narrow
        REQUIRE(value >= 0 && value < 4);
        CHECK_NEAR(y[1], often[value], 1);
        CHECK_NEAR(y[0], 0, 1.5);
    }
    CHECK_INT(bars, 3);
}

// Strokes of a raster stand at the times, around the run's own input.
TEST(plot_raster_reads_back) {
    shoal_plot_options o = small(SHOAL_PLOT_raster);
    o.y = "spike.t";
    char *svg = draw(records_file(), &o, "svg", NULL);
    REQUIRE(svg);
    struct scale s = scale_of(svg, "2", "10", "1", "3");
    int strokes = 0;
    for (int i = 0; i < 3; i += 2) // run 1 has none
        for (int k = 0; k < 4; k++, strokes++) {
            double x, y, x2, y2;
            const char *p = find_line(svg, "0072b2", strokes);
            REQUIRE(next_point(&p, &s, &x, &y));
            p++;
            REQUIRE(next_point(&p, &s, &x2, &y2));
            CHECK_NEAR(x, (k + 1) * (i + 1), 0.05);
            CHECK_NEAR(x2, x, 1e-9);
            CHECK_NEAR((y + y2) / 2, i + 1, 0.02);
        }
    CHECK_INT(strokes, 8);
}

// Statistics are drawn as they are: of x.q0.5, not of what else is there.
TEST(plot_groups_are_of_their_columns) {
    shoal_plot_options o = small(SHOAL_PLOT_AUTO);
    o.y_range = "0:80";
    char *said, *svg = draw(groups_file(), &o, "svg", &said);
    REQUIRE(svg);
    CHECK_HAS(svg, ">none</text>");
    CHECK_HAS(svg, ">pills</text>");
    double zero = height_of(svg, "20"), unit = (height_of(svg, "60") - zero) / 40;
    static const char *const inks[] = {"0072b2", "d55e00"};
    for (int i = 0; i < 2; i++) {
        char ink[64];
        snprintf(ink, sizeof ink, "\" stroke=\"#%s\" stroke-width=\"1.5\"", inks[i]);
        double end = end_of_line(svg, ink);
        CHECK_NEAR(20 + (end - (zero - 0.36 * 11.5 - 0.5)) / unit, 20 + 30 * i, 0.5);
    }
    check_write(check_path("same.csv"), "t,x.mean,failed\n0,1,0\n1,2,0\n0,5,0\n1,6,0\n");
    CHECK(!draw(check_path("same.csv"), &o, "svg", &said)); // one line would mix two groups
    CHECK_HAS(said, "which of its groups is which");
    o.fix = "_arm=pills";
    svg = draw(groups_file(), &o, "svg", &said);
    CHECK_HAS(said, "only runs with pills are shown");
    CHECK_HAS(svg, ">5 to 95 %</text>");
    CHECK_HAS(svg, ">median</text>");
}

// Dots of a return map: k^2 + i over the one before, and none from run to run.
TEST(plot_next_is_of_pairs) {
    shoal_plot_options o = small(SHOAL_PLOT_next);
    o.y = "spike.v";
    o.x_range = "0:12";
    o.y_range = "0:60";
    char *said, *svg = draw(records_file(), &o, "svg", &said);
    REQUIRE(svg);
    CHECK_HAS(said, "plot: next of spike.v");
    CHECK_HAS(svg, ">next spike.v</text>");
    double zero = height_of(svg, "20"), unit = (height_of(svg, "60") - zero) / 40;
    const char *dots = strstr(svg, "<path d=\"M");
    REQUIRE(dots);
    for (int i = 0; i < 3; i++)
        for (int k = 1; k < 4; k++) {
            double y = 0, want = k * k + i;
            dots = strchr(dots, 'M');
            REQUIRE(dots && sscanf(dots, "M%*f %lf", &y) == 1);
            CHECK_NEAR(20 + (y - (zero - 0.36 * 11.5 - 0.5)) / unit, want, 0.3);
            dots++;
        }
    CHECK(strncmp(strchr(dots, 'h'), "h0\"", 3) == 0); // no more
}

// ---- PDF ----------------------------------------------------------------------------------------

// What is drawn, unpacked; every number of the table of objects must lead to its object.
static char *read_pdf(const char *path) {
    FILE *f = fopen(path, "rb");
    char *b = check_keep(calloc(1, 4 << 20)), *page = check_keep(calloc(1, 4 << 20));
    REQUIRE(f && b && page);
    size_t length = fread(b, 1, (4 << 20) - 1, f), table = 0;
    fclose(f);
    REQUIRE(length > 100 && !memcmp(b, "%PDF-1.4\n", 9));
    const char *end = b + length - 40;
    while (strncmp(end, "startxref", 9))
        REQUIRE(++end < b + length);
    REQUIRE(sscanf(end, "startxref %zu", &table) == 1 && table < length);
    unsigned count = 0;
    REQUIRE(sscanf(b + table, "xref 0 %u", &count) == 1 && count > 8);
    const char *row = strchr(b + table + 5, '\n') + 1;
    for (unsigned i = 1; i < count; i++) {
        size_t at = (size_t)atoll(row + 20 * i);
        char want[32];
        snprintf(want, sizeof want, "%u 0 obj\n", i);
        CHECK_MSG(at < length && !strncmp(b + at, want, strlen(want)), "object %u is not at %zu", i,
                  at);
        size_t packed = 0;
        if (i == 4 &&
            sscanf(b + at + strlen(want), "<< /Filter /FlateDecode /Length %zu", &packed)) {
            const char *data = strstr(b + at, "stream\n") + 7;
            CHECK(!strncmp(data + packed, "\nendstream", 10));
            size_t room = 1; // its size is not said: try them
            while (room < 4 << 20 && !inflate_bytes(data + 2, packed - 6, page, room))
                room++;
            page[room] = 0;
        }
    }
    return page;
}

TEST(plot_pdf) {
    shoal_plot_options o = small(SHOAL_PLOT_heat);
    o.title = "caf\xc3\xa9 (\xce\xbb) \xd7\xa9";
    CHECK(draw(heat_file(), &o, "pdf", NULL) != NULL);
    char *page = read_pdf(check_path("figure.pdf"));
    CHECK_HAS(page, "/FB 16 Tf <636166e92028> Tj\n/FS 16 Tf <6c> Tj\n/FB 16 Tf <29203f> Tj");
    CHECK_HAS(page, "/I0 Do");
    CHECK_HAS(page, "/I1 Do"); // the bar of colours
    CHECK_HAS(page, "W n");
    static const shoal_plot_kind kinds[] = {SHOAL_PLOT_fan, SHOAL_PLOT_density, SHOAL_PLOT_series};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        o = small(kinds[i]);
        CHECK(draw(series_file(), &o, "pdf", NULL) != NULL);
        CHECK_HAS(read_pdf(check_path("figure.pdf")), "Tj");
    }
}

// ---- What is chosen -----------------------------------------------------------------------------

TEST(plot_says_what_it_chose) {
    shoal_plot_options o = fresh();
    char *said;
    draw(line_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: line of x, y over a");
    draw(heat_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: heat of x over b and a");
    draw(series_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: fan of x, v over t");
    o.x = "c";
    draw(series_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: density of x over c");
    o = fresh();
    draw(records_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: raster of spike.v over spike.t");
    o.kind = SHOAL_PLOT_heat;
    draw(series_file(), &o, "svg", &said);
    CHECK_HAS(said, "plot: heat of x over t and c");
    o = fresh();
    check_write(check_path("sums.csv"), "run,I,f,n,status\n0,1,nan,0,ok\n1,2,5,0,ok\n2,3,7,0,ok\n");
    draw(check_path("sums.csv"), &o, "svg", &said); // inputs end where the grid does
    CHECK_HAS(said, "plot: line of f, n over I");
    check_write(check_path("s.csv"), "run,t,x\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n");
    check_write(check_path("s.runs.csv"), "run,I,f,status\n0,1,9,ok\n1,2,8,ok\n");
    CHECK_HAS(draw(check_path("s.csv"), &o, "svg", &said), ">I = 2</text>");
    check_write(check_path("reduced.csv"), "t,x.mean,x.q0.05\n0,1,0.5\n1,2,1.5\n");
    draw(check_path("reduced.csv"), &o, "svg", &said);
    CHECK_HAS(said, "plot: line of x.mean, x.q0.05 over t");
    o.fix = "a=9";
    o.y = "x";
    char *svg = draw(heat_file(), &o, "svg", &said);
    CHECK_HAS(said, "only runs with a = 10 are shown");
    CHECK_HAS(said, "plot: line of x over b");
    CHECK_HAS(svg, "a = 10");
}

TEST(plot_refuses) {
    static const struct {
        shoal_plot_options o;
        const char *said;
    } cases[] = {
        {{.kind = SHOAL_PLOT_AUTO, .y = "xx"}, "has no column `xx`; did you mean `x`?"},
        {{.kind = SHOAL_PLOT_AUTO, .x = "q"}, "has no column `q`"},
        {{.kind = SHOAL_PLOT_fan}, "has one value a run; fan needs several"},
        {{.kind = SHOAL_PLOT_heat}, "needs final values over two inputs"},
        {{.kind = SHOAL_PLOT_AUTO, .log = "w"}, "--log"},
        {{.kind = SHOAL_PLOT_AUTO, .map = "jet"}, "none of viridis"},
        {{.kind = SHOAL_PLOT_AUTO, .x_range = "1"}, "no interval"},
        {{.kind = SHOAL_PLOT_AUTO, .y_range = "1:1"}, "no interval"},
        {{.kind = SHOAL_PLOT_AUTO, .fix = "a"}, "not NAME=VALUE"},
        {{.kind = SHOAL_PLOT_AUTO, .fix = "x=1"}, "no input"},
        {{.kind = SHOAL_PLOT_AUTO, .width = 30000}, "too large"},
        {{.kind = SHOAL_PLOT_AUTO, .dpi = 1e9}, "too large"},
        {{.kind = SHOAL_PLOT_AUTO, .width = 10}, "at least"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shoal_plot_options o = cases[i].o;
        char *said;
        o.size = sizeof o;
        CHECK(!draw(line_file(), &o, "svg", &said));
        CHECK_HAS(said, cases[i].said);
    }
    shoal_plot_options o = fresh();
    char *said;
    CHECK(!draw(line_file(), &o, "eps", &said));
    CHECK_HAS(said, "known by its ending: .svg, .pdf, .png");
    o.size = 0;
    CHECK_INT(shoal_plot(line_file(), &o, NULL, &said, NULL), SHOAL_USAGE);
    for (int i = 0; i < SHOAL_PLOT_AUTO; i++)
        CHECK(shoal_plot_name(i) && strlen(shoal_plot_about(i)) > 10);
}

// ---- Pixels -------------------------------------------------------------------------------------

struct picture {
    uint32_t width, height;
    unsigned char *rgb;
};

static uint32_t be(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Chunks with their checksums, data unpacked, rows added up again: by the standard's own words.
static struct picture read_png(const char *path) {
    struct picture m = {0};
    unsigned char *data = NULL;
    size_t packed = 0;
    FILE *f = fopen(path, "rb");
    unsigned char *b = malloc(16 << 20);
    REQUIRE(f && b);
    size_t length = fread(b, 1, 16 << 20, f);
    fclose(f);
    REQUIRE(length > 8 && !memcmp(b, "\x89PNG\r\n\x1a\n", 8));
    for (size_t at = 8; at + 12 <= length;) {
        uint32_t n = be(b + at);
        REQUIRE(n <= length - at - 12);
        CHECK_INT(be(b + at + 8 + n), zip_crc(0, b + at + 4, 4 + (size_t)n));
        if (!memcmp(b + at + 4, "IHDR", 4)) {
            m.width = be(b + at + 8);
            m.height = be(b + at + 12);
            CHECK_INT(b[at + 16], 8);
            CHECK_INT(b[at + 17], 2);
        } else if (!memcmp(b + at + 4, "IDAT", 4)) {
            data = b + at + 8;
            packed = n;
        }
        at += 12 + (size_t)n;
    }
    size_t bytes = (size_t)m.width * 3, all = (bytes + 1) * m.height;
    unsigned char *rows = malloc(all);
    m.rgb = check_keep(malloc(bytes * m.height));
    REQUIRE(data && rows && m.rgb && packed > 6);
    REQUIRE(inflate_bytes(data + 2, packed - 6, rows, all));
    for (uint32_t y = 0; y < m.height; y++)
        for (size_t i = 0; i < bytes; i++) {
            unsigned char filter = rows[y * (bytes + 1)], *to = m.rgb + y * bytes + i;
            CHECK(filter <= 2);
            int left = filter == 1 && i >= 3 ? to[-3] : 0;
            int up = filter == 2 && y ? to[-(ptrdiff_t)bytes] : 0;
            *to = (unsigned char)(rows[y * (bytes + 1) + 1 + i] + left + up);
        }
    free(rows);
    free(b);
    return m;
}

static uint32_t pixel(const struct picture *m, uint32_t x, uint32_t y) {
    const unsigned char *p = m->rgb + 3 * ((size_t)y * m->width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

// A bare heat map is its cells and nothing else: the lowest value, the highest, a hole.
TEST(plot_png_of_a_heat_map) {
    shoal_plot_options o = small(SHOAL_PLOT_heat);
    o.bare = true;
    o.dpi = 192;
    REQUIRE(draw(heat_file(), &o, "png", NULL));
    struct picture m = read_png(check_path("figure.png"));
    CHECK_INT(m.width, 800);
    CHECK_INT(m.height, 600);
    CHECK_INT(pixel(&m, 50, 590), colour_at(MAP_viridis, 145 / 253.0)); // a = 0.01, b = -3: 1
    CHECK_INT(pixel(&m, 50, 470), colour_at(MAP_viridis, 0));           // a = 0.1: -1
    CHECK_INT(pixel(&m, 450, 10), colour_at(MAP_viridis, 1));           // a = 100, b = 0: 2.5
    bool paper = false, ink = false;                                    // hatched
    for (uint32_t x = 700; x < 790; x++) {
        paper = paper || pixel(&m, x, 50) == 0xffffff;
        ink = ink || pixel(&m, x, 50) != 0xffffff;
    }
    CHECK(paper && ink);
}

// The first row of cells is on top, and what is alive has the ink.
TEST(plot_png_of_a_grid) {
    shoal_plot_options o = small(SHOAL_PLOT_AUTO);
    o.bare = true;
    check_write(check_path("g.txt"), "0 1 0\n0 0 0\n");
    REQUIRE(draw(check_path("g.txt"), &o, "png", NULL));
    struct picture m = read_png(check_path("figure.png"));
    CHECK_INT(pixel(&m, 200, 75), theme_get(false)->ink);
    CHECK(pixel(&m, 60, 75) == pixel(&m, 200, 225) && pixel(&m, 60, 75) != pixel(&m, 200, 75));
}

// How many pixels of the title are not paper.
static size_t inked_title(const char *title) {
    shoal_plot_options o = small(SHOAL_PLOT_line);
    o.title = title;
    REQUIRE(draw(line_file(), &o, "png", NULL));
    struct picture m = read_png(check_path("figure.png"));
    size_t n = 0;
    for (uint32_t y = 0; y < 32; y++)
        for (uint32_t x = 0; x < m.width; x++)
            n += pixel(&m, x, y) != 0xffffff;
    return n;
}

// Letters that have strokes are no boxes, and differ from what they are made of.
TEST(plot_letters) {
    size_t box = inked_title("\xd7\xa9"), e = inked_title("e");
    CHECK(inked_title("\xc3\xa9") > e);                                      // e with a mark
    CHECK(inked_title("\xce\xbb") != box && inked_title("\xce\xa9") != box); // Greek
    CHECK(inked_title("\xe2\x82\x82") < inked_title("2"));                   // a small one
    CHECK(inked_title("\xff\xff") >= box);
}

// Windows lie from where they begin to where they end; one without a value is paper.
TEST(plot_png_of_windows) {
    shoal_plot_options o = small(SHOAL_PLOT_heat);
    o.y = "f";
    o.bare = true;
    REQUIRE(draw(records_file(), &o, "png", NULL));
    struct picture m = read_png(check_path("figure.png"));
    for (uint32_t run = 0; run < 3; run++)
        for (uint32_t k = 0; k < 3; k++) {
            static const uint32_t middle[] = {80, 240, 360}; // of 0 to 2, 2 to 4, 4 to 5
            double value = 10.0 * run + k;
            uint32_t want = run == 2 && k == 2
                                ? 0xffffff
                                : colour_at(MAP_viridis, round(value / 21 * 253) / 253);
            CHECK_INT(pixel(&m, middle[k], 250 - 100 * run), want);
        }
    CHECK(pixel(&m, 158, 250) != pixel(&m, 162, 250) && pixel(&m, 318, 250) != pixel(&m, 322, 250));
}

// A point in each corner and many in the middle.
TEST(plot_png_of_a_density) {
    struct buf b = {0};
    buf_puts(&b, "p,q\n0,0\n1,1\n0,1\n");
    for (int i = 0; i < 1000; i++)
        buf_puts(&b, "0.5,0.5\n");
    buf_puts(&b, "nan,1\n0.2,inf\n");
    check_write(check_path("d.csv"), b.data);
    buf_free(&b);
    shoal_plot_options o = small(SHOAL_PLOT_density);
    o.x = "p";
    o.y = "q";
    o.bare = true;
    char *said;
    REQUIRE(draw(check_path("d.csv"), &o, "png", &said));
    CHECK_HAS(said, "1003 of 1005 points are shown");
    struct picture m = read_png(check_path("figure.png"));
    uint32_t few = pixel(&m, 0, 0), paper = 0xffffff;
    CHECK(few != paper && pixel(&m, 399, 0) == few && pixel(&m, 0, 299) == few);
    CHECK(pixel(&m, 399, 299) == paper && pixel(&m, 200, 100) == paper);
    CHECK(pixel(&m, 200, 150) != paper && pixel(&m, 200, 150) != few);
    // On light paper much is dark.
    CHECK_INT(pixel(&m, 200, 150), colour_at(MAP_viridis, 0));
    size_t inked = 0;
    for (uint32_t y = 0; y < m.height; y++)
        for (uint32_t x = 0; x < m.width; x++)
            inked += pixel(&m, x, y) != paper;
    CHECK_INT(inked, 4);
}

// ---- Hostile ------------------------------------------------------------------------------------

static void check_all_kinds(const char *result, const char *what) {
    for (int kind = 0; kind <= SHOAL_PLOT_AUTO; kind++)
        for (int how = 0; how < 4; how++) {
            shoal_plot_options o = small((shoal_plot_kind)kind);
            char *said;
            o.log = how == 1 ? "x,y,z" : NULL;
            o.unicode = how == 3;
            if (how == 2)
                draw(result, &o, "png", &said);
            char *text = draw(result, &o, how >= 2 ? NULL : "svg", &said);
            if (!text) {
                CHECK_MSG(strstr(said, "error: "), "%s, kind %d: nothing drawn, nothing said", what,
                          kind);
                continue;
            }
            const char *wrong = how < 2 ? check_xml(text) : NULL;
            CHECK_MSG(!wrong, "%s, kind %d: %s", what, kind, wrong);
            CHECK_MSG((how >= 2 || !strstr(text, "<script")) && !strchr(text, '\033'), "%s: %d",
                      what, kind);
            if (how == 0 && kind == SHOAL_PLOT_AUTO)
                check_python_reads(text);
        }
}

TEST(plot_hostile_names) {
    check_write(
        check_path("n.csv"),
        "run,\"<script>alert('a')</script>\",t,\"a\"\"b&amp;\",\xd7\xa9\xd7\x9c\xe2\x80\xae,"
        "\xff\xfe,\"two\nlines\033[31m\",status\n"
        "0,1,1,2,3,4,5,ok\n1,2,1,3,4,5,6,ok\n2,3,1,3,5,1,6,ok\n");
    check_all_kinds(check_path("n.csv"), "names");
    shoal_plot_options o = small(SHOAL_PLOT_line);
    o.title = "</title><script>\"'&\001";
    char *svg = draw(check_path("n.csv"), &o, "svg", NULL);
    REQUIRE(svg);
    CHECK(!check_xml(svg) && !strstr(svg, "<script"));
}

TEST(plot_hostile_values) {
    static const struct {
        const char *what, *text;
    } cases[] = {
        {"one point", "run,a,t,x,status\n0,1,1,2,ok\n"},
        {"no rows", "run,a,t,x,status\n"},
        {"all failed", "run,a,t,x,status\n0,1,1,nan,newton\n1,2,1,nan,nonfinite\n"},
        {"infinite", "run,a,t,x,status\n0,1,1,inf,ok\n1,2,1,-inf,ok\n2,3,1,nan,ok\n"},
        {"huge", "run,a,t,x,status\n0,-1e308,1,1e308,ok\n1,1e308,1,-1e308,ok\n2,0,1,0,ok\n"},
        {"tiny", "run,a,t,x,status\n0,1e-320,1,5e-324,ok\n1,2e-320,1,1e-323,ok\n"},
        {"close", "run,a,t,x,status\n0,1e15,1,1,ok\n1,1000000000000001,1,1.0000000000000002,ok\n"},
        {"zeros", "run,a,t,x,status\n0,0,1,0,ok\n1,0,1,0,ok\n2,-0,1,-0,ok\n"},
        {"negative", "run,a,t,x,status\n0,-1,1,-5,ok\n1,-2,1,-6,ok\n2,-3,1,-5,ok\n"},
        {"equal", "run,a,t,x,status\n0,1,1,7,ok\n1,1,1,7,ok\n2,1,1,7,ok\n"},
        {"series of one", "run,t,x\n0,0,1\n"},
        {"text", "name,city\nanna,rome\nbert,oslo\n"},
        {"one column", "x\n1\n2\n5\n"},
        {"grid",
         "run,a,b,t,x,status\n0,0,0,1,0,ok\n1,0,1,1,nan,ok\n2,1,0,1,inf,ok\n3,1,1,1,3,ok\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!check_does(i, 0, 2))
            continue;
        check_write(check_path("v.csv"), cases[i].text);
        check_all_kinds(check_path("v.csv"), cases[i].what);
    }
}

// Every string is a number that reads back as one close to where the tick is.
TEST(plot_ticks_are_round) {
    static const struct {
        double low, high;
        bool log;
        const char *first;
    } cases[] = {
        {0, 30, false, "0"},
        {-1.5, 2.2, false, "-1"},
        {0, 1e-7, false, "0"},
        {1e6, 5e6, false, "1e6"},
        {99.999, 100.001, false, "99.999"},
        {0.001, 1000, true, "0.001"},
        {2, 7, true, "2"},
        {1e-30, 1e30, true, "1e-30"},
        {3.1, 3.2, true, "3.1"},
        {12345, 12346, false, "12345"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct axis a;
        axis_make(&a, "a", cases[i].low, cases[i].high, cases[i].log, 6);
        CHECK_MSG(a.count >= 2 && a.count <= TICKS_MOST, "%zu: %u ticks", i, a.count);
        CHECK_STR(a.tick[0].text, cases[i].first);
        for (uint32_t k = 0; k < a.count; k++) {
            double width = cases[i].log ? fabs(a.tick[k].at) : a.high - a.low;
            CHECK_NEAR(atof(a.tick[k].text), a.tick[k].at, 1e-6 * width);
            CHECK(axis_place(&a, a.tick[k].at) > -1e-6 && axis_place(&a, a.tick[k].at) < 1 + 1e-6);
            CHECK_MSG(!k || strcmp(a.tick[k].text, a.tick[k - 1].text), "%s twice", a.tick[k].text);
        }
    }
}

// ---- The program --------------------------------------------------------------------------------

static bool is_ascii(const char *text) {
    for (; *text; text++)
        if ((unsigned char)*text > 126 || *text == '\033')
            return false;
    return true;
}

TEST(plot_on_a_pipe) {
    setenv("LC_ALL", "C.UTF-8", 1);
    unsetenv("TERM");
    struct check_output o = RUN(check_shoal(), "plot", line_file());
    CHECK_INT(o.status, 0);
    CHECK_HAS(o.err, "plot: line of x, y over a");
    CHECK_HAS(o.out, "\xe2\x94\xa4"); // an axis
    CHECK(!strchr(o.out, '\033'));
    setenv("TERM", "dumb", 1);
    o = RUN(check_shoal(), "plot", line_file(), "-q");
    CHECK(o.status == 0 && is_ascii(o.out) && !o.err[0]);
    unsetenv("TERM");
    setenv("LC_ALL", "C", 1);
    o = RUN(check_shoal(), "plot", heat_file(), "-q");
    CHECK(o.status == 0 && is_ascii(o.out));
    CHECK_HAS(o.out, "@");
    CHECK_HAS(o.out, "/"); // what failed
    // What is fine and has no value is neither the highest nor failed.
    check_write(check_path("e.csv"), "run,a,b,t,x,status\n0,0,0,1,1,ok\n1,0,1,1,1,ok\n"
                                     "2,1,0,1,nan,ok\n3,1,1,1,nan,ok\n");
    o = RUN(check_shoal(), "plot", check_path("e.csv"), "--bare", "-q");
    CHECK(o.status == 0 && !strchr(o.out, '/'));
    char *upper = strstr(o.out, " 1+"), *lower = strstr(o.out, " 0+");
    REQUIRE(upper && lower);
    CHECK(strspn(upper + 3, " ") > 60 && strspn(lower + 3, "+") > 60);
}

TEST(plot_as_a_command) {
    const char *svg = check_path("f.svg");
    struct check_output o = RUN(check_shoal(), "plot", series_file(), "series", "--y", "V",
                                "--only-runs", "3", "-o", svg);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "wrote ");
    char *text = check_read(svg);
    CHECK_HAS(text, ">lines: v</text>");
    CHECK_HAS(text, "rk4, rtol 1e-6");
    free(text);
    o = RUN(check_shoal(), "plot", series_file(), "seris");
    CHECK_INT(o.status, 2);
    CHECK_HAS(o.err, "series");
    o = RUN(check_shoal(), "plot");
    CHECK_INT(o.status, 2);
    o = RUN(check_shoal(), "plot", check_path("nothing.npz"));
    CHECK_INT(o.status, 4);
    o = RUN(check_shoal(), "plot", line_file(), "-o", check_path("no/f.svg"));
    CHECK_INT(o.status, 4);
    o = RUN(check_shoal(), "plot", line_file(), "--width", "x");
    CHECK_INT(o.status, 1);
    o = RUN(check_shoal(), "help", "plot");
    CHECK_HAS(o.out, "histogram    how often a value occurs");
}

// ---- Formats ------------------------------------------------------------------------------------

// The picture of a result of that ending, without its first lines, which tell its name.
static char *picture_of(const char *ending, const char *outputs[4]) {
    char *result = strdup(check_path(ending)), *svg = strdup(check_path("of.svg"));
    REQUIRE(result && svg);
    struct check_output o =
        RUN(check_shoal(), "run", check_path("m.ode"), "--batch", check_path("b.csv"), "--force",
            outputs[0], outputs[1], outputs[2], outputs[3], "-o", result, "-q");
    CHECK_MSG(o.status == 0, "%s", o.err);
    o = RUN(check_shoal(), "plot", result, "--title", "the same", "-o", svg);
    CHECK_MSG(o.status == 0, "%s: %s", ending, o.err);
    char *text = check_read(svg);
    free(result);
    free(svg);
    char *box = text ? strstr(text, "<rect") : NULL;
    REQUIRE(box);
    char *from = strstr(box, "runs"); // behind it NPZ and HDF5 say what the metadata does
    char *body = strdup(from ? strchr(from, '\n') : box);
    free(text);
    return body;
}

// Words of groups and peaks are the same picture, whatever file they come from.
TEST(plot_formats_are_drawn_alike) {
    static const char *const outputs[][4] = {
        {"--reduce", "mean,std", "--by", "_kind"},
        {"--reduce", "min,mean,max", "--save", "n=5"},
        {"--t1", "20", "--summary", "m=peaks(sin(5*t)*(k+0.1*sin(t)),6),n=max(x)"},
        {"--t1", "20", "--summary", "m=peaks(sin(5*t)*(k+0.1*sin(t)),6)"},
    };
    check_write(check_path("m.ode"), "x'=-k*x\npar k=1\ninit x=1\n@ total=2\ndone\n");
    check_write(check_path("b.csv"), "_kind,k\nlow,1\nlow,1.5\nhigh,2\nhigh,2.5\n");
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        char *npz = picture_of("r.npz", (const char **)outputs[i]);
        char *hdf5 = picture_of("r.h5", (const char **)outputs[i]);
        CHECK_STR(npz, hdf5);
        if (i >= 2) { // statistics in CSV have no line about runs, and more room
            char *csv = picture_of("r.csv", (const char **)outputs[i]);
            CHECK_STR(npz, csv);
            free(csv);
        }
        free(npz);
        free(hdf5);
    }
}

// ---- Reports ------------------------------------------------------------------------------------

// Elements whose content is no text are left as they are: there is no mark of XML in it.
static void check_page(const char *page, const char *what) {
    static const char doctype[] = "<!DOCTYPE html>\n";
    REQUIRE(page && !strncmp(page, doctype, strlen(doctype)));
    const char *wrong = check_xml(page + strlen(doctype));
    CHECK_MSG(!wrong, "%s has %s", what, wrong);
    check_python_reads(page);
    CHECK(strlen(page) < 2 << 20);
    for (const char *p = page; (p = strstr(p, "http")); p++) // nothing from outside but names
        CHECK_MSG(!strncmp(p, "http://www.w3.org/", 18), "%.60s", p);
}

TEST(plot_report_of_a_run) {
    const char *html = check_path("r.html"), *npz = check_path("r.npz"), *ode = check_path("m.ode");
    check_write(ode, "# decay & growth <b>\npar a=1\ninit x=1\nx' = a*x^2\n@ t1=2\n");
    struct check_output o =
        RUN(check_shoal(), "run", ode, "--sweep", "a=lin:-1:1:40", "-o", npz, "--report", html);
    CHECK_MSG(o.status == 0, "%s", o.err);
    CHECK_HAS(o.err, "r.html");
    char *page = check_read(html);
    check_page(page, "the report");
    CHECK_HAS(page, "<h1>m.ode</h1>");
    CHECK_HAS(page, "# decay &#38; growth &#60;b&#62;</span>");
    CHECK_HAS(page, "--sweep a=lin:-1:1:40");
    CHECK_HAS(page, "<td>sweep</td><td>a=lin:-1:1:40</td>");
    CHECK_HAS(page, "step became too small");
    CHECK_HAS(page, ">what was called when</text>");
    CHECK_HAS(page, "<td>compile</td>");
    CHECK(!strstr(page, "<td>settle</td>")); // nobody asked for it
    CHECK_HAS(page, "--only-runs ");
    CHECK_HAS(page, "kernel key");
    int figures = 0;
    for (const char *p = page; (p = strstr(p, "<figure>")); p++)
        figures++;
    CHECK_INT(figures, 3); // two of the result, one of the time
    free(page);
    o = RUN(check_shoal(), "run", ode, "--report", html, "-o", "-");
    CHECK_INT(o.status, 2);
    check_write(check_path("mine.html"), "my own page");
    o = RUN(check_shoal(), "run", ode, "--report", check_path("mine.html"), "-o", npz);
    CHECK_INT(o.status, 4);
    CHECK_HAS(o.err, "--force");
}

// The unit of time is the model's, or what the run says.
TEST(plot_time_has_a_unit) {
    const char *ode = check_path("u.ode"), *npz = check_path("u.npz"), *svg = check_path("u.svg");
    check_write(ode, "x'=1\n@ t1=2, time-unit=ms\n");
    RUN(check_shoal(), "run", ode, "--save", "n=3", "-q", "-o", npz);
    struct check_output o = RUN(check_shoal(), "plot", npz, "-o", svg);
    CHECK_MSG(o.status == 0, "%s", o.err);
    char *text = check_read(svg);
    CHECK_HAS(text, ">t (ms)</text>");
    free(text);
    RUN(check_shoal(), "run", ode, "--time-unit", "h", "-q", "-o", npz);
    RUN(check_shoal(), "plot", npz, "-o", svg);
    text = check_read(svg);
    CHECK_HAS(text, "t = 2 h");
    free(text);
}

// However long the result, the page stays short, and has its figures.
TEST(plot_report_is_bounded) {
    struct buf b = {0}, m = {0};
    uint32_t seed = 1;
    buf_puts(&b, "run,t,x,y\n");
    for (int run = 0; run < 7; run++)
        for (int k = 0; k < 1200; k++) {
            seed = seed * 1664525 + 1013904223;
            buf_printf(&b, "%d,%d,%u,%u\n", run, k, seed >> 8, seed >> 12);
        }
    for (int i = 0; i < 20000; i++)
        buf_puts(&m, "# <a comment>\n");
    check_write(check_path("l.csv"), b.data);
    shoal_report_facts facts = {.size = sizeof facts, .model_text = m.data};
    CHECK_INT(shoal_report(check_path("l.csv"), &facts, check_path("l.html"), NULL), SHOAL_OK);
    char *page = check_read(check_path("l.html"));
    check_page(page, "the report");
    CHECK_HAS(page, "data:image/png");
    CHECK_HAS(page, "more bytes)");
    free(page);
    buf_free(&b);
    buf_free(&m);
}

// Means and deviations by plain sums.
TEST(plot_report_numbers) {
    shoal_report_facts facts = {.size = sizeof facts};
    check_write(check_path("n.csv"), "run,a,t,x,status\n0,1,1,2,ok\n1,2,1,4,ok\n2,3,1,9,ok\n"
                                     "3,4,1,nan,newton\n4,5,1,inf,wrong\n");
    CHECK_INT(shoal_report(check_path("n.csv"), &facts, check_path("n.html"), NULL), SHOAL_OK);
    char *page = check_read(check_path("n.html"));
    check_page(page, "the report");
    CHECK_HAS(page, "<td>x</td><td>value</td><td class=\"n\">3</td><td class=\"n\">2</td>"
                    "<td class=\"n\">2</td><td class=\"n\">5</td><td class=\"n\">3.60555</td>"
                    "<td class=\"n\">9</td>");
    CHECK_HAS(page, "<td>newton</td><td class=\"n\">1</td>");
    CHECK_HAS(page, "<td>unknown</td><td class=\"n\">1</td>");
    free(page);
}

TEST(plot_report_of_hostile_results) {
    static const char *const texts[] = {
        "run,a,t,x,status\n",
        "x\n",
        "run,\"<script>alert(1)</script>\",t,\"]]>&\",status\n0,1,1,2,\"<b>\"\n1,2,1,nan,ok\n",
        "run,t,x\n0,0,1\n0,1,2\n",
    };
    shoal_report_facts facts = {.size = sizeof facts,
                                .command = "shoal run '</pre><script>'",
                                .model_text = "x' = </pre><script> \"'&"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        check_write(check_path("h.csv"), texts[i]);
        CHECK_INT(shoal_report(check_path("h.csv"), &facts, check_path("h.html"), NULL), SHOAL_OK);
        char *page = check_read(check_path("h.html"));
        check_page(page, texts[i]);
        int scripts = 0;
        for (const char *p = page; (p = strstr(p, "<script")); p++)
            scripts++;
        CHECK_INT(scripts, 1);
        free(page);
    }
    facts.size = 0;
    CHECK_INT(shoal_report(check_path("h.csv"), &facts, check_path("h.html"), NULL), SHOAL_USAGE);
}

static const char *find_browser(void) {
    static const char *const places[] = {"/usr/bin/chromium", "/usr/bin/chromium-browser"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

// What a page around the report finds in it: in a window of 400 pixels nothing sticks out, and one
// figure of each kind is seen, with its size; tables are in order after a click.
static const char looker[] =
    "<!DOCTYPE html><html><body><iframe id='f' src='b.html' width='400' height='900'></iframe>"
    "<script>onload=function(){var d=document.getElementById('f').contentDocument,"
    "seen=Array.from(d.querySelectorAll('figure svg')).filter(function(s){"
    "return s.getBoundingClientRect().width>200});"
    "var th=d.querySelectorAll('th[data-sort]')[1];th.click();"
    "var n=Array.from(th.closest('table').tBodies[0].rows).map(function(r){"
    "return +r.cells[1].textContent});"
    "document.title=d.title+' '+d.body.dataset.ready+' "
    "'+getComputedStyle(d.body).backgroundColor+', wide "
    "'+d.documentElement.scrollWidth+', seen '+seen.length+', of '+"
    "d.querySelectorAll('figure').length+', sorted '+(n.join()===n.slice().sort("
    "function(a,b){return a-b}).join())+', rows '+n.length}</script></body></html>\n";

static struct check_output browse(const char *browser, const char *page, const char *theme) {
    char url[4096], home[4096];
    snprintf(url, sizeof url, "file://%s", page);
    snprintf(home, sizeof home, "--user-data-dir=%s", check_path("browser"));
    return RUN(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               home, "--allow-file-access-from-files", "--enable-logging=stderr",
               "--window-size=800,1000", "--hide-scrollbars", theme, "--virtual-time-budget=2000",
               "--dump-dom", url);
}

// A browser loads the page without a complaint, and its own program runs, in both themes.
TEST(plot_report_in_a_browser) {
    const char *browser = find_browser();
    if (!browser)
        check_skip("no Chromium");
    shoal_report_facts facts = {.size = sizeof facts};
    CHECK_INT(shoal_report(heat_file(), &facts, check_path("b.html"), NULL), SHOAL_OK);
    check_write(check_path("look.html"), looker);
    for (int dark = 0; dark < 2; dark++) {
        struct check_output o =
            browse(browser, check_path("look.html"),
                   dark ? "--blink-settings=preferredColorScheme=0" : "--mute-audio");
        if (o.status)
            check_skip("Chromium does not start here");
        CHECK_MSG(!strstr(o.err, "CONSOLE"), "%s", o.err);
        CHECK_HAS(o.out, dark ? "<title>heat.csv yes rgb(13, 17, 23), "
                              : "<title>heat.csv yes rgb(255, 255, 255), ");
        CHECK_HAS(o.out, ", wide 400, seen 2, of 2, sorted true, rows 2</title>");
    }
}
