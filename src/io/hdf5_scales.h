// SPDX-License-Identifier: MIT
// Dimension scales: which dataset of an HDF5 file holds the coordinates of which axis.
//
// Runs are along `run`, samples along `t`, and groups of runs along what they are by where that is
// one axis; other axes (windows, peaks, records, several axes of groups) have none. The
// scales are the attributes that the HDF5 Dimension Scale Specification asks for, written by hand:
// the library that has calls for them (libhdf5_hl) often is not there.
#ifndef SHOAL_IO_HDF5_SCALES_H
#define SHOAL_IO_HDF5_SCALES_H

#include "io/hdf5.h"
#include "io/pieces.h"

// For the datasets of the arrays, which are complete. False: the library failed.
bool hdf5_put_scales(const struct hdf5 *h, h5id file, const struct pieces *pieces);

#endif
