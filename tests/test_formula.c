// SPDX-License-Identifier: MIT
// Formulas of a model's names in the text of an option: what they may use, and what they come to.
#include "check.h"
#include "ode/symbolic/symbolic.h"

static const char text[] = "par a=2, B=3\nconst c=5\n!d=a*B\nf(u)=u^2+a\n"
                           "x'=y\ny'=-x+tmp\ntmp=x*c\nV[1..3]'=-V[j]\nxx'=1\nXX'=2\n"
                           "aux r=sqrt(x^2+y^2)\naux a=7\naux Tot=x+y\naux w[1..2]=x*[j]\n"
                           "aux same=1\naux SAME=2\naux aB=11\ninit x=3,y=4\n@ total=1\n";

struct bench {
    struct model *model;
    struct system *system;
    struct arena arena;
    struct report report;
};

static struct bench bench_open(void) {
    struct bench b = {0};
    b.model = model_parse("m.ode", text, sizeof text - 1, &b.report);
    REQUIRE(b.model);
    b.system = system_new(b.model, &b.report);
    REQUIRE(b.system);
    report_free(&b.report);
    b.report = (struct report){0};
    return b;
}

static void bench_close(struct bench *b) {
    system_free(b->system);
    model_free(b->model);
    arena_free(&b->arena);
    report_free(&b->report);
}

static bool read_text(struct bench *b, const char *formula, struct formula *f) {
    return model_formula(b->model, formula, strlen(formula), "--summary", &b->arena, f, &b->report);
}

// The value of a formula at x=3, y=4, V = 1, 10, 100, xx=20, XX=30 and t=0.5.
static double value_of(struct bench *b, const char *formula) {
    static const double state[] = {3, 4, 1, 10, 100, 20, 30}, par[] = {2, 3}, derived[] = {6};
    struct leaf_values v = {.t = 0.5, .state = state, .par = par, .derived = derived};
    struct formula f;
    jmp_buf oom;
    uint32_t before = b->model->code.count;
    bool good = read_text(b, formula, &f);
    CHECK_MSG(good, "%s is refused: %s", formula,
              b->report.messages.count ? b->report.messages.items[0].text : "");
    CHECK_INT(b->model->code.count, before);
    if (!good)
        return (double)NAN;
    b->system->arena.oom = &oom;
    REQUIRE(!setjmp(oom));
    node_id node = system_formula(b->system, &f);
    REQUIRE(node != NODE_NONE);
    double *values = arena_new(&b->arena, double, b->system->dag.nodes.count);
    dag_evaluate(&b->system->dag, &v, values);
    b->system->arena.oom = NULL;
    return values[node];
}

TEST(formula_values) {
    static const struct {
        const char *formula;
        double want;
    } cases[] = {{"x", 3},     {"r", 5},        {"2*r+1", 11}, {"Tot^2", 49},
                 {"tmp", 15},  {"d", 6},        {"t", 0.5},    {"f(y)", 18},
                 {"f(r)", 27}, {"V[2]", 10},    {"V3", 100},   {"w[2]", 6},
                 {"w1", 3},    {"min(r,4)", 4}, {"pi*0+c", 5}, {"sum(0,2)of(shift(V1,i'))", 111},
                 {"xx", 20},   {"XX", 30},      {"same", 1},   {"SAME", 2},
                 {"ab", 11},   {"a", 2},        {"v2", 10},    {"x>2 and y<5", 1},
                 {" x ", 3},   {"-x^2", -9},    {"x>3?1:r", 5}};
    struct bench b = bench_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_NEAR(value_of(&b, cases[i].formula), cases[i].want, 1e-12);
    CHECK_INT(b.report.messages.count, 2); // notes of `ab` and `v2`
    bench_close(&b);
}

// A constant that is set before the system is made counts; the same formula is the same node.
TEST(formula_shares_nodes) {
    struct bench b = bench_open();
    struct formula f, g;
    jmp_buf oom;
    REQUIRE(read_text(&b, "r*c", &f) && read_text(&b, "c*sqrt(x^2+y^2)", &g));
    b.system->arena.oom = &oom;
    REQUIRE(!setjmp(oom));
    CHECK_INT(system_formula(b.system, &f), system_formula(b.system, &g));
    bench_close(&b);
}

TEST(formula_errors) {
    static const struct {
        const char *formula, *want;
    } cases[] = {
        {"", "--summary:1:1: error: expected a value, found the end of the expression"},
        {"  ", "expected a value"},
        {"x+", "--summary:1:3: error: expected a value"},
        {"x y", "--summary:1:3: error: an operator is missing before `y`"},
        {"x)", "`)` closes nothing"},
        {"(x", "is not closed"},
        {"tott+1", "--summary:1:1: error: `tott` is not defined; did you mean `Tot`?"},
        {"Xy", "`Xy` is not defined"},
        {"sAme", "`sAme` is not defined"},
        {"xX", "`xX` is not defined"},
        {"r(2)", "`r` is an observable, not a function"},
        {"V[1..3]", "a range can only be in the name that a line defines"},
        {"x=2", "`=` inside an expression"},
        {"x'", "a derivative cannot be used in an expression"},
        {"x, y", "`,` has no meaning here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bench b = bench_open();
        struct formula f;
        CHECK_MSG(!read_text(&b, cases[i].formula, &f), "`%s` is read", cases[i].formula);
        REQUIRE(b.report.messages.count == 1);
        CHECK_HAS(b.report.messages.items[0].text, cases[i].want);
        CHECK_MSG(value_of(&b, "x") == 3, "after `%s` the model is another", cases[i].formula);
        bench_close(&b);
    }
}

// Of a piece of a longer text the whole is shown, with the column in it.
TEST(formula_in_a_longer_text) {
    struct bench b = bench_open();
    struct formula f;
    static const char whole[] = "peak=max(x), low=min(yy)";
    struct source source = {"--summary", whole, sizeof whole - 1};
    CHECK(model_formula_in(b.model, &source, 9, 10, NULL, &b.arena, &f, &b.report));
    CHECK_INT(f.count, 1);
    CHECK(!model_formula_in(b.model, &source, 21, 23, NULL, &b.arena, &f, &b.report));
    REQUIRE(b.report.messages.count == 1);
    CHECK_HAS(b.report.messages.items[0].text, "--summary:1:22: error: `yy` is not defined");
    CHECK_HAS(b.report.messages.items[0].text, whole);
    bench_close(&b);
}
