// SPDX-License-Identifier: MIT
// The names in a result file: one rule for all formats, all shapes.
//
// Some names are ours (run, t, status, ...), in every format alike. A name of the model or of the
// batch that is one of them, or is there already, gets as many trailing `_` as make it unique among
// all names of the file. A name that can stand as it is does so whatever its neighbours are called;
// inputs come before variables; and names that a format must spell in another way come last, so
// that they change nothing for the others.
#ifndef SHOAL_RESULT_RESULT_NAMES_H
#define SHOAL_RESULT_RESULT_NAMES_H

#include "result/sink.h"

enum { RESULT_NAME_MOST = 1000 }; // bytes; readers of zip and CSV have limits not far above

bool result_name_is_ours(const char *name);
bool result_name_is_no_input(const char *name); // run, t, status: not read from a batch file
bool result_name_is_read(const char *name, bool times); // or, with `times`, t all the same

// Spells a name as the format can have it, in place.
typedef void result_spelling(char *name);

struct result_names {
    uint32_t count;
    char **name; // one for each array of the list
};

// `spell` may be NULL; `file` is for messages. A name that is too long is an error, unless `file`
// is NULL: then it is not for one. To be freed after an error too.
shoal_code result_names_make(struct result_names *n, const struct result_list *list,
                             result_spelling *spell, const char *file, struct report *r);
void result_names_free(struct result_names *n);

#endif
