// SPDX-License-Identifier: MIT
// What calibration runs: each engine has a list of these, one for each kind of kernel that is worth
// telling apart.
#ifndef SHOAL_DISPATCH_WORKLOAD_H
#define SHOAL_DISPATCH_WORKLOAD_H

struct workload {
    const char *name;    // in words
    const char *text;    // of the engine's language
    const char *options; // its options: `name=value` words with blanks between
    const char *input;   // the parameter that differs from row to row,
    double from, to;     // and its values
};

#endif
