// SPDX-License-Identifier: MIT
// Cells as vectors, for a CPU and for results that are one pass over the input.
//
// Given: LANE, unsigned char, short or int, in which no value of the pipeline wraps unless it is an
// int; ULANE, the same without a sign; V, lanes of a vector; IN_T and OUT_T. A grid is one run of
// cells, whatever the length of its rows: block after block of V, the last of which ends with the
// grid and overlaps the one before. Or, where turned cells come from registers, blocks are as many
// whole rows as V has room for. What is read is a plane: the input, or a copy of it that is turned
// or has rows around it, with room to read beyond both ends.
typedef LANE vec __attribute__((vector_size(V * sizeof(LANE))));
typedef ULANE uvec __attribute__((vector_size(V * sizeof(LANE))));
typedef IN_T vec_in __attribute__((vector_size(V * sizeof(IN_T)), aligned(1), may_alias));
typedef OUT_T vec_out __attribute__((vector_size(V * sizeof(OUT_T)), aligned(1), may_alias));
typedef unsigned char bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef unsigned char bytes32 __attribute__((vector_size(32)));
typedef char bytes64 __attribute__((vector_size(64), aligned(1), may_alias));
typedef unsigned char ubytes64 __attribute__((vector_size(64), aligned(1), may_alias));

// ---- Arithmetic ---------------------------------------------------------------------------------

#define v_splat(n) ((vec){0} + (LANE)(n))
#define v_neg(a) ((vec)(-(uvec)(a)))
#define v_add(a, b) ((vec)((uvec)(a) + (uvec)(b)))
#define v_sub(a, b) ((vec)((uvec)(a) - (uvec)(b)))
#define v_mul(a, b) ((vec)((uvec)(a) * (uvec)(b)))

// A condition is a bit for each lane where the machine has registers for such, else a vector of 0
// and -1. v_keep: 0 where it does not hold; v_count: one more where it does.
#if defined __AVX512BW__ && V == 64
#define BITS 1
typedef u64 where;
#ifdef __clang__
#define v_select(m, a, b) ((vec)__builtin_ia32_selectb_512(m, (bytes64)(a), (bytes64)(b)))
#define v_count(a, m) v_select(m, v_add(a, v_splat(1)), a)
#else
#define v_select(m, a, b) ((vec)__builtin_ia32_blendmb_512_mask((bytes64)(b), (bytes64)(a), m))
#define v_count(a, m)                                                                              \
    ((vec)__builtin_ia32_paddb512_mask((bytes64)(a), (bytes64)v_splat(1), (bytes64)(a), m))
#endif
#define v_compare(a, b, how)                                                                       \
    ((where)__builtin_ia32_ucmpb512_mask((bytes64)(a), (bytes64)(b), how, ~(u64)0))
#define v_eq(a, b) v_compare(a, b, 0)
#define v_ne(a, b) v_compare(a, b, 4)
#define v_lt(a, b) v_compare(a, b, 1)
#define v_le(a, b) v_compare(a, b, 2)
#define v_keep(a, m) v_select(m, a, v_splat(0))
#define v_number(m) v_keep(v_splat(1), m)
#else
#define BITS 0
typedef vec where;
#define v_eq(a, b) ((vec)((a) == (b)))
#define v_ne(a, b) ((vec)((a) != (b)))
#define v_lt(a, b) ((vec)((a) < (b)))
#define v_le(a, b) ((vec)((a) <= (b)))
#define v_select(m, a, b) (((a) & (m)) | ((b) & ~(m)))
#define v_keep(a, m) ((a) & (m))
#define v_count(a, m) v_sub(a, m)
#define v_number(m) v_neg(m)
#endif
#define v_not(m) (~(m))
#define v_and(m, n) ((m) & (n))
#define v_or(m, n) ((m) | (n))
#define v_least(a, b) v_select(v_lt(a, b), a, b)
#define v_most(a, b) v_select(v_lt(b, a), a, b)
// A sum that stops at 255.
#if LANE_BYTES > 1
#define v_cap(a, b) v_least(v_add(a, b), v_splat(255))
#elif defined __clang__ || !defined __SSE2__
#define v_cap(a, b) v_add(a, v_least(b, ~(a)))
#elif V == 64
#define v_cap(a, b)                                                                                \
    ((vec)__builtin_ia32_paddusb512_mask((bytes64)(a), (bytes64)(b), (bytes64)(a), ~(u64)0))
