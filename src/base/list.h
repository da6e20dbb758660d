// SPDX-License-Identifier: MIT
// Lists in a text: "1,2,5.5" and "x=1e-9, y=1e-12".
#ifndef SHOAL_BASE_LIST_H
#define SHOAL_BASE_LIST_H

#include <stddef.h>

// The next item of a comma-separated list, without the blanks around it; NULL when it is too long.
char *list_item(const char **at, char *item, size_t size);
// Cuts "name = value" at the first `=`; the value, or NULL when there is none.
char *list_split(char *item);

#endif
