// SPDX-License-Identifier: MIT
// Labels of the time log. Whoever emits a span defines its label, at the top of the file:
//
//     LOG_LABEL(module_load, BUILD, 60, "kernel bytes to something that runs");
//     ...
//     int32_t span = log_begin(log, LOG_module_load);
//
// The linker puts all labels into one section, whose bounds it knows: that is the list that sums,
// docs/timing.md and tests go through. No file names them all; a test finds one that nothing emits.
//
// `place` orders the labels of a category for people, whatever the order of the files: about as
// things happen, in tens, so that there is room between them.
#ifndef SHOAL_LOG_LABEL_H
#define SHOAL_LOG_LABEL_H

#include "shoal/shoal.h"

// As large as it is aligned: compilers give larger things another alignment than they ask for.
struct log_label {
    _Alignas(32) const char *name;
    const char *description;
    shoal_category category;
    uint32_t place;
};

#define LOG_LABEL(name, category, place, description)                                              \
    static LOG_SHARED_LABEL(name, category, place, description)

// A label that several files emit is defined in one of them and declared in its header.
#define LOG_SHARED_LABEL(name, category, place, description)                                       \
    const struct log_label LOG_##name[1] __attribute__((section("shoal_labels"), used)) = {        \
        {#name, description, SHOAL_##category, place}}
#define LOG_DECLARE_LABEL(name) extern const struct log_label LOG_##name[1]

uint32_t log_label_count(void);
uint32_t log_label_index(const struct log_label *label); // in the order of the linker
// All of them, by category, place and name.
void log_labels_sorted(const struct log_label **out);
const struct log_label *log_label_find(const char *name); // NULL: none

#endif
