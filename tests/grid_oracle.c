// SPDX-License-Identifier: MIT
// Evaluates a pipeline for one grid. A value has a shape (0 by 0: it is a number), cells in 64 bits
// and, for each, whether a division by 0 is in it.
#include "grid_oracle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 1024, NAMES = 64, ARGS = 6 };

struct val {
    bool number, box;
    int h, w;
    int64_t *v; // [h w], or one of a number
    bool *none;
};

struct named {
    char name[64];
    struct val val;
};

static struct oracle {
    const char *at;
    struct val in, own;
    struct named named[NAMES];
    int names;
    const char *status;
    jmp_buf out;
    void *kept[1 << 16];
    int kept_count;
} o;

static void leave(const char *status) {
    o.status = status;
    longjmp(o.out, 1);
}
#define SYNTAX() leave(NULL)
static void need(bool holds, const char *status) {
    if (!holds)
        leave(status);
}

static void *keep(size_t bytes) {
    if (o.kept_count == 1 << 16)
        abort();
    return o.kept[o.kept_count++] = calloc(1, bytes ? bytes : 1);
}

static int count(struct val a) { return a.number ? 1 : a.h * a.w; }

static struct val make(bool number, int h, int w) {
    struct val r = {.number = number, .h = h, .w = w};
    r.v = keep((size_t)count(r) * sizeof *r.v);
    r.none = keep((size_t)count(r));
    return r;
}

static struct val num(int64_t v) {
    struct val r = make(true, 0, 0);
    r.v[0] = v;
    return r;
}

static int64_t wrap(int64_t v) { return (int32_t)(uint32_t)(uint64_t)v; }
static int64_t floor_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }
static int64_t floor_div(int64_t a, int64_t b) { return (a - floor_mod(a, b)) / b; }

// ---- Text ---------------------------------------------------------------------------------------

static void blanks(void) {
    for (;; o.at++) {
        if (*o.at == '#')
            o.at += strcspn(o.at, "\n");
        if (!*o.at || !strchr(" \t\r\n", *o.at))
            return;
    }
}
static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}
static bool sign(const char *s) {
    blanks();
    if (strncmp(o.at, s, strlen(s)))
        return false;
    o.at += strlen(s);
    return true;
}
static bool word(const char *s) {
    blanks();
    size_t n = strlen(s);
    if (strncmp(o.at, s, n) || is_word_char(o.at[n]))
        return false;
    o.at += n;
    return true;
}
static bool next_is(char c) {
    blanks();
    return *o.at == c;
}
static void name(char out[64]) {
    size_t n = 0;
    blanks();
    if (!(*o.at >= 'a' && *o.at <= 'z'))
        SYNTAX();
    while (is_word_char(*o.at) && n < 63)
        out[n++] = *o.at++;
    out[n] = 0;
}

// ---- Cell by cell -------------------------------------------------------------------------------

static void same_shape(struct val a, struct val b) {
    need(a.number || b.number || (a.h == b.h && a.w == b.w), "shape");
}
static struct val shaped_as(struct val a, struct val b, struct val c) {
    struct val s = !a.number ? a : !b.number ? b : c;
    return make(s.number, s.h, s.w);
}
static int64_t get(struct val a, int i, bool *none) {
    *none = a.none[a.number ? 0 : i];
    return a.v[a.number ? 0 : i];
}

