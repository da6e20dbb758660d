// SPDX-License-Identifier: MIT
// OpenCL's drivers: one library stands before all of them, and finds each by a file of a folder.
// One that crashes takes the others with it, so a folder of links to the others can stand for it.
#ifndef SHOAL_DEVICE_VENDORS_H
#define SHOAL_DEVICE_VENDORS_H

#include <stdbool.h>
#include <stdint.h>

enum { VENDORS_MOST = 32, VENDORS_PATH = 256, VENDORS_NAMES = 512 };

struct vendors {
    uint32_t count;
    char file[VENDORS_MOST][VENDORS_PATH];
};

// What the library would find here.
void vendors_find(struct vendors *v);
// A folder that has only some of them, for OCL_ICD_VENDORS; false: it cannot be made.
bool vendors_link(const struct vendors *v, const bool wanted[VENDORS_MOST],
                  char folder[VENDORS_PATH]);
void vendors_unlink(const char *folder);

// Up to vendors_show the library finds none of these files, separated by colons; "": it finds all.
struct vendors_hidden {
    char folder[VENDORS_PATH];
    char *before; // value of the variable
};
void vendors_hide(const char *names, struct vendors_hidden *out);
void vendors_show(struct vendors_hidden *h);

#endif
