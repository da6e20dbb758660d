// SPDX-License-Identifier: MIT
// SHA-256 in plain C, and by the instructions of x86 where the CPU has them.
#include "base/sha256.h"

#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

// One round; the eight words take turns in their parts, so that none is moved.
#define ROUND(a, b, c, d, e, f, g, h, i)                                                           \
    do {                                                                                           \
        uint32_t t =                                                                               \
            h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (g ^ (e & (f ^ g))) + k[i] + w[i];      \
        d += t;                                                                                    \
        h = t + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) | (c & (a | b)));              \
    } while (0)

static void compress_plain(uint32_t state[8], const unsigned char *p, size_t blocks) {
    for (; blocks; blocks--, p += 64) {
        uint32_t w[64];
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
                   (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            uint32_t s0 = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
            uint32_t s1 = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        for (int i = 0; i < 64; i += 8) {
            ROUND(a, b, c, d, e, f, g, h, i);
            ROUND(h, a, b, c, d, e, f, g, i + 1);
            ROUND(g, h, a, b, c, d, e, f, i + 2);
            ROUND(f, g, h, a, b, c, d, e, i + 3);
            ROUND(e, f, g, h, a, b, c, d, i + 4);
            ROUND(d, e, f, g, h, a, b, c, i + 5);
            ROUND(c, d, e, f, g, h, a, b, i + 6);
            ROUND(b, c, d, e, f, g, h, a, i + 7);
        }
        const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++)
            state[i] += sum[i];
    }
}

#ifdef __x86_64__
// With the processor's own instructions. They keep the state as (f e b a) and (h g d c); m holds
// the last 16 words of the schedule, four to a register.
__attribute__((target("sha,sse4.1"))) static void
compress_fast(uint32_t state[8], const unsigned char *p, size_t blocks) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_loadu_si128((const __m128i *)state);
    __m128i high = _mm_loadu_si128((const __m128i *)(state + 4));
    __m128i dcba = _mm_shuffle_epi32(low, 0xb1), hgfe = _mm_shuffle_epi32(high, 0x1b);
    __m128i feba = _mm_alignr_epi8(dcba, hgfe, 8), hgdc = _mm_blend_epi16(hgfe, dcba, 0xf0);
    for (; blocks; blocks--, p += 64) {
        __m128i m[4], feba_before = feba, hgdc_before = hgdc;
        for (int i = 0; i < 4; i++)
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p + i), swap);
#pragma GCC unroll 16
        for (int i = 0; i < 16; i++) {
            __m128i words = m[i & 3];
            __m128i sum = _mm_add_epi32(words, _mm_loadu_si128((const __m128i *)k + i));
            hgdc = _mm_sha256rnds2_epu32(hgdc, feba, sum);
            feba = _mm_sha256rnds2_epu32(feba, hgdc, _mm_shuffle_epi32(sum, 0x0e));
            __m128i last = m[(i + 3) & 3], next = _mm_sha256msg1_epu32(words, m[(i + 1) & 3]);
            next = _mm_add_epi32(next, _mm_alignr_epi8(last, m[(i + 2) & 3], 4));
            m[i & 3] = _mm_sha256msg2_epu32(next, last);
        }
        feba = _mm_add_epi32(feba, feba_before);
        hgdc = _mm_add_epi32(hgdc, hgdc_before);
    }
    dcba = _mm_shuffle_epi32(feba, 0x1b); // a b e f
    hgfe = _mm_shuffle_epi32(hgdc, 0xb1); // g h c d
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(dcba, hgfe, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(hgfe, dcba, 8));
}

static bool has_instructions(void) {
    unsigned a, b, c, d, sse41 = 1u << 19, sha = 1u << 29;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & sse41) &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & sha);
}
#endif

static void compress(uint32_t state[8], const unsigned char *p, size_t blocks) {
#ifdef __x86_64__
    // For short inputs asking would cost more than it gives.
    if (blocks >= 16 && has_instructions()) {
        compress_fast(state, p, blocks);
        return;
    }
#endif
    compress_plain(state, p, blocks);
}

void sha256_init(struct sha256 *s) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->state, start, sizeof start);
    s->length = 0;
}

void sha256_add(struct sha256 *s, const void *bytes, size_t length) {
    const unsigned char *p = bytes;
    while (length) {
        size_t at = s->length % 64, n = 64 - at < length ? 64 - at : length;
        if (at == 0 && length >= 64) {
            n = length - length % 64;
            compress(s->state, p, n / 64);
        } else {
            memcpy(s->block + at, p, n);
            if (at + n == 64)
                compress(s->state, s->block, 1);
        }
        s->length += n;
        p += n;
        length -= n;
    }
}

void sha256_end(struct sha256 *s, unsigned char digest[32]) {
    uint64_t bits = s->length * 8;
    unsigned char tail[8];
    for (int i = 0; i < 8; i++)
        tail[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, "\x80", 1);
    while (s->length % 64 != 56)
        sha256_add(s, "\0", 1);
    sha256_add(s, tail, 8);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const unsigned char digest[32], char text[65]) {
    for (int i = 0; i < 32; i++) {
        text[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    text[64] = 0;
}
