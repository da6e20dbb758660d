// SPDX-License-Identifier: MIT
// Reads a file of doses, for a solver or for whoever asks what is in it.
#ifndef SHOAL_API_DOSES_H
#define SHOAL_API_DOSES_H

#include "api/model.h"
#include "ode/run/dose.h"

// The list lives in the arena, which needs an `oom` handler.
shoal_code api_doses_read(const shoal_model *model, const char *path, double t0, bool f32,
                          struct arena *arena, struct dose_list *out, struct report *r);

#endif
