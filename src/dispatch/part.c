// SPDX-License-Identifier: MIT
// Some rows of a chunk that run again, in chunks of their own: all at once, or as many at a time as
// the device has room for.
#include "dispatch/dispatch.h"

// SHOAL_MEMORY, without a message, when the device has no room for so many now.
static shoal_code run_part(struct dispatch *d, struct shoal_slot *slot,
                           const struct dispatch_parts *p, uint32_t first, uint32_t rows,
                           bool *filled) {
    struct dispatch_chunk *c = NULL;
    shoal_code code = p->begin(p->user, first, rows, &c);
    *filled = code == SHOAL_OK;
    if (!*filled)
        return code;
    c->slot = slot;
    code = dispatch_run(d, c);
    p->end(p->user, c, code == SHOAL_OK || code == SHOAL_STOPPED);
    return code;
}

shoal_code dispatch_parts(struct dispatch *d, const struct dispatch_chunk *of,
                          const struct dispatch_parts *p, uint32_t count, uint32_t *done) {
    uint32_t most = count;
    for (*done = 0; *done < count;) {
        uint32_t rows = count - *done < most ? count - *done : most;
        bool filled;
        shoal_code code = run_part(d, of->slot, p, *done, rows, &filled);
        if (code == SHOAL_OK || code == SHOAL_STOPPED)
            *done += rows;
        else if (!filled || code != SHOAL_MEMORY)
            return code;
        else if (rows <= DISPATCH_ROWS_LEAST)
            return report_error(log_report(d->job->log), SHOAL_MEMORY,
                                "%s has not enough memory for %u %s", d->job->pool->backend->name,
                                rows, p->what);
        else
            most = rows / 2;
        if (code == SHOAL_STOPPED)
            return code;
    }
    return SHOAL_OK;
}
