// SPDX-License-Identifier: MIT
// Here sigma - J is factored, sigma being 1 / (h mu) of a collocation method, and equations are
// solved with it, by loops over index tables. An algebraic row of the matrix is the one of -J.
//
// Rows keep their pivot: the matrix is L D^-1 U, where L and U have pivots on their diagonals, of
// which D is made, and are like the matrix where no row was taken away. So these entries are those
// of -J, real and the same for all sigma, and stay where J has them; only others are kept, those
// with a place in lu_place. The operations and their order are those of the straight code that
// smaller systems have. For real sigma (SHIFTED_AT) the factors are in the place of J.

// See lu.h; `m` has the entries that are kept.
NOINLINE real LU_NAME(factor)(NUMBER sigma, const SPACE real *jac, SPACE NUMBER *m,
                              SPACE NUMBER *w) {
    real least = R(LARGEST_SCALE), sound = R(0);
    ROLL for (int k = 0; k < N; k++) {
        int first = lu_row[k], diagonal = lu_diagonal[k], end = lu_row[k + 1];
        ROLL for (int e = first; e < end; e++) w[lu_column[e]] = NUM(minus)(jac[e]);
#if ALGEBRAIC
        if (!row_algebraic[lu_state[k]])
#endif
            w[k] = NUM(less)(sigma, jac[diagonal]);
        ROLL for (int e = first; e < diagonal; e++) {
            int j = lu_column[e], right = lu_diagonal[j], last = lu_row[j + 1];
            NUMBER inverse = m[SHIFTED_AT(right)];
            NUMBER factor =
                lu_place[e] != LU_NOWHERE ? NUM(mul)(w[j], inverse) : NUM(scale)(inverse, -jac[e]);
            ROLL for (int u = right + 1; u < last; u++) {
                int c = lu_column[u];
                w[c] = lu_place[u] != LU_NOWHERE ? NUM(fnma)(factor, m[SHIFTED_AT(u)], w[c])
                                                 : NUM(on)(factor, jac[u], w[c]);
            }
        }
        real size = NUM(magnitude)(w[k]);
        least = r_min(size, least);
        sound = r_fma(size, R(PIVOT_OVERFLOWS), sound);
        w[k] = NUM(inverse)(w[k]);
        ROLL for (int e = first; e < end; e++) if (lu_place[e] != LU_NOWHERE) m[SHIFTED_AT(e)] =
            w[lu_column[e]];
    }
    return r_fma(sound, R(0), least);
}

NOINLINE void LU_NAME(solve)(const SPACE real *jac, const SPACE NUMBER *m, SPACE NUMBER *w,
                             SPACE NUMBER *x) {
    ROLL for (int k = 0; k < N; k++) {
        NUMBER sum = x[lu_state[k]];
        ROLL for (int e = lu_row[k]; e < lu_diagonal[k]; e++) {
            NUMBER v = w[lu_column[e]];
            sum = lu_place[e] != LU_NOWHERE ? NUM(fnma)(m[SHIFTED_AT(e)], v, sum)
                                            : NUM(on)(v, jac[e], sum);
        }
        w[k] = NUM(mul)(sum, m[SHIFTED_AT(lu_diagonal[k])]);
    }
    ROLL for (int k = N - 1; k >= 0; k--) {
        int d = lu_diagonal[k], end = lu_row[k + 1];
        NUMBER sum = NUM(zero);
        ROLL for (int e = d + 1; e < end; e++) {
            NUMBER v = w[lu_column[e]];
            sum = lu_place[e] != LU_NOWHERE ? NUM(fnma)(m[SHIFTED_AT(e)], v, sum)
                                            : NUM(on)(v, jac[e], sum);
        }
        if (d + 1 < end)
            w[k] = NUM(fma)(m[SHIFTED_AT(d)], sum, w[k]);
        x[lu_state[k]] = w[k];
    }
}
