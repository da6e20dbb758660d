// SPDX-License-Identifier: MIT
// Models as nodes: expansion of functions and temporaries, Jacobians, sparsity, limits.
//
// Models are written here as postfix code by hand, so that code the parser would never make can be
// tried too. Words: numbers, names of symbols, names of functions, $0 $1 for arguments, operators.
#include "symbolic_text.h"

#include <sys/resource.h>
#include <time.h>

static struct model *model_new(void) {
    struct model *m = calloc(1, sizeof *m);
    REQUIRE(m);
    m->source = (struct source){"test", "x", 1};
    m->added = 1;
    return m;
}

static void model_done(struct model *m) {
    arena_free(&m->arena);
    free(m);
}

static struct item word_item(const struct model *m, const char *word) {
    enum op op = word_op(word);
    if (op != OP_COUNT)
        return (struct item){.op = (uint8_t)op};
    if (!strcmp(word, "t"))
        return (struct item){.op = OP_TIME};
    if (word[0] == '$')
        return (struct item){.op = OP_ARG, .index = (uint32_t)atoi(word + 1)};
    for (uint32_t i = 0; i < m->symbols.count; i++)
        if (!strcmp(word, m->symbols.items[i].name))
            return (struct item){.op = OP_SYMBOL, .index = i};
    for (uint32_t i = 0; i < m->functions.count; i++)
        if (!strcmp(word, m->functions.items[i].name))
            return (struct item){.op = OP_CALL, .index = i};
    return (struct item){.op = OP_NUMBER, .value = strtod(word, NULL)};
}

static struct expr code(struct model *m, const char *postfix) {
    struct expr e = {m->code.count, 0};
    char *copy = arena_strdup(&m->arena, postfix);
    for (char *word; *postfix && (word = strsep(&copy, " ")); e.count++)
        *vec_push(&m->arena, &m->code) = word_item(m, word);
    return e;
}

static uint32_t symbol(struct model *m, enum symbol_kind kind, const char *name, double value) {
    *vec_push(&m->arena, &m->symbols) =
        (struct symbol){.name = arena_strdup(&m->arena, name), .kind = kind, .value = value};
    uint32_t index = m->symbols.count - 1;
    if (kind == SYMBOL_STATE)
        *vec_push(&m->arena, &m->states) = index;
    else if (kind == SYMBOL_PAR)
        *vec_push(&m->arena, &m->pars) = index;
    else if (kind == SYMBOL_CONST)
        *vec_push(&m->arena, &m->consts) = index;
    else if (kind == SYMBOL_DERIVED)
        *vec_push(&m->arena, &m->derived) = index;
    else
        *vec_push(&m->arena, &m->temps) = index;
    return index;
}

static void define(struct model *m, uint32_t index, const char *postfix) {
    struct expr e = code(m, postfix);
    m->symbols.items[index].expr = e;
}

static void function(struct model *m, const char *name, uint32_t args, const char *postfix) {
    struct expr body = code(m, postfix);
    *vec_push(&m->arena, &m->functions) =
        (struct function){.name = arena_strdup(&m->arena, name), .args = args, .body = body};
}

static void observe(struct model *m, const char *label, const char *postfix) {
    struct expr e = code(m, postfix);
    *vec_push(&m->arena, &m->observables) = (struct observable){.label = label, .expr = e};
}

// One state x with this derivative.
static struct model *one_state(const char *postfix) {
    struct model *m = model_new();
    define(m, symbol(m, SYMBOL_STATE, "x", 0), postfix);
    return m;
}

static struct system *expand(const struct model *m) {
    struct report r = {0};
    struct system *s = system_new(m, &r);
    CHECK_INT(r.errors, 0);
    report_free(&r);
    REQUIRE(s);
    return s;
}

static void check_refused(struct model *m, const char *why) {
    struct report r = {0};
    CHECK(!system_new(m, &r));
    REQUIRE(r.messages.count == 1);
    CHECK_HAS(r.messages.items[0].text, why);
    report_free(&r);
    model_done(m);
}

