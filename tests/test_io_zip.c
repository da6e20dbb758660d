// SPDX-License-Identifier: MIT
// Checksum, inflate and the Zip64 records, which small files do not reach.
#include "check.h"
#include "io/zip.h"

TEST(zip_crc_golden) {
    CHECK(zip_crc(0, "", 0) == 0);
    CHECK(zip_crc(0, "123456789", 9) == 0xcbf43926u);
    CHECK(zip_crc(0, "The quick brown fox jumps over the lazy dog", 43) == 0x414fa339u);
}

TEST(zip_crc_parts_join) {
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i * 7 + i);
    uint32_t whole = zip_crc(0, bytes, sizeof bytes);
    for (size_t cut = 0; cut <= sizeof bytes; cut += 37) {
        uint32_t a = zip_crc(0, bytes, cut), b = zip_crc(0, bytes + cut, sizeof bytes - cut);
        CHECK(zip_crc(a, bytes + cut, sizeof bytes - cut) == whole);
        CHECK(zip_crc_join(a, b, sizeof bytes - cut) == whole);
    }
}

// Archives over 4 GiB: sparse, so that they take no room.
TEST(zip_64_with_python) {
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python");
    const char *path = check_path("big.zip");
    FILE *f = fopen(path, "wb");
    REQUIRE(f != NULL);
    struct zip_member m[] = {{"big", 0, 5ull << 30, 0x12345678}, {"far", 0, 3, 0}};
    m[1].offset = zip_local_bytes("big") + m[0].size;
    m[1].crc = zip_crc(0, "abc", 3);
    struct buf b = {0};
    zip_put_local(&b, &m[0]);
    fwrite(b.data, 1, b.length, f);
    CHECK_INT(b.length, zip_local_bytes("big"));
    fseeko(f, (off_t)m[1].offset, SEEK_SET);
    b.length = 0;
    zip_put_local(&b, &m[1]);
    buf_puts(&b, "abc");
    fwrite(b.data, 1, b.length, f);
    uint64_t at = m[1].offset + b.length;
    b.length = 0;
    zip_put_directory(&b, m, 2, at);
    fwrite(b.data, 1, b.length, f);
    buf_free(&b);
    if (fclose(f) != 0)
        check_skip("no large sparse files here");
    struct check_output o = RUN(python, "-c",
                                "import sys, zipfile\n"
                                "z = zipfile.ZipFile(sys.argv[1])\n"
                                "assert z.read('far') == b'abc'\n"
                                "assert z.getinfo('big').file_size == 5 << 30\n",
                                path);
    CHECK_MSG(o.status == 0, "%s", o.err);
    struct zip z;
    struct report r = {0};
    char *bytes;
    CHECK_INT(zip_open(&z, path, &r), SHOAL_OK);
    REQUIRE(z.count == 2);
    CHECK(z.entries[0].size == 5ull << 30);
    CHECK_STR(z.entries[1].name, "far");
    CHECK_INT(zip_read(&z, &z.entries[1], &bytes, &r), SHOAL_OK);
    CHECK(memcmp(bytes, "abc", 3) == 0);
    free(bytes);
    zip_close(&z);
}

TEST(inflate_by_hand) {
    char out[8];
    static const unsigned char stored[] = {1, 3, 0, 0xfc, 0xff, 'a', 'b', 'c'};
    CHECK(inflate_bytes(stored, sizeof stored, out, 3) && memcmp(out, "abc", 3) == 0);
    CHECK(!inflate_bytes(stored, sizeof stored, out, 4));
    CHECK(!inflate_bytes(stored, sizeof stored, out, 2));
    CHECK(!inflate_bytes(stored, sizeof stored - 1, out, 3));
    static const unsigned char fixed[] = {0x4b, 0x04, 0x02, 0x00}; // aaaaa: 'a' and a copy of it
    static const unsigned char empty[] = {0x03, 0x00};
    CHECK(inflate_bytes(empty, sizeof empty, out, 0));
    memset(out, 0, sizeof out);
    bool ok = inflate_bytes(fixed, sizeof fixed, out, 5);
    CHECK(!ok || memcmp(out, "aaaaa", 5) == 0);
    CHECK(!inflate_bytes("", 0, out, 0));
    CHECK(!inflate_bytes("\x07", 1, out, 0)); // a kind of block that does not exist
}

// zlib's streams of several kinds, as they are and damaged in every byte.
TEST(inflate_with_python) {
    const char *python = check_python(NULL);
    if (!python)
        check_skip("no Python");
    struct check_output o = RUN(
        python, "-c",
        "import sys, zlib, random\n"
        "r = random.Random(1)\n"
        "text = b' '.join(r.choice([b'shoal', b'fish', b'%d' % r.randrange(999)]) for _ in "
        "range(900))\n"
        "noise = bytes(r.randrange(256) for _ in range(3000))\n"
        "out = open(sys.argv[1], 'wb')\n"
        "for data in (text, noise, bytes(9000), text + noise + text, b'x', b''):\n"
        "    for level, kind in ((9, 0), (1, 0), (0, 0), (6, 4), (6, 2)):\n"
        "        c = zlib.compressobj(level, 8, -15, 9, kind)\n"
        "        packed = c.compress(data) + c.flush()\n"
        "        out.write(len(data).to_bytes(4, 'little') + len(packed).to_bytes(4, 'little'))\n"
        "        out.write(data + packed)\n",
        check_path("streams"));
    CHECK_MSG(o.status == 0, "%s", o.err);
    FILE *f = fopen(check_path("streams"), "rb");
    REQUIRE(f != NULL);
    int count = 0;
    for (uint32_t head[2]; fread(head, 4, 2, f) == 2; count++) {
        char *data = malloc(head[0] + 1), *out = malloc(head[0] + 1);
        unsigned char *packed = malloc(head[1] + 1);
        REQUIRE(fread(data, 1, head[0], f) == head[0] && fread(packed, 1, head[1], f) == head[1]);
        CHECK(inflate_bytes(packed, head[1], out, head[0]));
        CHECK(memcmp(out, data, head[0]) == 0);
        for (uint32_t i = 0; i < head[1]; i += 1 + head[1] / 200) {
            inflate_bytes(packed, i, out, head[0]);
            packed[i] ^= (unsigned char)(1 << i % 8);
            inflate_bytes(packed, head[1], out, head[0]);
            packed[i] ^= (unsigned char)(1 << i % 8);
        }
        free(data);
        free(out);
        free(packed);
    }
    CHECK_INT(count, 30);
    fclose(f);
}
