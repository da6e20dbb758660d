// SPDX-License-Identifier: MIT
// The factorisation of I - h gamma J and the solution with it, as straight statements or as tables.
// An algebraic row of the matrix is that of -J.
//
// Both do the same operations in the same order, so they give the same bits. Statements are faster
// and grow with the work; tables grow with the entries, and kernels/ros_lu.h loops over them.
#include "codegen/codegen.h"

uint64_t codegen_factor_length(const struct lu *l) { return l->factor + 2 * (uint64_t)l->entries; }
uint64_t codegen_solve_length(const struct lu *l) { return l->solve + 2 * (uint64_t)l->size; }

static const char *linkage(uint64_t length, uint32_t inline_length) {
    return length > inline_length ? "NOINLINE" : "INLINE";
}

// The row as it is in the matrix, in variables.
static void put_row(struct buf *out, const struct lu *l, uint32_t k) {
    bool algebraic = l->algebraic && l->algebraic[l->state[k]];
    for (uint32_t e = l->row_start[k]; e < l->row_start[k + 1]; e++)
        if (l->fill[e])
            buf_printf(out, "    real w%u = R(0);\n", e);
        else if (algebraic)
            buf_printf(out, "    real w%u = R(-1) * m[%u];\n", e, e);
        else if (e == l->diagonal[k])
            buf_printf(out, "    real w%u = r_fma(scale, m[%u], R(1));\n", e, e);
        else
            buf_printf(out, "    real w%u = scale * m[%u];\n", e, e);
}

// Takes the rows above away from row k.
static void put_elimination(struct buf *out, const struct lu *l, uint32_t k) {
    for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++) {
        uint32_t j = l->column[e], at = e;
        buf_printf(out, "    w%u = w%u * m[%u];\n", e, e, l->diagonal[j]);
        for (uint32_t u = l->diagonal[j] + 1; u < l->row_start[j + 1]; u++) {
            while (l->column[at] != l->column[u])
                at++;
            buf_printf(out, "    w%u = r_fnma(w%u, m[%u], w%u);\n", at, e, u, at);
        }
    }
}

static void put_factor(struct buf *out, const struct lu *l, uint32_t inline_length) {
    buf_printf(out, "%s real linear_factor(real scale, SPACE real *m, SPACE real *w) {\n",
               linkage(codegen_factor_length(l), inline_length));
    buf_puts(out, "    real least = R(LARGEST_SCALE);\n");
    for (uint32_t k = 0; k < l->size; k++) {
        put_row(out, l, k);
        put_elimination(out, l, k);
        uint32_t d = l->diagonal[k];
        buf_printf(out, "    least = r_min(r_abs(w%u), least);\n    w%u = R(1) / w%u;\n", d, d, d);
        for (uint32_t e = l->row_start[k]; e < l->row_start[k + 1]; e++)
            buf_printf(out, "    m[%u] = w%u;\n", e, e);
    }
    buf_puts(out, "    return least;\n}\n");
}

static void put_solve(struct buf *out, const struct lu *l, uint32_t inline_length) {
    buf_printf(out, "%s void linear_solve(const SPACE real *m, SPACE real *w, SPACE real *x) {\n",
               linkage(codegen_solve_length(l), inline_length));
    for (uint32_t k = 0; k < l->size; k++) {
        buf_printf(out, "    real x%u = x[%u];\n", k, l->state[k]);
        for (uint32_t e = l->row_start[k]; e < l->diagonal[k]; e++)
            buf_printf(out, "    x%u = r_fnma(m[%u], x%u, x%u);\n", k, e, l->column[e], k);
    }
    for (uint32_t k = l->size; k-- > 0;) {
        for (uint32_t e = l->diagonal[k] + 1; e < l->row_start[k + 1]; e++)
            buf_printf(out, "    x%u = r_fnma(m[%u], x%u, x%u);\n", k, e, l->column[e], k);
        buf_printf(out, "    x%u = x%u * m[%u];\n    x[%u] = x%u;\n", k, k, l->diagonal[k],
                   l->state[k], k);
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

void codegen_factors(struct buf *out, const struct linear *l, uint32_t inline_length) {
    if (l->lu.algebraic)
        put_algebraic(out, &l->lu);
    if (!l->loops) {
        put_factor(out, &l->lu, inline_length);
        put_solve(out, &l->lu, inline_length);
        return;
    }
    bool narrow = l->lu.entries <= UINT16_MAX;
    buf_printf(out, "typedef %s lu_index;\n", narrow ? "unsigned short" : "unsigned int");
    put_table(out, "lu_row", l->lu.row_start, l->lu.size + 1);
    put_table(out, "lu_column", l->lu.column, l->lu.entries);
    put_table(out, "lu_diagonal", l->lu.diagonal, l->lu.size);
    put_table(out, "lu_state", l->lu.state, l->lu.size);
}
