// SPDX-License-Identifier: MIT
// Peer of bench/grid: generations of B3/S23 with a bit for each cell, written by hand for grids
// that are a whole number of words wide, with dead cells outside.
//
//     peer_life SIDE GENERATIONS
//
// Prints seconds and how many cells are alive. The start is the highest bits of a sequence, as in
// bench/grid.c.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// A row of words; each of the three has a word before its first and one behind its last.
static void step_row(const uint64_t *restrict up, const uint64_t *restrict own,
                     const uint64_t *restrict down, uint64_t *restrict to, long words) {
    for (long i = 0; i < words; i++) {
        uint64_t a = up[i] << 1 | up[i - 1] >> 63, b = up[i], c = up[i] >> 1 | up[i + 1] << 63;
        uint64_t d = own[i] << 1 | own[i - 1] >> 63, e = own[i] >> 1 | own[i + 1] << 63;
        uint64_t f = down[i] << 1 | down[i - 1] >> 63, g = down[i];
        uint64_t h = down[i] >> 1 | down[i + 1] << 63;
        uint64_t above = a ^ b ^ c, above2 = (a & b) | (c & (a ^ b));
        uint64_t below = f ^ g ^ h, below2 = (f & g) | (h & (f ^ g));
        uint64_t beside = d ^ e, beside2 = d & e;
        uint64_t ones = above ^ below ^ beside;
        uint64_t carry = (above & below) | (beside & (above ^ below));
        // Two or three: one pair of them, and no more.
        uint64_t odd = above2 ^ below2 ^ beside2 ^ carry;
        to[i] = (ones | own[i]) & odd & ~((above2 & below2) | (beside2 & carry));
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 1;
    const long side = atol(argv[1]), generations = atol(argv[2]), words = side / 64;
    const long stride = words + 2;
    uint64_t *own = calloc((size_t)(stride * (side + 2)), sizeof *own), alive = 0;
    uint64_t *next = calloc((size_t)(stride * (side + 2)), sizeof *next);
    if (!own || !next || side % 64)
        return 1;
    uint64_t seed = 1;
    for (long i = 0; i < side * side; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        own[(i / side + 1) * stride + 1 + i % side / 64] |= (seed >> 63) << i % 64;
    }
    double start = seconds_now();
    for (long k = 0; k < generations; k++) {
        for (long r = 1; r <= side; r++)
            step_row(own + (r - 1) * stride + 1, own + r * stride + 1, own + (r + 1) * stride + 1,
                     next + r * stride + 1, words);
        uint64_t *last = own;
        own = next;
        next = last;
    }
    double seconds = seconds_now() - start;
    for (long i = 0; i < stride * (side + 2); i++)
        alive += (uint64_t)__builtin_popcountll(own[i]);
    printf("%.9f %llu\n", seconds, (unsigned long long)alive);
    free(own);
    free(next);
    return 0;
}
