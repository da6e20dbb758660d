// SPDX-License-Identifier: MIT
// A look at each kernel, then the best of them against the one that is there.
#include "dispatch/search.h"

double search_share = 0.05;

// What is less than 3 % faster may be slower tomorrow; a kernel must win most rounds, too.
static const double clearly = 0.97;
enum { LOOKS = 2, ROUNDS = 7, ROUNDS_WON = 5 };

struct times {
    double least[SEARCH_MOST];
};

static shoal_code time_one(struct times *t, const struct search_engine *e, void *user, uint32_t i,
                           double *seconds) {
    shoal_code code = e->run(user, i, seconds);
    if (code == SHOAL_OK && (t->least[i] == 0 || *seconds < t->least[i]))
        t->least[i] = *seconds;
    return code;
}

// Both in turn, so that what slows one slows the other.
static shoal_code look(struct times *t, const struct search_engine *e, void *user, uint32_t i) {
    double seconds;
    shoal_code code = SHOAL_OK;
    for (int n = 0; n < LOOKS && code == SHOAL_OK; n++) {
        code = time_one(t, e, user, 0, &seconds);
        if (code == SHOAL_OK)
            code = time_one(t, e, user, i, &seconds);
    }
    return code;
}

static bool is_faster(const struct times *t, uint32_t i, uint32_t than) {
    return t->least[i] > 0 && t->least[i] < clearly * t->least[than];
}

static shoal_code duel(struct times *t, const struct search_engine *e, void *user, uint32_t i,
                       bool *won) {
    double a, b;
    int wins = 0;
    shoal_code code = SHOAL_OK;
    for (int n = 0; n < ROUNDS && code == SHOAL_OK; n++) {
        code = time_one(t, e, user, 0, &a);
        if (code == SHOAL_OK)
            code = time_one(t, e, user, i, &b);
        wins += code == SHOAL_OK && b < a;
    }
    *won = code == SHOAL_OK && wins >= ROUNDS_WON && is_faster(t, i, 0);
    return code;
}

shoal_code search_kernels(const struct search *s, const struct search_engine *e, void *user,
                          struct search_result *out) {
    struct times t = {{0}};
    uint32_t best = 0;
    double longest = 0; // that a kernel took
    shoal_code code = SHOAL_OK;
    *out = (struct search_result){.gain = 1, .whole = true};
    for (uint32_t i = 1; i < s->count && i < SEARCH_MOST && code == SHOAL_OK; i++) {
        bool same = false;
        double begin = e->spent(user);
        if (begin + longest > s->budget_s) {
            out->whole = false;
            break;
        }
        code = e->make(user, i, &same);
        out->tried++;
        out->differed += code == SHOAL_OK && !same;
        if (code == SHOAL_OK && same)
            code = look(&t, e, user, i);
        if (code == SHOAL_OK && same && is_faster(&t, i, 0) &&
            (!best || t.least[i] < t.least[best]))
            best = i;
        double took = e->spent(user) - begin;
        longest = took > longest ? took : longest;
    }
    bool won = false;
    if (code == SHOAL_OK && best)
        code = duel(&t, e, user, best, &won);
    if (code != SHOAL_OK || !won)
        return code;
    out->best = best;
    out->gain = t.least[0] / t.least[best];
    return SHOAL_OK;
}

bool search_is_worth(double rest_s, double cost_s) {
    return cost_s > 0 && rest_s * search_share >= cost_s;
}
