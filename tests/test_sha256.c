// SPDX-License-Identifier: MIT
// SHA-256: published digests, and the same digest however the bytes arrive.
#include "base/sha256.h"
#include "check.h"

static void digest_of(const void *bytes, size_t length, size_t piece, char hex[65]) {
    struct sha256 s;
    unsigned char digest[32];
    sha256_init(&s);
    for (size_t at = 0; at < length; at += piece)
        sha256_add(&s, (const char *)bytes + at, length - at < piece ? length - at : piece);
    sha256_end(&s, digest);
    sha256_hex(digest, hex);
}

TEST(sha256_published_digests) {
    static const struct {
        const char *text, *hex;
    } known[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    char hex[65];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        digest_of(known[i].text, strlen(known[i].text), 64, hex);
        CHECK_STR(hex, known[i].hex);
    }
    char *million = malloc(1000000); // long enough for the fast way
    memset(million, 'a', 1000000);
    digest_of(million, 1000000, 1000000, hex);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    digest_of(million, 1000000, 100, hex); // pieces too short for it
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

TEST(sha256_pieces_do_not_matter) {
    unsigned char bytes[5000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * i >> 3);
    for (size_t length = 0; length < sizeof bytes; length += 61) {
        char whole[65], part[65];
        digest_of(bytes, length, sizeof bytes, whole);
        for (size_t piece = 1; piece < 4000; piece = piece * 3 + 1) {
            digest_of(bytes, length, piece, part);
            CHECK_STR(part, whole);
        }
    }
}
