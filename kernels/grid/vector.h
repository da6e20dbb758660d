// SPDX-License-Identifier: MIT
// Cells as vectors, for a CPU and for results that are one pass over the input.
//
// Given: LANE, unsigned char, short or int, in which no value of the pipeline wraps unless it is an
// int; ULANE, the same without a sign; V, lanes of a vector; IN_T and OUT_T. A grid is one run of
// cells, whatever the length of its rows: block after block of V, the last of which ends with the
// grid and overlaps the one before. What is read is a plane: the input, or a copy of it that is
// turned or has rows around it, with room to read beyond both ends.
typedef LANE vec __attribute__((vector_size(V * sizeof(LANE))));
typedef ULANE uvec __attribute__((vector_size(V * sizeof(LANE))));
typedef IN_T vec_in __attribute__((vector_size(V * sizeof(IN_T)), aligned(1), may_alias));
typedef OUT_T vec_out __attribute__((vector_size(V * sizeof(OUT_T)), aligned(1), may_alias));
typedef unsigned char bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef unsigned char bytes32 __attribute__((vector_size(32)));

// ---- Arithmetic; a condition is a mask of 0 and -1 ----------------------------------------------

#define v_splat(n) ((vec){0} + (LANE)(n))
#define v_neg(a) ((vec)(-(uvec)(a)))
#define v_add(a, b) ((vec)((uvec)(a) + (uvec)(b)))
#define v_sub(a, b) ((vec)((uvec)(a) - (uvec)(b)))
#define v_mul(a, b) ((vec)((uvec)(a) * (uvec)(b)))
#define v_eq(a, b) ((vec)((a) == (b)))
#define v_ne(a, b) ((vec)((a) != (b)))
#define v_lt(a, b) ((vec)((a) < (b)))
#define v_le(a, b) ((vec)((a) <= (b)))
#define v_not(m) (~(m))
#define v_and(m, n) ((m) & (n))
#define v_or(m, n) ((m) | (n))
#define v_select(m, a, b) (((a) & (m)) | ((b) & ~(m)))
#define v_least(a, b) v_select(v_lt(a, b), a, b)
#define v_most(a, b) v_select(v_lt(b, a), a, b)
// In one instruction where GCC would take several.
#if !defined __clang__ && IN_BYTES == 1 && LANE_BYTES == 2 && V == 32 && defined __AVX512BW__
typedef char chars __attribute__((vector_size(32)));
#define v_widen(x) ((vec)__builtin_ia32_pmovzxbw512_mask((chars)(x), (vec){0}, ~0u))
#elif !defined __clang__ && IN_BYTES == 1 && LANE_BYTES == 2 && V == 16 && defined __AVX2__
typedef char chars __attribute__((vector_size(16)));
#define v_widen(x) ((vec)__builtin_ia32_pmovzxbw256((chars)(x)))
#else
#define v_widen(x) __builtin_convertvector(x, vec)
#endif
// Volatile: GCC would rather load twice than keep a register.
#define v_load(p, i) v_widen(*(const volatile vec_in *)((p) + (i)))
// Bits that are set in what is no OUT_T.
#define v_far(a) (v_sub(a, v_splat(OUT_LEAST)) & ~v_splat(OUT_MOST - OUT_LEAST))

// Whether a sum or difference x of bytes is none, in the highest bit: what an adder carries. Easier
// where b has not that bit.
#define v_carry_add_low(a, b, x) ((a) & ~(x))
#define v_carry_sub_low(a, b, x) (~(a) & (x))
#ifdef __AVX512BW__
typedef long long words __attribute__((vector_size(64)));
#define BITWISE(a, b, c, table)                                                                    \
    __builtin_ia32_pternlogq512_mask((words)(a), (words)(b), (words)(c), table, 0xff)
