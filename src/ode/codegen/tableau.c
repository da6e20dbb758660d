// SPDX-License-Identifier: MIT
// A method's numbers as constants of the kernel.
#include "ode/codegen/codegen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_row(struct buf *out, const double *row, uint32_t count, bool f32) {
    buf_putc(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            buf_puts(out, ", ");
        codegen_number(out, f32 ? (double)(float)row[i] : row[i]);
    }
    buf_putc(out, '}');
}

static void put_vector(struct buf *out, const char *name, const double *row, uint32_t count,
                       bool f32) {
    buf_printf(out, "CONSTANT elem %s[%u] = ", name, count);
    put_row(out, row, count, f32);
    buf_puts(out, ";\n");
}

static void put_number(struct buf *out, const char *name, double x, bool f32) {
    buf_printf(out, "#define %s ", name);
    codegen_number(out, f32 ? (double)(float)x : x);
    buf_putc(out, '\n');
}

static void put_matrix(struct buf *out, const char *name, const double *first, size_t stride,
                       uint32_t rows, uint32_t columns, bool f32) {
    buf_printf(out, "CONSTANT elem %s[%u][%u] = {\n", name, rows, columns);
    for (uint32_t i = 0; i < rows; i++) {
        buf_puts(out, "    ");
        put_row(out, first + i * stride, columns, f32);
        buf_puts(out, ",\n");
    }
    buf_puts(out, "};\n");
}

// The first of a row's weights that is not 0; 1 where all are.
static double first_weight(const double *row, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        if (row[i] != 0)
            return row[i];
    return 1;
}

static void relative_to(double first, double *out, const double *row, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        out[i] = row[i] == 0 ? 0 : row[i] / first;
}

static void relative(double *out, const double *row, uint32_t count) {
    relative_to(first_weight(row, count), out, row, count);
}

// Weights of stages that a state is moved by: relative to the first of a row, which comes apart.
static void put_moves(struct buf *out, const char *name, const double *first, size_t stride,
                      uint32_t rows, uint32_t columns, bool f32) {
    double scaled[METHOD_STAGES][METHOD_ROWS], scale[METHOD_STAGES];
    char label[32];
    for (uint32_t i = 0; i < rows; i++) {
        relative(scaled[i], first + i * stride, columns);
        scale[i] = first_weight(first + i * stride, columns);
    }
    put_matrix(out, name, scaled[0], METHOD_ROWS, rows, columns, f32);
    snprintf(label, sizeof label, "%s_first", name);
    put_vector(out, label, scale, rows, f32);
}

// The last stage that evaluates at a place of its own, if later ones or the solution go on from
// there; else the number of stages.
static uint32_t kept_stage(const struct method *m) {
    uint32_t last = m->stages;
    bool goes_on = method_stiffly_accurate(m);
    for (uint32_t i = m->stages; i-- > 0 && last == m->stages;) {
        goes_on |= method_place(m, i) == STAGE_NEXT;
        last = method_place(m, i) == STAGE_NEW ? i : last;
    }
    return goes_on ? last : m->stages;
}

// What a Rosenbrock method has besides: its couplings and weights of df/dt times gamma, and where
// its stages evaluate.
static void put_rosenbrock(struct buf *out, const struct method *m, bool f32) {
    double coupling[METHOD_STAGES][METHOD_STAGES - 1], d[METHOD_STAGES];
    for (uint32_t i = 0; i < m->stages; i++) {
        d[i] = m->gamma * m->d[i];
        for (uint32_t j = 0; j < METHOD_STAGES - 1; j++)
            coupling[i][j] = m->gamma * m->coupling[i][j];
    }
    put_matrix(out, "ros_c", coupling[0], METHOD_STAGES - 1, m->stages, m->stages - 1, f32);
    put_vector(out, "ros_d", d, m->stages, f32);
    put_vector(out, "ros_residue", m->residue, m->stages, f32);
    buf_printf(out, "CONSTANT int ros_place[%u] = {", m->stages);
    for (uint32_t i = 0; i < m->stages; i++)
        buf_printf(out, "%s%d", i ? ", " : "", (int)method_place(m, i));
    buf_printf(out, "};\n#define ROS_KEPT %u\n", kept_stage(m));
}

