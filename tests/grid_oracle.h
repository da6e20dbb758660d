// SPDX-License-Identifier: MIT
// The grid language once more, as slowly and plainly as can be: a text is evaluated for one grid
// while it is read. Shares nothing with src/grid.
#ifndef SHOAL_TESTS_GRID_ORACLE_H
#define SHOAL_TESTS_GRID_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

struct oracle_grid {
    int h, w;
    int32_t *cells; // malloc
};

// The result and its status word; NULL: the text is not in the language. The cells are there for
// "ok". least and most are those of the result's type.
const char *oracle_run(const char *text, const struct oracle_grid *in, int32_t least, int32_t most,
                       struct oracle_grid *out);

#endif
