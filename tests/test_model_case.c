// SPDX-License-Identifier: MIT
// Names that differ in case: which one is meant is never left to chance.
//
// Arguments of a function hide every other name ignoring case, as in XPP; all other names are
// matched exactly first, else the only one ignoring case is taken, with a note.
#include "api/options.h"
#include "base/buf.h"
#include "check.h"
#include "ode/model/model.h"
#include "ode/run/tolerances.h"
#include "shoal/shoal.h"

static shoal_model *parse(const char *text, shoal_log *log) {
    shoal_model *m = NULL;
    shoal_model_parse("m", text, strlen(text), &m, log);
    return m;
}

// The right-hand side of the first state at t=11, all states at their initial values.
static double slope(const char *text) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(text, log);
    double y[32], dydt[32] = {0};
    if (!m)
        check_fail(__FILE__, __LINE__, "refused: %s\n%s", text, shoal_log_message(log, 0).text);
    else {
        uint32_t n = shoal_model_count(m, SHOAL_STATE);
        REQUIRE(n <= 32);
        for (uint32_t i = 0; i < n; i++)
            y[i] = shoal_model_value(m, SHOAL_STATE, i);
        shoal_model_rhs(m, 11, y, dydt);
    }
    shoal_model_free(m);
    shoal_log_free(log);
    return dydt[0];
}

// The messages of a text, and whether it was accepted.
static bool says(const char *text, const char *part) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(text, log);
    bool found = false;
    for (uint32_t i = 0; i < shoal_log_message_count(log); i++)
        found |= strstr(shoal_log_message(log, i).text, part) != NULL;
    CHECK_MSG(found, "nothing says \"%s\" of\n%s", part, text);
    bool accepted = m != NULL;
    shoal_model_free(m);
    shoal_log_free(log);
    return accepted;
}

