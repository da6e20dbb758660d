// SPDX-License-Identifier: MIT
// The kinds of summaries: a new one is a row here and a file of kernels/summary.
#include "ode/codegen/summary.h"

#define SEGMENTS(name_, room_)                                                                     \
    .name = #name_, .form = SUMMARY_SEGMENTS, .file = #name_, .room = room_
#define POINTS(name_, room_) .name = #name_, .form = SUMMARY_POINTS, .file = #name_, .room = room_
#define MADE(name_, code_, ...)                                                                    \
    .name = #name_, .form = SUMMARY_MADE, .code = code_, .part = {__VA_ARGS__}

#define NUMBERS(count_, words_) .count = count_, .numbers = words_
#define LEVEL .count = 1, .numbers = " and a level", .has_level = true

const struct summary_kind summary_kinds[] = {
    {SEGMENTS(max, 1), .turns = TURNS_ASKED, .quick = true},
    {SEGMENTS(min, 1), .turns = TURNS_ASKED, .quick = true},
    {SEGMENTS(tmax, 2), .turns = TURNS_ASKED, .quick = true, .timed = true, .is_when = true},
    {SEGMENTS(tmin, 2), .turns = TURNS_ASKED, .quick = true, .timed = true, .is_when = true},
    {MADE(amplitude, "01-", {"max", 0}, {"min", 0})},
    {MADE(maxabs, "1n0M", {"max", 0}, {"min", 0})},
    {POINTS(mean, 2), .linear = true},
    {POINTS(rms, 3)},
    {POINTS(std, 8)},
    {POINTS(integral, 2), .linear = true},
    {SEGMENTS(first, 2), .turns = TURNS_NEVER, .quick = true},
    {SEGMENTS(last, 1), .turns = TURNS_NEVER, .quick = true},
    {SEGMENTS(at, 2), .turns = TURNS_NEVER, NUMBERS(1, " and a time")},
    {SEGMENTS(crossings, 2), .turns = TURNS_ASKED, .quick = true, LEVEL, .has_way = true},
    {SEGMENTS(tcross, 2), .turns = TURNS_ASKED, LEVEL, .has_way = true, .is_when = true},
    {SEGMENTS(time_above, 1), .turns = TURNS_ASKED, LEVEL},
    {SEGMENTS(period, 18), .timed = true, .ridged = true},
    {.name = "period",
     LEVEL,
     .form = SUMMARY_SEGMENTS,
     .file = "period_level",
     .turns = TURNS_ASKED,
     .room = 4},
    {MADE(frequency, "I0/", {"period", 0})},
    {MADE(frequency, "I0/", {"period", 0}), LEVEL},
    {SEGMENTS(quantile, 260), NUMBERS(1, " and a part of the time"), .part_of_time = true},
    {SEGMENTS(peaks, 7), NUMBERS(1, " and how many"), .arrays = 2, .timed = true, .ridged = true,
     .is_when = true},
    {SEGMENTS(troughs, 7), NUMBERS(1, " and how many"), .arrays = 2, .timed = true, .ridged = true,
     .is_when = true},
    {SEGMENTS(histogram, 1), NUMBERS(3, ", lo, hi and how many bins"), .arrays = 1},
    {.name = "count", .form = SUMMARY_EVENTS, .file = "count", .room = 1},
    {MADE(dmax, "0", {"max", 1})},
    {MADE(dmin, "0", {"min", 1})},
    {MADE(d2max, "0", {"max", 2})},
    {MADE(d2min, "0", {"min", 2})},
};
const uint32_t summary_kind_count = sizeof summary_kinds / sizeof *summary_kinds;

// ---- Equal plans --------------------------------------------------------------------------------

static bool same_formula(const struct formula *a, const struct formula *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->item[i].op != b->item[i].op || a->item[i].index != b->item[i].index ||
            a->item[i].value != b->item[i].value)
            return false;
    return true;
}

bool summary_same_call(const struct summary_call *a, const struct summary_call *b) {
    for (int i = 0; i < SUMMARY_NUMBERS; i++)
        if (!same_formula(&a->coded[i], &b->coded[i]))
            return false;
    return a->kind == b->kind && a->event == b->event && a->order == b->order && a->way == b->way &&
           same_formula(&a->of, &b->of) && same_formula(&a->level, &b->level);
}

bool summary_same(const struct summary_plan *a, const struct summary_plan *b) {
    if (!a || !b)
        return a == b;
    if (a->calls != b->calls || a->items != b->items)
        return false;
    for (uint32_t i = 0; i < a->calls; i++)
        if (!summary_same_call(&a->call[i], &b->call[i]) || a->call[i].number != b->call[i].number)
            return false;
    for (uint32_t i = 0; i < a->items; i++)
        if (!same_formula(&a->item[i].value, &b->item[i].value))
            return false;
    return true;
}
