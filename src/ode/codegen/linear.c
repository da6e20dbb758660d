// SPDX-License-Identifier: MIT
// The factorisation of I - h gamma J and the solution with it, as straight statements or as tables.
// An algebraic row of the matrix is that of -J.
//
// Both do the same operations in the same order, so they give the same bits. Statements are faster
// and grow with the work; tables grow with the entries, and kernels/ode/lu.h loops over them. The
// matrices of collocation methods, real and complex ones, are 1 / (h mu) - J: kernels/ode/
// lu_shifted.h says how these are factored.
#include "ode/codegen/codegen.h"

#include <stdio.h>

uint64_t codegen_factor_length(const struct lu *l) { return l->factor + 2 * (uint64_t)l->entries; }
uint64_t codegen_solve_length(const struct lu *l) { return l->solve + 2 * (uint64_t)l->size; }

static const char *linkage(uint64_t length, uint32_t inline_length) {
    return length > inline_length ? "NOINLINE" : "INLINE";
}

// What the entries of the factors are: `real` and r_mul, or `cplx` and c_mul.
struct numbers {
    const char *type, *name;
    char prefix;
    bool shifted, apart; // the factors are not in the place of the Jacobian
};
static const struct numbers unshifted = {"real", "linear", 'r', false, false},
                            reals = {"real", "shifted", 'r', true, false},
                            complexes = {"cplx", "complex", 'c', true, true};

static uint32_t place_of(const struct lu *l, const struct numbers *n, uint32_t e) {
    return n->apart ? l->place[e] : e;
}

static bool is_kept(const struct lu *l, const struct numbers *n, uint32_t e) {
    return !n->shifted || l->place[e] != LU_NOWHERE;
}

// The row as it is in the matrix, in variables.
static void put_row(struct buf *out, const struct lu *l, const struct numbers *n, uint32_t k) {
    bool algebraic = l->algebraic && l->algebraic[l->state[k]];
    for (uint32_t e = l->row_start[k]; e < l->row_start[k + 1]; e++) {
        if (!is_kept(l, n, e))
            continue;
        buf_printf(out, "    %s w%u = ", n->type, e);
        if (l->fill[e])
            buf_printf(out, n->shifted ? "%c_minus(R(0))" : "R(0)", n->prefix);
        else if (algebraic || (n->shifted && e != l->diagonal[k]))
            buf_printf(out, "%c_minus(jac[%u])", n->prefix, e);
        else if (n->shifted)
            buf_printf(out, "%c_less(sigma, jac[%u])", n->prefix, e);
        else
            buf_printf(out, "%c_scale%s(scale, jac[%u])", n->prefix,
                       e == l->diagonal[k] ? "_one" : "", e);
        buf_puts(out, ";\n");
    }
}

// `factor` is what a row is taken away with: of L, or shifted, of L D^-1.
static void put_elimination(struct buf *out, const struct lu *l, const struct numbers *n,
                            uint32_t k) {
    for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++) {
        uint32_t j = l->column[e], at = e, pivot = place_of(l, n, l->diagonal[j]);
        char factor = n->shifted ? 'f' : 'w';
        if (!n->shifted)
            buf_printf(out, "    w%u = %c_mul(w%u, m[%u]);\n", e, n->prefix, e, pivot);
        else if (is_kept(l, n, e))
            buf_printf(out, "    %s f%u = %c_mul(w%u, m[%u]);\n", n->type, e, n->prefix, e, pivot);
        else
            buf_printf(out, "    %s f%u = %c_scale(m[%u], -jac[%u]);\n", n->type, e, n->prefix,
                       pivot, e);
        for (uint32_t u = l->diagonal[j] + 1; u < l->row_start[j + 1]; u++) {
            while (l->column[at] != l->column[u])
                at++;
            if (is_kept(l, n, u))
                buf_printf(out, "    w%u = %c_fnma(%c%u, m[%u], w%u);\n", at, n->prefix, factor, e,
                           place_of(l, n, u), at);
            else
                buf_printf(out, "    w%u = %c_on(%c%u, jac[%u], w%u);\n", at, n->prefix, factor, e,
                           u, at);
        }
    }
}

