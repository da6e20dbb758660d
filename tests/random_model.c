// SPDX-License-Identifier: MIT
// Makes random models, and makes them smaller.
#include "check.h"
#include "random_tree.h"

// ---- Random numbers -----------------------------------------------------------------------------

uint64_t random_bits(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t random_below(uint64_t *state, uint32_t count) {
    return (uint32_t)((random_bits(state) >> 32) * count >> 32);
}

double random_real(uint64_t *state, double low, double high) {
    return low + (high - low) * ldexp((double)(random_bits(state) >> 11), -53);
}

// ---- Lists and trees ----------------------------------------------------------------------------

static struct tree_item *add_item(struct tree_list *l) {
    if (l->count == l->room) {
        l->room = l->room ? 2 * l->room : 8;
        l->items = realloc(l->items, l->room * sizeof *l->items);
        REQUIRE(l->items);
    }
    struct tree_item *i = &l->items[l->count++];
    *i = (struct tree_item){.tree = NO_TREE, .start = NO_TREE};
    return i;
}

static uint32_t add_tree(struct random_model *m, struct tree t) {
    if (m->tree_count == m->tree_room) {
        m->tree_room = m->tree_room ? 2 * m->tree_room : 256;
        m->trees = realloc(m->trees, m->tree_room * sizeof *m->trees);
        REQUIRE(m->trees);
    }
    m->trees[m->tree_count] = t;
    return m->tree_count++;
}

uint32_t tree_operands(const struct random_model *m, const struct tree *t) {
    if (t->op == TREE_SUM)
        return 1;
    return t->op == OP_CALL ? m->list[LIST_FUNCTION].items[t->index].args : op_operands[t->op];
}

// ---- Expressions --------------------------------------------------------------------------------

// What an expression may speak of, and how long it may become.
struct maker {
    struct random_model *m;
    uint64_t *rng;
    uint32_t count[LISTS]; // how many of each list, from the first
    uint32_t args;         // of the function being made
    bool time, calls;
    bool element, shifted; // in a row of the array, in a sum
    uint32_t budget;       // operators still to be spent
};

static uint32_t make(struct maker *k);

static uint32_t make_number(struct maker *k, double value) {
    return add_tree(
        k->m,
        (struct tree){.op = OP_NUMBER, .value = value, .form = (uint8_t)random_below(k->rng, 4)});
}

// Numbers people write, and some that they do not.
static double some_number(uint64_t *rng) {
    static const double common[] = {0,   1,    2,    3,    0.5, 0.1,  10,     4,
                                    1.5, 0.25, 1e-3, 1e-8, 7,   1e10, 1e-200, 1e200};
    uint32_t i = random_below(rng, 40);
    return i < 16 ? common[i > 12 && random_below(rng, 8) ? 1 : i] : random_real(rng, 0, 3);
}

static uint32_t make_symbol(struct maker *k, enum tree_leaf leaf, uint32_t index) {
    return add_tree(k->m, (struct tree){.op = OP_SYMBOL, .leaf = (uint8_t)leaf, .index = index});
}

// A symbol out of a list that has any; NO_TREE otherwise.
static uint32_t make_listed(struct maker *k, enum tree_leaf leaf) {
    static const uint8_t list[] = {[TREE_STATE] = LIST_STATE,
                                   [TREE_PARAMETER] = LIST_PARAMETER,
                                   [TREE_CONSTANT] = LIST_CONSTANT,
                                   [TREE_DERIVED] = LIST_DERIVED,
                                   [TREE_TEMPORARY] = LIST_TEMPORARY};
    uint32_t count = k->count[list[leaf]];
    return count ? make_symbol(k, leaf, random_below(k->rng, count)) : NO_TREE;
}

static uint32_t make_leaf(struct maker *k) {
    static const uint8_t likely[] = {TREE_STATE,     TREE_STATE,     TREE_STATE,     TREE_STATE,
                                     TREE_PARAMETER, TREE_PARAMETER, TREE_TEMPORARY, TREE_TEMPORARY,
                                     TREE_DERIVED,   TREE_CONSTANT};
    if (k->args && random_below(k->rng, 2))
        return add_tree(k->m, (struct tree){.op = OP_ARG, .index = random_below(k->rng, k->args)});
    if (k->shifted && random_below(k->rng, 2))
        return make_symbol(k, random_below(k->rng, 3) ? TREE_SHIFTED : TREE_COUNTER, 0);
    if (k->element && random_below(k->rng, 2))
        return make_symbol(k, random_below(k->rng, 5) ? TREE_ELEMENT : TREE_POSITION,
                           random_below(k->rng, 3));
    if (k->time && !random_below(k->rng, 16))
        return add_tree(k->m, (struct tree){.op = OP_TIME});
    uint32_t t = NO_TREE;
    for (int i = 0; i < 4 && t == NO_TREE; i++)
        t = make_listed(k, likely[random_below(k->rng, sizeof likely)]);
    return t == NO_TREE || !random_below(k->rng, 6) ? make_number(k, some_number(k->rng)) : t;
}

static uint32_t make_op(struct maker *k, enum op op, uint32_t a, uint32_t b) {
    return add_tree(k->m, (struct tree){.op = (uint8_t)op,
                                        .operand = {a, b, NO_TREE},
                                        .form = (uint8_t)random_bits(k->rng)});
}

// 1 + x^2 and |x|: what functions with a limited domain like.
static uint32_t make_above_one(struct maker *k) {
    uint32_t square = make_op(k, OP_POW, make(k), make_number(k, 2));
    return make_op(k, OP_ADD, make_number(k, 1), square);
}

// What a function is applied to: something it is defined for, mostly.
static uint32_t make_domain(struct maker *k, enum op op) {
    if (!random_below(k->rng, 8))
        return make(k);
    switch (op) {
    case OP_SQRT:
    case OP_LN:
    case OP_LOG10:
    case OP_LOG2:
    case OP_ACOSH:
        return make_above_one(k);
    case OP_LOG1P:
        return make_op(k, OP_ABS, make(k), NO_TREE);
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATANH: // below 1
        return make_op(k, OP_DIV, make_number(k, 0.9), make_above_one(k));
    case OP_EXP:
    case OP_EXPM1:
    case OP_SINH:
    case OP_COSH: { // bounded by 2
        uint32_t one = make_op(k, OP_DIV, make_number(k, 2), make_above_one(k));
        return make_op(k, OP_MUL, one, make_number(k, 1));
    }
    default:
        return make(k);
    }
}

static uint32_t make_power(struct maker *k) {
    static const double exponent[] = {2,  3,  4,    5,    7, 0.5, 1.5, 2.5,
                                      -1, -2, -0.5, -1.5, 1, 0,   12,  -3};
    static const double real[] = {1.0 / 3, 0.7, -0.3, 2.2, 65, 1e-3};
    bool any = k->m->shape.kind == RANDOM_ALL && !random_below(k->rng, 3);
    double x = any ? real[random_below(k->rng, 6)] : exponent[random_below(k->rng, 16)];
    bool whole = x == floor(x) && x > 0;
    uint32_t base = whole && random_below(k->rng, 2) ? make(k) : make_above_one(k);
    if (any && !random_below(k->rng, 4))
        return make_op(k, OP_POW, base, make_leaf(k));
    uint32_t number = make_number(k, fabs(x));
    return make_op(k, OP_POW, base, x < 0 ? make_op(k, OP_NEG, number, NO_TREE) : number);
}

static uint32_t make_division(struct maker *k) {
    uint32_t above = random_below(k->rng, 4) ? make(k) : make_number(k, some_number(k->rng));
    if (random_below(k->rng, 3))
        return make_op(k, OP_DIV, above, make_above_one(k));
    uint32_t below = make(k);
    const struct tree *t = &k->m->trees[below];
    bool counts = t->op == OP_SYMBOL && (t->leaf == TREE_COUNTER || t->leaf == TREE_POSITION);
    if (counts || (t->op == OP_NUMBER && t->value == 0)) // a 0 is refused
        below = make_number(k, 1);
    return make_op(k, OP_DIV, above, below);
}

static uint32_t make_truth(struct maker *k) {
    static const uint8_t comparison[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
    uint32_t which = random_below(k->rng, 10);
    if (which == 0)
        return make_op(k, OP_NOT, make_truth(k), NO_TREE);
    if (which < 3 && k->budget) {
        uint32_t a = make_truth(k);
        return make_op(k, which == 1 ? OP_AND : OP_OR, a, make_truth(k));
    }
    if (which == 3) // any number is true or false
        return make(k);
    uint32_t a = make(k);
    return make_op(k, comparison[random_below(k->rng, random_below(k->rng, 4) ? 4 : 6)], a,
                   make(k));
}

static uint32_t make_choice(struct maker *k) {
    uint32_t c = make_truth(k), a = make(k), b = make(k), t = make_op(k, OP_IF, c, a);
    k->m->trees[t].operand[2] = b;
    return t;
}

static uint32_t make_call(struct maker *k) {
    uint32_t index = random_below(k->rng, k->count[LIST_FUNCTION]);
    struct tree t = {.op = OP_CALL, .index = index};
    for (uint32_t i = 0; i < k->m->list[LIST_FUNCTION].items[index].args; i++)
        t.operand[i] = make(k);
    return add_tree(k->m, t);
}

static uint32_t make_sum(struct maker *k) {
    uint32_t first = random_below(k->rng, k->m->array_count + 1);
    uint32_t last = first + random_below(k->rng, k->m->array_count + 2 - first);
    bool element = k->element;
    k->shifted = true, k->element = false;
    uint32_t body = make(k);
    k->shifted = false, k->element = element;
    return add_tree(k->m, (struct tree){.op = TREE_SUM,
                                        .index = first,
                                        .last = last > first + 9 ? first + 9 : last,
                                        .operand = {body, NO_TREE, NO_TREE}});
}

static bool is_exact(enum op op) { return op == OP_SQRT || op >= OP_ABS || op <= OP_IF; }

// test_special.c looks at these: they are not there on every target, and no long double is.
static bool is_special(enum op op) {
    return op == OP_BESSELJ || op == OP_BESSELY || op == OP_BESSELI || op == OP_LGAMMA;
}

static uint32_t make_function(struct maker *k) {
    enum op op;
    do
        op = (enum op)(OP_SIN + random_below(k->rng, OP_COUNT - OP_SIN));
    while (is_special(op) || (k->m->shape.kind == RANDOM_EXACT && !is_exact(op)));
    uint32_t a = make_domain(k, op);
    if (op == OP_MOD)
        return make_op(k, op, a, random_below(k->rng, 4) ? make_number(k, 1.5) : make(k));
    return make_op(k, op, a, op_operands[op] == 2 ? make(k) : NO_TREE);
}

static uint32_t make(struct maker *k) {
    if (!k->budget)
        return make_leaf(k);
    k->budget--;
    uint32_t which = random_below(k->rng, 32), a;
    if (which < 5)
        return make_leaf(k);
    if (which < 17) {
        static const uint8_t op[] = {OP_ADD, OP_ADD, OP_SUB, OP_SUB, OP_MUL, OP_MUL};
        a = make(k);
        return make_op(k, op[random_below(k->rng, 6)], a, make(k));
    }
    if (which < 20)
        return make_division(k);
    if (which < 22)
        return make_power(k);
    if (which < 23)
        return make_op(k, OP_NEG, make(k), NO_TREE);
    if (which < 25)
        return random_below(k->rng, 3) ? make_choice(k) : make_truth(k);
    if (which < 27 && k->calls && k->count[LIST_FUNCTION])
        return make_call(k);
    if (which < 28 && k->m->array_count && k->count[LIST_STATE] && !k->shifted)
        return make_sum(k);
    return make_function(k);
}

static uint32_t make_sized(struct maker *k) {
    k->budget = 1 + random_below(k->rng, 2 * k->m->shape.size);
    return make(k);
}

// ---- Models -------------------------------------------------------------------------------------

// Names of C, of the dialect and of generated code stand among harmless ones.
static void name_item(struct random_model *m, uint64_t *rng, struct tree_item *i, const char *stem,
                      uint32_t number) {
    static const char *const hostile[] = {"double", "real", "mask",  "select", "r_fma", "v",
                                          "m",      "s",    "int",   "range",  "group", "elem",
                                          "return", "w",    "while", "k",      "np",    "struct"};
    (void)m;
    if (random_below(rng, 3))
        snprintf(i->name, sizeof i->name, "%s%u", stem, number);
    else
        snprintf(i->name, sizeof i->name, "%s_%s%u", hostile[random_below(rng, 18)], stem, number);
}

static struct maker maker_of(struct random_model *m, uint64_t *rng) {
    struct maker k = {.m = m, .rng = rng};
    for (int i = 0; i < LISTS; i++)
        k.count[i] = m->list[i].count;
    k.count[LIST_STATE] = k.count[LIST_TEMPORARY] = k.count[LIST_OBSERVABLE] = 0;
    return k;
}

static void make_values(struct random_model *m, uint64_t *rng) {
    for (uint32_t i = 0, n = 1 + random_below(rng, 4); i < n; i++) {
        struct tree_item *p = add_item(&m->list[LIST_PARAMETER]);
        name_item(m, rng, p, "p", i);
        p->value = random_below(rng, 3) ? random_real(rng, 0.2, 2) : some_number(rng);
        if (fabs(p->value) > 1e30 || (p->value != 0 && fabs(p->value) < 1e-30))
            p->value = 1; // also a number in f32
    }
    for (uint32_t i = 0, n = random_below(rng, 3); i < n; i++) {
        struct tree_item *c = add_item(&m->list[LIST_CONSTANT]);
        name_item(m, rng, c, "c", i);
        c->value = some_number(rng);
    }
    for (uint32_t i = 0, n = random_below(rng, 4); i < n; i++) {
        struct maker k = maker_of(m, rng);
        k.budget = 1 + random_below(rng, 6);
        uint32_t t = make(&k);
        struct tree_item *d = add_item(&m->list[LIST_DERIVED]);
        name_item(m, rng, d, "d", i);
        d->tree = t;
    }
}

// Arguments bear names of their own, or those of parameters, which they hide.
static void make_functions(struct random_model *m, uint64_t *rng) {
    for (uint32_t i = 0, n = random_below(rng, 4); i < n; i++) {
        struct maker k = maker_of(m, rng);
        uint32_t args = 1 + random_below(rng, 3);
        bool hides = !random_below(rng, 3);
        k.args = args;
        k.calls = k.time = true;
        if (hides)
            k.count[LIST_PARAMETER] = 0;
        k.budget = 1 + random_below(rng, 8);
        uint32_t t = make(&k);
        struct tree_item *f = add_item(&m->list[LIST_FUNCTION]);
        name_item(m, rng, f, "f", i);
        f->tree = t;
        f->args = args;
        for (uint32_t a = 0; a < args; a++)
            if (hides && a < m->list[LIST_PARAMETER].count)
                snprintf(f->arg[a], sizeof f->arg[a], "%s", m->list[LIST_PARAMETER].items[a].name);
            else
                snprintf(f->arg[a], sizeof f->arg[a], "u%u", a);
    }
}

// The array needs a state before and behind it.
static void name_states(struct random_model *m, uint64_t *rng) {
    uint32_t states = m->shape.states;
    if (states > 3 && random_below(rng, 2)) {
        m->array_count = 1 + random_below(rng, states - 3 < 40 ? states - 3 : 40);
        m->array_first = random_below(rng, states - m->array_count - 1);
        snprintf(m->array_name, sizeof m->array_name, random_below(rng, 2) ? "y" : "real_y");
    }
    for (uint32_t i = 0; i < states + m->shape.algebraic; i++) {
        struct tree_item *s = add_item(&m->list[LIST_STATE]);
        bool element =
            m->array_count && i >= m->array_first && i <= m->array_first + m->array_count + 1;
        if (element)
            snprintf(s->name, sizeof s->name, "%s%u", m->array_name, i - m->array_first);
        else
            name_item(m, rng, s, i < states ? "x" : "z", i);
        s->value = random_below(rng, 4) ? random_real(rng, -1, 1) : random_below(rng, 3) - 1.0;
    }
}

static struct maker maker_of_rows(struct random_model *m, uint64_t *rng) {
    struct maker k = maker_of(m, rng);
    k.count[LIST_STATE] = m->shape.states;
    k.count[LIST_TEMPORARY] = m->list[LIST_TEMPORARY].count;
    k.time = k.calls = true;
    return k;
}

// e / (1 + e^2) - k x
static uint32_t make_gentle(struct maker *k, uint32_t e, uint32_t x) {
    uint32_t square = make_op(k, OP_MUL, e, e);
    uint32_t below = make_op(k, OP_ADD, square, make_number(k, 1));
    uint32_t pull = make_op(k, OP_MUL, x, make_number(k, random_real(k->rng, 0.2, 3)));
    return make_op(k, OP_SUB, make_op(k, OP_DIV, e, below), pull);
}

static void make_rows(struct random_model *m, uint64_t *rng) {
    struct tree_item *states = m->list[LIST_STATE].items;
    uint32_t array = NO_TREE, last = m->array_first + m->array_count;
    for (uint32_t i = 0; i < m->shape.states; i++) {
        struct maker k = maker_of_rows(m, rng);
        bool in_array = m->array_count && i > m->array_first && i <= last;
        if (in_array && array != NO_TREE) {
            states[i].tree = array;
            continue;
        }
        k.element = in_array;
        uint32_t e = make_sized(&k);
        if (m->shape.gentle)
            e = make_gentle(&k, e,
                            in_array ? make_symbol(&k, TREE_ELEMENT, 1)
                                     : make_symbol(&k, TREE_STATE, i));
        states[i].tree = e;
        array = in_array ? e : NO_TREE;
    }
}

// e / (1 + e^2) - z - z^3/8, with the algebraic states before this one in e.
static void make_algebraic(struct random_model *m, uint64_t *rng) {
    for (uint32_t i = 0; i < m->shape.algebraic; i++) {
        struct maker k = maker_of_rows(m, rng);
        uint32_t number = m->shape.states + i, z = make_symbol(&k, TREE_STATE, number);
        k.count[LIST_STATE] = number;
        uint32_t e = make_sized(&k),
                 below = make_op(&k, OP_ADD, make_op(&k, OP_MUL, e, e), make_number(&k, 1));
        uint32_t cube =
            make_op(&k, OP_DIV, make_op(&k, OP_POW, z, make_number(&k, 3)), make_number(&k, 8));
        uint32_t row = make_op(&k, OP_SUB, make_op(&k, OP_DIV, e, below), z);
        row = make_op(&k, OP_SUB, row, cube);
        m->list[LIST_STATE].items[number].tree = row;
    }
}

static void make_starts(struct random_model *m, uint64_t *rng) {
    for (uint32_t i = 0; i < m->shape.states; i++) {
        if (random_below(rng, m->shape.states < 20 ? 4 : 40))
            continue;
        struct maker k = maker_of(m, rng);
        k.time = k.calls = true;
        k.budget = 1 + random_below(rng, 6);
        uint32_t t = make(&k);
        m->list[LIST_STATE].items[i].start = t;
    }
}

static void make_observables(struct random_model *m, uint64_t *rng) {
    for (uint32_t i = 0, n = 1 + random_below(rng, 4); i < n; i++) {
        struct maker k = maker_of_rows(m, rng);
        k.count[LIST_STATE] = m->list[LIST_STATE].count;
        uint32_t t = make_sized(&k);
        struct tree_item *o = add_item(&m->list[LIST_OBSERVABLE]);
        name_item(m, rng, o, "o", i);
        o->tree = t;
    }
}

struct random_model *random_model_new(uint64_t seed, struct random_shape shape) {
    struct random_model *m = calloc(1, sizeof *m);
    REQUIRE(m && shape.states);
    uint64_t state = seed, *rng = &state;
    m->shape = shape;
    make_values(m, rng);
    make_functions(m, rng);
    name_states(m, rng);
    for (uint32_t i = 0; i < shape.temporaries; i++) {
        struct maker k = maker_of_rows(m, rng);
        uint32_t t = make_sized(&k);
        struct tree_item *w = add_item(&m->list[LIST_TEMPORARY]);
        name_item(m, rng, w, "w", i);
        w->tree = t;
    }
    make_rows(m, rng);
    make_algebraic(m, rng);
    make_starts(m, rng);
    make_observables(m, rng);
    m->seed = random_bits(rng);
    return m;
}

static void *copy_of(const void *from, size_t bytes) {
    void *to = malloc(bytes + 1);
    REQUIRE(to);
    return bytes ? memcpy(to, from, bytes) : to;
}

struct random_model *random_model_copy(const struct random_model *m) {
    struct random_model *c = copy_of(m, sizeof *m);
    c->trees = copy_of(m->trees, m->tree_count * sizeof *m->trees);
    c->tree_room = m->tree_count;
    for (int i = 0; i < LISTS; i++) {
        c->list[i].items = copy_of(m->list[i].items, m->list[i].count * sizeof *m->list[i].items);
        c->list[i].room = m->list[i].count;
    }
    return c;
}

void random_model_free(struct random_model *m) {
    for (int i = 0; m && i < LISTS; i++)
        free(m->list[i].items);
    if (m)
        free(m->trees);
    free(m);
}

void random_model_rename(struct random_model *m) {
    for (int i = 0; i < LISTS; i++)
        for (uint32_t k = 0; k < m->list[i].count; k++) {
            struct tree_item *item = &m->list[i].items[k];
            snprintf(item->name, sizeof item->name, "q%c%u", "abcdefg"[i], k);
            for (uint32_t a = 0; a < item->args; a++)
                snprintf(item->arg[a], sizeof item->arg[a], "arg%u", a);
        }
    snprintf(m->array_name, sizeof m->array_name, "element");
    for (uint32_t i = 0; m->array_count && i < m->array_count + 2; i++) {
        struct tree_item *item = &m->list[LIST_STATE].items[m->array_first + i];
        snprintf(item->name, sizeof item->name, "%s%u", m->array_name, i);
    }
}

uint32_t random_model_states(const struct random_model *m) { return m->list[LIST_STATE].count; }
uint32_t random_model_parameters(const struct random_model *m) {
    return m->list[LIST_PARAMETER].count;
}
uint32_t random_model_observables(const struct random_model *m) {
    return m->list[LIST_OBSERVABLE].count;
}
const char *random_model_state(const struct random_model *m, uint32_t i) {
    return m->list[LIST_STATE].items[i].name;
}
const char *random_model_parameter(const struct random_model *m, uint32_t i) {
    return m->list[LIST_PARAMETER].items[i].name;
}
const char *random_model_observable(const struct random_model *m, uint32_t i) {
    return m->list[LIST_OBSERVABLE].items[i].name;
}
double random_model_parameter_value(const struct random_model *m, uint32_t i) {
    return m->list[LIST_PARAMETER].items[i].value;
}
bool random_model_starts_by_formula(const struct random_model *m, uint32_t state) {
    return m->list[LIST_STATE].items[state].start != NO_TREE;
}

// ---- Smaller ------------------------------------------------------------------------------------

struct shrinker {
    struct random_model *m;
    bool (*fails)(void *user);
    void *user;
    uint32_t trials;
    bool changed;
};

static bool still_fails(struct shrinker *k) {
    if (!k->trials)
        return false;
    k->trials--;
    return k->fails(k->user);
}

static bool try_tree(struct shrinker *k, uint32_t at, struct tree other) {
    struct tree before = k->m->trees[at];
    k->m->trees[at] = other;
    if (still_fails(k))
        return k->changed = true;
    k->m->trees[at] = before;
    return false;
}

static void shrink_tree(struct shrinker *k, uint32_t at) {
    static const struct tree one = {.op = OP_NUMBER, .value = 1, .form = 3};
    struct tree t = k->m->trees[at];
    if (t.op == OP_NUMBER || !k->trials || try_tree(k, at, one))
        return;
    uint32_t count = tree_operands(k->m, &t);
    for (uint32_t i = 0; i < count && t.op != TREE_SUM; i++)
        if (try_tree(k, at, k->m->trees[t.operand[i]])) {
            shrink_tree(k, at);
            return;
        }
    for (uint32_t i = 0; i < count; i++)
        shrink_tree(k, t.operand[i]);
}

static void shrink_item(struct shrinker *k, struct tree_item *item, bool optional) {
    if (item->gone)
        return;
    item->gone = optional;
    if (optional && still_fails(k)) {
        k->changed = true;
        return;
    }
    item->gone = false;
    double value = item->value;
    item->value = 0;
    if (value != 0 && !still_fails(k))
        item->value = value;
    if (item->start != NO_TREE) {
        uint32_t start = item->start;
        item->start = NO_TREE;
        if (!still_fails(k)) {
            item->start = start;
            shrink_tree(k, start);
        }
    }
    if (item->tree != NO_TREE)
        shrink_tree(k, item->tree);
}

// All expressions of the model, wherever they stand.
static uint32_t all_trees(struct random_model *m, uint32_t **where) {
    uint32_t count = 0;
    for (int i = 0; i < LISTS; i++)
        for (uint32_t k = 0; k < m->list[i].count; k++) {
            struct tree_item *item = &m->list[i].items[k];
            if (item->tree != NO_TREE)
                where[count++] = &item->tree;
        }
    return count;
}

// Replaces so many neighbours at a time by a number; fewer and fewer.
static void shrink_together(struct shrinker *k) {
    uint32_t room = 1, one = add_tree(k->m, (struct tree){.op = OP_NUMBER, .value = 1, .form = 3});
    for (int i = 0; i < LISTS; i++)
        room += k->m->list[i].count;
    uint32_t **where = calloc(room, sizeof *where), *before = calloc(room, sizeof *before);
    REQUIRE(where && before);
    uint32_t count = all_trees(k->m, where);
    for (uint32_t size = count / 2; size; size /= 2)
        for (uint32_t first = 0; first < count; first += size) {
            uint32_t end = first + size < count ? first + size : count;
            for (uint32_t i = first; i < end; i++)
                before[i] = *where[i], *where[i] = one;
            bool fails = still_fails(k);
            for (uint32_t i = first; i < end && !fails; i++)
                *where[i] = before[i];
        }
    free(where);
    free(before);
}

void random_model_shrink(struct random_model *m, bool (*fails)(void *user), void *user,
                         uint32_t trials) {
    static const uint8_t order[] = {LIST_OBSERVABLE, LIST_STATE,   LIST_TEMPORARY,
                                    LIST_FUNCTION,   LIST_DERIVED, LIST_CONSTANT};
    struct shrinker k = {m, fails, user, trials, true};
    shrink_together(&k);
    while (k.changed && k.trials) {
        k.changed = false;
        for (size_t i = 0; i < sizeof order; i++)
            for (uint32_t n = m->list[order[i]].count; n-- > 0;)
                shrink_item(&k, &m->list[order[i]].items[n],
                            order[i] != LIST_STATE && order[i] != LIST_OBSERVABLE);
    }
}