TEST(case_arguments_hide_everything) {
    CHECK_NEAR(slope("x'=f(3)\nf(V)=v^2\nv'=0\ninit v=7\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(v)=V^2\npar V=7\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(V)=v^2\nconst v=7\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(V)=v^2\npar a=1\n!v=7*a\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(V)=v^2\nv=7\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(T)=t^2\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(t)=T^2\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(t)=T^2\npar T=5\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(PI)=pi^2\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(Sin)=SIN+1\n"), 4, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(X1)=x[1]^2\nx[1..2]'=0\ninit x[1..2]=7\n"), 9, 0);
    CHECK_NEAR(slope("x'=f(3)\nf(x1)=X[1]^2\n"), 9, 0);
}

TEST(case_arguments_of_functions_in_functions) {
    CHECK_NEAR(slope("x'=g(2,5)\nf(V)=v+1\ng(v,W)=f(w)*V+f(V)\nw'=0\nV'=0\ninit w=100 V=50\n"), 15,
               0);
    // The inner function's names are its own: its free `v` is the state, not the caller's argument.
    CHECK_NEAR(slope("x'=g(2)\nf(a)=a+v\ng(V)=f(v)\nv'=0\ninit v=50\n"), 52, 0);
    CHECK_NEAR(slope("x'=G(2)\ng(a)=3*A\n"), 6, 0);
}

TEST(case_index_of_a_sum) {
    static const char names[] = "x0'=0\nx1'=0\nx2'=0\nx3'=0\ninit x0=1 x1=10 x2=100 x3=1000\n";
    struct buf text = {0};
    buf_printf(&text, "y'=SUM(0,3)OF(SHIFT(X0,I'))\n%s", names);
    CHECK_NEAR(slope(text.data), 1111, 0);
    buf_free(&text);
    buf_printf(&text, "y'=Sum(0,3)Of(I'*i')\n%s", names);
    CHECK_NEAR(slope(text.data), 14, 0);
    buf_free(&text);
    CHECK_NEAR(slope("y'=f(5)\nf(I)=sum(1,3)of(i'*i)\n"), 30, 0);
    CHECK_NEAR(slope("y'=sum(1,3)of(I'*i)\npar i=5\n"), 30, 0);
    CHECK(!says("y'=I'\npar i=5\n", "a derivative cannot be used"));
    CHECK(!says("y'=I'\n", "only known inside sum"));
    CHECK(!says("y'=f(2)\nf(x0)=shift(X0,1)\nx0'=0\nx1'=0\n", "`X0` is an argument"));
    CHECK(says("y'=shift(X0,1)\nx0'=0\nx1'=0\n", "`X0` is read as `x0`"));
}

TEST(case_array_indices) {
    CHECK_NEAR(slope("y'=x2\nx[1..3]'=0\ninit x[1..3]=[J]*10\n"), 20, 0);
    CHECK_NEAR(slope("z[1..2]'=X[J]\nX[1..2]'=0\nx[1..2]'=0\ninit X1=3 x1=4\n"), 3, 0);
}

TEST(case_arguments_are_told_apart) {
    CHECK(!says("x'=f(1,2)\nf(v,V)=v\n", "m:2:5: error: `V` is twice among the arguments, which "
                                         "ignore case"));
    CHECK(!says("x'=f(1,2)\nf(v,v)=v\n", "m:2:5: error: `v` is twice among the arguments\n"));
}

TEST(case_names_of_all_kinds) {
    static const char two[] = "v'=V\nV'=0\ninit V=3, v=5\n";
    CHECK_NEAR(slope(two), 3, 0);
    CHECK_NEAR(slope("v'=a+10*A\npar a=1\npar A=2\n"), 21, 0);
    CHECK_NEAR(slope("v'=a+10*A\nconst a=1\nA=2\n"), 21, 0);
    CHECK_NEAR(slope("v'=f(1)+F(1)\nf(x)=1\nF(x)=20\n"), 21, 0);
    CHECK_NEAR(slope("v'=T+t\npar T=300\n"), 311, 0);
    CHECK(says("v'=A\npar a=1\n", "`A` is read as `a`"));
    CHECK(says("v'=1\ninit V=2\n", "`V` is read as `v`"));
    CHECK(!says("ab'=aB\nAB'=1\n", "`aB` is not defined"));
    CHECK(!says("ab'=1\nAB'=1\ninit aB=3\n", "there is no equation for `aB`"));
    CHECK(!says("v'=1\npar V=1\ninit V=2\n", "`V` is a parameter and has no initial value"));
}

static bool sets(const char *text, const char *assignment, const char *part) {
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(text, log);
    REQUIRE(m);
    bool good = shoal_model_set(m, assignment, log) == SHOAL_OK, found = !part;
    for (uint32_t i = 0; i < shoal_log_message_count(log) && part; i++)
        found |= strstr(shoal_log_message(log, i).text, part) != NULL;
    CHECK_MSG(found, "nothing says \"%s\" of %s", part, assignment);
    shoal_model_free(m);
    shoal_log_free(log);
    return good;
}

TEST(case_values_from_outside) {
    static const char one[] = "v'=ab\npar ab=1\n", two[] = "v'=ab+AB\npar ab=1, AB=2\n";
    CHECK(sets(one, "AB=3", "--set: `AB` is read as `ab`"));
    CHECK(sets(two, "AB=3", NULL));
    CHECK(!sets(two, "Ab=3", "--set: the model has no name `Ab`"));
}

TEST(case_sets) {
    static const char text[] = "v'=ab+10*AB\npar ab=1, AB=2\n"
                               "set one {ab=3}\nset ONE {AB=4}\nset Two {ab=5}\n";
    static const struct {
        const char *use;
        double slope;
    } uses[] = {{"one", 23}, {"ONE", 41}, {"two", 25}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        shoal_log *log = shoal_log_new();
        shoal_model *m = parse(text, log);
        shoal_options o;
        double y = 0, dydt = 0;
        REQUIRE(m && !shoal_options_init(&o, m, log));
        CHECK_INT(shoal_model_use(m, uses[i].use, &o, log), SHOAL_OK);
        shoal_model_rhs(m, 0, &y, &dydt);
        CHECK_NEAR(dydt, uses[i].slope, 0);
        shoal_model_free(m);
        shoal_log_free(log);
    }
    shoal_log *log = shoal_log_new();
    shoal_model *m = parse(text, log);
    shoal_options o;
    REQUIRE(m && !shoal_options_init(&o, m, log));
    CHECK_INT(shoal_model_use(m, "One", &o, log), SHOAL_INPUT);
    shoal_model_free(m);
    shoal_log_free(log);
}

// Columns of the result.
TEST(case_outputs) {
    static const struct {
        const char *vars;
        uint32_t count;
        const char *first, *part;
    } chosen[] = {
        {"v", 1, "v", NULL},
        {"V", 1, "V", NULL},
        {"AB", 1, "ab", "`AB`"},
        {"Cd", 0, "", "'Cd' is no state"},
        {"X", 2, "x1", "`X` is read as `x`"},
    };
    static const char text[] =
        "v'=1\nV'=1\nab'=1\ncd'=1\nCD'=1\nx[1..2]'=1\naux cD=3\n@ t1=1\ndone\n";
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        shoal_log *log = shoal_log_new();
        shoal_model *m = parse(text, log);
        shoal_options o;
        shoal_solver *s = NULL;
        REQUIRE(m && !shoal_options_init(&o, m, log));
        o.vars = chosen[i].vars;
        shoal_code code = shoal_solver_new_plan(m, &o, &s, log);
        CHECK_MSG((code == SHOAL_OK) == (chosen[i].count > 0), "%s", chosen[i].vars);
        if (s) {
            CHECK_INT(shoal_solver_var_count(s), chosen[i].count);
            CHECK_STR(shoal_solver_var_name(s, 0), chosen[i].first);
        }
        bool found = !chosen[i].part;
        for (uint32_t k = 0; k < shoal_log_message_count(log) && chosen[i].part; k++)
            found |= strstr(shoal_log_message(log, k).text, chosen[i].part) != NULL;
        CHECK_MSG(found, "%s: no %s", chosen[i].vars, chosen[i].part);
        shoal_solver_free(s);
        shoal_model_free(m);
        shoal_log_free(log);
    }
}

// Tolerances of states and of the elements of arrays.
TEST(case_tolerances) {
    static const char text[] = "x[1..2]'=1\nX[1..2]'=1\nab'=1\nAB'=1\nyz[1..2]'=1\n";
    struct report r = {0};
    struct model *m = model_parse("m", text, strlen(text), &r);
    REQUIRE(m);
    static const struct {
        const char *list;
        double want[8];
        shoal_code code;
    } lists[] = {
        {"X=2", {1, 1, 2, 2, 1, 1, 1, 1}, SHOAL_OK},
        {"x=2", {2, 2, 1, 1, 1, 1, 1, 1}, SHOAL_OK},
        {"AB=2", {1, 1, 1, 1, 1, 2, 1, 1}, SHOAL_OK},
        {"YZ=2", {1, 1, 1, 1, 1, 1, 2, 2}, SHOAL_OK},
        {"Ab=2", {1, 1, 1, 1, 1, 1, 1, 1}, SHOAL_INPUT},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        shoal_options o = {.atol = 1, .atol_list = lists[i].list};
        double atol[8];
        CHECK_INT(tolerances_of_states(&o, m, atol, &r), lists[i].code);
        CHECK_MSG(!memcmp(atol, lists[i].want, sizeof atol), "%s", lists[i].list);
    }
    model_free(m);
    report_free(&r);
}
