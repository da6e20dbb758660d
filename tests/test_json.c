// SPDX-License-Identifier: MIT
// The JSON reader: what it takes and refuses, the same in whole and in pieces, cut and mutated.
#include "check.h"

#include "base/json.h"

struct pieces {
    const char *text;
    size_t left, size; // bytes given at a time
};

static size_t give(void *user, const char **bytes) {
    struct pieces *p = user;
    size_t n = p->left < p->size ? p->left : p->size;
    *bytes = p->text;
    p->text += n;
    p->left -= n;
    return n;
}

static void put_step(struct buf *out, const struct json *j, enum json_kind kind) {
    static const char signs[] = {
        [JSON_ERROR] = '!',  [JSON_END] = '.',       [JSON_OBJECT] = '{', [JSON_OBJECT_END] = '}',
        [JSON_ARRAY] = '[',  [JSON_ARRAY_END] = ']', [JSON_NAME] = ':',   [JSON_TEXT] = '"',
        [JSON_NUMBER] = '#', [JSON_TRUE] = 't',      [JSON_FALSE] = 'f',  [JSON_NULL] = 'n',
    };
    buf_putc(out, signs[kind]);
    if (kind == JSON_NAME || kind == JSON_TEXT)
        buf_printf(out, "%s ", j->text.data);
    if (kind == JSON_NUMBER)
        buf_printf(out, "%.17g ", j->number);
    if (kind == JSON_ERROR)
        buf_printf(out, "%llu %s", (unsigned long long)j->at, j->error);
}

// The steps of a text as one line; `size` 0: as a whole.
static char *steps(const char *text, size_t length, size_t size) {
    static struct buf lines[2];
    static int turn;
    struct buf *out = &lines[turn ^= 1];
    struct pieces p = {text, length, size};
    struct json j;
    enum json_kind kind;
    if (size)
        json_open(&j, give, &p);
    else
        json_open_text(&j, text, length);
    out->length = 0;
    do {
        kind = json_next(&j);
        put_step(out, &j, kind);
    } while (kind > JSON_END);
    CHECK_INT(json_next(&j), kind); // it stays so
    json_close(&j);
    return out->data;
}

static bool is_json(const char *text, size_t length) {
    const char *line = steps(text, length, 0);
    return line[strlen(line) - 1] == '.' && !strchr(line, '!');
}

TEST(json_steps) {
    static const char text[] =
        " {\"a\" : [1, -2.5e1,true,false , null,[],{}], \"b\\n\":\"x\\u00e9\"}\n";
    static const char want[] = "{:a [#1 #-25 tfn[]{}]:b\n \"x\u00e9 }.";
    CHECK_STR(steps(text, strlen(text), 0), want);
    for (size_t size = 1; size < sizeof text; size++)
        CHECK_STR(steps(text, strlen(text), size), want);
    CHECK_STR(steps("3", 1, 0), "#3 .");
    CHECK_STR(steps("\"\"", 2, 1), "\" .");
    CHECK_STR(steps("1e999", 5, 0), "#inf .");
}