#endif
#if defined __AVX512BW__ && V == 64
#define v_carry_add(a, b, x) ((vec)BITWISE(a, b, x, 0xd4))
#define v_carry_sub(a, b, x) ((vec)BITWISE(a, b, x, 0x8e))
#else
#define v_carry_add(a, b, x) (((a) & (b)) | (((a) | (b)) & ~(x)))
#define v_carry_sub(a, b, x) ((~(a) & (b)) | ((~(a) | (b)) & (x)))
#endif

// Whether one of the first n lanes is set.
INLINE int v_any(vec m, long n) {
    union {
        vec v;
        LANE lane[V];
        u64 words[sizeof(vec) / 8];
    } u = {m};
#ifdef __AVX512BW__
    if (n >= V && sizeof(vec) == 64)
        return __builtin_ia32_cmpq512_mask((words)m, (words){0}, 4, 0xff) != 0;
#endif
    u64 all = 0;
    for (long i = n; i < V; i++)
        u.lane[i] = 0;
    for (unsigned i = 0; i < sizeof(vec) / 8; i++)
        all |= u.words[i];
    return all != 0;
}

INLINE int at_most(int a, int b) { return a < b ? a : b; }

// ---- Blocks -------------------------------------------------------------------------------------

// Where rows of a turned plane have their cells from: a byte of two registers, which hold a window
// of whole rows of the input.
enum { WINDOWS = 8 };
struct turn_table {
    int height, width, windows; // 0: not by windows
    int rows;                   // of the plane, that a register has
    int span;                   // cells of a window
    char from[64];              // of the first rows
    u64 which[WINDOWS];         // cells of them that each window has
};

// What is the same for grids of one shape; a worker has one of these. Lines are as long as a row
// and a block: what they have at c is that of a block which begins in column c.
struct lines {
    int width;                           // -1: nothing is there yet
    int rest, rows;                      // of a row, and rows, that a block is longer
    LANE inside[GRID_SIDE_MOST + V + 1]; // 0 in column 0, else -1
    LANE column[GRID_SIDE_MOST + V + 1];
    LANE row[GRID_SIDE_MOST + V + 1];
    struct turn_table turn[8]; // by code
    // Planes of an input of this shape, `room` bytes each.
    u64 shape, room;
    char *planes;
    char near[1 << 14] __attribute__((aligned(64))); // of small ones
};
typedef LANE vec_line __attribute__((vector_size(V * sizeof(LANE)), aligned(1), may_alias));
#define v_line(line, c) (*(const vec_line *)((line) + (c)))

NOINLINE void lines_make(struct lines *l, int w) {
    int column = 0, row = 0;
    for (int i = 0; i <= w + V; i++) {
        l->inside[i] = (LANE)(column ? -1 : 0);
        l->column[i] = (LANE)column;
        l->row[i] = (LANE)row;
        if (++column == w) {
            column = 0;
            row++;
        }
    }
    l->width = w;
    l->rest = V % w;
    l->rows = V / w;
}

INLINE void lines_begin(struct lines *l) {
    l->width = -1;
    l->shape = 0;
    for (int i = 0; i < 8; i++)
        l->turn[i].height = 0;
}

// A block: its first cell, and that one's row and column.
struct block {
    long i;
    int row, column;
};

// The next one; the last begins at `last`. Rows of l->width are counted where somebody asks.
INLINE void block_next(struct block *b, long last, const struct lines *l, int asked) {
    const long from = b->i;
    b->i = from + V < last ? from + V : last;
    if (asked && from + V <= last) {
        b->column += l->rest;
        b->row += l->rows;
        if (b->column >= l->width) {
            b->column -= l->width;
            b->row++;
        }
    } else if (asked) {
        b->row += (b->column + (int)(last - from)) / l->width;
        b->column = (b->column + (int)(last - from)) % l->width;
    }
}

INLINE void v_store(OUT_T *out, long i, vec v) {
    *(vec_out *)(out + i) = __builtin_convertvector(v, vec_out);
}

// ---- Planes -------------------------------------------------------------------------------------

