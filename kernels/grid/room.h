// SPDX-License-Identifier: MIT
// What needs a grid as a whole, by a team of threads: components, floods, generations of a rule,
// the most common value, histograms. whole.h has the same for one thread.
//
// A kernel has this text twice: with ROOM and IN_ROOM for memory that a block shares, and for that
// of its workspace. The cells of a grid lie in `v`, row by row; they and `room`, which is as large,
// are overwritten. The result goes to `out`, which lies in the workspace.

// ---- Components ---------------------------------------------------------------------------------
//
// Equal cells that touch, by a forest in `room`. A cell points to itself, or to one before it of
// the same component; so the root of a tree is the first of its cells. Trees grow while others look
// at them: a cell that is no root never becomes one again, and a pointer that was overwritten by an
// older one still leads to the same component, because whoever has written it goes on to join what
// it pointed to before.

INLINE int IN_ROOM(forest_root)(volatile ROOM int *room, int i) {
    for (int p; (p = room[i]) != i;) {
        const int q = room[p];
        if (q != p)
            room[i] = q; // which is nearer to the root for all who come later
        i = q;
    }
    return i;
}

// The same without a word written. In the end every thread points its own cells to their roots; one
// that shortened ways of others could put an older pointer there, behind their backs.
INLINE int IN_ROOM(forest_end)(const volatile ROOM int *room, int i) {
    for (int p; (p = room[i]) != i;)
        i = p;
    return i;
}

INLINE void IN_ROOM(forest_join)(ROOM int *room, int a, int b) {
    for (;;) {
        a = IN_ROOM(forest_root)(room, a);
        b = IN_ROOM(forest_root)(room, b);
        const int low = c_least(a, b), high = c_most(a, b);
        if (low == high)
            return;
        const int was = atomic_min(&room[high], low);
        if (was == high)
            return;
        a = was; // somebody else has joined it to this one
        b = low;
    }
}

// Runs of a row first, each by one thread. Then whatever these do not join: a cell with that above,
// unless the cells before both are joined, too, and with those above to the left and to the right,
// unless a neighbour of both does it.
INLINE void IN_ROOM(forest)(const struct grid_row *g, const ROOM int *v, ROOM int *room, int h,
                            int w, const int eight, const int zeros) {
    const int n = h * w, span = c_least(team_share(g, n), FOREST_RUN);
    block_barrier();
    for (int from = g->first * span; from < n; from += g->team * span)
        for (int i = from, c = from % w, start = from; i < n && i < from + span; i++) {
            start = c && v[i] == v[i - 1] ? start : i;
            room[i] = start;
            c = c + 1 < w ? c + 1 : 0;
        }
    block_barrier();
    TEAM_CELLS(i, n) {
        const int r = i / w, c = i - r * w, own = v[i];
        const int left = c && v[i - 1] == own, right = c + 1 < w && v[i + 1] == own;
        const int up = r && v[i - w] == own, before = r && c && v[i - w - 1] == own;
        const int behind = r && c + 1 < w && v[i - w + 1] == own;
        const int joins = (left && i % span == 0) | (up && !(left && before)) << 1 |
                          (before && !up && !left) << 2 | (behind && !up && !right) << 3;
        ROLL for (int k = 0; k < (eight ? 4 : 2) && (own || zeros); k++) {
            if (joins >> k & 1)
                IN_ROOM(forest_join)(room, i, k ? i - w + (k == 3) - (k == 2) : i - 1);
        }
    }
    block_barrier();
    TEAM_CELLS(i, n) { *(volatile ROOM int *)&room[i] = IN_ROOM(forest_end)(room, i); }
    block_barrier();
}

// Every thread numbers the roots among its own cells, behind those of the threads before it. A
// number is kept in the place of the root, as its complement.
INLINE void IN_ROOM(block_label)(struct grid_row *g, ROOM int *v, ROOM int *room, GLOBAL int *out,
                                 int h, int w, const int eight) {
    const int n = h * w, share = team_share(g, n), from = g->first * share;
    const int end = c_least(from + share, n);
    IN_ROOM(forest)(g, v, room, h, w, eight, 0);
    int roots = 0;
    for (int i = from; i < end; i++)
        roots += v[i] != 0 && room[i] == i;
    int label = team_before(g, roots);
    for (int i = from; i < end; i++)
        if (v[i] != 0 && room[i] == i)
            room[i] = ~++label;
    block_barrier();
    TEAM_CELLS(i, n) {
        const int root = room[i];
        out[i] = v[i] == 0 ? 0 : ~(root < 0 ? root : room[root]);
    }
    block_barrier();
}

