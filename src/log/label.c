// SPDX-License-Identifier: MIT
// The labels that the linker collected. They lie one behind the other in whatever order the files
// were linked, so nothing that people see depends on it.
#include "log/label.h"

#include <stdlib.h>
#include <string.h>

// Made by the linker; hidden, so that a program with a second copy of the library has two lists.
extern const struct log_label __start_shoal_labels[] __attribute__((visibility("hidden")));
extern const struct log_label __stop_shoal_labels[] __attribute__((visibility("hidden")));

// As addresses: to the compiler the labels are no parts of one array.
uint32_t log_label_index(const struct log_label *label) {
    uintptr_t bytes = (uintptr_t)label - (uintptr_t)__start_shoal_labels;
    return (uint32_t)(bytes / sizeof *label);
}

uint32_t log_label_count(void) { return log_label_index(__stop_shoal_labels); }

static int compare(const void *one, const void *other) {
    const struct log_label *a = *(const struct log_label *const *)one;
    const struct log_label *b = *(const struct log_label *const *)other;
    if (a->category != b->category)
        return a->category < b->category ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return strcmp(a->name, b->name);
}

void log_labels_sorted(const struct log_label **out) {
    uint32_t count = log_label_count();
    for (uint32_t i = 0; i < count; i++)
        out[i] = &__start_shoal_labels[i];
    qsort(out, count, sizeof *out, compare);
}

const struct log_label *log_label_find(const char *name) {
    for (uint32_t i = log_label_count(); i-- > 0;)
        if (!strcmp(__start_shoal_labels[i].name, name))
            return &__start_shoal_labels[i];
    return NULL;
}
