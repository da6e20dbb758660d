// SPDX-License-Identifier: MIT
// Arena: memory that is freed all at once, and growable arrays that live in it.
//
// Everything handed out is zeroed and 16-byte aligned. When memory runs out the arena jumps to the
// handler its owner installed (`arena.oom`), so code that builds trees out of an arena needs no
// checks; the owner frees the arena and returns an error. An arena without a handler returns NULL.
#ifndef SHOAL_BASE_ARENA_H
#define SHOAL_BASE_ARENA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena_block;

// What a computation may take before it is too large, whatever arenas it uses: a small text can ask
// for memory and time without bound. Work is counted in steps of about 100 ns.
struct budget {
    uint64_t bytes, work;     // left
    const volatile int *stop; // somebody wants it to end when this is not 0; NULL: nobody
    bool spent, stopped;      // why the handler was called, when it was not for memory
};

struct arena {
    struct arena_block *head; // newest block
    jmp_buf *oom;             // jumped to (with 1) when memory or the budget runs out
    struct budget *budget;    // NULL: none; needs a handler
    size_t used;              // bytes handed out so far
};

void *arena_alloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t length);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

// Makes room for `need` items of `size` bytes in the array `items` whose capacity is `*cap`;
// returns the array, moved if it had to grow. Old contents are kept, new room is zeroed.
void *arena_reserve(struct arena *a, void *items, uint32_t *cap, uint64_t need, size_t size);

// Pays for work from the budget.
static inline void arena_spend(struct arena *a, uint64_t work) {
    struct budget *b = a->budget;
    if (!b)
        return;
    b->spent = b->work < work;
    b->stopped = b->stop && *b->stop;
    if (b->spent || b->stopped)
        longjmp(*a->oom, 1);
    b->work -= work;
}

#define arena_new(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

// A growable array of T: `vec(struct symbol) symbols;` then `*vec_push(arena, &symbols) = s;`.
#define vec(T)                                                                                     \
    struct {                                                                                       \
        T *items;                                                                                  \
        uint32_t count, cap;                                                                       \
    }
#define vec_reserve(a, v, need)                                                                    \
    ((v)->items = arena_reserve((a), (v)->items, &(v)->cap, (need), sizeof *(v)->items))
#define vec_push(a, v) (vec_reserve((a), (v), (uint64_t)(v)->count + 1), &(v)->items[(v)->count++])

#endif