// Cells are counted in the places of their roots in `v`; -1 in `room` is a cell that is 0.
INLINE void IN_ROOM(block_size)(struct grid_row *g, ROOM int *v, ROOM int *room, GLOBAL int *out,
                                int h, int w, const int eight) {
    const int n = h * w, share = team_share(g, n), from = g->first * share;
    const int end = c_least(from + share, n);
    IN_ROOM(forest)(g, v, room, h, w, eight, 0);
    TEAM_CELLS(i, n) {
        room[i] = v[i] ? room[i] : -1;
        v[i] = 0;
    }
    block_barrier();
    for (int i = from; i < end;) {
        const int root = room[i], first = i;
        while (i < end && room[i] == root)
            i++;
        if (root >= 0)
            atomic_add(&v[root], i - first);
    }
    block_barrier();
    TEAM_CELLS(i, n) { out[i] = room[i] < 0 ? 0 : v[room[i]]; }
    block_barrier();
}

INLINE void IN_ROOM(block_flood)(struct grid_row *g, ROOM int *v, ROOM int *room, GLOBAL int *out,
                                 int h, int w, int row, int col) {
    IN_ROOM(forest)(g, v, room, h, w, 0, 1);
    const int root = room[row * w + col];
    TEAM_CELLS(i, h * w) { out[i] = room[i] == root; }
    block_barrier();
}

// ---- Values -------------------------------------------------------------------------------------

INLINE void IN_ROOM(sort_pair)(ROOM int *v, int count, int i, int other) {
    if (other <= i || other >= count || v[i] <= v[other])
        return;
    const int high = v[i];
    v[i] = v[other];
    v[other] = high;
}

// Bitonic, with larger cells behind those that there are: every pair is put in the same order, and
// so those never move.
INLINE void IN_ROOM(block_sort)(const struct grid_row *g, ROOM int *v, int count) {
    for (int size = 2; size < 2 * count; size *= 2) {
        TEAM_CELLS(i, count) { IN_ROOM(sort_pair)(v, count, i, i ^ (size - 1)); }
        block_barrier();
        for (int apart = size / 4; apart; apart /= 2) {
            TEAM_CELLS(i, count) { IN_ROOM(sort_pair)(v, count, i, i ^ apart); }
            block_barrier();
        }
    }
}

// How many cells from i on are like it, in sorted ones.
INLINE int IN_ROOM(run_length)(const ROOM int *v, int count, int i) {
    int low = i, high = count; // it ends behind the one and not behind the other
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (v[middle] == v[i])
            low = middle;
        else
            high = middle;
    }
    return high - i;
}

// Counts the values from `low` on in `n` places; those of a thread that are alike are counted at
// once.
INLINE void IN_ROOM(count_cells)(const struct grid_row *g, const ROOM int *v, int count, int low,
                                 ROOM int *places, int n) {
    u32 last = 0;
    int times = 0;
    TEAM_CELLS(i, count) {
        const u32 place = (u32)v[i] - (u32)low;
        if (place >= (u32)n)
            continue;
        if (place != last && times) {
            atomic_add(&places[last], times);
            times = 0;
        }
        last = place;
        times++;
    }
    if (times)
        atomic_add(&places[last], times);
}

// The value that most cells have, or with sign -1 the fewest that any has; of several the smallest.
// `room` has how many there are of the value `low` + i, or of the value that begins at i where all
// are sorted; 0 is no value.
INLINE int IN_ROOM(block_common)(struct grid_row *g, ROOM int *v, ROOM int *room, int count,
                                 const int sign) {
    int low = 2147483647, high = -2147483647 - 1, best = -2147483647 - 1, at = 2147483647;
    TEAM_CELLS(i, count) {
        low = c_least(low, v[i]);
        high = c_most(high, v[i]);
        room[i] = 0;
    }
    low = team_least(g, low);
    high = team_most(g, high);
    const int narrow = (u32)high - (u32)low < (u32)count;
    if (narrow) {
        IN_ROOM(count_cells)(g, v, count, low, room, count);
    } else {
        IN_ROOM(block_sort)(g, v, count);
        TEAM_CELLS(i, count) {
            if (i == 0 || v[i - 1] != v[i])
                room[i] = IN_ROOM(run_length)(v, count, i);
        }
    }
    block_barrier();
    TEAM_CELLS(i, count) { best = room[i] ? c_most(best, sign * room[i]) : best; }
    best = team_most(g, best);
    TEAM_CELLS(i, count) { at = room[i] && sign * room[i] == best ? c_least(at, i) : at; }
    at = team_least(g, at);
    const int value = narrow ? c_add(low, at) : v[at];
    block_barrier();
    return value;
}