static void put_dirk(struct buf *out, const struct method *m, bool f32) {
    double predict[METHOD_STAGES][METHOD_STAGES - 1] = {{0}};
    for (uint32_t i = 1; i < m->stages; i++)
        method_predict(m, i, predict[i]);
    put_matrix(out, "dirk_predict", predict[0], METHOD_STAGES - 1, m->stages,
               m->stages > 1 ? m->stages - 1 : 1, f32);
}

static void put_collocation(struct buf *out, const struct method *m, bool f32) {
    double start[METHOD_NODES] = {0}, sigma[METHOD_NODES][2] = {{0}}; // 1 over mu
    for (uint32_t i = 0; i < m->stages; i++)
        for (uint32_t j = 0; j < m->stages; j++)
            start[i] += m->ti[i][j];
    for (uint32_t i = 0; i < (m->stages + 1) / 2; i++) {
        double square = m->mu[i][0] * m->mu[i][0] + m->mu[i][1] * m->mu[i][1];
        sigma[i][0] = m->mu[i][0] / square;
        sigma[i][1] = m->mu[i][1] / square;
    }
    put_matrix(out, "col_t", m->t[0], METHOD_NODES, m->stages, m->stages, f32);
    put_matrix(out, "col_ti", m->ti[0], METHOD_NODES, m->stages, m->stages, f32);
    put_matrix(out, "col_mu", m->mu[0], 2, (m->stages + 1) / 2, 2, f32);
    put_matrix(out, "col_sigma", sigma[0], 2, (m->stages + 1) / 2, 2, f32);
    put_vector(out, "col_start", start, m->stages, f32);
}

static void put_solution(struct buf *out, const struct method *m, bool f32) {
    double b[METHOD_STAGES], first = first_weight(m->b, m->stages);
    relative(b, m->b, m->stages);
    put_vector(out, "rk_b", b, m->stages, f32);
    put_number(out, "rk_b_first", first, f32);
}

double codegen_error_unit(const struct method *m) {
    return m->scheme == EXPLICIT ? first_weight(m->e, m->stages) : 1;
}

static void put_errors(struct buf *out, const struct method *m, bool f32) {
    double unit = codegen_error_unit(m), e[METHOD_STAGES], e2[METHOD_STAGES];
    relative_to(unit, e, m->e, m->stages);
    relative_to(unit, e2, m->e2, m->stages);
    put_vector(out, "rk_e", e, m->stages, f32);
    put_vector(out, "rk_e2", e2, m->stages, f32);
}

// The interpolant and its slope at the place where it is compared with f, as weights of stages.
static void put_inside(struct buf *out, const struct method *m, bool f32) {
    double value[METHOD_STAGES], slope[METHOD_STAGES];
    for (uint32_t q = 0; q < m->stages; q++) {
        double power = 1;
        value[q] = slope[q] = 0;
        for (uint32_t d = 0; d < m->degree; d++) {
            slope[q] += (d + 1) * m->p[q][d] * power;
            power *= m->inside;
            value[q] += m->p[q][d] * power;
        }
    }
    put_vector(out, "rk_inside", value, m->stages, f32);
    put_vector(out, "rk_inside_slope", slope, m->stages, f32);
}

void codegen_tableau(struct buf *out, const struct method *m, bool dense, bool inside, bool f32) {
    uint32_t wide = m->stages > 1 ? m->stages - 1 : 1;
    if (m->scheme != COLLOCATION) // there it is t D ti
        put_moves(out, "rk_a", m->a[0], METHOD_STAGES - 1, m->stages, wide, f32);
    put_solution(out, m, f32);
    put_vector(out, "rk_c", m->c, m->stages, f32);
    if (m->scheme == ROSENBROCK)
        put_rosenbrock(out, m, f32);
    if (m->scheme == DIRK)
        put_dirk(out, m, f32);
    if (m->scheme == COLLOCATION)
        put_collocation(out, m, f32);
    if (m->embedded)
        put_errors(out, m, f32);
    if (dense && m->extra) {
        put_vector(out, "rk_extra_c", m->extra_c, m->extra, f32);
        put_moves(out, "rk_extra_a", m->extra_a[0], METHOD_ROWS, m->extra, m->stages + m->extra - 1,
                  f32);
    }
    if (inside)
        put_inside(out, m, f32);
    if (dense && m->degree)
        put_matrix(out, "rk_p", m->p[0], METHOD_DEGREE, m->stages + m->extra, m->degree, f32);
}

