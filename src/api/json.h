// SPDX-License-Identifier: MIT
// String members of a JSON object, for what result files say about themselves.
#ifndef SHOAL_API_JSON_H
#define SHOAL_API_JSON_H

#include "base/arena.h"

// The text of the string member `name` of the object `json`, in the arena; NULL when there is none
// or the text up to it is not JSON. Members of inner objects do not count.
char *json_member(struct arena *arena, const char *json, const char *name);

#endif
