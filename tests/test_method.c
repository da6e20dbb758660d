// SPDX-License-Identifier: MIT
// The method table, proved: every solution, companion and interpolant meets the order conditions of
// all rooted trees up to its order, and no pair claims less or more than it has. Then lookup by
// name and the controllers.
//
// A tree is a level sequence (Beyer and Hedetniemi): the depths of its nodes in preorder. Its
// elementary weight of stage i is u_i = prod over the branches of sum_j a_ij u_j(branch); the
// condition for weights w is sum_i w_i u_i = 1 / density. For a Rosenbrock method, in its classical
// form, a node with one branch takes a_ij + gamma_ij instead of a_ij (Hairer and Wanner II, IV.7).
#include "check.h"
#include "method_classic.h"

enum { TREE_MOST = 10 };

struct tree {
    int level[TREE_MOST];
    int size;
};

static struct tree tree_first(int size) {
    struct tree t = {.size = size};
    for (int i = 0; i < size; i++)
        t.level[i] = i;
    return t;
}

static bool tree_next(struct tree *t) {
    int last = t->size - 1;
    while (last > 0 && t->level[last] <= 1)
        last--;
    if (last <= 0)
        return false;
    int parent = last - 1;
    while (t->level[parent] != t->level[last] - 1)
        parent--;
    for (int i = last; i < t->size; i++)
        t->level[i] = t->level[i - (last - parent)];
    return true;
}

// The end of the branch that starts at a node.
static int branch_end(const struct tree *t, int node) {
    int end = node + 1;
    while (end < t->size && t->level[end] > t->level[node])
        end++;
    return end;
}

static wide tree_density(const struct tree *t, int node) {
    int end = branch_end(t, node);
    wide density = (wide)(end - node);
    for (int child = node + 1; child < end; child = branch_end(t, child))
        density *= tree_density(t, child);
    return density;
}

static void tree_weights(const struct classic *c, const struct tree *t, int node,
                         wide out[METHOD_ROWS]) {
    for (uint32_t i = 0; i < c->rows; i++)
        out[i] = 1;
    int end = branch_end(t, node);
    bool single = node + 1 < end && branch_end(t, node + 1) == end;
    for (int child = node + 1; child < end; child = branch_end(t, child)) {
        wide branch[METHOD_ROWS];
        tree_weights(c, t, child, branch);
        for (uint32_t i = 0; i < c->rows; i++) {
            wide sum = 0;
            for (uint32_t j = 0; j < c->rows; j++)
                sum += (c->a[i][j] + (single ? c->gamma[i][j] : 0)) * branch[j];
            out[i] *= sum;
        }
    }
}

// The largest miss of the conditions of one order, for weights that make a step of length s.
static double order_miss(const struct method *m, const wide w[METHOD_ROWS], int order, wide s) {
    double worst = 0;
    struct classic c = classic_of(m);
    struct tree t = tree_first(order);
    do {
        wide u[METHOD_ROWS], sum = -powl(s, order) / tree_density(&t, 0);
        tree_weights(&c, &t, 0, u);
        for (uint32_t i = 0; i < c.rows; i++)
            for (uint32_t j = 0; j < c.rows; j++)
                sum += w[i] * c.back[i][j] * u[j];
        worst = fmax(worst, (double)fabsl(sum));
    } while (tree_next(&t));
    return worst;
}

// The order of weights b - e: conditions met to rounding, and the first one clearly missed. A
// collocation method has the start of the step among its rows, with the weight e0.
static uint32_t weights_order(const struct method *m, const double *e, double tolerance) {
    wide w[METHOD_ROWS] = {0};
    for (uint32_t i = 0; i < m->stages; i++)
        w[i] = (wide)m->b[i] - (e ? e[i] : 0);
    if (m->scheme == COLLOCATION && e)
        w[m->stages] = -(wide)m->e0;
    for (int order = 1; order <= TREE_MOST; order++) {
        double miss = order_miss(m, w, order, 1);
        if (miss > tolerance) {
            CHECK_MSG(miss > 1e-6, "%s misses order %d by only %g", m->name, order, miss);
            return (uint32_t)order - 1;
        }
    }
    return TREE_MOST;
}

