// SPDX-License-Identifier: MIT
// Here I - h gamma J is factored, and equations are solved with it, by loops over index tables. An
// algebraic row of the matrix is the one of -J, whatever h is.
//
// lu_row, lu_column, lu_diagonal and lu_state say where the entries of the factors are, in the
// order of elimination; the operations and their order are those of the straight code that smaller
// systems have. w is room for one row. NUMBER is real, or complex for complex gamma.

// Takes the Jacobian in `jac`, with zeros where the factors fill in, and makes factors of it in m,
// which may be the same. `scale` is -h gamma. Returns the smallest pivot's size: the matrix is
// singular when that is 0, or nearly; it is not a number when a pivot is not finite, or so large
// that its inverse could not be relied upon.
NOINLINE real LU_NAME(factor)(NUMBER scale, const SPACE real *jac, SPACE NUMBER *m,
                              SPACE NUMBER *w) {
    real least = R(LARGEST_SCALE), sound = R(0);
    ROLL for (int k = 0; k < N; k++) {
        int first = lu_row[k], diagonal = lu_diagonal[k], end = lu_row[k + 1];
#if ALGEBRAIC
        if (row_algebraic[lu_state[k]]) {
            ROLL for (int e = first; e < end; e++) w[lu_column[e]] = NUM(minus)(jac[e]);
        } else
#endif
        {
            ROLL for (int e = first; e < end; e++) w[lu_column[e]] = NUM(scale)(scale, jac[e]);
            w[k] = NUM(scale_one)(scale, jac[diagonal]);
        }
        ROLL for (int e = first; e < diagonal; e++) {
            int j = lu_column[e], right = lu_diagonal[j], last = lu_row[j + 1];
            NUMBER factor = NUM(mul)(w[j], m[right]);
            w[j] = factor;
            ROLL for (int u = right + 1; u < last; u++) w[lu_column[u]] =
                NUM(fnma)(factor, m[u], w[lu_column[u]]);
        }
        real size = NUM(magnitude)(w[k]);
        least = r_min(size, least);
        sound = r_fma(size, R(PIVOT_OVERFLOWS), sound);
        w[k] = NUM(inverse)(w[k]);
        ROLL for (int e = first; e < end; e++) m[e] = w[lu_column[e]];
    }
    return r_fma(sound, R(0), least);
}

NOINLINE void LU_NAME(solve)(const SPACE NUMBER *m, SPACE NUMBER *w, SPACE NUMBER *x) {
    ROLL for (int k = 0; k < N; k++) {
        NUMBER sum = x[lu_state[k]];
        ROLL for (int e = lu_row[k]; e < lu_diagonal[k]; e++) sum =
            NUM(fnma)(m[e], w[lu_column[e]], sum);
        w[k] = sum;
    }
    ROLL for (int k = N - 1; k >= 0; k--) {
        NUMBER sum = w[k];
        ROLL for (int e = lu_diagonal[k] + 1; e < lu_row[k + 1]; e++) sum =
            NUM(fnma)(m[e], w[lu_column[e]], sum);
        sum = NUM(mul)(sum, m[lu_diagonal[k]]);
        w[k] = sum;
        x[lu_state[k]] = sum;
    }
}