INLINE void IN_ROOM(block_histogram)(struct grid_row *g, ROOM int *v, ROOM int *room,
                                     GLOBAL int *out, int count, int n) {
    TEAM_CELLS(i, n) { room[i] = 0; }
    block_barrier();
    IN_ROOM(count_cells)(g, v, count, 0, room, n);
    block_barrier();
    TEAM_CELLS(i, n) { out[i] = room[i]; }
    block_barrier();
}

// ---- Generations: bits.h -----------------------------------------------------------------------

// Bits beside the cells of each row, and rows beside the others.
INLINE void IN_ROOM(step_border)(const struct grid_row *g, ROOM u64 *x, int h, int w, int row,
                                 int border) {
    const int end = (w + 1) % 64;
    TEAM_CELLS(r, h) {
        ROOM u64 *own = x + r * row;
        const u64 first = own[0] >> 1 & 1, last = own[w / 64] >> w % 64 & 1;
        own[0] &= ~(u64)1;
        own[row - 1] &= ((u64)1 << end) - 1;
        if (border != GRID_ZERO) {
            own[0] |= border == GRID_WRAP ? last : first;
            own[row - 1] |= (border == GRID_WRAP ? first : last) << end;
        }
    }
    block_barrier();
    TEAM_CELLS(i, row) {
        const u64 first = x[i], last = x[(h - 1) * row + i];
        x[i - row] = border == GRID_ZERO ? 0 : border == GRID_WRAP ? last : first;
        x[h * row + i] = border == GRID_ZERO ? 0 : border == GRID_WRAP ? first : last;
    }
    block_barrier();
}

// The word i of the cells, with the bit before the first one.
INLINE u64 IN_ROOM(step_word)(const ROOM int *v, int w, int row, int i) {
    const int r = i / row, from = (i - r * row) * 64;
    u64 word = 0;
    for (int c = c_most(from, 1); c <= c_least(from + 63, w); c++)
        word |= (u64)(v[r * w + c - 1] != 0) << (c - from);
    return word;
}

// A cell is alive when it is not 0; with no generation a grid is what it was. `room` has
// GRID_STEP_CELLS. One thread looks whether to stop, for all of them.
INLINE void IN_ROOM(block_step)(struct grid_row *g, ROOM int *v, ROOM int *room, GLOBAL int *out,
                                int h, int w, int rule, int n, int border,
                                const volatile GLOBAL int *stop) {
    const int row = (w + 65) / 64, words = h * row, size = words + 2 * row + 16;
    ROOM u64 *x = (ROOM u64 *)room + 8 + row;
    ROOM u64 *low = x + size;
    ROOM u64 *high = low + size;
    TEAM_CELLS(i, size) { x[i - row - 8] = 0; }
    block_barrier();
    TEAM_CELLS(i, words) { x[i] = IN_ROOM(step_word)(v, w, row, i); }
    block_barrier();
    for (int k = 0, go = 1; k < n && go; k++) {
        IN_ROOM(step_border)(g, x, h, w, row, border);
        for (int i = g->first - row; i < words + row; i += g->team) {
            const u64 own = x[i];
            const u64 before = step_before(own, x[i - 1]), behind = step_behind(own, x[i + 1]);
            low[i] = own ^ before ^ behind;
            high[i] = bits_most(own, before, behind);
        }
        if (g->first == 0)
            g->words[GRID_NOTE] = !stop_asked(stop);
        block_barrier();
        TEAM_CELLS(i, words) {
            x[i] = step_next(x[i], low[i - row], low[i], low[i + row], high[i - row], high[i],
                             high[i + row], rule);
        }
        go = g->words[GRID_NOTE];
        block_barrier();
    }
    TEAM_CELLS(i, h * w) {
        const int r = i / w, c = i - r * w + 1;
        out[i] = n > 0 ? (int)(x[r * row + c / 64] >> c % 64 & 1) : v[i];
    }
    block_barrier();
}
