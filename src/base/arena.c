// SPDX-License-Identifier: MIT
// Memory is taken from blocks of one size, and what needs more gets a block of its own. The first
// is small: many arenas hold little, and would make the heap grow and shrink each time.
#include "base/arena.h"

#include "base/ascii.h"

#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    _Alignas(16) unsigned char bytes[];
};

enum { FIRST_BYTES = 4 * 1024, BLOCK_BYTES = 64 * 1024 };

static void *out_of_memory(struct arena *a) {
    if (a->oom)
        longjmp(*a->oom, 1);
    return NULL;
}

static void pay(struct arena *a, size_t bytes) {
    arena_spend(a, 1);
    if (!a->budget)
        return;
    a->budget->spent = a->budget->bytes < bytes;
    if (a->budget->spent)
        longjmp(*a->oom, 1);
    a->budget->bytes -= bytes;
}

void *arena_alloc(struct arena *a, size_t size) {
    if (size > SIZE_MAX / 2)
        return out_of_memory(a);
    size = (size + 15) & ~(size_t)15;
    struct arena_block *b = a->head;
    if (!b || b->size - b->used < size) {
        size_t least = a->head ? BLOCK_BYTES : FIRST_BYTES, room = size > least ? size : least;
        pay(a, room);
        b = room > BLOCK_BYTES ? calloc(1, sizeof *b + room) : malloc(sizeof *b + room);
        if (!b)
            return out_of_memory(a);
        *b = (struct arena_block){.next = a->head, .size = room};
        a->head = b;
    }
    void *p = b->bytes + b->used;
    if (b->size <= BLOCK_BYTES) // a small run uses little of it: what is not used is not cleared
        memset(p, 0, size);
    b->used += size;
    a->used += size;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t length) {
    char *copy = arena_alloc(a, length + 1);
    if (copy && length)
        memcpy(copy, s, length);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s) { return arena_strndup(a, s, strlen(s)); }

char *arena_printf(struct arena *a, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = ascii_vprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_alloc(a, (size_t)(length < 0 ? 0 : length) + 1);
    if (text && length > 0)
        ascii_vprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *arena_reserve(struct arena *a, void *items, uint32_t *cap, uint64_t need, size_t size) {
    if (need <= *cap)
        return items;
    uint64_t room = *cap ? (uint64_t)*cap * 2 : 8;
    while (room < need)
        room *= 2;
    if (room > UINT32_MAX / 2 || room > SIZE_MAX / 2 / size)
        return out_of_memory(a);
    void *bigger = arena_alloc(a, (size_t)room * size);
    if (!bigger)
        return NULL;
    if (*cap)
        memcpy(bigger, items, (size_t)*cap * size);
    *cap = (uint32_t)room;
    return bigger;
}

void arena_free(struct arena *a) {
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    a->head = NULL;
    a->used = 0;
}