TEST(method_trees_are_all_there) {
    static const int counts[] = {0, 1, 1, 2, 4, 9, 20, 48, 115, 286, 719};
    for (int order = 1; order <= TREE_MOST; order++) {
        struct tree t = tree_first(order);
        int count = 1;
        while (tree_next(&t))
            count++;
        CHECK_INT(count, counts[order]);
    }
    struct tree chain = tree_first(5), bush = {.level = {0, 1, 1, 1, 1}, .size = 5};
    CHECK_NEAR((double)tree_density(&chain, 0), 120, 0);
    CHECK_NEAR((double)tree_density(&bush, 0), 5, 0);
}

TEST(method_solution_has_its_order) {
    for (uint32_t i = 0; i < method_count; i++) {
        uint32_t order = weights_order(&methods[i], NULL, 2e-14);
        CHECK_MSG(order == methods[i].order, "%s has order %u", methods[i].name, order);
    }
}

TEST(method_companion_has_its_order) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        if (m->embedded == 0)
            continue;
        bool two = !strcmp(m->name, "dormand-prince-853"); // orders 5 and 3; test_method_dense.c
        uint32_t order = weights_order(m, m->e, 2e-14);    // shows that their norm has order 7
        order = order < m->order ? order : m->order;       // the estimate has that of the worse
        CHECK_MSG(order == (two ? 5 : m->embedded), "%s: companion of order %u", m->name, order);
        if (two)
            CHECK_INT(weights_order(m, m->e2, 2e-14), 3);
    }
}

static double interpolant_miss(const struct method *m, int order) {
    double worst = 0;
    for (int k = 1; k <= 8; k++) {
        wide s = (wide)k / 8, w[METHOD_ROWS] = {0};
        for (uint32_t i = 0; i < m->stages + m->extra; i++)
            w[i] = classic_weight(m, i, s);
        worst = fmax(worst, order_miss(m, w, order, s));
    }
    return worst;
}

// Verner's published interpolant is meant to be of order 7, but its digits miss those conditions by
// 3e-7 at most; its terms of order 8 are larger than that for any step worth taking.
TEST(method_interpolant_has_its_order) {
    static const struct {
        const char *name;
        int order;
        double tolerance, next; // of the conditions up to `order`; miss of the ones after
    } rows[] = {
        {"dormand-prince-54", 4, 1e-14, 1},
        {"tsit5", 4, 1e-13, 1},
        {"vern7", 6, 1e-12, 3e-7},
        {"dormand-prince-853", 7, 1e-12, 1},
        {"vern9", 9, 1e-11, 1},
        {"rosenbrock23", 2, 1e-14, 1},
        {"ros3p", 2, 1e-14, 1},
        {"rodas3p", 3, 1e-14, 1},
        {"rodas4", 3, 1e-14, 1},
        {"rodas5p", 4, 1e-13, 1},
        {"backward-euler", 1, 1e-16, 1},
        {"implicit-midpoint", 1, 1e-16, 1},
        {"crank-nicolson", 1, 1e-16, 1},
        {"sdirk-2-2", 2, 1e-15, 1},
        {"trbdf2", 2, 1e-15, 1},
        {"kvaerno3", 3, 1e-14, 1},
        {"sdirk4", 3, 1e-14, 1},
        {"kvaerno5", 4, 1e-14, 1},
        {"gauss-legendre-4", 2, 1e-15, 1},
        {"gauss-legendre-8", 4, 1e-14, 1},
        {"radau-iia-3", 2, 1e-15, 1},
        {"radau-iia-5", 3, 1e-14, 1},
        {"radau-iia-9", 5, 1e-13, 1},
    };
    uint32_t own = 0;
    for (uint32_t i = 0; i < method_count; i++)
        own += methods[i].degree > 0;
    CHECK_INT(own, sizeof rows / sizeof rows[0]);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct method *m = method_find(rows[i].name);
        REQUIRE(m);
        CHECK(rows[i].order >= (int)m->embedded);
        for (int order = 1; order <= rows[i].order; order++) {
            double miss = interpolant_miss(m, order);
            CHECK_MSG(miss < rows[i].tolerance, "%s misses order %d by %g", m->name, order, miss);
        }
        double miss = interpolant_miss(m, rows[i].order + 1);
        CHECK_MSG(miss > 1e-8 && miss < rows[i].next, "%s: next miss %g", m->name, miss);
    }
}

