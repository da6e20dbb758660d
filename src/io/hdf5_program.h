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

// The same, message by message. `name` is that of the array where one is read, else
// NULL. NULL with an error when it does not start.
struct hdf5_stream;
struct hdf5_stream *hdf5_stream_open(const char *program, const char *what, const char *path,
                                     const char *name, struct report *r);
// False at the end, and where something is wrong, which closing tells. The bytes stay until the
// next call.
bool hdf5_stream_next(struct hdf5_stream *s, uint32_t *kind, const char **bytes, size_t *length,
                      struct report *r);
// `all`: the messages should have come to their end.
shoal_code hdf5_stream_close(struct hdf5_stream *s, bool all, struct report *r);

#endif
