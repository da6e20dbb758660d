// SPDX-License-Identifier: MIT
// Why algebraic rows do not determine their states: names for an error.
//
// After Dulmage and Mendelsohn. What alternating paths reach from a row without a state are rows
// that have fewer states than they are; what they reach from states without a row are states that
// have fewer rows.
#include "ode/symbolic/index.h"

#include "base/buf.h"

enum { SHOWN = 6 };

struct part {
    bool *rows, *columns;
};

static struct part part_new(const struct block *b, struct arena *arena) {
    return (struct part){arena_new(arena, bool, b->size), arena_new(arena, bool, b->size)};
}

// One more round along the entries, from rows to columns and to the rows these are matched with;
// false when nothing was added.
static bool grow_from_rows(const struct block *b, struct part *p) {
    bool grown = false;
    for (uint32_t row = 0; row < b->size; row++)
        for (uint32_t i = b->start[row]; p->rows[row] && i < b->start[row + 1]; i++) {
            uint32_t column = b->column[i];
            grown |= !p->columns[column];
            p->columns[column] = true;
            if (b->row_of[column] != NOTHING)
                p->rows[b->row_of[column]] = true;
        }
    return grown;
}

// The other way round.
static bool grow_from_columns(const struct block *b, struct part *p) {
    bool grown = false;
    for (uint32_t row = 0; row < b->size; row++)
        for (uint32_t i = b->start[row]; !p->rows[row] && i < b->start[row + 1]; i++)
            if (p->columns[b->column[i]]) {
                p->rows[row] = grown = true;
                if (b->column_of[row] != NOTHING)
                    p->columns[b->column_of[row]] = true;
            }
    return grown;
}

static void put_rows(struct buf *text, const struct part *p, const struct model *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->rows.count; i++)
        if (p->rows[i] && count++ < SHOWN)
            buf_printf(text, "%s%u", count > 1 ? ", " : "",
                       source_place(&m->source, m->rows.items[i].at).line);
    if (count > SHOWN)
        buf_printf(text, " and %u more", count - SHOWN);
}

static void put_states(struct buf *text, const struct block *b, const struct part *p,
                       const struct model *m) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->size; i++)
        if (p->columns[i] && count++ < SHOWN)
            buf_printf(text, "%s`%.40s`", count > 1 ? ", " : "",
                       m->symbols.items[m->states.items[b->state[i]]].name);
    if (count > SHOWN)
        buf_printf(text, " and %u more", count - SHOWN);
}

static uint32_t members(const bool *set, uint32_t size) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        count += set[i];
    return count;
}

// "the rows of lines 4, 5 have only `z` to determine"
static void put_surplus(struct buf *text, const struct block *b, const struct part *p,
                        const struct model *m) {
    bool many = members(p->rows, b->size) > 1;
    buf_puts(text, many ? "the algebraic rows of lines " : "the algebraic row of line ");
    put_rows(text, p, m);
    if (!members(p->columns, b->size)) {
        buf_puts(text, many ? " have no algebraic state in them" : " has no algebraic state in it");
        return;
    }
    buf_puts(text, " have only ");
    put_states(text, b, p, m);
    buf_puts(text, " to determine");
}

// "`l`, `w` have only line 6"
static void put_shortage(struct buf *text, const struct block *b, const struct part *p,
                         const struct model *m) {
    uint32_t rows = members(p->rows, b->size);
    if (!rows) {
        buf_puts(text, "no row determines ");
        put_states(text, b, p, m);
        return;
    }
    put_states(text, b, p, m);
    buf_puts(text, rows > 1 ? " have only lines " : " have only line ");
    put_rows(text, p, m);
}

void index_report(const struct block *b, const struct model *m, uint32_t lost, struct arena *arena,
                  struct report *r) {
    struct part surplus = part_new(b, arena), shortage = part_new(b, arena);
    struct buf text = {0};
    uint64_t round = (b->size + b->start[b->size]) / 64 + 1; // steps of work
    surplus.rows[lost] = true;
    for (uint32_t i = 0; i < b->size; i++)
        shortage.columns[i] = b->row_of[i] == NOTHING;
    while (grow_from_rows(b, &surplus))
        arena_spend(arena, round);
    while (grow_from_columns(b, &shortage))
        arena_spend(arena, round);
    put_surplus(&text, b, &surplus, m);
    buf_puts(&text, ", and ");
    put_shortage(&text, b, &shortage, m);
    report_at(r, SHOAL_ERROR, &m->source, m->rows.items[lost].at,
              "%s: the system has an index above 1, or contradicts itself; differentiate a row by "
              "hand to lower the index",
              text.data ? text.data : "out of memory");
    buf_free(&text);
}
