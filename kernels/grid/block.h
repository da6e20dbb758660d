// SPDX-License-Identifier: MIT
// A block of threads that works on one grid: a number of every thread becomes one of them all.
//
// All threads of a team run the same body, so what is called here is called by all of them, with
// the same numbers but for those that are folded. Numbers of a grid are the same in all threads;
// cells are strewn over them. A pass over cells that stores something, and every function here and
// in room.h, ends with a barrier behind its last look at memory of the team, so that whoever comes
// next may overwrite it.
//
// A fold has a word, and the next one has another: the word is set again GRID_FOLDS later, when all
// have read it long since.
#define TEAM_CELLS(i, count) for (int i = g->first; i < (count); i += g->team)

INLINE LOCAL int *fold_word(struct grid_row *g, int start) {
    LOCAL int *word = g->words + g->folds++ % GRID_FOLDS;
    if (g->first == 0)
        *word = start;
    return word;
}
INLINE void fold_add(LOCAL int *word, int v) {
    v = warp_add(v);
    if (warp_leads())
        atomic_add(word, v);
}
INLINE void fold_least(LOCAL int *word, int v) {
    v = warp_min(v);
    if (warp_leads())
        atomic_min(word, v);
}
INLINE void fold_most(LOCAL int *word, int v) {
    v = warp_max(v);
    if (warp_leads())
        atomic_max(word, v);
}

#define TEAM_FOLD(name, start)                                                                     \
    INLINE int team_##name(struct grid_row *g, int v) {                                            \
        LOCAL int *word = fold_word(g, start);                                                     \
        block_barrier();                                                                           \
        fold_##name(word, v);                                                                      \
        block_barrier();                                                                           \
        return *word;                                                                              \
    }
TEAM_FOLD(add, 0)
TEAM_FOLD(least, 2147483647)
TEAM_FOLD(most, -2147483647 - 1)

// Four at a time: of the first two the least, of the others the largest.
INLINE void team_box(struct grid_row *g, int *top, int *left, int *bottom, int *right) {
    LOCAL int *t = fold_word(g, GRID_SIDE_MOST), *l = fold_word(g, GRID_SIDE_MOST);
    LOCAL int *b = fold_word(g, -1), *r = fold_word(g, -1);
    block_barrier();
    fold_least(t, *top);
    fold_least(l, *left);
    fold_most(b, *bottom);
    fold_most(r, *right);
    block_barrier();
    *top = *t;
    *left = *l;
    *bottom = *b;
    *right = *r;
}

// The sum of the numbers of the threads before this one.
INLINE int team_before(struct grid_row *g, int v) {
    LOCAL int *sums = g->words + GRID_OF_THREADS;
    sums[g->first] = v;
    block_barrier();
    for (int d = 1; d < g->team; d *= 2) {
        const int more = g->first >= d ? sums[g->first - d] : 0;
        block_barrier();
        sums[g->first] += more;
        block_barrier();
    }
    return sums[g->first] - v;
}

enum { FOREST_RUN = 15 }; // cells of a row that one thread joins, at most; odd like team_share

// Cells of a run that each thread has for itself. An odd number keeps their first cells in memory
// of a block apart.
INLINE int team_share(const struct grid_row *g, int count) {
    return ((count - 1) / g->team + 1) | 1;
}