// The last two stages must be at the end of the step. Where stability holds it down, h times the
// eigenvalue is within a percent of the limit at tolerances from 1e-3 to 1e-6, and swings about it
// by more at others; what accuracy holds down is below two thirds of it.
void codegen_stiff(struct buf *out, const struct method *m, bool f32) {
    double apart[METHOD_STAGES], limit = 0.9 * method_stability(m);
    method_apart(m, apart);
    put_vector(out, "stiff_apart", apart, m->stages, f32);
    put_number(out, "STIFF_LIMIT2", limit * limit, f32);
}

// ---- Followers ----------------------------------------------------------------------------------

// The product of a row and the tableau's matrix. Methods have sums in it that are 0, which rounding
// leaves something of.
static void through_stages(const struct method *m, const double *row, double *out) {
    for (uint32_t l = 0; l < m->stages; l++) {
        double sum = 0, size = 0;
        for (uint32_t i = l + 1; i < m->stages; i++) {
            sum += row[i] * m->a[i][l];
            size += fabs(row[i] * m->a[i][l]);
        }
        out[l] = fabs(sum) < 1e-13 * size ? 0 : sum;
    }
}

static void put_follow(struct buf *out, const char *name, const struct method *m,
                       const double *weights, double unit, bool f32) {
    double product[METHOD_STAGES];
    char label[32];
    through_stages(m, weights, product);
    relative_to(unit, product, product, m->stages);
    snprintf(label, sizeof label, "%s_follow", name);
    put_vector(out, label, product, m->stages, f32);
}

static void stage_through_stages(const struct method *m, uint32_t i, double *out) {
    double row[METHOD_STAGES] = {0};
    for (uint32_t j = 0; j < i; j++)
        row[j] = m->a[i][j];
    through_stages(m, row, out);
}

void codegen_follow(struct buf *out, const struct method *m, bool stiff, bool f32) {
    double unit = codegen_error_unit(m), apart[METHOD_STAGES], product[METHOD_STAGES],
           rows[METHOD_STAGES][METHOD_STAGES];
    for (uint32_t i = 0; i < m->stages; i++)
        stage_through_stages(m, i, rows[i]);
    put_moves(out, "rk_aa", rows[0], METHOD_STAGES, m->stages, m->stages, f32);
    through_stages(m, m->b, product);
    put_number(out, "rk_ba_first", first_weight(product, m->stages), f32);
    relative(product, product, m->stages);
    put_vector(out, "rk_ba", product, m->stages, f32);
    if (m->embedded) {
        put_follow(out, "rk_e", m, m->e, unit, f32);
        put_follow(out, "rk_e2", m, m->e2, unit, f32);
    }
    method_apart(m, apart);
    if (stiff)
        put_follow(out, "stiff_apart", m, apart, 1, f32);
}

// ---- Lengths ------------------------------------------------------------------------------------

static double scaled(double h, double weight, bool f32) {
    return f32 ? (double)((float)h * (float)weight) : h * weight;
}

// At the places that kernels/ode/rk.h looks for them, behind dt.
uint32_t codegen_lengths(const struct method *m, double h, bool f32, double *out) {
    uint32_t wide = m->stages > 1 ? m->stages - 1 : 1, count = 0;
    double product[METHOD_STAGES], square = scaled(h, h, f32);
    for (uint32_t i = 0; i < m->stages; i++)
        out[count++] = scaled(h, first_weight(m->a[i], wide), f32);
    out[count++] = scaled(h, first_weight(m->b, m->stages), f32);
    for (uint32_t i = 0; i < m->stages; i++)
        out[count++] = scaled(h, m->c[i], f32);
    for (uint32_t i = 0; i < m->stages; i++) {
        stage_through_stages(m, i, product);
        out[count++] = scaled(square, first_weight(product, m->stages), f32);
    }
    through_stages(m, m->b, product);
    out[count++] = scaled(h, first_weight(product, m->stages), f32);
    return count;
}