typedef const IN_T *plane; // its first cell

// Cells around each that may be read or overwritten, beside two rows.
enum { PLANE_SLACK = 128 };

#define plane_shape(h, w) ((u64)(h) << 32 | (u64)(w))

// Where planes are: their first cells, with as much room in front as behind.
NOINLINE void planes_place(struct lines *l, int h, int w, u64 planes, char *far) {
    const u64 around = ((u64)(2 * (h > w ? h : w) + PLANE_SLACK) * sizeof(IN_T) + 63) / 64 * 64;
    l->shape = plane_shape(h, w);
    l->room = 2 * around + ((u64)h * (u64)w * sizeof(IN_T) + 63) / 64 * 64;
    l->planes = (l->room * planes <= sizeof l->near ? l->near : far) + around;
}

// A run of cells, in blocks that may reach beyond its end.
enum { RUN = 64 / sizeof(IN_T) };
INLINE void plane_run(IN_T *to, const IN_T *from, long n) {
    for (long i = 0; i < n; i += RUN)
        __builtin_memcpy(to + i, from + i, 64);
}

// The input as it is, where memory around it may be read, or where that of whole vectors is all
// that is read; else a copy.
INLINE plane plane_copy(const IN_T *in, int h, int w, int around, int flat, IN_T *to) {
    if (around >= PLANE_SLACK || (flat && (long)h * w >= V))
        return in;
    __builtin_memcpy(to, in, (u64)h * (u64)w * sizeof(IN_T));
    return to;
}

INLINE void zero_run(IN_T *to, long n) {
    for (long i = 0; i < n; i += RUN)
        __builtin_memset(to + i, 0, 64);
}

// With a row before and behind it.
INLINE plane plane_pad(plane p, int h, int w, int border, IN_T *to) {
    const long n = (long)h * w, last = n - w;
    if (border == GRID_ZERO)
        zero_run(to - w, w);
    else
        plane_run(to - w, border == GRID_WRAP ? p + last : p, w);
    plane_run(to, p, n);
    if (border == GRID_ZERO)
        zero_run(to + n, w);
    else
        plane_run(to + n, border == GRID_WRAP ? p : p + last, w);
    return to;
}

// ---- Turns --------------------------------------------------------------------------------------

typedef IN_T cells32 __attribute__((vector_size(32)));
#if IN_BYTES == 1
#define BACKWARDS                                                                                  \
    31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8,  \
        7, 6, 5, 4, 3, 2, 1, 0
#elif IN_BYTES == 2
#define BACKWARDS 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#else
#define BACKWARDS 7, 6, 5, 4, 3, 2, 1, 0
#endif

// A run from its last cell to its first; it reads in front of it and writes behind it.
INLINE void turn_run(IN_T *to, const IN_T *from, long n) {
    for (long i = 0; i < n; i += RUN / 2) {
        cells32 v;
        __builtin_memcpy(&v, from + n - RUN / 2 - i, 32);
        v = __builtin_shufflevector(v, v, BACKWARDS);
        __builtin_memcpy(to + i, &v, 32);
    }
}

NOINLINE void turn_rows(plane p, int h, int w, int code, IN_T *to) {
    for (int r = 0; r < h; r++) {
        const IN_T *from = p + (long)(code & GRID_FLIP_ROWS ? h - 1 - r : r) * w;
        if (code & GRID_FLIP_COLS)
            turn_run(to + (long)r * w, from, w);
        else
            plane_run(to + (long)r * w, from, w);
    }
}

NOINLINE void turn_cells(plane p, int h, int w, int code, IN_T *to) {
    for (int r = 0; r < w; r++)
        for (int c = 0; c < h; c++) {
            int y = code & GRID_FLIP_ROWS ? h - 1 - c : c;
            int x = code & GRID_FLIP_COLS ? w - 1 - r : r;
            *to++ = p[(long)y * w + x];
        }
}