enum { FENCE_EVERY = 8 }; // pivots

static void put_factor(struct buf *out, const struct linear *of, const struct numbers *n,
                       uint32_t inline_length) {
    const struct lu *l = &of->lu;
    buf_printf(out, "%s real %s_factor(%s %s, const SPACE real *jac, SPACE %s *m, SPACE %s *w) {\n",
               linkage(codegen_factor_length(l), inline_length), n->name, n->type,
               n->shifted ? "sigma" : "scale", n->type, n->type);
    buf_puts(out, "    real size, least = R(LARGEST_SCALE), sound = R(0);\n");
    for (uint32_t k = 0; k < l->size; k++) {
        put_row(out, l, n, k);
        put_elimination(out, l, n, k);
        uint32_t d = l->diagonal[k];
        buf_printf(
            out,
            "    size = %c_magnitude(w%u);\n    least = r_min(size, least);\n"
            "    sound = r_fma(size, R(PIVOT_OVERFLOWS), sound);\n    w%u = %c_inverse(w%u);\n",
            n->prefix, d, d, n->prefix, d);
        for (uint32_t e = l->row_start[k]; e < l->row_start[k + 1]; e++)
            if (is_kept(l, n, e))
                buf_printf(out, "    m[%u] = w%u;\n", place_of(l, n, e), e);
        if (of->fenced && k % FENCE_EVERY == FENCE_EVERY - 1 && k + 1 < l->size)
            buf_puts(out, "    FENCE(FENCE_PIVOTS)\n");
    }
    buf_puts(out, "    return r_fma(sound, R(0), least);\n}\n");
}

// Takes entry e times its column's unknown from a variable.
static void put_product(struct buf *out, const struct lu *l, const struct numbers *n, uint32_t e,
                        const char *name) {
    if (is_kept(l, n, e))
        buf_printf(out, "    %s = %c_fnma(m[%u], x%u, %s);\n", name, n->prefix, place_of(l, n, e),
                   l->column[e], name);
    else
        buf_printf(out, "    %s = %c_on(x%u, jac[%u], %s);\n", name, n->prefix, l->column[e], e,
                   name);
}

// The second half of row k's solution.
static void put_back(struct buf *out, const struct lu *l, const struct numbers *n, uint32_t k) {
    uint32_t d = l->diagonal[k], end = l->row_start[k + 1];
    char name[24];
    snprintf(name, sizeof name, "%c%u", n->shifted ? 's' : 'x', k);
    if (n->shifted && d + 1 < end)
        buf_printf(out, "    %s %s = %c_zero;\n", n->type, name, n->prefix);
    for (uint32_t e = d + 1; e < end; e++)
        put_product(out, l, n, e, name);
    if (!n->shifted)
        buf_printf(out, "    x%u = %c_mul(x%u, m[%u]);\n", k, n->prefix, k, d);
    else if (d + 1 < end)
        buf_printf(out, "    x%u = %c_fma(m[%u], %s, x%u);\n", k, n->prefix, place_of(l, n, d),
                   name, k);
    buf_printf(out, "    x[%u] = x%u;\n", l->state[k], k);
}