#elif V == 32
typedef char bytes __attribute__((vector_size(32)));
#define v_cap(a, b) ((vec)__builtin_ia32_paddusb256((bytes)(a), (bytes)(b)))
#else
typedef char bytes __attribute__((vector_size(16)));
#define v_cap(a, b) ((vec)__builtin_ia32_paddusb128((bytes)(a), (bytes)(b)))
#endif
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
// With bits that are set in what is no OUT_T.
#define v_far(far, a) ((far) | (v_sub(a, v_splat(OUT_LEAST)) & ~v_splat(OUT_MOST - OUT_LEAST)))

// Whether a sum or difference x of bytes is none, in the highest bit: what an adder carries. Easier
// where b has not that bit.
#ifdef __AVX512BW__
typedef long long words __attribute__((vector_size(64)));
#define BITWISE(a, b, c, table)                                                                    \
    ((vec)__builtin_ia32_pternlogq512_mask((words)(a), (words)(b), (words)(c), table, 0xff))
#endif
#if BITS
#define v_carry_add_low(far, a, x) BITWISE(far, a, x, 0xf4)
#define v_carry_sub_low(far, a, x) BITWISE(far, a, x, 0xf2)
#define v_carry_add(far, a, b, x) ((far) | BITWISE(a, b, x, 0xd4))
#define v_carry_sub(far, a, b, x) ((far) | BITWISE(a, b, x, 0x8e))
#else
#define v_carry_add_low(far, a, x) ((far) | ((a) & ~(x)))
#define v_carry_sub_low(far, a, x) ((far) | (~(a) & (x)))
#define v_carry_add(far, a, b, x) ((far) | ((a) & (b)) | (((a) | (b)) & ~(x)))
#define v_carry_sub(far, a, b, x) ((far) | (~(a) & (b)) | ((~(a) | (b)) & (x)))
#endif

// Whether a lane is set.
INLINE int v_any(vec m) {
    union {
        vec v;
        u64 words[sizeof(vec) / 8];
    } u = {m};
#ifdef __AVX512BW__
    if (sizeof(vec) == 64)
        return __builtin_ia32_cmpq512_mask((words)m, (words){0}, 4, 0xff) != 0;
#endif
    u64 all = 0;
    for (unsigned i = 0; i < sizeof(vec) / 8; i++)
        all |= u.words[i];
    return all != 0;
}

// The first lanes of a vector, at least one: how many, and what they have; 0 in the others.
#if BITS
typedef where some;
#define some_of(n) (~(where)0 >> ((n) < V ? V - (n) : 0))
#define v_first(v, lanes) v_keep(v, lanes)
#else
typedef long some;
#define some_of(n) (n)
INLINE vec v_first(vec v, some lanes) {
    union {
        vec v;
        LANE lane[V];
    } u = {v};
    for (long i = lanes; i < V; i++)
        u.lane[i] = 0;
    return u.v;
}
#endif

INLINE int at_most(int a, int b) { return a < b ? a : b; }

// ---- Blocks -------------------------------------------------------------------------------------

// Where rows of a turned plane have their cells from: a byte of two registers, which hold a window
// of whole rows of the input.
enum { WINDOWS = 8 };
struct turn_table {
    int height, width, windows;                     // 0: not by windows
    int rows;                                       // of the plane, that a register has
    int at[WINDOWS];                                // first cell of each window
    char from[64][64] __attribute__((aligned(64))); // of each block of rows
    u64 which[WINDOWS];                             // cells of them that each window has
};

// What is the same for grids of one shape; a worker has one of these. Lines are as long as a row
// and a block: what they have at c is that of a block which begins in column c.
struct lines {
    int width;                  // -1: nothing is there yet
    int rest, rows;             // of a row, and rows, that a block is longer
    int step, block_rows, last; // cells and rows of a block of whole rows; the last one
#if BITS
    where inside[GRID_SIDE_MOST + 2]; // a condition: not in column 0
#else
    LANE inside[GRID_SIDE_MOST + V + 1];
    LANE edge[3 * V]; // that of one block, all others are 0
#endif
    LANE column[GRID_SIDE_MOST + V + 1];
    LANE row[GRID_SIDE_MOST + V + 1];
    struct turn_table turn[4]; // of codes with GRID_TRANSPOSE, by turn_of
    // Planes of an input of this shape, `room` bytes each.
    u64 shape, room;
    char *planes;
    char near[1 << 14] __attribute__((aligned(64))); // of small ones
};
#define turn_of(l, code) (&(l)->turn[(code) / 2])
typedef LANE vec_line __attribute__((vector_size(V * sizeof(LANE)), aligned(1), may_alias));
#define v_line(line, c) (*(const vec_line *)((line) + (c)))

