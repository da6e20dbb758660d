// SPDX-License-Identifier: MIT
// From the text of a model to its right-hand side and Jacobian: values, and finite differences.
#include "symbolic_text.h"

struct expanded {
    struct model *model;
    struct system *system;
    struct arena arena;
    struct sparsity pattern;
    node_id *jacobian;
    uint32_t states;
    double *state, *par, *derived, *values, *rhs;
    double t;
};

static void evaluate(struct expanded *e, const double *state) {
    struct system *s = e->system;
    struct leaf_values v = {.t = e->t, .state = state, .par = e->par, .derived = e->derived};
    for (uint32_t i = 0; i < s->derived; i++) { // each needs those before it
        dag_evaluate(&s->dag, &v, e->values);
        e->derived[i] = e->values[s->derive[i]];
    }
    dag_evaluate(&s->dag, &v, e->values);
    for (uint32_t i = 0; i < e->states; i++)
        e->rhs[i] = e->values[s->rhs[i]];
}

static struct expanded expand_text(const char *text) {
    struct report r = {0};
    struct expanded e = {.model = model_parse("test", text, strlen(text), &r), .t = 0.3};
    for (uint32_t i = 0; i < r.messages.count; i++)
        CHECK_MSG(r.messages.items[i].severity != SHOAL_ERROR, "%s", r.messages.items[i].text);
    REQUIRE(e.model);
    e.system = system_new(e.model, &r);
    REQUIRE(e.system);
    report_free(&r);
    struct system *s = e.system;
    e.states = s->states;
    e.pattern = system_sparsity(s, &e.arena);
    e.jacobian = system_jacobian(s, &e.pattern, &e.arena);
    e.state = arena_new(&e.arena, double, s->states);
    e.par = arena_new(&e.arena, double, s->pars);
    e.derived = arena_new(&e.arena, double, s->derived);
    e.values = arena_new(&e.arena, double, s->dag.nodes.count);
    e.rhs = arena_new(&e.arena, double, s->states);
    for (uint32_t i = 0; i < s->pars; i++)
        e.par[i] = e.model->symbols.items[e.model->pars.items[i]].value;
    for (uint32_t i = 0; i < s->states; i++)
        e.state[i] = e.model->symbols.items[e.model->states.items[i]].value;
    return e;
}

static void expanded_free(struct expanded *e) {
    arena_free(&e->arena);
    system_free(e->system);
    model_free(e->model);
}

// Every entry of the Jacobian, those left out too, against central differences at e->state.
static void check_jacobian(struct expanded *e) {
    uint32_t n = e->states;
    double *dense = arena_new(&e->arena, double, n *n), *low = arena_new(&e->arena, double, n);
    evaluate(e, e->state);
    for (uint32_t row = 0; row < n; row++)
        for (uint32_t i = e->pattern.row_start[row]; i < e->pattern.row_start[row + 1]; i++)
            dense[row * n + e->pattern.columns[i]] = e->values[e->jacobian[i]];
    for (uint32_t column = 0; column < n; column++) {
        double x = e->state[column], h = 1e-6 * (1 + fabs(x));
        e->state[column] = x - h;
        evaluate(e, e->state);
        memcpy(low, e->rhs, n * sizeof *low);
        e->state[column] = x + h;
        evaluate(e, e->state);
        e->state[column] = x;
        for (uint32_t row = 0; row < n; row++) {
            double want = (e->rhs[row] - low[row]) / (2 * h), got = dense[row * n + column];
            CHECK_MSG(fabs(got - want) <= 1e-5 * (1 + fabs(want)),
                      "d rhs %u / d state %u is %.10g, not %.10g", row, column, got, want);
        }
    }
}

TEST(model_to_nodes_lorenz) {
    struct expanded e = expand_text("par rho=28\nconst sigma=10, beta=8/3\ninit x=1, y=2, z=3\n"
                                    "x' = sigma*(y-x)\ny' = x*(rho-z)-y\nz' = x*y-beta*z\n"
                                    "r2 = x^2+y^2+z^2\naux r = sqrt(r2)\n@ t1=40\n");
    evaluate(&e, e.state);
    CHECK(e.rhs[0] == 10 && e.rhs[1] == 23 && e.rhs[2] == 2 - 8.0 / 3 * 3);
    CHECK(e.values[e.system->observable[0]] == sqrt(14));
    CHECK_INT(e.pattern.row_start[3], 8);
    check_jacobian(&e);
    expanded_free(&e);
}

