// SPDX-License-Identifier: MIT
// Arithmetic of single cells and of numbers: int32 that wraps, conditions that are 0 or 1, and
// where a cell is found beyond a border. Included by the host and by every kernel.
INLINE int c_neg(int a) { return (int)(0u - (unsigned)a); }
INLINE int c_not(int a) { return a == 0; }
INLINE int c_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
INLINE int c_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
INLINE int c_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
// Of 0 they are 0: whoever divides by it is marked.
INLINE int c_div(int a, int b) {
    if (b == 0 || b == -1)
        return b ? c_neg(a) : 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
INLINE int c_mod(int a, int b) {
    if (b == 0 || b == -1)
        return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}
INLINE int c_least(int a, int b) { return a < b ? a : b; }
INLINE int c_most(int a, int b) { return a > b ? a : b; }
INLINE int c_eq(int a, int b) { return a == b; }
INLINE int c_ne(int a, int b) { return a != b; }
INLINE int c_lt(int a, int b) { return a < b; }
INLINE int c_le(int a, int b) { return a <= b; }
INLINE int c_and(int a, int b) { return (a != 0) & (b != 0); }
INLINE int c_or(int a, int b) { return (a != 0) | (b != 0); }
INLINE int c_select(int c, int a, int b) { return c ? a : b; }

// Where place `at` (row or column), moved by an offset, is read among `count`: -1 is nowhere.
INLINE int border_place(int at, int sign, int offset, int count, int border) {
    const int far = 2 * GRID_SIDE_MOST; // is as good as any that is farther
    int move = border == GRID_WRAP ? offset % count
               : offset < -far     ? -far
               : offset > far      ? far
                                   : offset;
    int to = at + sign * move;
    if (to >= 0 && to < count)
        return to;
    if (border == GRID_EDGE)
        return to < 0 ? 0 : count - 1;
    return border == GRID_WRAP ? to < 0 ? to + count : to - count : -1;
}
