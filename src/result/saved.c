// SPDX-License-Identifier: MIT
// See saved.h.
#include "result/saved.h"

enum { PIECE_BYTES = 1 << 16 };

static void put_piece(struct saved_to *s) {
    if (!s->failed && s->piece.length)
        s->failed = s->piece.failed || !s->put(s->user, s->piece.data, s->piece.length);
    s->piece.length = 0;
}

void saved_put(struct saved_to *s, const void *bytes, size_t length) {
    if (s->piece.length + length > PIECE_BYTES)
        put_piece(s);
    if (!s->failed)
        buf_put(&s->piece, bytes, length);
}

void saved_put_u64(struct saved_to *s, uint64_t x) { saved_put(s, &x, sizeof x); }

bool saved_end(struct saved_to *s) {
    s->failed = s->failed || s->piece.failed;
    put_piece(s);
    buf_free(&s->piece);
    return !s->failed;
}

bool saved_get(struct saved_from *s, void *bytes, size_t length) {
    return s->get(s->user, bytes, length);
}

bool saved_get_u64(struct saved_from *s, uint64_t *x) { return saved_get(s, x, sizeof *x); }