#if BITS
#define v_inside(l, c) ((l)->inside[c])
INLINE void inside_make(struct lines *l, int w) {
    where in = ~(where)0; // that of column w + 1
    for (int i = w - 1; i < 64; i += w)
        in &= ~((where)1 << i);
    for (int c = w + 1; c >= 0; c--, in = in << 1 | (c && c != w))
        l->inside[c] = in;
}
INLINE void edge_make(struct lines *l) {} // there are bits

// Lanes from n on, or those before it; 0 in the others.
INLINE vec v_since(vec v, long n, const struct lines *l) {
    return v_keep(v, n < V ? ~(where)0 << n : 0);
}
INLINE vec v_until(vec v, long n, const struct lines *l) {
    return v_keep(v, n > 0 ? ~(where)0 >> (V - n) : 0);
}
#else
#define v_inside(l, c) v_line((l)->inside, c)
INLINE void inside_make(struct lines *l, int w) {
    for (int i = 0; i <= w + V; i++)
        l->inside[i] = (LANE)-1;
    for (int i = 0; i <= w + V; i += w)
        l->inside[i] = 0;
}
INLINE void edge_make(struct lines *l) {
    for (int i = 0; i < 3 * V; i++)
        l->edge[i] = (LANE)(i / V == 1 ? -1 : 0);
}

INLINE vec v_since(vec v, long n, const struct lines *l) {
    return v & v_line(l->edge, n < V ? V - n : 0);
}
INLINE vec v_until(vec v, long n, const struct lines *l) {
    return v & v_line(l->edge, n > 0 ? 2 * V - n : 2 * V);
}
#endif

NOINLINE void lines_make(struct lines *l, int w) {
    int column = 0, row = 0;
    for (int i = 0; i <= w + V; i++) {
        l->column[i] = (LANE)column;
        l->row[i] = (LANE)row;
        if (++column == w) {
            column = 0;
            row++;
        }
    }
    inside_make(l, w);
    l->width = w;
    l->rest = V % w;
    l->rows = V / w;
}

INLINE void lines_begin(struct lines *l) {
    edge_make(l);
    l->width = -1;
    l->shape = 0;
    for (int i = 0; i < 4; i++)
        l->turn[i].height = 0;
}

// A block: its first cell, and that one's row and column.
struct block {
    long i;
    int row, column;
};

