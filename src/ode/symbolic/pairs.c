// SPDX-License-Identifier: MIT
// A hash table from two numbers to one: open addressing, grown by doubling, nothing removed.
//
// Iteration is not offered, so nothing can depend on the order inside. Old tables stay in the arena
// until it is freed.
#include "ode/symbolic/dag.h"

static struct pair *pairs_slot(struct pair *slots, uint32_t cap, uint32_t a, uint32_t b) {
    uint32_t i = (uint32_t)hash_mix(hash_mix(0, a), b) & (cap - 1);
    while (slots[i].used && (slots[i].a != a || slots[i].b != b))
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static void pairs_grow(struct pairs *p, struct arena *arena) {
    uint32_t cap = p->cap ? p->cap * 2 : 64;
    struct pair *slots = arena_new(arena, struct pair, cap);
    for (uint32_t i = 0; i < p->cap; i++)
        if (p->slots[i].used)
            *pairs_slot(slots, cap, p->slots[i].a, p->slots[i].b) = p->slots[i];
    p->slots = slots;
    p->cap = cap;
}

uint32_t *pairs_at(struct pairs *p, struct arena *arena, uint32_t a, uint32_t b) {
    if (p->count >= p->cap / 2)
        pairs_grow(p, arena);
    struct pair *slot = pairs_slot(p->slots, p->cap, a, b);
    if (!slot->used) {
        *slot = (struct pair){a, b, UINT32_MAX, true};
        p->count++;
    }
    return &slot->value;
}
