// SPDX-License-Identifier: MIT
// The metadata of a result: a JSON object that the run layer wrote. Here it gets its last member,
// and its simple members are found again, for files that can show them (HDF5 attributes).
#include "base/json.h"
#include "base/utf8.h"
#include "io/formats.h"

#include <stdlib.h>
#include <string.h>

void io_meta_complete(struct buf *out, const char *meta, bool complete) {
    buf_printf(out, "{\"complete\": %s", complete ? "true" : "false");
    const char *rest = meta && *meta == '{' ? meta + 1 : "}";
    const char *first = rest + strspn(rest, " \t\r\n");
    if (*first != '}')
        buf_puts(out, ", ");
    buf_puts(out, rest);
}

// Attributes are UTF-8 always.
static const char *make_utf8(struct buf *out, const char *text) {
    size_t length = strlen(text);
    out->length = 0;
    buf_put(out, "", 0);
    for (size_t at = 0; at < length;) {
        char bytes[4];
        buf_put(out, bytes, utf8_encode(utf8_decode(text, length, &at), bytes));
    }
    return out->failed ? NULL : out->data;
}

// The value of the member that was just named; false when it is not JSON.
static bool read_member(struct json *j, struct buf *name, struct buf *text, io_meta_call *call,
                        void *user) {
    const char *label = make_utf8(name, j->text.data);
    uint32_t depth = j->depth;
    enum json_kind kind = json_next(j);
    if (kind == JSON_TEXT && label && make_utf8(text, j->text.data))
        call(user, label, text->data, 0);
    else if (label && (kind == JSON_NUMBER || kind == JSON_TRUE || kind == JSON_FALSE))
        call(user, label, NULL, kind == JSON_NUMBER ? j->number : kind == JSON_TRUE);
    while (j->depth > depth && kind != JSON_ERROR)
        kind = json_next(j);
    return kind != JSON_ERROR;
}

void io_meta_members(const char *meta, io_meta_call *call, void *user) {
    struct buf name = {0}, text = {0};
    struct json j;
    json_open_text(&j, meta, strlen(meta));
    if (json_next(&j) == JSON_OBJECT)
        while (json_next(&j) == JSON_NAME && read_member(&j, &name, &text, call, user))
            ;
    json_close(&j);
    buf_free(&name);
    buf_free(&text);
}

// Goes to the value of the member `name` of the object that was just opened.
static bool go_to(struct json *j, const char *name) {
    enum json_kind kind;
    while ((kind = json_next(j)) == JSON_NAME) {
        if (!strcmp(j->text.data, name))
            return true;
        if (!json_skip(j))
            return false;
    }
    return false;
}

bool io_meta_is_series(const char *meta) {
    struct json j;
    json_open_text(&j, meta, strlen(meta));
    bool is = json_next(&j) == JSON_OBJECT && go_to(&j, "options") &&
              json_next(&j) == JSON_OBJECT && go_to(&j, "save") && json_next(&j) == JSON_TEXT &&
              strcmp(j.text.data, "final");
    json_close(&j);
    return is;
}

const char *io_meta_option(const char *meta, struct arena *arena, const char *name) {
    struct json j;
    char *found = NULL;
    json_open_text(&j, meta, strlen(meta));
    if (json_next(&j) == JSON_OBJECT && go_to(&j, "options") && json_next(&j) == JSON_OBJECT &&
        go_to(&j, name) && json_next(&j) == JSON_TEXT)
        found = strdup(j.text.data);
    json_close(&j); // before the arena may jump
    const char *kept = found ? arena_strdup(arena, found) : NULL;
    free(found);
    return kept;
}
