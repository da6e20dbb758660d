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
#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
    struct arena_block *head; // newest block
    jmp_buf *oom;             // jumped to (with 1) when memory runs out
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
