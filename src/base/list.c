// SPDX-License-Identifier: MIT
// Cuts the items of a list out of its text.
#include "base/list.h"

#include <string.h>

char *list_item(const char **at, char *item, size_t size) {
    const char *p = *at + strspn(*at, " \t");
    size_t n = strcspn(p, ",");
    *at = p + n + (p[n] == ',');
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    if (n >= size)
        return NULL;
    memcpy(item, p, n);
    item[n] = 0;
    return item;
}

char *list_split(char *item) {
    char *equals = strchr(item, '=');
    if (!equals)
        return NULL;
    char *end = equals;
    while (end > item && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    return equals + 1 + strspn(equals + 1, " \t");
}