static struct val both(const char *op, struct val a, struct val b) {
    if (a.box || b.box)
        SYNTAX();
    same_shape(a, b);
    struct val r = shaped_as(a, b, b);
    for (int i = 0; i < count(r); i++) {
        bool p, q;
        int64_t x = get(a, i, &p), y = get(b, i, &q), z = 0;
        bool bad = p || q;
        if (!strcmp(op, "+"))
            z = x + y;
        else if (!strcmp(op, "-"))
            z = x - y;
        else if (!strcmp(op, "*"))
            z = x * y;
        else if (!strcmp(op, "/") || !strcmp(op, "%")) {
            bad |= y == 0;
            z = y == 0 ? 0 : *op == '/' ? floor_div(x, y) : floor_mod(x, y);
        } else if (!strcmp(op, "min"))
            z = x < y ? x : y;
        else if (!strcmp(op, "max"))
            z = x > y ? x : y;
        else if (!strcmp(op, "=="))
            z = x == y;
        else if (!strcmp(op, "!="))
            z = x != y;
        else if (!strcmp(op, "<"))
            z = x < y;
        else if (!strcmp(op, "<="))
            z = x <= y;
        else if (!strcmp(op, ">"))
            z = x > y;
        else if (!strcmp(op, ">="))
            z = x >= y;
        else if (!strcmp(op, "and")) {
            z = x && y;
            bad = p || (x && q);
        } else if (!strcmp(op, "or")) {
            z = x || y;
            bad = p || (!x && q);
        }
        r.v[i] = wrap(z);
        r.none[i] = bad;
    }
    return r;
}

static struct val choose(struct val c, struct val a, struct val b) {
    if (a.box || b.box || c.box)
        SYNTAX();
    same_shape(c, a);
    same_shape(c, b);
    same_shape(a, b);
    struct val r = shaped_as(c, a, b);
    for (int i = 0; i < count(r); i++) {
        bool n, m, k;
        int64_t x = get(c, i, &n), y = get(a, i, &m), z = get(b, i, &k);
        r.v[i] = x ? y : z;
        r.none[i] = n || (x ? m : k);
    }
    return r;
}

static struct val place(struct val g, bool row) {
    struct val r = make(false, g.h, g.w);
    for (int i = 0; i < count(r); i++)
        r.v[i] = row ? i / g.w : i % g.w;
    return r;
}

// ---- Geometry -----------------------------------------------------------------------------------

static struct val cut(struct val g, int64_t r0, int64_t c0, int64_t h, int64_t w) {
    need(h >= 1 && w >= 1, "empty");
    need(r0 >= 0 && c0 >= 0 && r0 + h <= g.h && c0 + w <= g.w, "bounds");
    struct val r = make(false, (int)h, (int)w);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            r.v[y * w + x] = g.v[(y + r0) * g.w + x + c0];
            r.none[y * w + x] = g.none[(y + r0) * g.w + x + c0];
        }
    return r;
}

static struct val rot90(struct val g) {
    struct val r = make(false, g.w, g.h);
    for (int y = 0; y < g.h; y++)
        for (int x = 0; x < g.w; x++) {
            r.v[(g.w - 1 - x) * g.h + y] = g.v[y * g.w + x];
            r.none[(g.w - 1 - x) * g.h + y] = g.none[y * g.w + x];
        }
    return r;
}
static struct val flip_h(struct val g) {
    struct val r = make(false, g.h, g.w);
    for (int y = 0; y < g.h; y++)
        for (int x = 0; x < g.w; x++) {
            r.v[y * g.w + g.w - 1 - x] = g.v[y * g.w + x];
            r.none[y * g.w + g.w - 1 - x] = g.none[y * g.w + x];
        }
    return r;
}

// The cell at a place that may be outside.
static int64_t peek(struct val g, int64_t y, int64_t x, char border, bool *none) {
    *none = false;
    if (border == 'w') {
        y = floor_mod(y, g.h);
        x = floor_mod(x, g.w);
    } else if (border == 'e') {
        y = y < 0 ? 0 : y >= g.h ? g.h - 1 : y;
        x = x < 0 ? 0 : x >= g.w ? g.w - 1 : x;
    }
    if (y < 0 || x < 0 || y >= g.h || x >= g.w)
        return 0;
    *none = g.none[y * g.w + x];
    return g.v[y * g.w + x];
}

static struct val moved(struct val g, struct val dy, struct val dx, int way, char border) {
    struct val r = make(false, g.h, g.w);
    for (int i = 0; i < count(r); i++) {
        r.v[i] = peek(g, i / g.w + way * dy.v[0], i % g.w + way * dx.v[0], border, &r.none[i]);
        r.none[i] |= dy.none[0] || dx.none[0];
    }
    return r;
}