static double sum_of(const double *values, uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

static double wide_sum(const wide *values, uint32_t count) {
    wide sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    return (double)sum;
}

TEST(method_rows_are_consistent) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        REQUIRE(m->stages >= 1 && m->stages <= METHOD_STAGES);
        REQUIRE(m->extra <= METHOD_EXTRA && m->degree <= METHOD_DEGREE);
        CHECK(m->scheme == DIRK || (m->c[0] == 0) == (m->scheme != COLLOCATION));
        struct classic c = classic_of(m);
        for (uint32_t i = 0; i < c.rows; i++) {
            double nodes = i < m->stages ? m->c[i] : m->extra_c[i - m->stages];
            CHECK_NEAR(wide_sum(c.a[i], c.rows), nodes, 2e-14);
            if (i < m->stages)
                CHECK_NEAR(wide_sum(c.gamma[i], c.rows), m->d[i], 2e-14);
        }
        CHECK(!m->extra || m->degree);
        if (m->scheme != EXPLICIT)
            CHECK(m->degree > 0 && !m->extra && m->stability != STABILITY_LIMITED);
        if (m->scheme == ROSENBROCK || m->scheme == COLLOCATION)
            continue;
        CHECK_NEAR(sum_of(m->b, m->stages), 1, 2e-15);
        CHECK_NEAR(sum_of(m->e, m->stages), 0, 2e-15);
        CHECK_NEAR(sum_of(m->e2, m->stages), 0, 2e-15);
        if (m->scheme == EXPLICIT)
            CHECK(m->fsal || m->degree == 0); // an own interpolant needs f(t1, y1)
    }
}

TEST(method_entries_outside_the_shape_are_zero) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        for (uint32_t i = 0; i < METHOD_STAGES; i++) {
            uint32_t end = i >= m->stages ? 0 : m->scheme == COLLOCATION ? m->stages : i;
            for (uint32_t j = 0; j < METHOD_STAGES - 1; j++)
                CHECK((m->a[i][j] == 0 && m->coupling[i][j] == 0) || j < end);
            CHECK(i < m->stages || (m->b[i] == 0 && m->c[i] == 0 && m->d[i] == 0));
            CHECK(m->scheme == ROSENBROCK || m->d[i] == 0);
            CHECK(i < m->stages || (m->e[i] == 0 && m->e2[i] == 0));
            CHECK(m->embedded || m->e[i] == 0);
        }
        for (uint32_t i = 0; i < METHOD_EXTRA; i++)
            for (uint32_t j = 0; j < METHOD_ROWS; j++)
                CHECK(m->extra_a[i][j] == 0 || (i < m->extra && j < m->stages + i));
        for (uint32_t i = 0; i < METHOD_ROWS; i++)
            for (uint32_t j = 0; j < METHOD_DEGREE; j++)
                CHECK(m->p[i][j] == 0 || (i < m->stages + m->extra && j < m->degree));
    }
}

TEST(method_fsal_stage_is_the_next_first) {
    for (uint32_t n = 0; n < method_count; n++) {
        const struct method *m = &methods[n];
        uint32_t last = m->stages - 1;
        bool is = (m->scheme == EXPLICIT || m->scheme == DIRK) && last > 0 && m->c[0] == 0 &&
                  m->c[last] == 1 && m->b[last] == m->gamma;
        for (uint32_t j = 0; j < last; j++)
            is = is && m->a[last][j] == m->b[j];
        CHECK_MSG(is == m->fsal, "%s: fsal", m->name);
    }
}

