// SPDX-License-Identifier: MIT
// Stops: times known in advance at which steps end, and which of them are meant to be one.

#ifndef TIMES_MADE // whether there are events at times that are made of parameters
#define TIMES_MADE 0
#endif

#if COLD_PART
// The later one of two stops that are no farther from each other than `width`, else the first.
INLINE treal stop_together(const struct group *g, treal at, treal other, real width) {
    real behind = t_diff(other, at) * g->dir;
    mask together = m_and(r_gt(behind, R(0)), r_le(behind, width));
    return t_select(together, other, at);
}
#endif
