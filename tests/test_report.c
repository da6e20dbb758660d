// SPDX-License-Identifier: MIT
// Messages about a place in a text: they show that line and nothing else, and no byte of it reaches
// a terminal as anything but a character.
#include "base/report.h"
#include "check.h"
#include "ode/model/model.h"

#include <sys/mman.h>

// The text between two pages that cannot be read: one byte too far is a crash.
struct fence {
    char *map, *text;
    size_t page, length;
};

static struct fence fence_new(size_t length, bool at_end) {
    struct fence f = {.page = 4096, .length = length};
    REQUIRE(length <= f.page);
    f.map = mmap(NULL, 3 * f.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(f.map != MAP_FAILED);
    REQUIRE(mprotect(f.map + f.page, f.page, PROT_READ | PROT_WRITE) == 0);
    f.text = at_end ? f.map + 2 * f.page - length : f.map + f.page;
    return f;
}

static void fence_free(struct fence *f) { munmap(f->map, 3 * f->page); }

static const char *message_at(struct report *r, const char *text, size_t length, size_t offset) {
    struct source s = {"m", text, length};
    report_at(r, SHOAL_ERROR, &s, offset, "here");
    REQUIRE(r->messages.count == 1);
    return r->messages.items[0].text;
}

TEST(report_knows_all_line_ends) {
    static const char *const texts[] = {"one\ntwo\nthree", "one\rtwo\rthree",
                                        "one\r\ntwo\r\nthree"};
    for (size_t i = 0; i < 3; i++) {
        struct report r = {0};
        size_t at = (size_t)(strstr(texts[i], "hree") - texts[i]);
        CHECK_STR(message_at(&r, texts[i], strlen(texts[i]), at),
                  "m:3:2: error: here\n  three\n   ^");
        CHECK(r.messages.items[0].line == 3 && r.messages.items[0].column == 2);
        report_free(&r);
    }
}

// A line that ends at a carriage return, with the place far behind its end.
TEST(report_stays_in_the_line) {
    for (int at_end = 0; at_end < 2; at_end++) {
        struct fence f = fence_new(400, at_end);
        memset(f.text, 'a', 400);
        f.text[10] = '\r';
        for (size_t at = 0; at <= 400; at++) {
            struct report r = {0};
            const char *text = message_at(&r, f.text, 400, at), *line = strchr(text, '\n') + 1;
            CHECK(strspn(line, " a") == strcspn(line, "\n") && strcspn(line, "\n") <= 102);
            report_free(&r);
        }
        fence_free(&f);
    }
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static bool is_harmless(const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        if ((*s < 0x20 && *s != '\n') || *s == 0x7f)
            return false;
        if (s[0] == 0xc2 && s[1] < 0xa0)
            return false;
        if (*s >= 0x80 && *s < 0xc0 && s > (const unsigned char *)text && s[-1] < 0x80)
            return false; // a byte on its own
    }
    return true;
}

TEST(report_shows_no_control_characters) {
    static const char bytes[] = "ab \t\n\r\x1b\x7f\x9b\xc2\xe2\x80\xae\xf0\x9f\xff[31m\x07";
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        size_t length = next_random(&random) % 300;
        struct fence f = fence_new(length, i & 1);
        for (size_t k = 0; k < length; k++)
            f.text[k] = bytes[next_random(&random) % sizeof bytes]; // a NUL too
        struct report r = {0};
        const char *text = message_at(&r, f.text, length, next_random(&random) % (length + 2));
        if (!is_harmless(text))
            check_fail(__FILE__, __LINE__, "in %d: %s", i, text);
        uint32_t lines = 0;
        for (const char *c = text; *c; c++)
            lines += *c == '\n';
        CHECK_INT(lines, 2);
        report_free(&r);
        fence_free(&f);
    }
}

TEST(report_names_and_values_are_harmless) {
    struct report r = {0};
    struct source s = {"a\nb\x1b]0;x\x07", "text", 4};
    report_at(&r, SHOAL_NOTE, &s, 1, "value %s", "\x1b[2J\xc2\x9b\xe2\x80\xae\xc3\xa9");
    CHECK_STR(r.messages.items[0].text, "a?b?]0;x?:1:2: note: value ?[2J??\xc3\xa9\n  text\n   ^");
    report_error(&r, SHOAL_INPUT, "no '%s'", "\x1b[31m\x9b");
    CHECK_STR(r.messages.items[1].text, "error: no '?[31m?'");
    report_free(&r);
}

// The whole way: a model with nothing but carriage returns, and one that is cut in a character.
TEST(report_of_a_model_with_carriage_returns) {
    struct fence f = fence_new(160, true);
    memset(f.text, ' ', 160);
    memcpy(f.text, "x'=1\r", 5);
    memcpy(f.text + 150, "y'=q", 4);
    struct report r = {0};
    CHECK(model_parse("m", f.text, 160, &r) == NULL);
    REQUIRE(r.messages.count == 1);
    CHECK(r.messages.items[0].line == 2 && r.messages.items[0].column == 149);
    CHECK_HAS(r.messages.items[0].text, "m:2:149: error: `q` is not defined");
    report_free(&r);
    fence_free(&f);
}