TEST(json_grammar) {
    static const char *const good[] = {
        "0",
        "-0",
        "1.5E+2",
        "[]",
        " [ ] ",
        "{}",
        "[[[]]]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "{\"\":0}",
        "{\"a\":1,\"a\":2}",
        "[1,2]",
        "\"\x7f\"",
        "\"\\ud83d\\ude00\"",
        "true\n",
    };
    static const char *const bad[] = {
        "",
        " ",
        "nul",
        "nulll",
        "True",
        "NaN",
        "Infinity",
        "-",
        "+1",
        "01",
        "1.",
        ".5",
        "1e",
        "0x1",
        "1 2",
        "--1",
        "[",
        "]",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1]]",
        "{",
        "}",
        "{]",
        "[}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "'a'",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\u0000\"",
        "\"a\nb\"",
        "\"\t\"",
        "// a\n1",
        "[1,/**/2]",
        "\xef\xbb\xbf{}",
        "\"\\ud800\\x\"",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK_MSG(is_json(good[i], strlen(good[i])), "%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_MSG(!is_json(bad[i], strlen(bad[i])), "%s is taken", bad[i]);
    CHECK(!is_json("1\0", 2) && !is_json("\"\0\"", 3));
}

TEST(json_texts) {
    static const struct {
        const char *json, *text;
    } cases[] = {
        {"\"\\u0041\\u00e9\\u20ac\"", "A\u00e9\u20ac"},
        {"\"\\ud83d\\ude00\"", "\U0001f600"},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\ud83d\\n\"", "\xef\xbf\xbd\n"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\U0001f600"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\udcff\\udc41\"", "\xff\xef\xbf\xbd"}, // a byte, and half a pair
        {"\"\xff\"", "\xff"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t size = 0; size < 8; size++) {
            struct pieces p = {cases[i].json, strlen(cases[i].json), size ? size : 100};
            struct json j;
            json_open(&j, give, &p);
            CHECK_INT(json_next(&j), JSON_TEXT);
            CHECK_STR(j.text.data, cases[i].text);
            CHECK_INT(json_next(&j), JSON_END);
            json_close(&j);
        }
}

TEST(json_errors_have_a_place) {
    CHECK_STR(steps("{\"a\": [1, x]}", 13, 0), "{:a [#1 !10 expected a value here");
    CHECK_STR(steps("{\"a\" 1}", 7, 0), "{!5 expected : after the name of a member");
    CHECK_STR(steps("[1 2]", 5, 0), "[#1 !3 expected , or the end of what is open here");
    CHECK_STR(steps("[] x", 4, 0), "[]!3 something follows the value");
    CHECK_STR(steps("\"ab", 3, 0), "!3 this text does not end");
}

TEST(json_depth_is_bounded) {
    char text[2 * JSON_DEPTH + 8];
    for (int more = 0; more < 2; more++) {
        size_t deep = JSON_DEPTH + (size_t)more;
        memset(text, '[', deep);
        memset(text + deep, ']', deep);
        CHECK_INT(is_json(text, 2 * deep), !more);
    }
    memset(text, '[', sizeof text);
    CHECK_HAS(steps(text, sizeof text, 0), "nested too deep");
}

TEST(json_skips) {
    static const char text[] = "[{\"a\":[1,{\"b\":2}]}, 3, \"x\", 4]";
    struct json j;
    json_open_text(&j, text, strlen(text));
    CHECK_INT(json_next(&j), JSON_ARRAY);
    CHECK(json_skip(&j) && json_skip(&j) && json_skip(&j));
    CHECK_INT(json_next(&j), JSON_NUMBER);
    CHECK(j.number == 4);
    CHECK_INT(json_next(&j), JSON_ARRAY_END);
    CHECK(!json_skip(&j));
    json_close(&j);
    json_open_text(&j, "[[1,", 4);
    CHECK_INT(json_next(&j), JSON_ARRAY);
    CHECK(!json_skip(&j) && j.error);
    json_close(&j);
}

// A text that is cut short is no JSON, and one that is changed reads the same in every way.
TEST(json_cut_and_mutated) {
    static const char text[] = "{\"a\": [1, -2.5e1, true, {\"b\": \"x\\u00e9\\ud83d\\ude00\\n\"}], "
                               "\"c\": {}, \"d\": null}";
    static const char bytes[] = "{}[]:,\"\\u0n1e.-tx \n";
    size_t length = strlen(text), good = 0;
    uint32_t state = 1;
    for (size_t n = 0; n < length; n++)
        CHECK(!is_json(text, n));
    for (int turn = 0; turn < 20000; turn++) {
        char copy[sizeof text];
        memcpy(copy, text, sizeof text);
        for (int k = 0; k < 1 + turn % 3; k++) {
            state = state * 1664525 + 1013904223;
            copy[(state >> 8) % length] = bytes[(state >> 20) % (sizeof bytes - 1)];
        }
        const char *whole = steps(copy, length, 0),
                   *pieces = steps(copy, length, (size_t)turn % 7 + 1);
        CHECK_MSG(!strcmp(whole, pieces), "%s: %s, in pieces %s", copy, whole, pieces);
        good += is_json(copy, length);
    }
    CHECK_MSG(good > 500 && good < 15000, "%zu of 20000 are JSON", good); // both happen
}