TEST(model_to_nodes_functions_temporaries_derived) {
    struct expanded e = expand_text("par mu=2, p=1.5\n!k=mu*p\n!k2=k^2\n"
                                    "f(u,v)=g(u)*v-w\ng(u)=1-u^2\n"
                                    "w = x*sin(t)+s\ns = y/k\n"
                                    "x'=k2*y\ny'=mu*f(x,y)-x\n"
                                    "x(0)=mu+k\ninit y=0.5\n@ t1=1\n");
    CHECK(e.system->init[0] != NODE_NONE && e.system->init[1] == NODE_NONE);
    e.state[0] = 0.4;
    evaluate(&e, e.state);
    CHECK(e.derived[0] == 3 && e.derived[1] == 9);
    CHECK(e.values[e.system->init[0]] == 5);
    double w = 0.4 * sin(0.3) + 0.5 / 3;
    CHECK_NEAR(e.rhs[1], 2 * ((1 - 0.16) * 0.5 - w) - 0.4, 1e-15);
    check_jacobian(&e);
    expanded_free(&e);
}

TEST(model_to_nodes_hodgkin_huxley) {
    struct expanded e = expand_text(
        "par I=10\nlinoid(x) = if(abs(x)<0.02)then(1+x/2+x^2/12-x^4/720)else(x/(1-exp(-x)))\n"
        "am(v) = linoid((v+40)/10)\nbm(v) = 4*exp(-(v+65)/18)\nah(v) = 0.07*exp(-(v+65)/20)\n"
        "bh(v) = 1/(1+exp(-(v+35)/10))\nan(v) = 0.1*linoid((v+55)/10)\n"
        "bn(v) = 0.125*exp(-(v+65)/80)\ninit v=-60.3, m=0.1, h=0.6, n=0.3\n"
        "v' = I-120*m^3*h*(v-50)-36*n^4*(v+77)-0.3*(v+54.4)\nm' = am(v)*(1-m)-bm(v)*m\n"
        "h' = ah(v)*(1-h)-bh(v)*h\nn' = an(v)*(1-n)-bn(v)*n\n@ t1=50\n");
    check_jacobian(&e);
    e.state[0] = -40; // in the middle of the removable singularity of am
    check_jacobian(&e);
    expanded_free(&e);
}

TEST(model_to_nodes_lorenz96) {
    struct expanded e = expand_text("par F=8\ninit x1=9\ninit x[2..32]=8\n"
                                    "x1'=(x2-x31)*x32-x1+F\nx2'=(x3-x32)*x1-x2+F\n"
                                    "x[3..31]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F\n"
                                    "x32'=(x1-x30)*x31-x32+F\n@ t1=1\n");
    CHECK_INT(e.pattern.row_start[32], 4 * 32);
    check_jacobian(&e);
    expanded_free(&e);
}

TEST(model_to_nodes_every_function) {
    struct expanded e = expand_text(
        "init x=0.35, y=1.5\n"
        "x'=sin(x)*cos(y)+tan(x)+asin(x)+acos(x)+atan(y)+atan2(x,y)+sinh(x)-cosh(y)+tanh(x*y)\n"
        "y'=asinh(x)+acosh(y)+atanh(x)+exp(x)+ln(y)+log10(y)+log2(x+y)+log1p(x)+expm1(y)+sqrt(x*y)"
        "+cbrt(x)+erf(x)-erfc(y)+abs(x-y)+sign(x)+heav(y)+floor(y)+ceil(x)+mod(y,x)+min(x,y)"
        "+max(x^y,2^x)+y^2.5+x^-3+(x>y)*x+(if(x<y&y>0)then(x*y)else(0))\n@ t1=1\n");
    check_jacobian(&e);
    expanded_free(&e);
}
