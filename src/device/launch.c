// SPDX-License-Identifier: MIT
// Looks over a launch before a backend does anything with it.
#include "device/launch.h"

#include "log/label.h"

size_t launch_used(const struct shoal_block *b) {
    const struct shoal_piece *last = b->pieces ? &b->piece[b->pieces - 1] : NULL;
    return last ? last->offset + last->bytes : 0;
}

shoal_code launch_check_block(const struct shoal_block *b, const char *backend, struct report *r) {
    size_t at = 0;
    for (uint32_t i = 0; i < b->pieces; i++) {
        const struct shoal_piece *p = &b->piece[i];
        if (p->offset != at || !p->bytes || p->bytes > b->bytes - at)
            return report_error(r, SHOAL_DEVICE, "%s: the pieces of a block do not make it up",
                                backend);
        if (!p->label || log_label_index(p->label) >= log_label_count())
            return report_error(r, SHOAL_DEVICE, "%s: a piece has no label of the time log",
                                backend);
        at += p->bytes;
    }
    return SHOAL_OK;
}

static bool inside(size_t offset, size_t bytes, size_t room) {
    return offset <= room && bytes <= room - offset;
}

static bool all_inside(const struct shoal_launch *l, size_t resident) {
    const size_t room[] = {[SHOAL_READ] = launch_used(&l->read),
                           [SHOAL_WRITTEN] = launch_used(&l->written) + l->stays,
                           [SHOAL_RESIDENT] = resident};
    for (uint32_t i = 0; i < l->places; i++)
        if (!inside(l->place[i].offset, l->place[i].bytes, room[l->place[i].block]))
            return false;
    for (uint32_t i = 0; i < l->fills; i++)
        if (!inside(l->fill[i].offset, l->fill[i].bytes, room[SHOAL_WRITTEN]))
            return false;
    return true;
}

static bool stretches_are_good(const struct shoal_block *b, bool reaches) {
    size_t used = launch_used(b), at = 0;
    for (uint32_t i = 0; i < b->stretches; i++) {
        const struct shoal_stretch *d = &b->stretch[i];
        if (!reaches || !d->host || !d->bytes || d->offset < at ||
            !inside(d->offset, d->bytes, used))
            return false;
        at = d->offset + d->bytes;
    }
    return true;
}

shoal_code launch_check(const struct shoal_launch *l, size_t resident, bool reaches,
                        const char *backend, struct report *r) {
    if (!l->args || l->args_bytes < sizeof(struct shoal_head))
        return report_error(r, SHOAL_DEVICE, "%s: the arguments of the chunk have no head",
                            backend);
    if (l->team && launch_head(l)->rows % l->team)
        return report_error(r, SHOAL_DEVICE, "%s: the rows of the chunk are no whole teams",
                            backend);
    shoal_code code = launch_check_block(&l->read, backend, r);
    if (code == SHOAL_OK)
        code = launch_check_block(&l->written, backend, r);
    if (code == SHOAL_OK && !all_inside(l, resident))
        code = report_error(r, SHOAL_DEVICE, "%s: an array of the chunk lies outside its block",
                            backend);
    if (code == SHOAL_OK &&
        !(stretches_are_good(&l->read, reaches) && stretches_are_good(&l->written, reaches)))
        code = report_error(r, SHOAL_DEVICE, "%s: bytes that lie elsewhere are none of a block",
                            backend);
    return code;
}
