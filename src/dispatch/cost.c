// SPDX-License-Identifier: MIT
// The cost model, the choice, and the line that explains it.
#include "dispatch/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double least_gain = 0.9, most_loss = 1.1; // between them the last choice stands
static const double most_change = 2;                   // times, of batches that are alike
enum { BELIEVED = 3 }; // batches that are far from the model: one may have met something else
static const double least_launches = 4; // that a trial takes, or it tells of those only
static const uint64_t most_rows = (uint64_t)1 << 50;

// ---- Times --------------------------------------------------------------------------------------

static double waves(const struct cost_device *d, const struct cost_job *j) {
    double n = (double)j->rows / d->at_once;
    return n > j->spread ? n : j->spread;
}

static double chunks(const struct cost_row *d, const struct cost_job *j) {
    double rows = (double)d->kernel.chunk_rows;
    return rows > 0 && (double)j->rows > rows ? (double)j->rows / rows : 1;
}

static double copies(const struct cost_device *d, const struct cost_job *j) {
    return (double)j->rows * (j->in_bytes / d->in_rate + j->out_bytes / d->out_rate);
}

static double by_model(const struct cost_row *d, const struct cost_job *j) {
    double k = chunks(d, j), copy = copies(&d->device, j);
    double work = j->work * d->device.lane * waves(&d->device, j);
    double both = copy / k + (1 - 1 / k) * (copy > work ? copy : work) + work / k;
    return k * d->device.launch + both;
}

// ---- What was seen ------------------------------------------------------------------------------

static int size_of(double rows) {
    int i = ilogb(rows);
    return i < 0 ? 0 : i < COST_SIZES ? i : COST_SIZES - 1;
}

static double bytes_of(const struct cost_job *j) { return j->in_bytes + j->out_bytes; }

// Rows of other bytes are others.
static bool is_like(const struct cost_seen *s, const struct cost_job *j) {
    return s->rows > 0 && fabs(s->bytes - bytes_of(j)) <= 0.1 * s->bytes;
}

static bool is_far(double a, double b) { return a > most_change * b || b > most_change * a; }

static struct cost_job seen_job(const struct cost_seen *s, const struct cost_job *j) {
    struct cost_job then = *j;
    then.rows = (uint64_t)s->rows;
    return then;
}

static double by_seen(const struct cost_row *d, const struct cost_job *j,
                      const struct cost_seen *s) {
    struct cost_job then = seen_job(s, j);
    return s->seconds * by_model(d, j) / by_model(d, &then);
}

static bool is_believed(const struct cost_row *d, const struct cost_job *j,
                        const struct cost_seen *s) {
    struct cost_job then = seen_job(s, j);
    return is_like(s, j) && (s->count >= BELIEVED || !is_far(s->seconds, by_model(d, &then)));
}

// That of the nearest size, no more than four times as large or as small; NULL: none.
static const struct cost_seen *seen(const struct cost_row *d, const struct cost_job *j) {
    static const int places[] = {0, -1, 1, -2, 2};
    int size = size_of((double)j->rows);
    for (size_t i = 0; i < sizeof places / sizeof *places && isfinite(d->device.launch); i++) {
        int at = size + places[i];
        if (at >= 0 && at < COST_SIZES && is_believed(d, j, &d->seen[at]))
            return &d->seen[at];
    }
    return NULL;
}

bool cost_is_seen(const struct cost_row *d, const struct cost_job *j) { return seen(d, j); }

void cost_forget(struct cost_table *t) {
    for (uint32_t i = 0; i < t->count; i++)
        memset(t->row[i].seen, 0, sizeof t->row[i].seen);
}

void cost_see(struct cost_table *t, uint32_t row, const struct cost_job *j, double seconds) {
    struct cost_seen *s = &t->row[row].seen[size_of((double)j->rows)];
    if (!(seconds > 0) || !j->rows)
        return;
    double expected = is_like(s, j) ? by_seen(&t->row[row], j, s) : 0;
    if (expected > 0 && is_far(seconds, expected))
        cost_forget(t);
    bool more = s->rows > 0 && expected > 0;
    *s = (struct cost_seen){.rows = (double)j->rows,
                            .seconds = more ? (seconds + expected) / 2 : seconds,
                            .bytes = bytes_of(j),
                            .count = more && s->count < BELIEVED ? s->count + 1
                                     : more                      ? BELIEVED
                                                                 : 1};
}

