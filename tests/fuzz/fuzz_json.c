// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as JSON, as a whole and in pieces.
//
// Besides not crashing: both ways give the same steps, and a number that is taken is one for
// strtod too, with the same bits.
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct pieces {
    const uint8_t *data;
    size_t left, size;
};

static size_t give(void *user, const char **bytes) {
    struct pieces *p = user;
    size_t n = p->left < p->size ? p->left : p->size;
    *bytes = (const char *)p->data;
    p->data += n;
    p->left -= n;
    return n;
}

static void require(bool condition) {
    if (!condition)
        abort();
}

static void compare(const struct json *whole, const struct json *parts, enum json_kind kind) {
    require(whole->at == parts->at && whole->depth == parts->depth);
    if (kind == JSON_NAME || kind == JSON_TEXT || kind == JSON_NUMBER)
        require(!strcmp(whole->text.data, parts->text.data));
    if (kind != JSON_NUMBER)
        return;
    char *end;
    double value = strtod(whole->text.data, &end);
    require(!*end && !memcmp(&value, &whole->number, sizeof value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct json whole, parts;
    struct pieces p = {data, size, size ? data[0] % 5 + 1 : 1};
    enum json_kind kind;
    json_open_text(&whole, (const char *)data, size);
    json_open(&parts, give, &p);
    do {
        kind = json_next(&whole);
        require(json_next(&parts) == kind);
        compare(&whole, &parts, kind);
    } while (kind > JSON_END);
    json_close(&whole);
    json_close(&parts);
    return 0;
}
