// SPDX-License-Identifier: MIT
// Dimension scales: which dataset of an HDF5 file holds the coordinates of which axis.
//
// Runs are along `run`, samples along `t`, and groups of runs along what they are by; other axes
// (windows, peaks, records) have none. Where groups have several axes, a column has all of them, so
// that the first of each axis is there once more, along this axis alone, as `NAME.axis`. The scales
// are the attributes that the HDF5 Dimension Scale Specification asks for, written by hand:
// the library that has calls for them (libhdf5_hl) often is not there.
#ifndef SHOAL_IO_HDF5_SCALES_H
#define SHOAL_IO_HDF5_SCALES_H

#include "io/hdf5.h"
#include "io/pieces.h"

// The axis whose scale is made of the array, a column of groups with several axes; -1: none is. And
// the name of that scale.
int hdf5_scale_axis(const struct result_list *l, uint32_t array);
enum { HDF5_SCALE_NAME = RESULT_NAME_MOST + 64 };
void hdf5_scale_name(const struct pieces *p, uint32_t array, char name[HDF5_SCALE_NAME]);
// For the datasets of the arrays, which are complete. False: the library failed.
bool hdf5_put_scales(const struct hdf5 *h, h5id file, const struct pieces *pieces);

#endif
