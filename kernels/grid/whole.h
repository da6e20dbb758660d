// SPDX-License-Identifier: MIT
// What needs a grid as a whole: components, floods, generations of a rule, the most common value,
// histograms. One thread works on one grid, which lies in memory as ints, row by row; `room` is
// as large as the grid and is overwritten. Included by the host and by every kernel.
#define CELLS GLOBAL int *

// ---- Components: equal cells that are not 0, by a forest in `room` ------------------------------

INLINE int forest_root(const CELLS room, int i) {
    while (room[i] != i)
        i = room[i];
    return i;
}

// The root of a component is its first cell in reading order.
INLINE void forest_join(CELLS room, int a, int b) {
    a = forest_root(room, a);
    b = forest_root(room, b);
    if (a < b)
        room[b] = a;
    else
        room[a] = b;
}

NOINLINE void whole_forest(const CELLS in, CELLS room, int h, int w, int eight) {
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++) {
            int i = r * w + c, v = in[i];
            room[i] = i;
            if (c && in[i - 1] == v)
                forest_join(room, i, i - 1);
            if (r && in[i - w] == v)
                forest_join(room, i, i - w);
            if (eight && r && c && in[i - w - 1] == v)
                forest_join(room, i, i - w - 1);
            if (eight && r && c + 1 < w && in[i - w + 1] == v)
                forest_join(room, i, i - w + 1);
            room[i] = forest_root(room, i);
        }
    for (int i = 0; i < h * w; i++)
        room[i] = forest_root(room, i);
}

NOINLINE void whole_label(const CELLS in, CELLS out, CELLS room, int h, int w, int eight) {
    int labels = 0;
    whole_forest(in, room, h, w, eight);
    for (int i = 0; i < h * w; i++)
        out[i] = in[i] == 0 ? 0 : room[i] == i ? ++labels : out[room[i]];
}

NOINLINE void whole_size(const CELLS in, CELLS out, CELLS room, int h, int w, int eight) {
    whole_forest(in, room, h, w, eight);
    for (int i = 0; i < h * w; i++)
        out[i] = 0;
    for (int i = 0; i < h * w; i++)
        out[room[i]] += in[i] != 0;
    for (int i = 0; i < h * w; i++)
        out[i] = out[room[i]];
}

// 1 where the component of a cell is, whatever its value.
NOINLINE void whole_flood(const CELLS in, CELLS out, CELLS room, int h, int w, int row, int col) {
    whole_forest(in, room, h, w, 0);
    int root = room[row * w + col];
    for (int i = 0; i < h * w; i++)
        out[i] = room[i] == root;
}

// ---- Values -------------------------------------------------------------------------------------

INLINE void heap_sink(CELLS a, int at, int count) {
    int v = a[at];
    for (int child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && a[child + 1] > a[child];
        if (a[child] <= v)
            break;
        a[at] = a[child];
        at = child;
    }
    a[at] = v;
}

NOINLINE void whole_sort(CELLS a, int count) {
    for (int i = count / 2 - 1; i >= 0; i--)
        heap_sink(a, i, count);
    for (int i = count - 1; i > 0; i--) {
        int last = a[i];
        a[i] = a[0];
        a[0] = last;
        heap_sink(a, 0, i);
    }
}

// The value that most cells have, or with sign -1 the fewest that any has; of several the smallest.
NOINLINE int whole_common(const CELLS in, CELLS room, int count, int sign) {
    int narrow = 1;
    for (int i = 0; i < count; i++) {
        room[i] = in[i];
        narrow &= in[i] >= 0 && in[i] < count;
    }
    if (!narrow) {
        whole_sort(room, count);
    } else { // counted in the places of values
        for (int i = 0; i < count; i++)
            room[i] = 0;
        for (int i = 0; i < count; i++)
            room[in[i]]++;
    }
    int best = 0, most = 0, found = 0;
    for (int i = 0; i < count;) {
        int v = narrow ? i : room[i], n = 0, from = i;
        if (narrow)
            n = room[i++];
        else
            while (i < count && room[i] == v)
                i++;
        n = narrow ? n : i - from;
        if (n && (!found || sign * n > most)) {
            best = v;
            most = sign * n;
            found = 1;
        }
    }
    return best;
}

NOINLINE void whole_histogram(const CELLS in, CELLS out, int count, int n) {
    for (int i = 0; i < n; i++)
        out[i] = 0;
    for (int i = 0; i < count; i++)
        if (in[i] >= 0 && in[i] < n)
            out[in[i]]++;
}

// ---- Generations --------------------------------------------------------------------------------

INLINE int step_alive(const CELLS in, int h, int w, int r, int c, int border) {
    int alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int y = border_place(r, 1, dy, h, border), x = border_place(c, 1, dx, w, border);
            alive += (dy || dx) && y >= 0 && x >= 0 && in[y * w + x] != 0;
        }
    return alive;
}

// A cell is alive when it is not 0. `in` is overwritten; with no generation a grid is what it was.
NOINLINE void whole_step(CELLS in, CELLS out, int h, int w, int rule, int n, int border,
                         const volatile GLOBAL int *stop) {
    for (int i = 0; i < h * w; i++)
        out[i] = in[i];
    for (int k = 0; k < n && !stop_asked(stop); k++) {
        for (int i = 0; i < h * w; i++)
            in[i] = out[i];
        for (int r = 0; r < h; r++)
            for (int c = 0; c < w; c++) {
                int i = r * w + c, alive = step_alive(in, h, w, r, c, border);
                out[i] = rule >> (alive + (in[i] ? 9 : 0)) & 1;
            }
    }
}
