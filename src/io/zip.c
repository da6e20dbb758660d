// SPDX-License-Identifier: MIT
// Writing zip archives: checksum, headers, directory. Reading is in unzip.c.
//
// The local header always carries a Zip64 record, so its length does not depend on the size of the
// member: data can be written before the header is. Dates are fixed, so that equal results are
// equal files. The checksum takes 16 bytes a round from tables made once.
#include "io/zip.h"

#include <pthread.h>
#include <string.h>

// ---- CRC-32 -------------------------------------------------------------------------------------

enum { SLICES = 16 };
static const uint32_t polynomial = 0xedb88320u; // reflected

static uint32_t crc_table[SLICES][256]; // set once, before its first use
static pthread_once_t crc_once = PTHREAD_ONCE_INIT;

// crc_table[k][b] is the effect of byte b followed by k zero bytes.
static void make_crc_table(void) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++)
            c = c >> 1 ^ (c & 1 ? polynomial : 0);
        crc_table[0][b] = c;
    }
    for (int k = 1; k < SLICES; k++)
        for (uint32_t b = 0; b < 256; b++) {
            uint32_t c = crc_table[k - 1][b];
            crc_table[k][b] = c >> 8 ^ crc_table[0][c & 0xff];
        }
}

uint32_t zip_crc(uint32_t crc, const void *bytes, size_t length) {
    pthread_once(&crc_once, make_crc_table);
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; length >= SLICES; length -= SLICES, p += SLICES) {
        uint32_t word[4];
        memcpy(word, p, sizeof word); // little endian, as the whole format is
        word[0] ^= crc;
        uint32_t even = 0, odd = 0;
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const uint32_t(*table)[256] = &crc_table[SLICES - 4 - 4 * i];
            even ^= table[3][word[i] & 0xff] ^ table[1][word[i] >> 16 & 0xff];
            odd ^= table[2][word[i] >> 8 & 0xff] ^ table[0][word[i] >> 24];
        }
        crc = even ^ odd;
    }
    for (; length; length--, p++)
        crc = crc >> 8 ^ crc_table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

// Product of two polynomials modulo the CRC's; the highest bit stands for x^0.
static uint32_t multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & 0x80000000u)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? polynomial : 0);
    }
    return product;
}

// b_length bytes after it multiply a checksum by x^(8 b_length), found by repeated squaring.
uint32_t zip_crc_join(uint32_t a, uint32_t b, uint64_t b_length) {
    uint32_t power = 0x00800000u; // x^8
    for (uint64_t n = b_length; n; n >>= 1) {
        if (n & 1)
            a = multiply(power, a);
        power = multiply(power, power);
    }
    return a ^ b;
}

// ---- Records ------------------------------------------------------------------------------------

enum {
    LOCAL_BYTES = 30,
    ZIP64_LOCAL_BYTES = 20,
    VERSION_ZIP64 = 45,
    FLAG_UTF8 = 1 << 11,
    DATE_1980 = 1 << 5 | 1, // January 1st
};
static const uint32_t in_zip64 = 0xffffffffu; // instead of a number that stands in the Zip64 record

static void put_number(struct buf *b, uint64_t n, int bytes) {
    for (int i = 0; i < bytes; i++)
        buf_putc(b, (char)(n >> 8 * i & 0xff));
}

static void put2(struct buf *b, uint64_t n) { put_number(b, n, 2); }
static void put4(struct buf *b, uint64_t n) { put_number(b, n, 4); }
static void put8(struct buf *b, uint64_t n) { put_number(b, n, 8); }

size_t zip_local_bytes(const char *name) { return LOCAL_BYTES + strlen(name) + ZIP64_LOCAL_BYTES; }

// What the local header and the directory have in common, from "version needed" to the checksum.
static void put_common(struct buf *out, const struct zip_member *m) {
    put2(out, VERSION_ZIP64);
    put2(out, FLAG_UTF8);
    put2(out, 0); // stored
    put2(out, 0); // time
    put2(out, DATE_1980);
    put4(out, m->crc);
}

void zip_put_local(struct buf *out, const struct zip_member *m) {
    put4(out, 0x04034b50);
    put_common(out, m);
    put4(out, in_zip64);
    put4(out, in_zip64);
    put2(out, strlen(m->name));
    put2(out, ZIP64_LOCAL_BYTES);
    buf_puts(out, m->name);
    put2(out, 1); // the Zip64 record
    put2(out, 16);
    put8(out, m->size);
    put8(out, m->size);
}

static void put_entry(struct buf *out, const struct zip_member *m) {
    bool big = m->size >= in_zip64, far = m->offset >= in_zip64;
    size_t extra = (big ? 16u : 0u) + (far ? 8u : 0u);
    put4(out, 0x02014b50);
    put2(out, 3 << 8 | VERSION_ZIP64); // made on Unix
    put_common(out, m);
    put4(out, big ? in_zip64 : m->size);
    put4(out, big ? in_zip64 : m->size);
    put2(out, strlen(m->name));
    put2(out, extra ? extra + 4 : 0);
    put2(out, 0);                // comment
    put2(out, 0);                // disk
    put2(out, 0);                // internal attributes
    put4(out, 0100644ull << 16); // -rw-r--r--
    put4(out, far ? in_zip64 : m->offset);
    buf_puts(out, m->name);
    if (extra) {
        put2(out, 1);
        put2(out, extra);
        if (big) {
            put8(out, m->size);
            put8(out, m->size);
        }
        if (far)
            put8(out, m->offset);
    }
}

void zip_put_directory(struct buf *out, const struct zip_member *m, uint32_t count,
                       uint64_t offset) {
    size_t before = out->length;
    for (uint32_t i = 0; i < count; i++)
        put_entry(out, &m[i]);
    uint64_t size = out->length - before;
    bool zip64 = count >= 0xffff || size >= in_zip64 || offset >= in_zip64;
    if (zip64) {
        put4(out, 0x06064b50);
        put8(out, 44); // of this record, less these two fields
        put2(out, 3 << 8 | VERSION_ZIP64);
        put2(out, VERSION_ZIP64);
        put8(out, 0); // disks
        put8(out, count);
        put8(out, count);
        put8(out, size);
        put8(out, offset);
        put4(out, 0x07064b50); // where that record is
        put4(out, 0);
        put8(out, offset + size);
        put4(out, 1);
    }
    put4(out, 0x06054b50);
    put4(out, 0); // disks
    put2(out, zip64 ? 0xffff : count);
    put2(out, zip64 ? 0xffff : count);
    put4(out, zip64 ? in_zip64 : size);
    put4(out, zip64 ? in_zip64 : offset);
    put2(out, 0); // comment
}