static void put_solve(struct buf *out, const struct lu *l, const struct numbers *n,
                      uint32_t inline_length) {
    char name[24];
    buf_printf(out, "%s void %s_solve(%sconst SPACE %s *m, SPACE %s *w, SPACE %s *x) {\n",
               linkage(codegen_solve_length(l), inline_length), n->name,
               n->shifted ? "const SPACE real *jac, " : "", n->type, n->type, n->type);
    for (uint32_t k = 0; k < l->size; k++) {
        buf_printf(out, "    %s x%u = x[%u];\n", n->type, k, l->state[k]);
        snprintf(name, sizeof name, "x%u", k);
        for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++)
            put_product(out, l, n, e, name);
        if (n->shifted)
            buf_printf(out, "    x%u = %c_mul(x%u, m[%u]);\n", k, n->prefix, k,
                       place_of(l, n, l->diagonal[k]));
    }
    for (uint32_t k = l->size; k-- > 0;)
        put_back(out, l, n, k);
    buf_puts(out, "}\n");
}

static void put_table(struct buf *out, const char *name, const uint32_t *values, uint32_t count) {
    buf_printf(out, "CONSTANT lu_index %s[%u] = {", name, count);
    for (uint32_t i = 0; i < count; i++) {
        buf_puts(out, i == 0 ? "" : i % 24 ? "," : ",\n    ");
        if (values[i] == LU_NOWHERE)
            buf_puts(out, "LU_NOWHERE");
        else
            buf_printf(out, "%u", values[i]);
    }
    buf_puts(out, "};\n");
}

static void put_algebraic(struct buf *out, const struct lu *l) {
    buf_printf(out, "CONSTANT int row_algebraic[%u] = {", l->size);
    for (uint32_t i = 0; i < l->size; i++)
        buf_printf(out, "%s%d", i == 0 ? "" : i % 24 ? "," : ",\n    ", l->algebraic[i]);
    buf_puts(out, "};\n");
}

// A collocation method needs the other matrix where consistent algebraic states are to be found.
static bool is_used(const struct linear *l, const struct numbers *n) {
    if (!l->shifted || !n->shifted)
        return !n->shifted && (!l->shifted || l->lu.algebraic);
    return !n->apart || l->pairs;
}

static void put_tables(struct buf *out, const struct linear *of) {
    const struct lu *l = &of->lu;
    put_table(out, "lu_row", l->row_start, l->size + 1);
    put_table(out, "lu_column", l->column, l->entries);
    put_table(out, "lu_diagonal", l->diagonal, l->size);
    put_table(out, "lu_state", l->state, l->size);
    if (of->shifted) {
        buf_puts(out, "#define LU_NOWHERE ((lu_index)~0u)\n");
        put_table(out, "lu_place", l->place, l->entries);
    }
}

static void put_loops(struct buf *out, const struct numbers *n, const char *loops) {
    buf_printf(out, "#define NUMBER %s\n#define NUM(op) %c_##op\n#define LU_NAME(op) %s_##op\n",
               n->type, n->prefix, n->name);
    if (n->shifted)
        buf_printf(out, "#define SHIFTED_AT(e) %s\n", n->apart ? "lu_place[e]" : "(e)");
    buf_puts(out, loops);
    buf_printf(out, "#undef NUMBER\n#undef NUM\n#undef LU_NAME\n%s",
               n->shifted ? "#undef SHIFTED_AT\n" : "");
}

void codegen_factors(struct buf *out, const struct linear *l, uint32_t inline_length,
                     const char *loops, const char *shifted_loops) {
    static const struct numbers *const kinds[] = {&unshifted, &reals, &complexes};
    bool narrow = l->size <= UINT16_MAX;
    if (l->loops || l->doubts)
        buf_printf(out, "typedef %s lu_index;\n", narrow ? "unsigned short" : "unsigned int");
    if (l->doubts)
        put_table(out, "linear_doubts", l->doubt, l->doubts);
    if (l->lu.algebraic)
        put_algebraic(out, &l->lu);
    if (l->loops)
        put_tables(out, l);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct numbers *n = kinds[i];
        if (!is_used(l, n))
            continue;
        if (l->loops) {
            put_loops(out, n, n->shifted ? shifted_loops : loops);
        } else {
            put_factor(out, l, n, inline_length);
            put_solve(out, &l->lu, n, inline_length);
        }
    }
}
