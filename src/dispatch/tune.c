// SPDX-License-Identifier: MIT
// The table of measurements, and its bytes.
//
// The file may be anybody's work in spite of its signature, so that nothing of it is used before
// every number was looked at: text ends in time, times are finite and no less than 0.
#include "dispatch/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double weight = 0.25; // of the newest value
static const double far_above = 1.5, far_below = 0.5;
enum { FAR_MOST = 3 };
static const int64_t forget_ns = (int64_t)180 * 24 * 3600 * 1000000000,
                     slack_ns = (int64_t)3600 * 1000000000;

struct head {
    uint32_t schema, points, kernels, zero;
};

// ---- Bytes --------------------------------------------------------------------------------------

static bool is_amount(double x) { return x >= 0 && x < 1e100; }

static bool point_is_sound(const struct tune_point *p) {
    return p->name[0] && memchr(p->name, 0, sizeof p->name) && is_amount(p->sum) &&
           is_amount(p->squares) && isfinite(p->count) && p->count >= 0.5 && is_amount(p->last) &&
           p->off < FAR_MOST && !p->changed;
}

static bool kernel_is_sound(const struct tune_kernel *k) {
    bool sound = !k->changed && !k->zero;
    for (size_t i = 0; i < sizeof k->key; i++)
        sound = sound && k->key[i] && strchr("0123456789abcdef", k->key[i]);
    const double times[] = {k->compile, k->load,   k->first, k->typical,
                            k->work,    k->spread, k->rows,  k->gain};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        sound = sound && is_amount(times[i]);
    return sound;
}

// A clock that was wrong is no reason to keep anything for ever; those of two processes differ a
// little.
static bool is_old(int64_t at, int64_t now) { return at > now + slack_ns || at < now - forget_ns; }

static void drop_old(struct tune *t, int64_t now) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->points; i++)
        if (!is_old(t->point[i].at, now))
            t->point[n++] = t->point[i];
    t->points = n;
    n = 0;
    for (uint32_t i = 0; i < t->kernels; i++)
        if (!is_old(t->kernel[i].at, now))
            t->kernel[n++] = t->kernel[i];
    t->kernels = n;
}

static bool decode(struct tune *t, const unsigned char *bytes, size_t length) {
    struct head h;
    if (length < sizeof h)
        return false;
    memcpy(&h, bytes, sizeof h);
    if (h.schema != TUNE_SCHEMA || h.zero || h.points > TUNE_POINTS || h.kernels > TUNE_KERNELS)
        return false;
    size_t points = h.points * sizeof *t->point, kernels = h.kernels * sizeof *t->kernel;
    if (length != sizeof h + points + kernels)
        return false;
    memcpy(t->point, bytes + sizeof h, points);
    memcpy(t->kernel, bytes + sizeof h + points, kernels);
    t->points = h.points;
    t->kernels = h.kernels;
    bool sound = true;
    for (uint32_t i = 0; i < t->points; i++)
        sound = sound && point_is_sound(&t->point[i]);
    for (uint32_t i = 0; i < t->kernels; i++)
        sound = sound && kernel_is_sound(&t->kernel[i]);
    return sound;
}

bool tune_decode(struct tune *t, const void *bytes, size_t length, int64_t now) {
    bool good = decode(t, bytes, length);
    if (good)
        drop_old(t, now);
    else
        t->points = t->kernels = 0;
    return good;
}

void tune_encode(const struct tune *t, struct buf *out) {
    struct head h = {TUNE_SCHEMA, t->points, t->kernels, 0};
    buf_put(out, &h, sizeof h);
    for (uint32_t i = 0; i < t->points; i++) {
        struct tune_point p = t->point[i];
        p.changed = 0;
        buf_put(out, &p, sizeof p);
    }
    for (uint32_t i = 0; i < t->kernels; i++) {
        struct tune_kernel k = t->kernel[i];
        k.changed = 0;
        buf_put(out, &k, sizeof k);
    }
}

// ---- Points -------------------------------------------------------------------------------------

const struct tune_point *tune_find(const struct tune *t, const char *name) {
    for (uint32_t i = 0; i < t->points; i++)
        if (!strcmp(t->point[i].name, name))
            return &t->point[i];
    return NULL;
}

double tune_mean(const struct tune *t, const char *name, double assumed) {
    const struct tune_point *p = tune_find(t, name);
    return p ? p->sum / p->count : assumed;
}

