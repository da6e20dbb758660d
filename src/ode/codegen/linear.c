// SPDX-License-Identifier: MIT
// The factorisation of I - h gamma J and the solution with it, as straight statements or as tables.
// An algebraic row of the matrix is that of -J.
//
// Both do the same operations in the same order, so they give the same bits. Statements are faster
// and grow with the work; tables grow with the entries, and kernels/ode/lu.h loops over them.
#include "ode/codegen/codegen.h"

uint64_t codegen_factor_length(const struct lu *l) { return l->factor + 2 * (uint64_t)l->entries; }
uint64_t codegen_solve_length(const struct lu *l) { return l->solve + 2 * (uint64_t)l->size; }

static const char *linkage(uint64_t length, uint32_t inline_length) {
    return length > inline_length ? "NOINLINE" : "INLINE";
}

// What the entries of the factors are: `real` and r_mul, or `cplx` and c_mul.
struct numbers {
    const char *type, *name;
    char prefix;
};
static const struct numbers reals = {"real", "linear", 'r'}, complexes = {"cplx", "complex", 'c'};

// The row as it is in the matrix, in variables.
static void put_row(struct buf *out, const struct lu *l, const struct numbers *n, uint32_t k) {
    bool algebraic = l->algebraic && l->algebraic[l->state[k]];
    for (uint32_t e = l->row_start[k]; e < l->row_start[k + 1]; e++)
        if (l->fill[e])
            buf_printf(out, "    %s w%u = %s;\n", n->type, e,
                       n == &reals ? "R(0)" : "c_of(R(0), R(0))");
        else if (algebraic)
            buf_printf(out, "    %s w%u = %c_minus(jac[%u]);\n", n->type, e, n->prefix, e);
        else
            buf_printf(out, "    %s w%u = %c_scale%s(scale, jac[%u]);\n", n->type, e, n->prefix,
                       e == l->diagonal[k] ? "_one" : "", e);
}

// Takes the rows above away from row k.
static void put_elimination(struct buf *out, const struct lu *l, const struct numbers *n,
                            uint32_t k) {
    for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++) {
        uint32_t j = l->column[e], at = e;
        buf_printf(out, "    w%u = %c_mul(w%u, m[%u]);\n", e, n->prefix, e, l->diagonal[j]);
        for (uint32_t u = l->diagonal[j] + 1; u < l->row_start[j + 1]; u++) {
            while (l->column[at] != l->column[u])
                at++;
            buf_printf(out, "    w%u = %c_fnma(w%u, m[%u], w%u);\n", at, n->prefix, e, u, at);
        }
    }
}

enum { FENCE_EVERY = 8 }; // pivots

static void put_factor(struct buf *out, const struct linear *of, const struct numbers *n,
                       uint32_t inline_length) {
    const struct lu *l = &of->lu;
    buf_printf(
        out, "%s real %s_factor(%s scale, const SPACE real *jac, SPACE %s *m, SPACE %s *w) {\n",
        linkage(codegen_factor_length(l), inline_length), n->name, n->type, n->type, n->type);
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
            buf_printf(out, "    m[%u] = w%u;\n", e, e);
        if (of->fenced && k % FENCE_EVERY == FENCE_EVERY - 1 && k + 1 < l->size)
            buf_puts(out, "    FENCE(FENCE_PIVOTS)\n");
    }
    buf_puts(out, "    return r_fma(sound, R(0), least);\n}\n");
}

static void put_solve(struct buf *out, const struct lu *l, const struct numbers *n,
                      uint32_t inline_length) {
    buf_printf(out, "%s void %s_solve(const SPACE %s *m, SPACE %s *w, SPACE %s *x) {\n",
               linkage(codegen_solve_length(l), inline_length), n->name, n->type, n->type, n->type);
    for (uint32_t k = 0; k < l->size; k++) {
        buf_printf(out, "    %s x%u = x[%u];\n", n->type, k, l->state[k]);
        for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++)
            buf_printf(out, "    x%u = %c_fnma(m[%u], x%u, x%u);\n", k, n->prefix, e, l->column[e],
                       k);
    }
    for (uint32_t k = l->size; k-- > 0;) {
        for (uint32_t e = l->diagonal[k] + 1; e < l->row_start[k + 1]; e++)
            buf_printf(out, "    x%u = %c_fnma(m[%u], x%u, x%u);\n", k, n->prefix, e, l->column[e],
                       k);
        buf_printf(out, "    x%u = %c_mul(x%u, m[%u]);\n    x[%u] = x%u;\n", k, n->prefix, k,
                   l->diagonal[k], l->state[k], k);
    }
    buf_puts(out, "}\n");
}

static void put_table(struct buf *out, const char *name, const uint32_t *values, uint32_t count) {
    buf_printf(out, "CONSTANT lu_index %s[%u] = {", name, count);
    for (uint32_t i = 0; i < count; i++)
        buf_printf(out, "%s%u", i == 0 ? "" : i % 24 ? "," : ",\n    ", values[i]);
    buf_puts(out, "};\n");
}

static void put_algebraic(struct buf *out, const struct lu *l) {
    buf_printf(out, "CONSTANT int row_algebraic[%u] = {", l->size);
    for (uint32_t i = 0; i < l->size; i++)
        buf_printf(out, "%s%d", i == 0 ? "" : i % 24 ? "," : ",\n    ", l->algebraic[i]);
    buf_puts(out, "};\n");
}

static void put_tables(struct buf *out, const struct lu *l) {
    put_table(out, "lu_row", l->row_start, l->size + 1);
    put_table(out, "lu_column", l->column, l->entries);
    put_table(out, "lu_diagonal", l->diagonal, l->size);
    put_table(out, "lu_state", l->state, l->size);
}

static void put_loops(struct buf *out, const struct numbers *n, const char *loops) {
    buf_printf(out, "#define NUMBER %s\n#define NUM(op) %c_##op\n#define LU_NAME(op) %s_##op\n",
               n->type, n->prefix, n->name);
    buf_puts(out, loops);
    buf_puts(out, "#undef NUMBER\n#undef NUM\n#undef LU_NAME\n");
}

void codegen_factors(struct buf *out, const struct linear *l, uint32_t inline_length,
                     const char *loops) {
    bool narrow = l->size <= UINT16_MAX;
    if (l->loops || l->doubts)
        buf_printf(out, "typedef %s lu_index;\n", narrow ? "unsigned short" : "unsigned int");
    if (l->doubts)
        put_table(out, "linear_doubts", l->doubt, l->doubts);
    if (l->lu.algebraic)
        put_algebraic(out, &l->lu);
    if (l->loops)
        put_tables(out, &l->lu);
    for (uint32_t i = 0; i < (l->pairs ? 2 : 1); i++) {
        const struct numbers *n = i ? &complexes : &reals;
        if (l->loops) {
            put_loops(out, n, loops);
        } else {
            put_factor(out, l, n, inline_length);
            put_solve(out, &l->lu, n, inline_length);
        }
    }
}