#if IN_BYTES == 1
// Two tiles of 16 by 16 bytes, one below the other, each half of a register, turned in registers:
// four times, rows of one half are laced with those of the other. Then they stand side by side.
INLINE bytes32 low_pairs(bytes32 a, bytes32 b) {
    return __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 16,
                                   48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55);
}
INLINE bytes32 high_pairs(bytes32 a, bytes32 b) {
    return __builtin_shufflevector(a, b, 8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15,
                                   47, 24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31,
                                   63);
}
INLINE bytes32 both_halves(const void *one, const void *two) {
    return __builtin_shufflevector(*(const bytes16 *)one, *(const bytes16 *)two, 0, 1, 2, 3, 4, 5,
                                   6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
                                   23, 24, 25, 26, 27, 28, 29, 30, 31);
}
#define LACE(a, b)                                                                                 \
    UNROLL for (int i = 0; i < 8; i++) {                                                           \
        b[2 * i] = low_pairs(a[i], a[i + 8]);                                                      \
        b[2 * i + 1] = high_pairs(a[i], a[i + 8]);                                                 \
    }

// One such pair: columns c to c + 32 of 16 rows of the result from r on. They are rows and columns
// of what is read; rows that are not there are the last. `whole`: there are 16; else only w.
INLINE void turn_pair(plane p, int c, int r, int h, int w, int code, int whole, IN_T *to) {
    const int up = code & GRID_FLIP_ROWS, back = code & GRID_FLIP_COLS;
    const int column = !back ? r : whole ? w - 16 - r : 0, rows = whole ? 16 : w;
    const int c2 = at_most(c + 16, h - 1);
    const long step = up ? -w : w;
    const IN_T *one = p + (long)(up ? h - 1 - c : c) * w + column;
    const IN_T *two = p + (long)(up ? h - 1 - c2 : c2) * w + column;
    bytes32 a[16], b[16];
    UNROLL for (int k = 0; k < 16; k++) {
        a[k] = both_halves(one, two);
        one += c + k + 1 < h ? step : 0;
        two += c + k + 17 < h ? step : 0;
    }
    LACE(a, b)
    LACE(b, a)
    LACE(a, b)
    LACE(b, a)
    UNROLL for (int k = 0; k < 16; k++) if (k < rows)
        __builtin_memcpy(to + (long)(r + k) * h + c, &a[back ? rows - 1 - k : k], 32);
}

// What is written too far is written over: rows come one after the other, columns from the last
// to the first. The last rows overlap those before.
NOINLINE void turn_tiles(plane p, int h, int w, int code, IN_T *to) {
    for (int c = (h - 1) / 32 * 32; c >= 0; c -= 32)
        for (int r = 0; r < w; r += 16)
            if (w >= 16)
                turn_pair(p, c, at_most(r, w - 16), h, w, code, 1, to);
            else
                turn_pair(p, c, r, h, w, code, 0, to);
}

#ifdef __AVX512BW__
// Small grids where the machine takes bytes from anywhere in two registers.
#define ANYWHERE __attribute__((target("avx512vbmi")))
typedef char bytes64 __attribute__((vector_size(64), aligned(1), may_alias));
typedef unsigned char ubytes64 __attribute__((vector_size(64)));
#ifdef __clang__
#define v_take(a, from, b, which)                                                                  \
    ((bytes64)__builtin_ia32_selectb_512(which, __builtin_ia32_vpermi2varqi512(a, from, b), from))
#else
#define v_take(a, from, b, which) ((bytes64)__builtin_ia32_vpermi2varqi512_mask(a, from, b, which))
#endif