// The point of a name; the one that was measured longest ago makes room.
static struct tune_point *place_for(struct tune *t, const char *name) {
    struct tune_point *p = (struct tune_point *)(uintptr_t)tune_find(t, name);
    if (p)
        return p;
    bool full = t->points == TUNE_POINTS;
    p = &t->point[full ? 0 : t->points++];
    for (uint32_t i = 0; full && i < t->points; i++)
        p = t->point[i].at < p->at ? &t->point[i] : p;
    *p = (struct tune_point){0};
    strncpy(p->name, name, sizeof p->name - 1);
    return p;
}

void tune_set(struct tune *t, const char *name, double value, double deviation, uint32_t count,
              int64_t now) {
    if (!is_amount(value) || !is_amount(deviation) || !count)
        return;
    struct tune_point *p = place_for(t, name);
    p->sum = value * count;
    p->squares = (value * value + deviation * deviation) * count;
    p->count = count;
    p->last = value;
    p->at = now;
    p->off = 0;
    p->changed = 1;
}

void tune_learn(struct tune *t, const char *name, double value, int64_t now) {
    if (!is_amount(value))
        return;
    struct tune_point *p = place_for(t, name);
    double mean = p->count > 0 ? p->sum / p->count : value, keep = 1 - weight;
    bool is_far = value > far_above * mean || value < far_below * mean;
    uint32_t off = is_far ? p->off + 1 : 0;
    if (off == FAR_MOST) { // it is another machine now
        tune_set(t, name, value, 0, 1, now);
        return;
    }
    p->sum = p->sum * keep + value;
    p->squares = p->squares * keep + value * value;
    p->count = p->count * keep + 1;
    p->last = value;
    p->at = now;
    p->off = off;
    p->changed = 1;
}

// ---- Kernels ------------------------------------------------------------------------------------

const struct tune_kernel *tune_kernel(const struct tune *t, const char *key) {
    for (uint32_t i = 0; i < t->kernels; i++)
        if (!strncmp(t->kernel[i].key, key, sizeof t->kernel[i].key))
            return &t->kernel[i];
    return NULL;
}

struct tune_kernel *tune_note(struct tune *t, const char *key, int64_t now) {
    struct tune_kernel *k = (struct tune_kernel *)(uintptr_t)tune_kernel(t, key);
    if (!k) {
        bool full = t->kernels == TUNE_KERNELS;
        k = &t->kernel[full ? 0 : t->kernels++];
        for (uint32_t i = 0; full && i < t->kernels; i++)
            k = t->kernel[i].at < k->at ? &t->kernel[i] : k;
        *k = (struct tune_kernel){0};
        memcpy(k->key, key, sizeof k->key);
    }
    k->at = now;
    k->changed = 1;
    return k;
}

// ---- The file -----------------------------------------------------------------------------------

bool tune_load(struct tune *t, struct cache *c, const char *machine, int64_t now) {
    struct buf bytes = {0};
    bool found =
        cache_tune_get(c, machine, &bytes) && tune_decode(t, bytes.data, bytes.length, now);
    if (!found)
        t->points = t->kernels = 0;
    buf_free(&bytes);
    return found;
}

bool tune_is_changed(const struct tune *t) {
    bool changed = false;
    for (uint32_t i = 0; i < t->points; i++)
        changed = changed || t->point[i].changed;
    for (uint32_t i = 0; i < t->kernels; i++)
        changed = changed || t->kernel[i].changed;
    return changed;
}

// What was changed here counts, and of the rest what is in the file.
static void merge(struct tune *into, const struct tune *from, int64_t now) {
    for (uint32_t i = 0; i < from->points; i++)
        if (from->point[i].changed)
            *place_for(into, from->point[i].name) = from->point[i];
    for (uint32_t i = 0; i < from->kernels; i++)
        if (from->kernel[i].changed)
            *tune_note(into, from->kernel[i].key, now) = from->kernel[i];
    for (uint32_t i = 0; i < into->points; i++)
        into->point[i].changed = 0;
    for (uint32_t i = 0; i < into->kernels; i++)
        into->kernel[i].changed = 0;
}

void tune_save(struct tune *t, struct cache *c, const char *machine, int64_t now) {
    struct buf bytes = {0};
    struct tune *file = calloc(1, sizeof *file);
    if (!file)
        return;
    tune_load(file, c, machine, now);
    merge(file, t, now);
    tune_encode(file, &bytes);
    if (!bytes.failed)
        cache_tune_put(c, machine, bytes.data, bytes.length);
    *t = *file;
    buf_free(&bytes);
    free(file);
}