TEST(method_table_order_and_names) {
    static const char *const names[] = {"euler",
                                        "midpoint",
                                        "heun-21",
                                        "ralston-33",
                                        "rk4",
                                        "fehlberg-45",
                                        "cash-karp-54",
                                        "dormand-prince-54",
                                        "tsit5",
                                        "vern7",
                                        "dormand-prince-853",
                                        "vern9",
                                        "rosenbrock23",
                                        "ros3p",
                                        "rodas3p",
                                        "rodas4",
                                        "rodas5p",
                                        "backward-euler",
                                        "implicit-midpoint",
                                        "crank-nicolson",
                                        "sdirk-2-2",
                                        "trbdf2",
                                        "kvaerno3",
                                        "sdirk4",
                                        "kvaerno5",
                                        "gauss-legendre-4",
                                        "gauss-legendre-8",
                                        "radau-iia-3",
                                        "radau-iia-5",
                                        "radau-iia-9"};
    CHECK_INT(method_count, 31);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK_STR(methods[i < 4 ? i : i + 1].name, names[i]);
    CHECK_STR(methods[4].name, "bogacki-shampine-32");
    for (uint32_t i = 0; i < method_count; i++) {
        CHECK(method_find(methods[i].name) == &methods[i]);
        CHECK(methods[i].good_for && methods[i].good_for[0]);
        char words[64], *rest = words; // every alias leads to its own row: none is taken twice
        REQUIRE(strlen(methods[i].aliases) < sizeof words);
        strcpy(words, methods[i].aliases);
        for (char *word; (word = strsep(&rest, " "));)
            CHECK_MSG(!*word || method_find(word) == &methods[i], "alias %s", word);
    }
}