NOINLINE void turn_table_make(struct turn_table *t, int h, int w, int code) {
    const int up = code & GRID_FLIP_ROWS, back = code & GRID_FLIP_COLS, rows = w > 64 ? 1 : 128 / w;
    *t = (struct turn_table){h, w, 0, h > 64 ? 0 : 64 / h, rows * w};
    if (h > 64 || w > 64 || h > WINDOWS * rows)
        return;
    t->windows = (h + rows - 1) / rows;
    for (int i = 0, r = 0, c = 0; i < 64; i++) {
        int y = up ? h - 1 - c : c, x = back ? w - 1 - r : r;
        t->from[i] = (char)(y % rows * w + x);
        t->which[y / rows] |= 1ull << i;
        if (++c == h) {
            c = 0;
            r++;
        }
    }
}

// Each window gives its cells to those places of a block that still hold where to take them from.
// What is beyond the rows of a block is written over by the next.
static inline __attribute__((always_inline)) ANYWHERE void
turn_by_windows(plane p, const struct turn_table *t, int code, IN_T *to, const int windows) {
    const int step = t->rows * t->height, n = t->height * t->width;
    const int next = code & GRID_FLIP_COLS ? -t->rows : t->rows;
    bytes64 from = *(const bytes64 *)t->from, low[WINDOWS], high[WINDOWS];
    u64 which[WINDOWS];
    UNROLL for (int k = 0; k < windows; k++, p += t->span) {
        low[k] = *(const bytes64 *)p;
        high[k] = *(const bytes64 *)(p + 64);
        which[k] = t->which[k];
    }
    for (int i = 0; i < n; i += step) {
        bytes64 v = from;
        UNROLL for (int k = 0; k < windows; k++) v = v_take(low[k], v, high[k], which[k]);
        *(bytes64 *)(to + i) = v;
        from = (bytes64)((ubytes64)from + (unsigned char)next);
    }
}

NOINLINE ANYWHERE void turn_small(plane p, const struct turn_table *t, int code, IN_T *to) {
    switch (t->windows) {
#define TURN(n)                                                                                    \
    case n:                                                                                        \
        turn_by_windows(p, t, code, to, n);                                                        \
        break;
        TURN(1)
        TURN(2)
        TURN(3)
        TURN(4)
        TURN(5)
        TURN(6)
        TURN(7)
        TURN(8)
    }
}

// 0: it is too large.
INLINE int turn_is_small(struct turn_table *t, int h, int w, int code) {
    if (t->height != h || t->width != w)
        turn_table_make(t, h, w, code);
    return t->windows;
}
#else
#define turn_is_small(t, h, w, code) 0
#define turn_small(p, t, code, to)
#endif
#endif

// h by w of the plane that is read. Rows and columns change places first, then rows of the result
// are columns, counted from the end where columns are flipped. `anywhere`: of struct grid_args.
INLINE plane plane_turn(plane p, int h, int w, int code, unsigned anywhere, struct lines *l,
                        IN_T *to) {
    if (code == (GRID_FLIP_ROWS | GRID_FLIP_COLS))
        turn_run(to, p, (long)h * w);
    else if (!(code & GRID_TRANSPOSE))
        turn_rows(p, h, w, code, to);
#if IN_BYTES == 1
    else if (anywhere && turn_is_small(&l->turn[code], h, w, code))
        turn_small(p, &l->turn[code], code, to);
    else
        turn_tiles(p, h, w, code, to);
#else
    else
        turn_cells(p, h, w, code, to);
#endif
    return to;
}

// Cells dy rows below and dx columns to the right of a block, each at most one; p has the border.
#define v_at(p, border, dy, dx)                                                                    \
    v_beside(p + b.i + (dy) * (long)lines->width, border, dx, b.column, lines)
INLINE vec v_beside(plane p, int border, int dx, int column, const struct lines *l) {
    vec v = v_load(p, dx);
    if (!dx)
        return v;
    vec in = v_line(l->inside, column + (dx > 0)); // what is not comes from the border
    if (border == GRID_ZERO)
        return v & in;
    return v_select(in, v,
                    v_load(p, border == GRID_EDGE ? 0
                              : dx > 0            ? dx - l->width
                                                  : l->width + dx));
}