// Cells of a larger or smaller grid, by where they come from.
static struct val scaled(struct val g, int64_t h, int64_t w, char how, int64_t k) {
    need(h <= SIDE && w <= SIDE, "size");
    struct val r = make(false, (int)h, (int)w);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int64_t sy = how == 't' ? y % g.h : how == 'u' ? y / k : y * k;
            int64_t sx = how == 't' ? x % g.w : how == 'u' ? x / k : x * k;
            r.v[y * w + x] = g.v[sy * g.w + sx];
            r.none[y * w + x] = g.none[sy * g.w + sx];
        }
    return r;
}

static struct val pad(struct val g, int64_t n, struct val v) {
    need(n >= 0, "bounds");
    need(g.h + 2 * n <= SIDE && g.w + 2 * n <= SIDE, "size");
    struct val r = make(false, (int)(g.h + 2 * n), (int)(g.w + 2 * n));
    for (int i = 0; i < count(r); i++) {
        int64_t y = i / r.w - n, x = i % r.w - n;
        bool inside = y >= 0 && x >= 0 && y < g.h && x < g.w;
        r.v[i] = inside ? g.v[y * g.w + x] : v.v[0];
        r.none[i] = inside ? g.none[y * g.w + x] : v.none[0];
    }
    return r;
}

static struct val concat(struct val a, struct val b, bool side) {
    need(side ? a.h == b.h : a.w == b.w, "shape");
    int h = side ? a.h : a.h + b.h, w = side ? a.w + b.w : a.w;
    need(h <= SIDE && w <= SIDE, "size");
    struct val r = make(false, h, w);
    for (int i = 0; i < count(r); i++) {
        int y = i / w, x = i % w;
        bool second = side ? x >= a.w : y >= a.h;
        struct val g = second ? b : a;
        int at = (y - (second && !side ? a.h : 0)) * g.w + x - (second && side ? a.w : 0);
        r.v[i] = g.v[at];
        r.none[i] = g.none[at];
    }
    return r;
}

// ---- Neighbourhoods and whole grids -------------------------------------------------------------

static const int near_steps[8][2] = {{-1, 0},  {1, 0},  {0, -1}, {0, 1},
                                     {-1, -1}, {-1, 1}, {1, -1}, {1, 1}};

static struct val near(struct val g, char what, int n, char border) {
    struct val r = make(false, g.h, g.w);
    for (int i = 0; i < count(r); i++) {
        int64_t v = 0;
        for (int k = 0; k < n; k++) {
            bool none;
            int64_t x =
                peek(g, i / g.w + near_steps[k][0], i % g.w + near_steps[k][1], border, &none);
            r.none[i] |= none;
            v = what == 's' ? v + x : k == 0 ? x : what == 'm' ? (x < v ? x : v) : x > v ? x : v;
        }
        r.v[i] = wrap(v);
    }
    return r;
}

static bool has_none(struct val g) {
    for (int i = 0; i < count(g); i++)
        if (g.none[i])
            return true;
    return false;
}

static struct val whole(struct val g, struct val r) {
    for (int i = 0; has_none(g) && i < count(r); i++)
        r.none[i] = true;
    return r;
}

// Marks the component of a cell with a number in `mark`; returns its size. No recursion: again and
// again until nothing changes.
static int spread(struct val g, int64_t *mark, int from, int64_t with, int n) {
    int size = 1;
    int *stack = malloc((size_t)count(g) * sizeof *stack), depth = 0;
    mark[from] = with;
    stack[depth++] = from;
    while (depth) {
        int i = stack[--depth];
        for (int k = 0; k < n; k++) {
            int y = i / g.w + near_steps[k][0], x = i % g.w + near_steps[k][1];
            if (y < 0 || x < 0 || y >= g.h || x >= g.w)
                continue;
            int j = y * g.w + x;
            if (mark[j] || g.v[j] != g.v[i])
                continue;
            mark[j] = with;
            size++;
            stack[depth++] = j;
        }
    }
    free(stack);
    return size;
}