TEST(method_find_by_alias_ignoring_case) {
    static const char *const pairs[][2] = {{"RK23", "bogacki-shampine-32"},
                                           {"ode23", "bogacki-shampine-32"},
                                           {"bs3", "bogacki-shampine-32"},
                                           {"BS32", "bogacki-shampine-32"},
                                           {"rkf45", "fehlberg-45"},
                                           {"ck54", "cash-karp-54"},
                                           {"RK45", "dormand-prince-54"},
                                           {"ode45", "dormand-prince-54"},
                                           {"DoPri5", "dormand-prince-54"},
                                           {"dp5", "dormand-prince-54"},
                                           {"Tsit5", "tsit5"},
                                           {"tsitouras-5", "tsit5"},
                                           {"Vern7", "vern7"},
                                           {"verner-7", "vern7"},
                                           {"DOP853", "dormand-prince-853"},
                                           {"dp8", "dormand-prince-853"},
                                           {"Vern9", "vern9"},
                                           {"verner-9", "vern9"},
                                           {"ode23s", "rosenbrock23"},
                                           {"RODAS", "rodas4"},
                                           {"implicit-euler", "backward-euler"},
                                           {"beuler", "backward-euler"},
                                           {"gauss-legendre-2", "implicit-midpoint"},
                                           {"trapezoidal", "crank-nicolson"},
                                           {"trapezoid", "crank-nicolson"},
                                           {"CN", "crank-nicolson"},
                                           {"sdirk2", "sdirk-2-2"},
                                           {"TR-BDF2", "trbdf2"},
                                           {"ode23tb", "trbdf2"},
                                           {"Kvaerno3", "kvaerno3"},
                                           {"Kvaerno5", "kvaerno5"},
                                           {"sdirk4-hw", "sdirk4"},
                                           {"gauss4", "gauss-legendre-4"},
                                           {"gl4", "gauss-legendre-4"},
                                           {"gauss8", "gauss-legendre-8"},
                                           {"gl8", "gauss-legendre-8"},
                                           {"radau3", "radau-iia-3"},
                                           {"RADAU5", "radau-iia-5"},
                                           {"Radau", "radau-iia-5"},
                                           {"radau9", "radau-iia-9"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct method *m = method_find(pairs[i][0]);
        CHECK_STR(m ? m->name : NULL, pairs[i][1]);
    }
    static const char *const unknown[] = {"",     " ",    "rk",  "rk45 ",   "rk45 ode45",
                                          "rk4x", "tsit", "ode", "euler\n", "radau-iia"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        CHECK_MSG(!method_find(unknown[i]), "\"%s\" was found", unknown[i]);
}

TEST(method_controllers_have_names) {
    static const char *const names[] = {"fixed", "i", "pi", "pid", "gustafsson"};
    CHECK_INT(CONTROLLER_COUNT, 5);
    for (int c = 0; c < CONTROLLER_COUNT; c++)
        CHECK_STR(controller_names[c], names[c]);
}

TEST(method_without_error_estimate_has_fixed_steps) {
    static const char *const fixed[] = {"euler", "midpoint",       "ralston-33",
                                        "rk4",   "backward-euler", "implicit-midpoint"};
    uint32_t count = 0;
    for (uint32_t i = 0; i < method_count; i++) {
        count += methods[i].embedded == 0;
        CHECK((methods[i].embedded == 0) == (methods[i].controller == CONTROLLER_FIXED));
    }
    CHECK_INT(count, sizeof fixed / sizeof fixed[0]);
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        struct control control = method_control(method_find(fixed[i]), CONTROLLER_PI);
        CHECK(control.a == 0 && control.safety == 0 && control.grow == 0);
    }
    CHECK(method_control(method_find("tsit5"), CONTROLLER_FIXED).a == 0);
}

// With a steady error norm e the factor is safety e^-(a - b + c): the step settles only if that
// exponent has the right sign.
TEST(method_control_gains) {
    for (uint32_t i = 0; i < method_count; i++) {
        const struct method *m = &methods[i];
        if (m->embedded == 0)
            continue;
        double k = m->embedded + 1;
        for (int c = CONTROLLER_I; c < CONTROLLER_COUNT; c++) {
            struct control control = method_control(m, (enum controller)c);
            CHECK_NEAR(control.reject, 1 / k, 1e-16);
            CHECK(control.a - control.b + control.c > 0);
            CHECK(control.a <= 2 / k && control.safety < 1);
            CHECK(control.shrink > 0 && control.shrink < 1 && control.grow > 1);
            CHECK(control.gustafsson == (c == CONTROLLER_GUSTAFSSON));
        }
    }
    struct control pi = method_control(method_find("tsit5"), CONTROLLER_PI);
    CHECK_NEAR(pi.a, 0.17, 1e-16);
    CHECK_NEAR(pi.b, 0.04, 1e-16);
    CHECK_NEAR(method_control(method_find("dop853"), CONTROLLER_I).a, 1.0 / 8, 1e-16);
    CHECK_NEAR(method_control(method_find("rk23"), CONTROLLER_I).a, 1.0 / 3, 1e-16);
    CHECK_NEAR(method_control(method_find("heun-21"), CONTROLLER_I).a, 1.0 / 2, 1e-16);
}

TEST(method_stages_share_evaluations) {
    static const struct {
        const char *name;
        uint32_t evaluations;
        bool stiffly_accurate;
    } rows[] = {
        {"tsit5", 6, false},         {"rk4", 4, false},           {"rosenbrock23", 3, false},
        {"ros3p", 2, false},         {"rodas3p", 3, true},        {"rodas4", 6, true},
        {"rodas5p", 8, true},        {"backward-euler", 1, true}, {"implicit-midpoint", 1, false},
        {"crank-nicolson", 1, true}, {"sdirk-2-2", 1, true},      {"trbdf2", 1, true},
        {"kvaerno3", 1, true},       {"sdirk4", 1, true},         {"kvaerno5", 1, true},
        {"gauss4", 1, false},        {"gauss8", 1, false},        {"radau3", 1, true},
        {"radau5", 1, true},         {"radau9", 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct method *m = method_find(rows[i].name);
        CHECK_INT(method_evaluations(m), rows[i].evaluations);
        CHECK(method_stiffly_accurate(m) == rows[i].stiffly_accurate);
    }
    const struct method *rodas = method_find("rodas4"), *p3 = method_find("rodas3p");
    CHECK_INT(method_place(rodas, 0), STAGE_START);
    CHECK_INT(method_place(rodas, 1), STAGE_NEW);
    CHECK_INT(method_place(rodas, 5), STAGE_NEXT);
    CHECK_INT(method_place(rodas, 6), STAGE_NEXT);
    CHECK_INT(method_place(p3, 2), STAGE_START);
    CHECK_INT(method_place(p3, 4), STAGE_SAME);
    const struct method *trbdf2 = method_find("trbdf2"), *gauss = method_find("gauss4");
    CHECK_INT(method_place(trbdf2, 0), STAGE_START);
    CHECK_INT(method_place(trbdf2, 2), STAGE_NEW);
    CHECK_INT(method_place(trbdf2, 3), STAGE_SAME);
    CHECK_INT(method_place(method_find("sdirk4"), 0), STAGE_NEW);
    CHECK_INT(method_place(gauss, 0), STAGE_NEW);
    CHECK_INT(method_place(gauss, 2), STAGE_NEW);
}