double cost_warm(const struct cost_row *d, const struct cost_job *j) {
    const struct cost_seen *s = seen(d, j);
    return s ? by_seen(d, j, s) : by_model(d, j);
}

double cost_price(const struct cost_row *d, const struct cost_job *j) {
    double reuses = j->reuses >= 1 ? j->reuses : 1;
    double kernel = d->kernel.cached ? d->device.load : d->kernel.compile / reuses;
    return (d->kernel.open ? 0 : d->device.start) + (d->kernel.loaded ? 0 : kernel);
}

static double left_to_pay(const struct cost_row *d, const struct cost_job *j) {
    double price = cost_price(d, j), missed = d->kernel.missed;
    return price > missed ? price - missed : 0;
}

double cost_now(const struct cost_row *d, const struct cost_job *j) {
    return cost_warm(d, j) + left_to_pay(d, j);
}

void cost_miss(struct cost_table *t, const struct cost_job *j) {
    for (uint32_t i = 1; i < t->count; i++) {
        double longer = cost_warm(&t->row[0], j) - cost_warm(&t->row[i], j);
        if (longer > 0)
            t->row[i].kernel.missed += longer;
    }
}

double cost_work(const struct cost_device *d, const struct cost_job *j, double seconds) {
    double rest = seconds - d->launch - copies(d, j);
    double least = seconds / 4; // the rest is a prediction, too
    return (rest > least ? rest : least) / (d->lane * waves(d, j));
}

// ---- Where two devices meet ---------------------------------------------------------------------

static bool is_faster(const struct cost_row *cpu, const struct cost_row *d,
                      const struct cost_job *j, bool warm) {
    return warm ? cost_warm(d, j) < cost_warm(cpu, j) : cost_now(d, j) < cost_now(cpu, j);
}

uint64_t cost_break_even(const struct cost_row *cpu, const struct cost_row *d,
                         const struct cost_job *j, bool warm) {
    struct cost_job with = *j;
    uint64_t low = 0, high = 1; // not faster with low rows, faster with high
    for (with.rows = 1; !is_faster(cpu, d, &with, warm); with.rows = high) {
        low = high;
        high *= 2;
        if (high > most_rows)
            return 0;
    }
    while (high - low > 1) {
        with.rows = low + (high - low) / 2;
        *(is_faster(cpu, d, &with, warm) ? &high : &low) = with.rows;
    }
    return high;
}

// Time grows with the rows, so the most rows are found by halves.
uint64_t cost_trial(const struct cost_row *a, const struct cost_row *b, const struct cost_job *j,
                    double share) {
    struct cost_job with = *j;
    double now[] = {cost_now(a, j), cost_now(b, j)};
    double most = share * (now[0] < now[1] ? now[0] : now[1]);
    uint64_t low = 0, high = (uint64_t)(share * (double)j->rows) + 1; // few enough, and too many
    while (high - low > 1) {
        with.rows = low + (high - low) / 2;
        bool fits = cost_now(a, &with) <= most && cost_now(b, &with) <= most;
        *(fits ? &low : &high) = with.rows;
    }
    with.rows = low;
    bool tells = low && cost_warm(a, &with) >= least_launches * a->device.launch &&
                 cost_warm(b, &with) >= least_launches * b->device.launch;
    return tells ? low : 0;
}

// Time grows with the work, in the end at a fixed rate.
static double rate(const struct cost_row *d, const struct cost_job *j) {
    return d->device.lane * waves(&d->device, j);
}

double cost_even_work(const struct cost_row *cpu, const struct cost_row *d,
                      const struct cost_job *j) {
    struct cost_job with = *j;
    with.work = 0;
    double on_cpu = by_model(cpu, &with) + left_to_pay(cpu, j),
           on_d = by_model(d, &with) + left_to_pay(d, j), ahead = on_d - on_cpu,
           gain = rate(cpu, j) - rate(d, j);
    if (ahead <= 0)
        return 0;
    return gain > 0 ? ahead / gain : (double)INFINITY;
}

bool cost_is_plain(const struct cost_table *t, const struct cost_job *j) {
    for (uint32_t i = 1; i < t->count; i++)
        if (cost_even_work(&t->row[0], &t->row[i], j) < (double)INFINITY)
            return false;
    return true;
}

// ---- The choice ---------------------------------------------------------------------------------

static uint32_t fastest(const struct cost_table *t, const struct cost_job *j, uint32_t first) {
    uint32_t best = first;
    for (uint32_t i = first + 1; i < t->count; i++)
        if (cost_now(&t->row[i], j) < cost_now(&t->row[best], j))
            best = i;
    return best;
}

