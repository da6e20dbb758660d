// SPDX-License-Identifier: MIT
// Is a text valid JSON? For tests of what we write.
#ifndef SHOAL_TESTS_JSON_TEXT_H
#define SHOAL_TESTS_JSON_TEXT_H

#include <stdbool.h>

// The whole text is one JSON value, in UTF-8.
bool json_is_valid(const char *text);
// The value of a member of a flat object as text, up to the next comma or end; "" when it is not
// there. A fresh string each call.
const char *json_field(const char *line, const char *name);

#endif