static struct val components(struct val g, bool sizes, int n) {
    struct val label = make(false, g.h, g.w), r = make(false, g.h, g.w);
    int64_t *size = keep((size_t)(count(g) + 1) * sizeof *size), labels = 0;
    for (int i = 0; i < count(g); i++)
        if (g.v[i] && !label.v[i]) {
            labels++;
            size[labels] = spread(g, label.v, i, labels, n);
        }
    for (int i = 0; i < count(g); i++)
        r.v[i] = sizes ? size[label.v[i]] : label.v[i];
    return whole(g, r);
}

static struct val fill(struct val g, struct val row, struct val col, struct val v) {
    need(!row.none[0] && !col.none[0], "division");
    need(row.v[0] >= 0 && col.v[0] >= 0 && row.v[0] < g.h && col.v[0] < g.w, "bounds");
    struct val mark = make(false, g.h, g.w);
    spread(g, mark.v, (int)(row.v[0] * g.w + col.v[0]), 1, 4);
    return choose(whole(g, mark), v, g);
}

static struct val generations(struct val g, const bool rule[18], int64_t n, char border) {
    struct val r = make(false, g.h, g.w);
    memcpy(r.v, g.v, (size_t)count(g) * sizeof *g.v);
    for (int64_t k = 0; k < n; k++) {
        struct val next = make(false, g.h, g.w);
        for (int i = 0; i < count(g); i++) {
            int alive = 0;
            bool none;
            for (int s = 0; s < 8; s++)
                alive += peek(r, i / g.w + near_steps[s][0], i % g.w + near_steps[s][1], border,
                              &none) != 0;
            next.v[i] = rule[alive + (r.v[i] ? 9 : 0)];
        }
        r = next;
    }
    return whole(g, r);
}

