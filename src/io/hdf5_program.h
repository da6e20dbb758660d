// SPDX-License-Identifier: MIT
// The program shoal-hdf5, which reads HDF5 files for this process; see hdf5_read.h.
//
// It is looked for where SHOAL_HDF5_READER says, else beside this library or program and in the
// libexec/shoal of its prefix. It gets a clean environment; it is ended when it says nothing for 30
// seconds, and what it says is checked message by message.
#ifndef SHOAL_IO_HDF5_PROGRAM_H
#define SHOAL_IO_HDF5_PROGRAM_H

#include "io/hdf5_read.h"

enum { HDF5_PROGRAM_ROOM = 4096 };

bool hdf5_program_find(char path[HDF5_PROGRAM_ROOM]);
// `what` is a word of HDF5_WAYS; all messages but HDF5_ERROR and HDF5_DONE are handed to
// `take`.
shoal_code hdf5_program_run(const char *program, const char *what, const char *path,
                            hdf5_take *take, void *user, struct report *r);

#endif
