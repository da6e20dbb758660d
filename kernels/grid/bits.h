// SPDX-License-Identifier: MIT
// Generations of a rule on words of bits, each bit a cell. Included by the host and by every
// kernel.
//
// A row of the grid is a row of words, with a bit before its first cell and one behind its last,
// and there is a row before the first and one behind the last: what the border says. In each
// generation every bit gets the sum of itself and both beside it, in two bits, then sums of three
// rows are added, and the rule is looked up in a tree of choices. All rows are one run of words.
#if THREADS
enum { STEP_LANES = 1 };
typedef u64 bitset;
#define BITS(x) ((bitset)(x))
#else
#ifdef __AVX512F__
enum { STEP_LANES = 8 };
#elif defined __AVX2__
enum { STEP_LANES = 4 };
#else
enum { STEP_LANES = 2 };
#endif
typedef u64 bitset __attribute__((vector_size(8 * STEP_LANES), aligned(8), may_alias));
#define BITS(x) ((bitset){0} + (u64)(x))
#endif
#define bits_most(a, b, c) (((a) & (b)) | ((c) & ((a) ^ (b)))) // of three
#define bits_choose(c, a, b) (((a) & (c)) | ((b) & ~(c)))

// The bits before and behind those of a word, with the word there.
#define step_before(own, word) ((own) << 1 | (word) >> 63)
#define step_behind(own, word) ((own) >> 1 | (word) << 63)

// Of a cell with so many alive, itself included.
#define step_leaf(own, rule, n)                                                                    \
    bits_choose(own, BITS(-(u64)((n) ? (rule) >> ((n) + 8) & 1 : 0)),                              \
                BITS(-(u64)((n) < 9 ? (rule) >> (n)&1 : 0)))
#define step_pair(own, rule, n, bit)                                                               \
    bits_choose(bit, step_leaf(own, rule, (n) + 1), step_leaf(own, rule, n))

// The next generation, of the low bits (a, b, c) and the high bits of the sums of three rows.
INLINE bitset step_next(bitset own, bitset a, bitset b, bitset c, bitset d, bitset e, bitset f,
                        int rule) {
    const bitset ones = a ^ b ^ c, carry = bits_most(a, b, c);
    const bitset two = d ^ e ^ f, four = bits_most(d, e, f);
    const bitset twos = two ^ carry, more = two & carry;
    const bitset fours = four ^ more, eights = four & more;
    const bitset few =
        bits_choose(twos, step_pair(own, rule, 2, ones), step_pair(own, rule, 0, ones));
    const bitset many =
        bits_choose(twos, step_pair(own, rule, 6, ones), step_pair(own, rule, 4, ones));
    const bitset all = bits_choose(fours, many, few);
    return bits_choose(eights, step_pair(own, rule, 8, ones), all);
}
