// SPDX-License-Identifier: MIT
// UTF-8 and JSON strings: what is no UTF-8 still makes JSON that anybody reads, and comes back.
#include "base/buf.h"
#include "base/json.h"
#include "base/utf8.h"
#include "check.h"

TEST(utf8_points) {
    static const struct {
        const char *text;
        uint32_t point;
        size_t bytes;
    } cases[] = {
        {"a", 'a', 1},
        {"\xc3\xa9", 0xe9, 2},
        {"\xe2\x82\xac", 0x20ac, 3},
        {"\xf0\x9f\x90\x9f", 0x1f41f, 4},
        {"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
        {"\xef\xbf\xbd", 0xfffd, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = 0;
        char out[4];
        CHECK_INT(utf8_decode(cases[i].text, strlen(cases[i].text), &at), cases[i].point);
        CHECK_INT(at, cases[i].bytes);
        at = 0;
        CHECK(utf8_next(cases[i].text, strlen(cases[i].text), &at));
        CHECK_INT(utf8_encode(cases[i].point, out), cases[i].bytes);
        CHECK(!memcmp(out, cases[i].text, cases[i].bytes));
    }
    static const char *const wrong[] = {"\xff",         "\xc3",
                                        "\xc3(",        "\x80",
                                        "\xc0\xaf",     "\xe2\x82",
                                        "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                        "\xe0\x80\xaf", "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t at = 0;
        CHECK(!utf8_next(wrong[i], strlen(wrong[i]), &at));
        CHECK_INT(at, 1);
        at = 0;
        CHECK_INT(utf8_decode(wrong[i], strlen(wrong[i]), &at), 0xfffd);
    }
}

TEST(json_strings_come_back) {
    char all[256] = {0};
    for (int i = 1; i < 256; i++) // every byte, few of which are UTF-8 here
        all[i - 1] = (char)i;
    const char *const texts[] = {"",
                                 "plain",
                                 "say \"hi\"\\",
                                 "\xc3\xa9 \xf0\x9f\x90\x9f",
                                 "\xff",
                                 all,
                                 "a\xe2\x82"
                                 "b\n\t",
                                 "\xed\xb3\xbf"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct buf json = {0};
        struct arena arena = {0};
        buf_puts(&json, "{\"t\": ");
        buf_json(&json, texts[i]);
        buf_puts(&json, "}");
        for (size_t at = 0; at < json.length;)
            CHECK(utf8_next(json.data, json.length, &at));
        CHECK_STR(json_member(&arena, json.data, "t"), texts[i]);
        buf_free(&json);
        arena_free(&arena);
    }
}