static struct val reduce(struct val g, const char *what) {
    struct val r = num(strcmp(what, "sum") ? g.v[0] : 0);
    r.none[0] = has_none(g);
    for (int i = 0; i < count(g); i++)
        r.v[0] = !strcmp(what, "sum")   ? wrap(r.v[0] + g.v[i])
                 : !strcmp(what, "min") ? (g.v[i] < r.v[0] ? g.v[i] : r.v[0])
                 : g.v[i] > r.v[0]      ? g.v[i]
                                        : r.v[0];
    return r;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Equal values stand together once they are sorted.
static struct val common(struct val g, bool most) {
    struct val r = num(0);
    int best = -1;
    int64_t *v = keep((size_t)count(g) * sizeof *v);
    memcpy(v, g.v, (size_t)count(g) * sizeof *v);
    qsort(v, (size_t)count(g), sizeof *v, by_value);
    r.none[0] = has_none(g);
    for (int i = 0, n; i < count(g); i += n) {
        for (n = 1; i + n < count(g) && v[i + n] == v[i]; n++) {
        }
        if (best < 0 || (most ? n > best : n < best)) {
            best = n;
            r.v[0] = v[i];
        }
    }
    return r;
}

// Row, column, height, width.
static struct val box(struct val g) {
    struct val r = make(false, 1, 4);
    int top = g.h, left = g.w, low = -1, right = -1;
    need(!has_none(g), "division");
    for (int i = 0; i < count(g); i++)
        if (g.v[i]) {
            int y = i / g.w, x = i % g.w;
            top = y < top ? y : top;
            low = y > low ? y : low;
            left = x < left ? x : left;
            right = x > right ? x : right;
        }
    need(low >= 0, "empty");
    r.v[0] = top, r.v[1] = left, r.v[2] = low - top + 1, r.v[3] = right - left + 1;
    return r;
}

static struct val over(struct val g, struct val c) {
    if (!c.number)
        return c;
    struct val r = make(false, g.h, g.w);
    for (int i = 0; i < count(r); i++) {
        r.v[i] = c.v[0];
        r.none[i] = c.none[0];
    }
    return r;
}

static struct val histogram(struct val g, int64_t n) {
    need(n >= 1, "empty");
    need(n <= SIDE, "size");
    struct val r = make(false, 1, (int)n);
    for (int i = 0; i < count(g); i++)
        if (g.v[i] >= 0 && g.v[i] < n)
            r.v[g.v[i]]++;
    return whole(g, r);
}

static struct val outline(struct val g) {
    struct val r = make(false, g.h, g.w);
    for (int i = 0; i < count(g); i++) {
        int y = i / g.w, x = i % g.w;
        bool rim = y == 0 || x == 0 || y == g.h - 1 || x == g.w - 1, other = rim, bad = false;
        static const int order[4][2] = {{-1, 0}, {0, -1}, {0, 1}, {1, 0}};
        for (int k = 0; k < 4 && !other && !bad; k++) {
            int j = (y + order[k][0]) * g.w + x + order[k][1];
            bad |= g.none[j] || g.none[i];
            other |= g.v[j] != g.v[i];
        }
        r.v[i] = other ? g.v[i] : 0;
        r.none[i] = bad || (other && g.none[i]);
    }
    return r;
}

// ---- Calls --------------------------------------------------------------------------------------

static struct val pipe_value(void);

struct call {
    struct val own, arg[ARGS];
    int args;
    char border;
    bool has_rule, rule[18];
};

static bool read_rule(struct call *c) {
    blanks();
    if (*o.at != 'B')
        return false;
    o.at++;
    c->has_rule = true;
    for (; *o.at >= '0' && *o.at <= '8'; o.at++)
        c->rule[*o.at - '0'] = true;
    if (strncmp(o.at, "/S", 2))
        SYNTAX();
    for (o.at += 2; *o.at >= '0' && *o.at <= '8'; o.at++)
        c->rule[9 + *o.at - '0'] = true;
    return true;
}

static bool read_border(struct call *c) {
    if (word("zero"))
        c->border = 'z';
    else if (word("wrap"))
        c->border = 'w';
    else if (word("edge"))
        c->border = 'e';
    else
        return false;
    return true;
}

// How many arguments stand in the parentheses that open here, without borders and rules.
static int count_args(void) {
    const char *start = o.at;
    int depth = 0, n = 0;
    bool first = true;
    struct call c;
    if (!next_is('(')) {
        o.at = start;
        return 0;
    }
    do {
        blanks();
        if (depth == 1 && first && *o.at != ')') {
            n += !(read_border(&c) || read_rule(&c));
            blanks();
        }
        first = false;
        if (*o.at == '(')
            first = depth++ == 0;
        else if (*o.at == ')')
            depth--;
        else if (*o.at == ',')
            first = depth == 1;
        else if (!*o.at)
            SYNTAX();
        o.at++;
    } while (depth);
    o.at = start;
    return n;
}

static struct call arguments(int n, int other) {
    struct call c = {.border = 'z', .own = o.own};
    struct val outer = o.own;
    int have = count_args();
    bool own = have == n + 1 || (other >= 0 && have == other + 1);
    if (!own && have != n && have != other)
        SYNTAX();
    if (sign("(") && !sign(")")) {
        do {
            if (read_border(&c) || read_rule(&c))
                continue;
            struct val v = pipe_value();
            if (own)
                c.own = o.own = v;
            else
                c.arg[c.args++] = v;
            own = false;
        } while (sign(","));
        if (!sign(")"))
            SYNTAX();
    }
    o.own = outer;
    return c;
}

static struct val grid(struct val v) {
    if (v.number || v.box)
        SYNTAX();
    return v;
}
static struct val single(struct val v) {
    if (!v.number || v.box)
        SYNTAX();
    return v;
}
// One that must be there.
static int64_t sure(struct val v) {
    single(v);
    need(!v.none[0], "division");
    return v.v[0];
}

static struct val geometry(const char *f, bool *known) {
    *known = true;
    if (!strcmp(f, "rot90"))
        return rot90(grid(arguments(0, -1).own));
    if (!strcmp(f, "rot180") || !strcmp(f, "flip"))
        return rot90(rot90(grid(arguments(0, -1).own)));
    if (!strcmp(f, "rot270"))
        return rot90(rot90(rot90(grid(arguments(0, -1).own))));
    if (!strcmp(f, "flip_h"))
        return flip_h(grid(arguments(0, -1).own));
    if (!strcmp(f, "flip_v"))
        return flip_h(rot90(rot90(grid(arguments(0, -1).own))));
    if (!strcmp(f, "transpose"))
        return rot90(flip_h(grid(arguments(0, -1).own)));
    if (!strcmp(f, "antitranspose"))
        return flip_h(rot90(grid(arguments(0, -1).own)));
    if (!strcmp(f, "shift") || !strcmp(f, "at")) {
        struct call c = arguments(2, -1);
        return moved(grid(c.own), single(c.arg[0]), single(c.arg[1]), *f == 's' ? -1 : 1, c.border);
    }
    if (!strcmp(f, "crop")) {
        struct call c = arguments(4, 1);
        grid(c.own);
        if (c.args == 1) {
            if (!c.arg[0].box)
                SYNTAX();
            struct val b = box(c.arg[0]);
            return cut(c.own, b.v[0], b.v[1], b.v[2], b.v[3]);
        }
        int64_t a = sure(c.arg[0]), b = sure(c.arg[1]), h = sure(c.arg[2]), w = sure(c.arg[3]);
        return cut(c.own, a, b, h, w);
    }
    if (!strcmp(f, "crop_to_content")) {
        struct call c = arguments(1, -1);
        struct val b = box(both("!=", grid(c.own), single(c.arg[0])));
        return cut(c.own, b.v[0], b.v[1], b.v[2], b.v[3]);
    }
    if (!strcmp(f, "pad")) {
        struct call c = arguments(2, -1);
        return pad(grid(c.own), sure(c.arg[0]), single(c.arg[1]));
    }
    if (!strcmp(f, "tile")) {
        struct call c = arguments(2, -1);
        int64_t m = sure(c.arg[0]), n = sure(c.arg[1]);
        need(m >= 1 && n >= 1, "empty");
        return scaled(grid(c.own), c.own.h * m, c.own.w * n, 't', 1);
    }
    if (!strcmp(f, "upscale")) {
        struct call c = arguments(1, -1);
        int64_t k = sure(c.arg[0]);
        need(k >= 1, "empty");
        return scaled(grid(c.own), c.own.h * k, c.own.w * k, 'u', k);
    }
    if (!strcmp(f, "downscale")) {
        struct call c = arguments(1, -1);
        int64_t k = sure(c.arg[0]);
        need(k >= 1, "bounds");
        need(grid(c.own).h % k == 0 && c.own.w % k == 0, "shape");
        return scaled(c.own, c.own.h / k, c.own.w / k, 'd', k);
    }
    if (!strcmp(f, "hconcat") || !strcmp(f, "vconcat")) {
        struct call c = arguments(2, -1);
        return concat(grid(c.arg[0]), grid(c.arg[1]), *f == 'h');
    }
    *known = false;
    return o.in;
}

static struct val cells(const char *f, bool *known) {
    *known = true;
    if (!strcmp(f, "min") || !strcmp(f, "max")) {
        if (count_args() < 2)
            return reduce(grid(arguments(0, -1).own), f);
        if (count_args() > 2)
            SYNTAX();
        struct call c = arguments(2, -1);
        return both(f, c.arg[0], c.arg[1]);
    }
    if (!strcmp(f, "select")) {
        if (count_args() != 3)
            SYNTAX();
        struct call c = arguments(3, -1);
        return choose(c.arg[0], c.arg[1], c.arg[2]);
    }
    if (!strcmp(f, "mask")) {
        struct call c = arguments(1, -1);
        return choose(c.arg[0], c.own, num(0));
    }
    if (!strcmp(f, "clamp")) {
        struct call c = arguments(2, -1);
        return both("min", both("max", c.own, c.arg[0]), c.arg[1]);
    }
    if (!strcmp(f, "replace")) {
        struct call c = arguments(2, -1);
        return choose(both("==", c.own, c.arg[0]), c.arg[1], c.own);
    }
    if (!strcmp(f, "swap")) {
        struct call c = arguments(2, -1);
        struct val a = both("==", c.own, c.arg[0]), b = both("==", c.own, c.arg[1]);
        return choose(a, c.arg[1], choose(b, c.arg[0], c.own));
    }
    *known = false;
    return o.in;
}

static struct val neighbours(const char *f, bool *known) {
    int n = f[0] && f[strlen(f) - 1] == '8' ? 8 : 4;
    *known = true;
    if (!strncmp(f, "nsum", 4) || !strncmp(f, "nmin", 4) || !strncmp(f, "nmax", 4)) {
        struct call c = arguments(0, -1);
        return near(grid(c.own), f[1] == 's' ? 's' : f[2] == 'i' ? 'm' : 'x', n, c.border);
    }
    if (!strncmp(f, "ncount", 6)) {
        struct call c = arguments(1, -1);
        grid(c.own);
        if (c.arg[0].box)
            SYNTAX();
        return near(over(c.own, both("!=", c.arg[0], num(0))), 's', n, c.border);
    }
    if (!strcmp(f, "step")) {
        struct call c = arguments(1, -1);
        if (!c.has_rule)
            SYNTAX();
        int64_t k = sure(c.arg[0]);
        need(k >= 0, "bounds");
        return generations(grid(c.own), c.rule, k, c.border);
    }
    *known = false;
    return o.in;
}

static struct val whole_grid(const char *f, bool *known) {
    *known = true;
    if (!strcmp(f, "count")) {
        struct call c = arguments(1, -1);
        return reduce(over(grid(c.own), both("!=", c.arg[0], num(0))), "sum");
    }
    if (!strcmp(f, "sum"))
        return reduce(grid(arguments(0, -1).own), f);
    if (!strcmp(f, "most_common") || !strcmp(f, "least_common"))
        return common(grid(arguments(0, -1).own), *f == 'm');
    if (!strcmp(f, "histogram")) {
        struct call c = arguments(1, -1);
        grid(c.own);
        return histogram(c.own, sure(c.arg[0]));
    }
    if (!strcmp(f, "bbox")) {
        struct call c = arguments(1, -1);
        if (c.arg[0].box)
            SYNTAX();
        struct val r = over(grid(c.own), c.arg[0]);
        r.box = true;
        return r;
    }
    if (!strncmp(f, "label", 5) || !strncmp(f, "size", 4))
        return components(grid(arguments(0, -1).own), *f == 's', f[strlen(f) - 1] == '8' ? 8 : 4);
    if (!strcmp(f, "fill")) {
        struct call c = arguments(3, -1);
        return fill(grid(c.own), single(c.arg[0]), single(c.arg[1]), c.arg[2]);
    }
    if (!strcmp(f, "outline"))
        return outline(grid(arguments(0, -1).own));
    *known = false;
    return o.in;
}

static struct val operation(const char *f) {
    static struct val (*const kinds[])(const char *, bool *) = {geometry, cells, neighbours,
                                                                whole_grid};
    for (int i = 0; i < 4; i++) {
        bool known;
        struct val v = kinds[i](f, &known);
        if (known)
            return v;
    }
    SYNTAX();
    return o.in;
}

// ---- Expressions --------------------------------------------------------------------------------

static struct val named_value(void) {
    char f[64];
    name(f);
    if (!strcmp(f, "in"))
        return o.in;
    if (!strcmp(f, "v"))
        return o.own;
    if (!strcmp(f, "row") || !strcmp(f, "col"))
        return place(grid(o.own), *f == 'r');
    if (!strcmp(f, "h"))
        return num(grid(o.own).h);
    if (!strcmp(f, "w"))
        return num(grid(o.own).w);
    for (int i = 0; i < o.names; i++)
        if (!strcmp(o.named[i].name, f))
            return o.named[i].val;
    return operation(f);
}

static struct val primary(void) {
    blanks();
    if (*o.at >= '0' && *o.at <= '9') {
        int64_t n = 0;
        while (*o.at >= '0' && *o.at <= '9')
            n = n * 10 + *o.at++ - '0';
        return num(wrap(n));
    }
    if (*o.at == '_') {
        o.at++;
        return o.own;
    }
    if (!sign("("))
        return named_value();
    struct val v = pipe_value();
    if (!sign(")"))
        SYNTAX();
    return v;
}

static struct val unary(void) { return sign("-") ? both("-", num(0), unary()) : primary(); }

static struct val product(void) {
    struct val v = unary();
    for (;;) {
        if (sign("*"))
            v = both("*", v, unary());
        else if (sign("/"))
            v = both("/", v, unary());
        else if (sign("%"))
            v = both("%", v, unary());
        else
            return v;
    }
}
static struct val sum(void) {
    struct val v = product();
    for (;;) {
        if (sign("+"))
            v = both("+", v, product());
        else if (sign("-"))
            v = both("-", v, product());
        else
            return v;
    }
}
static struct val compare(void) {
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    struct val v = sum();
    for (int i = 0; i < 6; i++)
        if (sign(signs[i]))
            return both(signs[i], v, sum());
    return v;
}
static struct val not_value(void) {
    return word("not") ? both("==", not_value(), num(0)) : compare();
}
static struct val and_value(void) {
    struct val v = not_value();
    while (word("and"))
        v = both("and", v, not_value());
    return v;
}
static struct val or_value(void) {
    struct val v = and_value();
    while (word("or"))
        v = both("or", v, and_value());
    return v;
}
static struct val pipe_value(void) {
    struct val outer = o.own, v = or_value();
    while (sign("|")) {
        o.own = v;
        v = or_value();
    }
    o.own = outer;
    return v;
}

static bool statement(void) {
    const char *start = o.at;
    char f[64];
    blanks();
    if (!(*o.at >= 'a' && *o.at <= 'z'))
        return false;
    name(f);
    if (!next_is('=') || o.at[1] == '=') {
        o.at = start;
        return false;
    }
    o.at++;
    o.own = o.in;
    struct val v = pipe_value();
    if (!sign(";") || o.names == NAMES)
        SYNTAX();
    for (int i = 0; i < o.names; i++)
        if (!strcmp(o.named[i].name, f))
            strcpy(o.named[i].name, "?");
    strcpy(o.named[o.names].name, f);
    o.named[o.names++].val = v;
    return true;
}

static struct val program(void) {
    while (statement()) {
    }
    o.own = o.in;
    struct val v = pipe_value();
    sign(";");
    blanks();
    if (*o.at)
        SYNTAX();
    if (v.box)
        return box(v);
    if (!v.number)
        return v;
    struct val r = make(false, 1, 1);
    r.v[0] = v.v[0];
    r.none[0] = v.none[0];
    return r;
}

static void evaluate(const char *text, const struct oracle_grid *in, int32_t least, int32_t most,
                     struct oracle_grid *out) {
    need(in->h >= 1 && in->w >= 1, "empty");
    need(in->h <= SIDE && in->w <= SIDE, "size");
    o.at = text;
    o.in = make(false, in->h, in->w);
    for (int i = 0; i < in->h * in->w; i++)
        o.in.v[i] = in->cells[i];
    struct val r = program();
    need(!has_none(r), "division");
    for (int i = 0; i < count(r); i++)
        need(r.v[i] >= least && r.v[i] <= most, "range");
    *out = (struct oracle_grid){r.h, r.w, malloc((size_t)count(r) * sizeof *out->cells)};
    for (int i = 0; i < count(r); i++)
        out->cells[i] = (int32_t)r.v[i];
    o.status = "ok";
}

const char *oracle_run(const char *text, const struct oracle_grid *in, int32_t least, int32_t most,
                       struct oracle_grid *out) {
    o.names = o.kept_count = 0;
    *out = (struct oracle_grid){0};
    if (!setjmp(o.out))
        evaluate(text, in, least, most, out);
    while (o.kept_count)
        free(o.kept[--o.kept_count]);
    return o.status;
}
