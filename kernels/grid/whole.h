// SPDX-License-Identifier: MIT
// What needs a grid as a whole: components, floods, generations of a rule, the most common value,
// histograms. One thread works on one grid, which lies in memory as ints, row by row; `room` is
// as large as the grid and is overwritten. Included by the host and by every kernel but those whose
// threads share memory, which have room.h.
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

NOINLINE void whole_label(const CELLS in, CELLS room, CELLS out, int h, int w, int eight) {
    int labels = 0;
    whole_forest(in, room, h, w, eight);
    for (int i = 0; i < h * w; i++)
        out[i] = in[i] == 0 ? 0 : room[i] == i ? ++labels : out[room[i]];
}

NOINLINE void whole_size(const CELLS in, CELLS room, CELLS out, int h, int w, int eight) {
    whole_forest(in, room, h, w, eight);
    for (int i = 0; i < h * w; i++)
        out[i] = 0;
    for (int i = 0; i < h * w; i++)
        out[room[i]] += in[i] != 0;
    for (int i = 0; i < h * w; i++)
        out[i] = out[room[i]];
}

// 1 where the component of a cell is, whatever its value.
NOINLINE void whole_flood(const CELLS in, CELLS room, CELLS out, int h, int w, int row, int col) {
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

#define WORDS GLOBAL u64 *
#define bits_at(p) (*(GLOBAL bitset *)(p))

enum { STEP_LIFE = 1 << 3 | 1 << 11 | 1 << 12 }; // B3/S23

INLINE void step_sums(WORDS x, WORDS low, WORDS high, int words) {
    for (int i = 0; i < words; i += STEP_LANES) {
        const bitset own = bits_at(x + i);
        const bitset before = step_before(own, bits_at(x + i - 1));
        const bitset behind = step_behind(own, bits_at(x + i + 1));
        bits_at(low + i) = own ^ before ^ behind;
        bits_at(high + i) = bits_most(own, before, behind);
    }
}

INLINE void step_rows(WORDS x, WORDS low, WORDS high, int words, int row, int rule) {
    for (int i = 0; i < words; i += STEP_LANES) {
        const bitset own = bits_at(x + i);
        const bitset a = bits_at(low + i - row), b = bits_at(low + i), c = bits_at(low + i + row);
        const bitset d = bits_at(high + i - row), e = bits_at(high + i);
        const bitset f = bits_at(high + i + row);
        bits_at(x + i) = step_next(own, a, b, c, d, e, f, rule);
    }
}

INLINE int bit_of(WORDS row, int i) { return (int)(row[i / 64] >> (i % 64) & 1); }

// Bits beside the cells of each row, and rows beside the others.
INLINE void step_border(WORDS x, int h, int w, int row, int border) {
    const u64 keep = ((u64)1 << (w + 1) % 64) - 1; // of the last word
    for (int r = 0; r < h; r++) {
        WORDS own = x + r * row;
        int first = bit_of(own, 1), last = bit_of(own, w);
        own[0] &= ~(u64)1;
        own[row - 1] &= keep;
        if (border != GRID_ZERO) {
            own[0] |= (u64)(border == GRID_WRAP ? last : first);
            own[row - 1] |= (u64)(border == GRID_WRAP ? first : last) << (w + 1) % 64;
        }
    }
    for (int i = 0; i < row; i++) {
        u64 first = x[i], last = x[(h - 1) * row + i];
        x[i - row] = border == GRID_ZERO ? 0 : border == GRID_WRAP ? last : first;
        x[h * row + i] = border == GRID_ZERO ? 0 : border == GRID_WRAP ? first : last;
    }
}

// A cell is alive when it is not 0; with no generation a grid is what it was. `room` has
// GRID_STEP_CELLS.
NOINLINE void whole_step(const CELLS in, CELLS room, CELLS out, int h, int w, int rule, int n,
                         int border, const volatile GLOBAL int *stop) {
    const int row = (w + 65) / 64, words = h * row, size = words + 2 * row + 16;
    WORDS x = (WORDS)room + 8 + row;
    WORDS low = x + size;
    WORDS high = low + size;
    for (int i = -row - 8; i < size - row - 8; i++)
        x[i] = 0;
    for (int r = 0; r < h; r++)
        for (int c = 1; c <= w; c++)
            x[r * row + c / 64] |= (u64)(in[r * w + c - 1] != 0) << c % 64;
    for (int k = 0; k < n && !stop_asked(stop); k++) {
        step_border(x, h, w, row, border);
        step_sums(x - row, low - row, high - row, words + 2 * row);
        if (rule == STEP_LIFE)
            step_rows(x, low, high, words, row, STEP_LIFE);
        else
            step_rows(x, low, high, words, row, rule);
    }
    for (int r = 0; r < h; r++)
        for (int c = 0; c < w; c++)
            out[r * w + c] = n > 0 ? bit_of(x + r * row, c + 1) : in[r * w + c];
}