uint32_t cost_choose(const struct cost_table *t, const struct cost_job *j, int last) {
    uint32_t best = fastest(t, j, 0);
    if (last < 0 || (uint32_t)last >= t->count || best == (uint32_t)last)
        return best;
    double now = cost_now(&t->row[best], j), kept = cost_now(&t->row[last], j);
    bool moves = best ? now < least_gain * kept : kept > most_loss * now;
    return moves ? best : (uint32_t)last;
}

// ---- In words -----------------------------------------------------------------------------------

void cost_name(const char *device, char out[COST_NAME]) {
    size_t n = strlen(device);
    if (n > 2 && !strcmp(device + n - 2, ":0"))
        n -= 2;
    snprintf(out, COST_NAME, "%.*s", (int)n, device);
}

void cost_count(uint64_t n, char out[COST_NAME]) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), at = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
}

// Two digits tell enough.
static double rounded(double x) {
    double unit = pow(10, floor(log10(x)) - 1);
    return round(x / unit) * unit;
}

static void put_time(double s, char out[COST_NAME]) {
    static const struct {
        double from, unit;
        const char *name;
    } units[] = {{7200, 3600, "h"},
                 {120, 60, "min"},
                 {0.9995, 1, "s"},
                 {0.9995e-3, 1e-3, "ms"},
                 {0, 1e-6, "us"}};
    size_t i = 0;
    double r = s > 1e-7 ? rounded(s) : 1e-7;
    while (r < units[i].from)
        i++;
    double x = r / units[i].unit;
    snprintf(out, COST_NAME, x < 9.95 ? "%.2g %s" : "%.0f %s", x, units[i].name);
}

// Rows of a break-even, of which nobody knows the third digit.
static void put_rows(uint64_t n, char out[COST_NAME]) {
    cost_count(n < 100 ? n : (uint64_t)(rounded((double)n) + 0.5), out);
}

struct line {
    char *out;
    size_t at;
};

static void put(struct line *l, const char *text) {
    l->at += (size_t)snprintf(l->out + l->at, COST_REASON - l->at, "%s", text);
    l->at = l->at < COST_REASON ? l->at : COST_REASON - 1;
}

// 1.1 s cold, 6 ms warm; of what is loaded, and of the CPU, one number says it.
static void put_times(struct line *l, const struct cost_row *d, const struct cost_job *j) {
    char text[COST_NAME];
    bool cold = !d->kernel.loaded && strcmp(d->device.name, "cpu") != 0;
    put_time(cost_now(d, j), text);
    put(l, " ~ ");
    put(l, text);
    if (!cold)
        return;
    put_time(cost_warm(d, j), text);
    put(l, " cold, ");
    put(l, text);
    put(l, " warm");
}

static void put_break_even(struct line *l, const struct cost_table *t, uint32_t other,
                           const struct cost_job *j) {
    const struct cost_row *cpu = &t->row[0], *d = &t->row[other];
    uint64_t cold = d->kernel.loaded ? 0 : cost_break_even(cpu, d, j, false),
             warm = cost_break_even(cpu, d, j, true);
    char n[COST_NAME];
    if (!warm) {
        put(l, " (no break-even)");
        return;
    }
    put(l, " (break-even ");
    put_rows(cold ? cold : warm, n);
    put(l, n);
    put(l, " ");
    put(l, j->noun);
    if (cold) {
        put(l, " cold, ");
        put_rows(warm, n);
        put(l, n);
        put(l, " warm");
    }
    put(l, ")");
}

void cost_reason(const struct cost_table *t, const struct cost_job *j, uint32_t chosen,
                 char out[COST_REASON]) {
    struct line l = {out, 0};
    char text[COST_NAME];
    uint32_t other = chosen || t->count < 2 ? 0 : fastest(t, j, 1);
    out[0] = 0;
    cost_name(t->row[chosen].device.name, text);
    put(&l, text);
    put(&l, ": ");
    cost_count(j->rows, text);
    put(&l, text);
    put(&l, " ");
    put(&l, j->noun);
    l.out[l.at -= j->rows == 1] = 0; // 1 run
    put_times(&l, &t->row[chosen], j);
    if (t->count < 2) {
        put(&l, "; there is no other device");
        return;
    }
    put(&l, "; ");
    cost_name(t->row[other].device.name, text);
    put(&l, text);
    put_times(&l, &t->row[other], j);
    put_break_even(&l, t, chosen ? chosen : other, j);
}
