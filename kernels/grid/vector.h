// SPDX-License-Identifier: MIT
// A row of cells as vectors, for a CPU and for results that are one pass over the input.
//
// Given: LANE, short or int, in which no value of the pipeline wraps unless it is an int; V, lanes
// of a register; IN_T and OUT_T. What is read is a plane: a copy of the input, turned or with a
// border around it, in the workspace. Vectors reach beyond the end of a row: of a plane there is
// always something to read, and what is written too far is written over by the next row, but for
// the end of the grid.
typedef LANE vec __attribute__((vector_size(V * sizeof(LANE))));
typedef unsigned LANE uvec __attribute__((vector_size(V * sizeof(LANE))));
typedef IN_T vec_in __attribute__((vector_size(V * sizeof(IN_T)), aligned(1), may_alias));
typedef OUT_T vec_out __attribute__((vector_size(V * sizeof(OUT_T)), aligned(1), may_alias));
typedef unsigned char bytes16 __attribute__((vector_size(16), aligned(1), may_alias));

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
#define v_load(p, r, c)                                                                            \
    __builtin_convertvector(*(const vec_in *)((p).at + (r) * (p).stride + (c)), vec)

INLINE vec v_lanes(int first) {
    vec r;
    UNROLL for (int i = 0; i < V; i++) r[i] = (LANE)(first + i);
    return r;
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

// ---- Planes -------------------------------------------------------------------------------------

struct plane {
    const IN_T *at; // row 0, column 0
    long stride;
};

enum { PLANE_SLACK = 64 }; // cells around each that may be read

INLINE u64 plane_bytes(int h, int w) {
    int side = (w > h ? w : h) + 2;
    u64 cells = (u64)((h > w ? h : w) + 2) * (u64)((side + 15) / 16 * 16) + 2 * PLANE_SLACK;
    return (cells * sizeof(IN_T) + 127) / 64 * 64;
}

INLINE struct plane plane_copy(const IN_T *in, int h, int w, IN_T *room) {
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

INLINE bytes16 low_pairs(bytes16 a, bytes16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
INLINE bytes16 high_pairs(bytes16 a, bytes16 b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}

// 16 by 16 bytes turned in registers: four times, rows of one half are laced with those of the
// other.
INLINE void tile_transpose(bytes16 a[16]) {
    bytes16 b[16];
    UNROLL for (int i = 0; i < 8; i++) {
        b[2 * i] = low_pairs(a[i], a[i + 8]);
        b[2 * i + 1] = high_pairs(a[i], a[i + 8]);
    }
    UNROLL for (int i = 0; i < 8; i++) {
        a[2 * i] = low_pairs(b[i], b[i + 8]);
        a[2 * i + 1] = high_pairs(b[i], b[i + 8]);
    }
    UNROLL for (int i = 0; i < 8; i++) {
        b[2 * i] = low_pairs(a[i], a[i + 8]);
        b[2 * i + 1] = high_pairs(a[i], a[i + 8]);
    }
    UNROLL for (int i = 0; i < 8; i++) {
        a[2 * i] = low_pairs(b[i], b[i + 8]);
        a[2 * i + 1] = high_pairs(b[i], b[i + 8]);
    }
}

// h by w of the plane that is read. Rows and columns change places; a row of the result is a
// column, counted from the end where columns are flipped.
INLINE void turn_tiles(struct plane p, int h, int w, int code, IN_T *to, long stride) {
    for (int c = 0; c < h; c += 16)
        for (int j = 0; j < w; j += 16) {
            bytes16 a[16];
            UNROLL for (int k = 0; k < 16; k++) {
                int row = c + k < h ? c + k : h - 1;
                row = code & GRID_FLIP_ROWS ? h - 1 - row : row;
                a[k] = *(const bytes16 *)(const void *)(p.at + row * p.stride + j);
            }
            tile_transpose(a);
            for (int k = 0; k < 16 && j + k < w; k++) {
                int row = code & GRID_FLIP_COLS ? w - 1 - j - k : j + k;
                *(bytes16 *)(void *)(to + row * stride + c) = a[k];
            }
        }
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
    long stride = ((code & GRID_TRANSPOSE ? h : w) + 15) / 16 * 16;
    room += PLANE_SLACK;
    if (code == GRID_FLIP_ROWS)
        return (struct plane){p.at + (h - 1) * p.stride, -p.stride};
    if (sizeof(IN_T) == 1 && (code & GRID_TRANSPOSE))
        turn_tiles(p, h, w, code, room, stride);
    else
        turn_cells(p, h, w, code, room, stride);
    return (struct plane){room, stride};
}

// ---- Results ------------------------------------------------------------------------------------

// Cells c to c + V of row r; past the end of the grid nothing is written.
INLINE void v_store(OUT_T *out, int h, int w, int r, int c, vec v) {
    long at = (long)r * w + c, end = (long)h * w;
    vec_out cells = __builtin_convertvector(v, vec_out);
    if (at + V <= end) {
        *(vec_out *)(out + at) = cells;
        return;
    }
    OUT_T some[V];
    __builtin_memcpy(some, &cells, sizeof some);
    for (int i = 0; i < V && c + i < w; i++)
        out[at + i] = some[i];
}
