// SPDX-License-Identifier: MIT
// The factorisation of I - h gamma J and the solution with it, as loops over index tables. An
// algebraic row is that of -J, whatever h.
//
// lu_row, lu_column, lu_diagonal and lu_state say where the entries of the factors are, in the order
// of elimination; the operations and their order are those of the straight code that smaller systems
// have. w is room for one row.

// Factors in place; m has the Jacobian, and zeros where the factors fill in. `scale` is -h gamma.
// Returns the smallest pivot's size: the matrix is singular when that is 0, or nearly.
NOINLINE real linear_factor(real scale, SPACE real *m, SPACE real *w) {
    real least = R(LARGEST_SCALE);
    ROLL for (int k = 0; k < N; k++) {
        int first = lu_row[k], diagonal = lu_diagonal[k], end = lu_row[k + 1];
#if ALGEBRAIC
        int algebraic = row_algebraic[lu_state[k]];
        real row_scale = algebraic ? R(-1) : scale;
        ROLL for (int e = first; e < end; e++) w[lu_column[e]] = row_scale * m[e];
        if (!algebraic)
            w[k] = r_fma(scale, m[diagonal], R(1));
#else
        ROLL for (int e = first; e < end; e++) w[lu_column[e]] = scale * m[e];
        w[k] = r_fma(scale, m[diagonal], R(1));
#endif
        ROLL for (int e = first; e < diagonal; e++) {
            int j = lu_column[e], right = lu_diagonal[j], last = lu_row[j + 1];
            real factor = w[j] * m[right];
            w[j] = factor;
            ROLL for (int u = right + 1; u < last; u++) w[lu_column[u]] =
                r_fnma(factor, m[u], w[lu_column[u]]);
        }
        least = r_min(r_abs(w[k]), least);
        w[k] = R(1) / w[k];
        ROLL for (int e = first; e < end; e++) m[e] = w[lu_column[e]];
    }
    return least;
}

NOINLINE void linear_solve(const SPACE real *m, SPACE real *w, SPACE real *x) {
    ROLL for (int k = 0; k < N; k++) {
        real sum = x[lu_state[k]];
        ROLL for (int e = lu_row[k]; e < lu_diagonal[k]; e++) sum =
            r_fnma(m[e], w[lu_column[e]], sum);
        w[k] = sum;
    }
    ROLL for (int k = N - 1; k >= 0; k--) {
        real sum = w[k];
        ROLL for (int e = lu_diagonal[k] + 1; e < lu_row[k + 1]; e++) sum =
            r_fnma(m[e], w[lu_column[e]], sum);
        sum = sum * m[lu_diagonal[k]];
        w[k] = sum;
        x[lu_state[k]] = sum;
    }
}
