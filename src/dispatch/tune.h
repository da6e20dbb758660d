// SPDX-License-Identifier: MIT
// What this machine was measured to do: points by name, and times of kernels by key.
//
// A point is the mean of one number, such as `cuda:0 launch`, in which what was measured lately
// counts most; what is far from it three times in a row takes its place. What nobody measured for
// 180 days is forgotten. The table is kept in the cache as a file of its own, signed like a kernel
// and named by all that the numbers depend on; one that is damaged, foreign or of another machine
// is none. The clock is the caller's, in ns of Unix time.
#ifndef SHOAL_DISPATCH_TUNE_H
#define SHOAL_DISPATCH_TUNE_H

#include "cache/cache.h"

enum { TUNE_SCHEMA = 2, TUNE_NAME = 64, TUNE_POINTS = 256, TUNE_KERNELS = 512 };

struct tune_point {
    char name[TUNE_NAME];
    double sum, squares, count; // of the values, each time a little less
    double last;
    int64_t at;   // when that was
    uint32_t off; // values in a row that were far from the mean
    uint32_t changed;
};

// Times of a kernel in seconds; 0: not known.
struct tune_kernel {
    char key[KEY_HEX - 1]; // hex, without a zero
    double compile, load;  // the last
    double first, typical; // launch of a chunk: the first of a process, and later ones
    double work, spread;   // of a row, see dispatch/cost.h
    double rows;           // of a typical launch
    int64_t at;
    uint32_t batches, changed; // batches: that it ran, up to as many as count
    // The variant of it that was measured to be the fastest, a number of the engine's, which may be
    // wrong; and how many times as fast it is. A gain of 0: nobody has looked for one.
    uint32_t variant, zero;
    double gain;
};

struct tune {
    uint32_t points, kernels;
    struct tune_point point[TUNE_POINTS];
    struct tune_kernel kernel[TUNE_KERNELS];
};

// What the bytes of a file say; false, and an empty table, where anything is wrong with them.
bool tune_decode(struct tune *t, const void *bytes, size_t length, int64_t now);
void tune_encode(const struct tune *t, struct buf *out);

// The file of a machine; false: there is none that can be used, and the table is empty.
bool tune_load(struct tune *t, struct cache *c, const char *machine, int64_t now);
// What was changed goes into the file, beside what others wrote there meanwhile.
void tune_save(struct tune *t, struct cache *c, const char *machine, int64_t now);
bool tune_is_changed(const struct tune *t);

// The mean of a point, or what is assumed where it was never measured.
double tune_mean(const struct tune *t, const char *name, double assumed);
// Its point, with all that is known of its spread; NULL: none.
const struct tune_point *tune_find(const struct tune *t, const char *name);
void tune_learn(struct tune *t, const char *name, double value, int64_t now);
// A value that is to count alone: that of a measurement.
void tune_set(struct tune *t, const char *name, double value, double deviation, uint32_t count,
              int64_t now);

// A kernel by its key; NULL: it is not known.
const struct tune_kernel *tune_kernel(const struct tune *t, const char *key);
// The same to be changed; the oldest makes room.
struct tune_kernel *tune_note(struct tune *t, const char *key, int64_t now);

#endif
