// SPDX-License-Identifier: MIT
// A row of cells as vectors, for a CPU and for results that are one pass over the input.
//
// Given: LANE, unsigned char, short or int, in which no value of the pipeline wraps unless it is an
// int; ULANE, the same without a sign; V, lanes of a vector; IN_T and OUT_T. What is read is a
// plane: a copy of the input, turned or with a border around it, in the workspace. Vectors reach
// beyond the end of a row: of a plane there is always something to read, and what is written too
// far is written over by the next row, but for the end of the grid.
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
#define v_load(p, r, c) v_widen(*(const vec_in *)((p).at + (r) * (p).stride + (c)))
// Bits that are set in what is no OUT_T.
#define v_far(a) (v_sub(a, v_splat(OUT_LEAST)) & ~v_splat(OUT_MOST - OUT_LEAST))

static const LANE lane_numbers[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                      11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                      22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
INLINE vec v_lanes(int first) {
    vec r;
    __builtin_memcpy(&r, lane_numbers, sizeof r);
    return r + v_splat(first);
}
INLINE int v_any(vec m) {
    union {
        vec v;
        u64 words[sizeof(vec) / 8];
    } u = {m};
    u64 all = 0;
    for (unsigned i = 0; i < sizeof(vec) / 8; i++)
        all |= u.words[i];
    return all != 0;
}

INLINE int at_most(int a, int b) { return a < b ? a : b; }

// ---- Planes -------------------------------------------------------------------------------------

struct plane {
    const IN_T *at; // row 0, column 0
    long stride;
};

enum { PLANE_SLACK = 64 }; // cells around each that may be read

INLINE u64 plane_bytes(int h, int w) {
    int side = (w > h ? w : h) + 2;
    u64 cells = (u64)((h > w ? h : w) + 2) * (u64)((side + 31) / 32 * 32) + 2 * PLANE_SLACK;
    return (cells * sizeof(IN_T) + 127) / 64 * 64;
}

// The input as it is, where memory behind it may be read; else a copy.
INLINE struct plane plane_copy(const IN_T *in, int h, int w, int behind, IN_T *room) {
    if (behind >= PLANE_SLACK)
        return (struct plane){in, w};
    room += PLANE_SLACK;
    __builtin_memcpy(room, in, (u64)h * (u64)w * sizeof(IN_T));
    return (struct plane){room, w};
}

// A row, in blocks that may reach beyond its end.
INLINE void plane_row(IN_T *to, const IN_T *from, int w) {
    for (int c = 0; c < w; c += 16)
        __builtin_memcpy(to + c, from + c, 16 * sizeof(IN_T));
}

// With a border of one cell.
INLINE struct plane plane_pad(struct plane p, int h, int w, int border, IN_T *room) {
    long stride = w + 2;
    IN_T *first = room + PLANE_SLACK + stride + 1;
    for (int r = -1; r <= h; r++) {
        int y = border_place(r, 1, 0, h, border);
        IN_T *row = first + r * stride;
        if (y >= 0)
            plane_row(row, p.at + y * p.stride, w);
        else
            for (int c = 0; c < w; c++)
                row[c] = 0;
        row[w] = border == GRID_ZERO || y < 0 ? 0 : border == GRID_WRAP ? row[0] : row[w - 1];
        row[-1] = border == GRID_ZERO || y < 0 ? 0 : border == GRID_WRAP ? row[w - 1] : row[0];
    }
    return (struct plane){first, stride};
}

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

// One such pair: 16 columns from j on of 32 rows from c on; rows that are not there are the last.
// `whole`: there are so many columns; else some are left out.
INLINE void turn_pair(struct plane p, int c, int j, int h, int w, int code, int whole, IN_T *to,
                      long stride) {
    const int up = code & GRID_FLIP_ROWS, back = code & GRID_FLIP_COLS;
    const long step = up ? -p.stride : p.stride, next = back ? -stride : stride;
    const int c2 = at_most(c + 16, h - 1);
    const IN_T *one = p.at + (up ? h - 1 - c : c) * p.stride + j;
    const IN_T *two = p.at + (up ? h - 1 - c2 : c2) * p.stride + j;
    IN_T *row = to + (back ? w - 1 - j : j) * stride + c;
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
    UNROLL for (int k = 0; k < 16; k++) if (whole || j + k < w)
        __builtin_memcpy(row + k * next, &a[k], 32);
}

// h by w of the plane that is read. Rows and columns change places; a row of the result is a
// column, counted from the end where columns are flipped. The last tiles overlap those before.
INLINE void turn_tiles(struct plane p, int h, int w, int code, IN_T *to, long stride) {
    for (int c = 0; c < h; c += 32)
        for (int j = 0; j < w; j += 16)
            if (w >= 16)
                turn_pair(p, c, at_most(j, w - 16), h, w, code, 1, to, stride);
            else
                turn_pair(p, c, j, h, w, code, 0, to, stride);
}

INLINE void turn_cells(struct plane p, int h, int w, int code, IN_T *to, long stride) {
    int other = code & GRID_TRANSPOSE;
    for (int r = 0; r < (other ? w : h); r++)
        for (int c = 0; c < (other ? h : w); c++) {
            int y = other ? c : r, x = other ? r : c;
            y = code & GRID_FLIP_ROWS ? h - 1 - y : y;
            x = code & GRID_FLIP_COLS ? w - 1 - x : x;
            to[r * stride + c] = p.at[y * p.stride + x];
        }
}

INLINE struct plane plane_turn(struct plane p, int h, int w, int code, IN_T *room) {
    long stride = ((code & GRID_TRANSPOSE ? h : w) + 31) / 32 * 32;
    room += PLANE_SLACK;
    if (code == GRID_FLIP_ROWS)
        return (struct plane){p.at + (h - 1) * p.stride, -p.stride};
    if (sizeof(IN_T) == 1 && (code & GRID_TRANSPOSE))
        turn_tiles(p, h, w, code, room, stride);
    else
        turn_cells(p, h, w, code, room, stride);
    return (struct plane){room, stride};
}

// Cells beside those of a block, 0 outside of h by w; one row and one column away at most.
INLINE vec v_at(struct plane p, int r, int dy, int c, int dx, int h, int w) {
    int row = r + dy, inside = row >= 0 && row < h;
    vec v = v_load(p, inside ? row : r, c + dx);
    if (dx < 0 && c == 0)
        v &= v_lt(v_splat(0), v_lanes(0));
    if (dx > 0)
        v &= v_lt(v_lanes(0), v_splat(at_most(w - 1 - c, V)));
    return dy ? v & v_splat(inside ? -1 : 0) : v;
}

// ---- Results ------------------------------------------------------------------------------------

// Cells c to c + V of row r; past the end of the grid nothing is written. Blocks of columns are
// made from the last to the first, each from the first row to the last, so that what reaches into
// the next row is written over.
INLINE void v_store(OUT_T *out, int h, int w, int r, int c, vec v) {
    long at = (long)r * w + c, end = (long)h * w;
    vec_out cells = __builtin_convertvector(v, vec_out);
    if (__builtin_expect(at + V <= end, 1))
        *(vec_out *)(out + at) = cells;
    else
        __builtin_memcpy(out + at, &cells, (u64)(w - c < V ? w - c : V) * sizeof(OUT_T));
}