static void check_node(const struct system *s, node_id id, const char *want) {
    CHECK_STR(to_infix(&s->dag, id), want);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- Small systems ------------------------------------------------------------------------------

static struct model *lorenz(void) {
    struct model *m = model_new();
    symbol(m, SYMBOL_CONST, "sigma", 10);
    uint32_t x = symbol(m, SYMBOL_STATE, "x", 1), y = symbol(m, SYMBOL_STATE, "y", 0);
    uint32_t z = symbol(m, SYMBOL_STATE, "z", 0);
    symbol(m, SYMBOL_PAR, "rho", 28);
    symbol(m, SYMBOL_CONST, "beta", 2.5);
    define(m, x, "sigma y x - *");
    define(m, y, "x rho z - * y -");
    define(m, z, "x y * beta z * -");
    uint32_t r2 = symbol(m, SYMBOL_TEMP, "r2", 0);
    define(m, r2, "x 2 ^ y 2 ^ + z 2 ^ +");
    observe(m, "r", "r2 sqrt");
    return m;
}

TEST(system_lorenz) {
    struct model *m = lorenz();
    struct system *s = expand(m);
    CHECK_INT(s->states, 3);
    CHECK_INT(s->pars, 1);
    CHECK_INT(s->derived, 0);
    CHECK_INT(s->observables, 1);
    check_node(s, s->rhs[0], "((x1 - x0) * 10)");
    check_node(s, s->rhs[1], "((x0 * (p0 - x2)) - x1)");
    check_node(s, s->rhs[2], "((x1 * x0) - (x2 * 2.5))");
    check_node(s, s->observable[0], "sqrt((((x0 * x0) + (x1 * x1)) + (x2 * x2)))");
    CHECK_INT(s->init[0], NODE_NONE);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    const uint32_t starts[] = {0, 2, 5, 8}, columns[] = {0, 1, 0, 1, 2, 0, 1, 2};
    CHECK(!memcmp(p.row_start, starts, sizeof starts));
    CHECK(!memcmp(p.columns, columns, sizeof columns));
    node_id *j = system_jacobian(s, &p, &arena);
    const char *want[] = {"-10", "10", "(p0 - x2)", "-1", "-(x0)", "x1", "x0", "-2.5"};
    for (int i = 0; i < 8; i++)
        check_node(s, j[i], want[i]);
    struct op_counts c = dag_count(&s->dag, s->rhs, 3, &arena);
    CHECK_INT(c.adds, 4);
    CHECK_INT(c.muls, 4);
    CHECK_INT(c.divs + c.functions, 0);
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

// Van der Pol with a function of a function, a temporary that uses it, and a derived parameter.
TEST(system_functions_and_temporaries) {
    struct model *m = model_new();
    symbol(m, SYMBOL_PAR, "mu", 3);
    uint32_t k = symbol(m, SYMBOL_DERIVED, "k", 0), two = symbol(m, SYMBOL_DERIVED, "two", 0);
    uint32_t x = symbol(m, SYMBOL_STATE, "x", 2), y = symbol(m, SYMBOL_STATE, "y", 0);
    uint32_t late = symbol(m, SYMBOL_TEMP, "late", 0), early = symbol(m, SYMBOL_TEMP, "early", 0);
    uint32_t dead = symbol(m, SYMBOL_TEMP, "dead", 0);
    function(m, "square", 1, "$0 2 ^");
    function(m, "f", 2, "1 $0 square - $1 * early +");
    define(m, k, "mu 2 *");
    define(m, two, "1 1 +");
    define(m, early, "x neg");
    define(m, late, "k x y f *");
    define(m, dead, "x exp");
    define(m, x, "y two *");
    define(m, y, "late");
    struct expr init = code(m, "mu k + t +");
    m->symbols.items[y].init = init;
    struct system *s = expand(m);
    check_node(s, s->derive[0], "(p0 * 2)");
    check_node(s, s->derive[1], "2");
    check_node(s, s->rhs[0], "(x1 * 2)"); // a derived number is a number
    check_node(s, s->rhs[1], "(d0 * ((x1 * (1 - (x0 * x0))) - x0))");
    CHECK_INT(s->init[0], NODE_NONE);
    check_node(s, s->init[1], "((p0 + d0) + t)");
    for (node_id id = 0; id < s->dag.nodes.count; id++)
        CHECK(s->dag.nodes.items[id].op != OP_EXP); // dead
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    node_id *j = system_jacobian(s, &p, &arena);
    CHECK_INT(p.row_start[2], 3);
    check_node(s, j[0], "2");
    check_node(s, j[2], "(d0 * (1 - (x0 * x0)))");
    double state[] = {0.5, 2}, par[] = {3}, derived[] = {6, 2};
    double *values = arena_new(&arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &(struct leaf_values){.state = state, .par = par, .derived = derived},
                 values);
    CHECK(values[s->rhs[1]] == 6 * ((1 - 0.25) * 2 - 0.5));
    CHECK(values[j[1]] == 6 * (-2 * 0.5 * 2 - 1));
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

TEST(system_structure_counts_comparisons) {
    struct model *m = model_new();
    uint32_t x = symbol(m, SYMBOL_STATE, "x", 0), y = symbol(m, SYMBOL_STATE, "y", 0);
    define(m, x, "y 0 == 1 2 if");
    define(m, y, "3");
    struct system *s = expand(m);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    CHECK_INT(p.row_start[1], 1);
    CHECK_INT(p.row_start[2], 1);
    CHECK_INT(p.columns[0], 1);
    check_node(s, system_jacobian(s, &p, &arena)[0], "0");
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

TEST(system_is_the_same_every_time) {
    struct model *m = lorenz();
    struct system *a = expand(m), *b = expand(m);
    CHECK_INT(a->dag.nodes.count, b->dag.nodes.count);
    for (node_id id = 0; id < a->dag.nodes.count; id++) {
        const struct node *x = &a->dag.nodes.items[id], *y = &b->dag.nodes.items[id];
        CHECK(x->op == y->op && x->leaf == y->leaf && x->a == y->a && x->b == y->b &&
              x->c == y->c && x->value == y->value);
    }
    // Golden numbers: what another process must get.
    CHECK_INT(a->rhs[0], 4);
    CHECK_INT(a->rhs[1], 9);
    CHECK_INT(a->rhs[2], 13);
    system_free(a);
    system_free(b);
    model_done(m);
}

TEST(system_without_states) {
    struct model *m = model_new();
    struct system *s = expand(m);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    CHECK_INT(p.row_start[0], 0);
    system_jacobian(s, &p, &arena);
    arena_free(&arena);
    system_free(s);
    system_free(NULL);
    model_done(m);
}

// ---- Limits -------------------------------------------------------------------------------------

// f0(x) = sin x, fn(x) = f(n-1)(x) * cos x + f(n-1)(x): 2^60 calls without memory.
TEST(system_chains_of_functions_do_not_explode) {
    struct model *m = model_new();
    uint32_t x = symbol(m, SYMBOL_STATE, "x", 0);
    function(m, "f0", 1, "$0 sin");
    char name[16], body[64];
    for (int i = 1; i <= 60; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(body, sizeof body, "$0 f%d $0 cos * $0 f%d +", i - 1, i - 1);
        function(m, name, 1, body);
    }
    function(m, "g", 0, "x f60");
    define(m, x, "x f60 g +");
    struct system *s = expand(m);
    CHECK(s->dag.nodes.count < 200);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    node_id slope = system_jacobian(s, &p, &arena)[0];
    CHECK(s->dag.nodes.count < 1000);
    double at = 0, *values = arena_new(&arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &(struct leaf_values){.state = &at}, values);
    CHECK(values[slope] == 0x1p61);
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

// Every argument is another one.
static struct model *explosion(void) {
    struct model *m = model_new();
    uint32_t x = symbol(m, SYMBOL_STATE, "x", 0);
    function(m, "f0", 1, "$0 sin");
    char name[16], body[64];
    for (int i = 1; i <= 60; i++) {
        snprintf(name, sizeof name, "f%d", i);
        snprintf(body, sizeof body, "$0 1 + f%d $0 cos f%d +", i - 1, i - 1);
        function(m, name, 1, body);
    }
    define(m, x, "x f60");
    return m;
}

TEST(system_true_explosions_are_refused) {
    check_refused(explosion(), "test:1:1: error: the model is too large");
}

// Few nodes, but 5000 calls of a function of 10,000 operators.
TEST(system_endless_work_is_refused) {
    struct model *m = one_state("0");
    struct buf body = {0};
    buf_puts(&body, "$0");
    for (int i = 0; i < 10000; i++)
        buf_puts(&body, " neg");
    function(m, "f", 1, body.data);
    body.length = 0;
    buf_puts(&body, "0");
    for (int i = 0; i < 5000; i++)
        buf_printf(&body, " %d f +", i);
    define(m, 0, body.data);
    buf_free(&body);
    check_refused(m, "the model is too large");
}

TEST(system_out_of_memory_is_an_error) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    check_skip("the sanitizer needs the address space");
#endif
    struct rlimit limit = {64 << 20, 64 << 20};
    REQUIRE(!setrlimit(RLIMIT_AS, &limit));
    check_refused(explosion(), "not enough memory");
}

TEST(system_cycles_are_refused) {
    struct model *m = one_state("a");
    m->code.count = 0;
    uint32_t a = symbol(m, SYMBOL_TEMP, "a", 0), b = symbol(m, SYMBOL_TEMP, "b", 0);
    define(m, a, "b 1 +");
    define(m, b, "a 1 +");
    define(m, 0, "a");
    check_refused(m, "depends on itself");

    m = one_state("0");
    function(m, "f", 1, "0");
    function(m, "g", 1, "$0 1 + f");
    m->functions.items[0].body = code(m, "$0 1 + g");
    define(m, 0, "x f");
    check_refused(m, "depends on itself");

    m = one_state("0");
    function(m, "f", 0, "0");
    m->functions.items[0].body = code(m, "f");
    define(m, 0, "f");
    check_refused(m, "depends on itself");
}

TEST(system_malformed_code_is_refused) {
    static const char *const bad[] = {"", "+", "1 +", "1 2", "1 sin 2", "$0", "1 2 if"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(one_state(bad[i]), "not complete");
    // Operands and arguments of the caller are out of reach.
    static const char *const bodies[] = {"", "+", "$0 +", "$0 $1", "$1", "neg"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct model *m = one_state("0");
        function(m, "f", 1, bodies[i]);
        define(m, 0, "1 2 3 f + +");
        check_refused(m, "not complete");
    }
    static const struct item items[] = {{.op = OP_SYMBOL, .index = 9},
                                        {.op = OP_CALL, .index = 9},
                                        {.op = OP_COUNT},
                                        {.op = UINT8_MAX},
                                        {.op = OP_ARG, .index = UINT32_MAX}};
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        struct model *m = one_state("0");
        m->code.items[0] = items[i];
        check_refused(m, "not complete");
    }
    struct model *m = one_state("0");
    m->symbols.items[0].expr = (struct expr){0, UINT32_MAX};
    check_refused(m, "not complete");
    m = one_state("0");
    function(m, "f", 3, "$0");
    define(m, 0, "1 2 f");
    check_refused(m, "not complete");
}

// ---- Large systems ------------------------------------------------------------------------------

// Lorenz 96: x[j]' = (x[j+1] - x[j-2]) x[j-1] - x[j] + F, cyclic
static struct model *ring(uint32_t n) {
    struct model *m = model_new();
    char text[96];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "x%u", i);
        symbol(m, SYMBOL_STATE, text, 8);
    }
    uint32_t force = symbol(m, SYMBOL_PAR, "F", 8);
    for (uint32_t j = 0; j < n; j++) {
        const struct item body[] = {{.op = OP_SYMBOL, .index = (j + 1) % n},
                                    {.op = OP_SYMBOL, .index = (j + n - 2) % n},
                                    {.op = OP_SUB},
                                    {.op = OP_SYMBOL, .index = (j + n - 1) % n},
                                    {.op = OP_MUL},
                                    {.op = OP_SYMBOL, .index = j},
                                    {.op = OP_SUB},
                                    {.op = OP_SYMBOL, .index = force},
                                    {.op = OP_ADD}};
        m->symbols.items[j].expr = (struct expr){m->code.count, 9};
        for (int i = 0; i < 9; i++)
            *vec_push(&m->arena, &m->code) = body[i];
    }
    return m;
}

TEST(system_ring_jacobian) {
    struct model *m = ring(6);
    struct system *s = expand(m);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    node_id *j = system_jacobian(s, &p, &arena);
    CHECK_INT(p.row_start[6], 24);
    const uint32_t columns[] = {0, 1, 4, 5};
    CHECK(!memcmp(p.columns, columns, sizeof columns));
    const char *want[] = {"-1", "x5", "-(x5)", "(x1 - x4)"};
    for (int i = 0; i < 4; i++)
        check_node(s, j[i], want[i]);
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

TEST(system_of_ten_thousand_states_is_quick) {
    uint32_t n = 10000;
    struct model *m = ring(n);
    double start = seconds();
    struct system *s = expand(m);
    double built = seconds() - start;
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    CHECK_INT(p.row_start[n], 4 * n);
    node_id *j = system_jacobian(s, &p, &arena);
    double all = seconds() - start;
    CHECK_MSG(built < 0.5, "building took %g s", built); // 0.01 s on a quiet machine
    CHECK_MSG(all < 1, "all of it took %g s", all);
    check_node(s, j[4 * 5000], "-(x4999)");
    check_node(s, j[4 * 5000 + 1], "(x5001 - x4998)");
    CHECK(arena.used < 50000000);
    arena_free(&arena);
    system_free(s);
    model_done(m);
}

// Every state depends on the sum of all: shared work is done once.
TEST(system_mean_field_jacobian) {
    uint32_t n = 200;
    struct model *m = model_new();
    char text[32];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "x%u", i);
        symbol(m, SYMBOL_STATE, text, 0);
    }
    uint32_t mean = symbol(m, SYMBOL_TEMP, "mean", 0);
    struct expr e = code(m, "x0");
    for (uint32_t i = 1; i < n; i++, e.count += 2) {
        snprintf(text, sizeof text, "x%u +", i);
        code(m, text);
    }
    m->symbols.items[mean].expr = e;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(text, sizeof text, "mean x%u * sin", i);
        define(m, i, text);
    }
    struct system *s = expand(m);
    struct arena arena = {0};
    struct sparsity p = system_sparsity(s, &arena);
    CHECK_INT(p.row_start[n], n * n);
    node_id *j = system_jacobian(s, &p, &arena);
    CHECK(s->dag.nodes.count < 3 * n * n);
    double *state = arena_new(&arena, double, n), total = 0;
    for (uint32_t i = 0; i < n; i++)
        total += state[i] = 0.01 * (i % 7);
    double *values = arena_new(&arena, double, s->dag.nodes.count);
    dag_evaluate(&s->dag, &(struct leaf_values){.state = state}, values);
    double slope = cos(total * state[3]);
    CHECK_NEAR(values[j[3 * n + 4]], slope * state[3], 1e-14);
    CHECK_NEAR(values[j[3 * n + 3]], slope * (state[3] + total), 1e-14);
    arena_free(&arena);
    system_free(s);
    model_done(m);
}
