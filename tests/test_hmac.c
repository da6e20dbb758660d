// SPDX-License-Identifier: MIT
// HMAC-SHA256: the test cases of RFC 4231, and the comparison.
#include "base/hmac.h"
#include "base/sha256.h"
#include "check.h"

static void check_mac(const void *secret, size_t n, const void *bytes, size_t length,
                      const char *want) {
    unsigned char mac[HMAC_BYTES];
    char hex[65];
    hmac_sha256(secret, n, bytes, length, mac);
    sha256_hex(mac, hex);
    hex[strlen(want)] = 0; // case 5 is cut
    CHECK_STR(hex, want);
}

TEST(hmac_published_cases) {
    unsigned char secret[131], bytes[152];
    memset(secret, 0x0b, 20);
    check_mac(secret, 20, "Hi There", 8,
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_mac("Jefe", 4, "what do ya want for nothing?", 28,
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(secret, 0xaa, 20);
    memset(bytes, 0xdd, 50);
    check_mac(secret, 20, bytes, 50,
              "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    for (unsigned char i = 0; i < 25; i++)
        secret[i] = (unsigned char)(i + 1);
    memset(bytes, 0xcd, 50);
    check_mac(secret, 25, bytes, 50,
              "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
    memset(secret, 0x0c, 20);
    check_mac(secret, 20, "Test With Truncation", 20, "a3b6167473100ee06e0c796c2955552b");
    memset(secret, 0xaa, 131);
    check_mac(secret, 131, "Test Using Larger Than Block-Size Key - Hash Key First", 54,
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    static const char text[] = "This is a test using a larger than block-size key and a larger "
                               "than block-size data. The key needs to be hashed before being "
                               "used by the HMAC algorithm.";
    check_mac(secret, 131, text, sizeof text - 1,
              "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(hmac_equal_looks_at_every_bit) {
    unsigned char a[HMAC_BYTES], b[HMAC_BYTES];
    for (int i = 0; i < HMAC_BYTES; i++)
        a[i] = b[i] = (unsigned char)(7 * i);
    CHECK(hmac_equal(a, b));
    for (int bit = 0; bit < 8 * HMAC_BYTES; bit++) {
        b[bit / 8] ^= (unsigned char)(1 << bit % 8);
        CHECK(!hmac_equal(a, b));
        b[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}
