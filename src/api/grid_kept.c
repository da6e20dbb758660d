// SPDX-License-Identifier: MIT
// Results that stay where they were made, as the input of other calls.
//
// Shapes, offsets and status are known on the host; cells are in the memory of the device, or, of a
// CPU, in memory of their own. A grid that was marked stays so in all that is made of it.
#include "api/grid_kept.h"

#include "api/model.h"

#include <stdlib.h>
#include <string.h>

static void *copy_of(const void *data, size_t bytes) {
    void *copy = malloc(bytes + 1);
    if (copy && bytes)
        memcpy(copy, data, bytes);
    return copy;
}

// What is known of them, as a caller was told it.
static bool describe(shoal_kept *k, const struct grid_result *result, uint64_t count) {
    k->type = (shoal_cell)result->type;
    k->count = count;
    k->needed = result->needed;
    k->height = result->stack ? result->height : 0;
    k->width = result->stack ? result->width : 0;
    k->shapes = copy_of(result->shapes, 2 * count * sizeof *k->shapes);
    k->offsets = copy_of(result->offsets, count * sizeof *k->offsets);
    k->status = copy_of(result->status, count);
    return k->shapes && k->offsets && k->status;
}

shoal_code kept_take(shoal_kept *k, struct grid_result *result, uint64_t count, shoal_log *log) {
    k->cells = result->keep ? NULL : result->cells;
    return describe(k, result, count)
               ? SHOAL_OK
               : report_error(log_report(log), SHOAL_MEMORY, "out of memory");
}

void shoal_kept_free(shoal_kept *k) {
    if (!k)
        return;
    grid_kept_free(&k->on);
    free(k->cells);
    free(k->shapes);
    free(k->offsets);
    free(k->status);
    free(k);
}

shoal_grids shoal_kept_grids(const shoal_kept *k) {
    shoal_grids g = {.size = sizeof g};
    if (!k)
        return g;
    g.count = k->count;
    g.type = k->type;
    g.kept = k;
    g.cells = k->cells;
    g.height = k->height;
    g.width = k->width;
    g.shapes = k->height ? NULL : k->shapes;
    g.offsets = k->height ? NULL : k->offsets;
    return g;
}

void kept_mark(const shoal_kept *k, struct grid_result *result) {
    for (uint64_t i = 0; k && i < k->count; i++)
        if (k->status[i])
            grid_mark(result, i, (enum grid_status)k->status[i]);
}

shoal_code shoal_kept_fetch(const shoal_kept *k, void *cells, uint64_t room, shoal_log *log) {
    if (!k || (!cells && k->needed))
        return api_usage(log, "shoal_kept_fetch", "grids that were kept, or place for them");
    if (room < k->needed)
        return report_error(log_report(log), SHOAL_USAGE,
                            "there is room for %llu cells, and the grids that were kept have %llu",
                            (unsigned long long)room, (unsigned long long)k->needed);
    size_t bytes = k->needed * grid_type_bytes((enum grid_type)k->type);
    shoal_code code = SHOAL_OK;
    if (k->cells)
        memcpy(cells, k->cells, bytes);
    else
        code = grid_kept_read(&k->on, bytes, cells, log_report(log));
    struct grid_result all = {.type = (enum grid_type)k->type,
                              .cells = cells,
                              .stack = k->height > 0,
                              .height = k->height,
                              .width = k->width,
                              .shapes = k->shapes,
                              .status = k->status};
    if (code == SHOAL_OK)
        kept_mark(k, &all); // whose cells are zeros
    return code;
}