// The next one; the last begins at `last`. Rows of l->width are counted where somebody asks. A
// block has V cells, and the last overlaps the one before, or it has whole rows, `step` cells.
INLINE void block_next(struct block *b, long last, const struct lines *l, int asked, long step,
                       const int whole) {
    const long from = b->i;
    if (whole) {
        b->i += step;
        b->row += l->block_rows;
        return;
    }
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

// The blocks of a size that begin and end a run of bytes, which may overlap.
#define COPY_ENDS(to, from, n, size)                                                               \
    do {                                                                                           \
        __builtin_memcpy((to), (from), (size));                                                    \
        __builtin_memcpy((to) + (n) - (size), (from) + (n) - (size), (size));                      \
    } while (0)

// A run of bytes and nothing around it, without a call: functions of libc know only the lower parts
// of vectors and are slow beside code that uses the upper ones.
INLINE void copy_bytes(char *to, const char *from, u64 n) {
    if (n >= 64) {
        for (u64 i = 64; i < n - 64; i += 64)
            __builtin_memcpy(to + i, from + i, 64);
        COPY_ENDS(to, from, n, 64);
    } else if (n >= 32)
        COPY_ENDS(to, from, n, 32);
    else if (n >= 16)
        COPY_ENDS(to, from, n, 16);
    else if (n >= 8)
        COPY_ENDS(to, from, n, 8);
    else if (n >= 4)
        COPY_ENDS(to, from, n, 4);
    else if (n >= 2)
        COPY_ENDS(to, from, n, 2);
    else if (n)
        *to = *from;
}

INLINE void v_store(OUT_T *out, long i, vec v) {
    *(vec_out *)(out + i) = __builtin_convertvector(v, vec_out);
}

// Some of its lanes.
INLINE void v_store_first(OUT_T *out, long i, vec v, some lanes) {
#if BITS && OUT_BYTES == 1
    __builtin_ia32_storedquqi512_mask((bytes64 *)(out + i), (bytes64)v, lanes);
#else
#if BITS
    const u64 n = lanes == ~(where)0 ? V : (u64)__builtin_ctzll(~lanes);
#else
    const u64 n = (u64)lanes;
#endif
    OUT_T few[V];
    v_store(n < V ? few : out + i, 0, v);
    if (n < V)
        copy_bytes((char *)(out + i), (const char *)few, n * sizeof(OUT_T));
#endif
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
    copy_bytes((char *)to, (const char *)in, (u64)h * (u64)w * sizeof(IN_T));
    return to;
}

// With the rows of a border before and behind it, which is not GRID_ZERO.
INLINE plane plane_pad(plane p, int h, int w, int border, IN_T *to) {
    const long n = (long)h * w, last = n - w;
    plane_run(to - w, border == GRID_WRAP ? p + last : p, w);
    plane_run(to, p, n);
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

#ifdef __AVX512BW__ // most turns go another way there, and compiling it takes long
#define TILES NOINLINE
#else
#define TILES INLINE
#endif

// One such pair: columns c to c + 32 of 16 rows of the result from r on. They are rows and columns
// of what is read; rows that are not there are the last. `whole`: there are 16; else only w.
TILES void turn_pair(plane p, int c, int r, int h, int w, int code, int whole, IN_T *to) {
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
// Small grids where the machine takes bytes from anywhere in two registers; what is compiled here
// is for all that have AVX-512, so the instruction is written by name.
#define v_take(v, a, b, which)                                                                     \
    __asm__("vpermi2b %2, %1, %0%{%3%}" : "+v"(v) : "v"(a), "v"(b), "Yk"(which))
// Code is made for these numbers of windows; a table has the next of them, whose last give nothing.
#define WINDOW_COUNTS(X) X(2) X(5) X(8)

NOINLINE void turn_table_make(struct turn_table *t, int h, int w, int code) {
    const int up = code & GRID_FLIP_ROWS, back = code & GRID_FLIP_COLS, rows = w > 64 ? 1 : 128 / w;
    t->height = h;
    t->width = w;
    t->windows = 0;
    t->rows = h > 64 ? 0 : 64 / h;
    __builtin_memset(t->which, 0, sizeof t->which);
    if (h > 64 || w > 64 || h > WINDOWS * rows)
        return;
    const int there = (h + rows - 1) / rows;
    t->windows = there <= 2 ? 2 : there <= 5 ? 5 : WINDOWS;
    for (int k = 0; k < WINDOWS; k++)
        t->at[k] = at_most(k, there - 1) * rows * w;
    for (int i = 0, r = 0, c = 0; i < 64; i++) {
        int y = up ? h - 1 - c : c, x = back ? w - 1 - r : r;
        t->from[0][i] = (char)(y % rows * w + x);
        t->which[y / rows] |= 1ull << i;
        if (++c == h) {
            c = 0;
            r++;
        }
    }
    for (int k = 1; k * t->rows < w; k++)
        *(ubytes64 *)t->from[k] =
            *(ubytes64 *)t->from[k - 1] + (unsigned char)(back ? -t->rows : t->rows);
}

// 0: it is too large.
INLINE int turn_is_small(struct turn_table *t, int h, int w, int code) {
    if (t->height != h || t->width != w)
        turn_table_make(t, h, w, code);
    return t->windows;
}

// The input, in registers.
struct windows {
    bytes64 low[WINDOWS], high[WINDOWS];
};

INLINE struct windows windows_load(plane p, const struct turn_table *t, const int windows) {
    struct windows in;
    UNROLL for (int k = 0; k < windows; k++) {
        in.low[k] = *(const bytes64 *)(p + t->at[k]);
        in.high[k] = *(const bytes64 *)(p + t->at[k] + 64);
    }
    return in;
}

// Where a block of the turned plane has its cells from.
struct turn {
    const char (*from)[64];
    u64 which[WINDOWS];
};

INLINE struct turn turn_begin(const struct turn_table *table, const int windows) {
    struct turn t;
    t.from = table->from;
    UNROLL for (int k = 0; k < windows; k++) t.which[k] = table->which[k];
    return t;
}

// Each window gives its cells to those places of a block that still hold where to take them from.
// What is beyond the rows of a block belongs to the next, and behind the last it is anything.
INLINE bytes64 turn_next(struct turn *t, const struct windows *in, const int windows) {
    bytes64 v = *(const bytes64 *)t->from++;
    UNROLL for (int k = 0; k < windows; k++) v_take(v, in->low[k], in->high[k], t->which[k]);
    return v;
}

INLINE void turn_by_windows(plane p, const struct turn_table *table, IN_T *to, const int windows) {
    const int step = table->rows * table->height, n = table->height * table->width;
    const struct windows in = windows_load(p, table, windows);
    struct turn t = turn_begin(table, windows);
    for (int i = 0; i < n; i += step)
        *(bytes64 *)(to + i) = turn_next(&t, &in, windows);
}

NOINLINE void turn_small(plane p, const struct turn_table *t, IN_T *to) {
    switch (t->windows) {
#define TURN(n)                                                                                    \
    case n:                                                                                        \
        turn_by_windows(p, t, to, n);                                                              \
        break;
        WINDOW_COUNTS(TURN)
    }
}
#else
#define turn_is_small(t, h, w, code) 0
#define turn_small(p, t, to)
#endif
#endif

// Planes whose rows are columns of the input need not be in memory where cells are bytes and all
// grids are of one small shape: a block of whole rows of each is made of the input's windows. How
// many of these there are; 0: planes are in memory. `codes` has a bit for each such plane.
#if IN_BYTES == 1 && BITS
INLINE int turns_begin(struct lines *l, const struct grid_args *a, unsigned codes) {
    int windows = 0;
    for (int code = 0; a->anywhere && code < 8; code++)
        if (codes >> code & 1)
            windows = turn_is_small(turn_of(l, code), a->height, a->width, code);
    if (windows) {
        l->block_rows = 64 / a->height;
        l->step = l->block_rows * a->height;
        l->last = (a->width - 1) / l->block_rows * l->step;
    }
    return windows;
}
// What the first block of each is made from, in registers.
struct turns {
    struct turn of[8];
};
INLINE struct turns turns_of(const struct lines *l, unsigned codes, const int windows) {
    struct turns t;
    UNROLL for (int code = 0; code < 8; code++) if (codes >> code & 1) t.of[code] =
        turn_begin(turn_of(l, code), windows);
    return t;
}
#define TURNS_IN(p, code) const struct windows in = windows_load(p, turn_of(lines, code), windows);
#define TURN_OF(code) struct turn t##code = g.turns->of[code];
#define v_turned(code, p, i) (windows ? (vec)turn_next(&t##code, &in, windows) : (vec)v_load(p, i))
#else
#define TURNS_IN(p, code)
#define TURN_OF(code)
#define v_turned(code, p, i) v_load(p, i)
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
    else if (anywhere && turn_is_small(turn_of(l, code), h, w, code))
        turn_small(p, turn_of(l, code), to);
    else
        turn_tiles(p, h, w, code, to);
#else
    else
        turn_cells(p, h, w, code, to);
#endif
    return to;
}

// Cells dy rows below and dx columns to the right of a block, each at most one. What is not there
// is 0, or comes from the rows that p has around it.
#define v_at(p, border, dy, dx) v_beside(p, border, dy, dx, &b, cells, lines)
INLINE vec v_beside(plane p, int border, int dy, int dx, const struct block *b, long cells,
                    const struct lines *l) {
    const plane from = p + b->i + dy * (long)l->width;
    const long left = cells - l->width - b->i; // to the last row
    vec v = v_load(from, dx);
    if (border == GRID_ZERO && dy < 0 && __builtin_expect(b->i < l->width, 0))
        v = v_since(v, l->width - b->i, l);
    if (border == GRID_ZERO && dy > 0 && __builtin_expect(left < V, 0))
        v = v_until(v, left, l);
    if (!dx)
        return v;
    where in = v_inside(l, b->column + (dx > 0)); // what is not comes from the border
    if (border == GRID_ZERO)
        return v_keep(v, in);
    return v_select(in, v,
                    v_load(from, border == GRID_EDGE ? 0
                                 : dx > 0            ? dx - l->width
                                                     : l->width + dx));
}
