// SPDX-License-Identifier: MIT
// Which devices there are, what identifies them together, and what each is assumed to do before it
// was measured.
#include "dispatch/machine.h"

#include "base/cpus.h"
#include "device/device.h"

#include <stdio.h>
#include <string.h>

bool machine_takes_cpu_types = false;
uint32_t machine_assumes_cpus = 0;

// ---- What there is ------------------------------------------------------------------------------

static void add_number(struct key_record *k, const char *label, uint64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    key_add_text(k, label, text);
}

static void identify(struct machine *m) {
    struct key_record k = {0};
    unsigned char key[KEY_BYTES];
    struct shoal_card cpu = {0};
    device_backend("cpu")->describe(0, &cpu); // model, instructions, compiler
    add_number(&k, "schema", TUNE_SCHEMA);
    key_add_text(&k, "version", SHOAL_VERSION);
    key_add_text(&k, "cpu", cpu.text);
    add_number(&k, "cpus", m->cpus);
    for (uint32_t i = 1; i < m->count; i++) {
        key_add_text(&k, "device", m->known[i]->name);
        key_add_text(&k, "digest", m->known[i]->digest);
    }
    key_digest(&k, key);
    key_hex(key, m->digest);
    key_free(&k);
}

static void identify_one(const struct key_record *what, char digest[KEY_HEX]) {
    struct key_record k = {0};
    unsigned char key[KEY_BYTES];
    add_number(&k, "schema", TUNE_SCHEMA);
    key_add_text(&k, "version", SHOAL_VERSION);
    key_add(&k, "device", what->bytes.data, what->bytes.length);
    key_digest(&k, key);
    key_hex(key, digest);
    key_free(&k);
}

void machine_known(const struct device_known *d, char digest[KEY_HEX]) {
    struct key_record what = {0};
    key_add_text(&what, "digest", d->digest);
    identify_one(&what, digest);
    key_free(&what);
}

// How many of its CPUs are at work says whether two of them share a core.
static void machine_cpu_alone(const struct shoal_card *card, char digest[KEY_HEX]) {
    struct key_record what = {0};
    key_add_text(&what, "cpu", card->text);
    add_number(&what, "cpus", machine_assumes_cpus ? machine_assumes_cpus : cpus_usable());
    identify_one(&what, digest);
    key_free(&what);
}

void machine_device(const struct shoal_backend *b, const struct shoal_card *card,
                    char digest[KEY_HEX]) {
    struct device_known d = {.backend = b};
    if (!strcmp(b->name, "cpu")) {
        machine_cpu_alone(card, digest);
        return;
    }
    known_digest(card->identity, strlen(card->identity), d.digest);
    machine_known(&d, digest);
}

// Two backends may know one card: its name, up to the first comma, is the same, and the first of
// them has it.
static bool is_listed(const struct machine *m, const struct device_known *d) {
    size_t n = strcspn(d->text, ",");
    for (uint32_t i = 1; i < m->count; i++)
        if (m->known[i]->backend != d->backend && strcspn(m->known[i]->text, ",") == n &&
            !strncmp(m->known[i]->text, d->text, n))
            return true;
    return false;
}

static void list_devices(struct machine *m, struct report *r) {
    const struct device_known *list;
    uint32_t count = device_known(&list, r);
    uint32_t cpus = machine_assumes_cpus ? machine_assumes_cpus : cpus_usable();
    *m = (struct machine){.count = 1, .cpus = cpus};
    for (uint32_t i = 0; i < count && m->count < COST_DEVICES; i++)
        if (list[i].is_cpu_type == machine_takes_cpu_types && !is_listed(m, &list[i]))
            m->known[m->count++] = &list[i];
}

void machine_find(struct machine *m, struct report *r) {
    list_devices(m, r);
    identify(m);
}

bool machine_has_choice(struct report *r) {
    struct machine m;
    list_devices(&m, r);
    return m.count > 1;
}

// ---- What it does -------------------------------------------------------------------------------

static const char *const words[] = {
#define X(name, word, text) word,
    MACHINE_POINTS(X)
#undef X
};

// A GPU that nobody measured is taken for an average one. By the tables of docs/measurements.md an
// H200 starts in 0.21 to 0.32 s, a row alone takes it 30 to 290 times what it takes a core with
// full lanes, and a row of a full one 0.3 to 4 times, shared out among its multiprocessors.
static const double assumed_cpu[MACHINE_POINT_COUNT] = {
    [MACHINE_LOAD] = 1e-3, [MACHINE_LAUNCH] = 50e-6,    [MACHINE_IN] = 4e9,
    [MACHINE_OUT] = 4e9,   [MACHINE_EFFICIENCY] = 0.85,
};
static const double assumed_gpu[MACHINE_POINT_COUNT] = {
    [MACHINE_START] = 0.3, [MACHINE_LOAD] = 5e-3, [MACHINE_LAUNCH] = 100e-6, [MACHINE_IN] = 8e9,
    [MACHINE_OUT] = 8e9,   [MACHINE_LANE] = 200,  [MACHINE_FULL] = 0.4,
};

void machine_point(const char *device, enum machine_point p, const char *class,
                   char name[TUNE_NAME]) {
    snprintf(name, TUNE_NAME, "%s %s%s%s", device, words[p], class ? " " : "", class ? class : "");
}

static double mean(const struct tune *t, const char *device, enum machine_point p,
                   const char *class, double assumed) {
    char name[TUNE_NAME];
    machine_point(device, p, class, name);
    double value = tune_mean(t, name, assumed);
    return value > 0 || p == MACHINE_START ? value : assumed;
}

static struct cost_device device_of(const char *name, const double *assumed, const struct tune *t) {
    struct cost_device d = {
        .start = mean(t, name, MACHINE_START, NULL, assumed[MACHINE_START]),
        .load = mean(t, name, MACHINE_LOAD, NULL, assumed[MACHINE_LOAD]),
        .launch = mean(t, name, MACHINE_LAUNCH, NULL, assumed[MACHINE_LAUNCH]),
        .in_rate = mean(t, name, MACHINE_IN, NULL, assumed[MACHINE_IN]),
        .out_rate = mean(t, name, MACHINE_OUT, NULL, assumed[MACHINE_OUT]),
    };
    snprintf(d.name, sizeof d.name, "%s", name);
    return d;
}

const char *machine_threads(uint32_t threads, char class[MACHINE_CLASS]) {
    snprintf(class, MACHINE_CLASS, "%u", threads);
    return class;
}

// Of so many threads, or of the power of two below, which calibration measures.
static double efficiency_of(const struct tune *t, uint32_t threads) {
    char class[MACHINE_CLASS];
    uint32_t below = 1;
    while (below <= threads / 2)
        below *= 2;
    double assumed = mean(t, "cpu", MACHINE_EFFICIENCY, machine_threads(below, class),
                          assumed_cpu[MACHINE_EFFICIENCY]);
    return mean(t, "cpu", MACHINE_EFFICIENCY, machine_threads(threads, class), assumed);
}

static struct cost_device cpu_of(const struct machine_cpu *cpu, const struct tune *t) {
    struct cost_device d = device_of("cpu", assumed_cpu, t);
    double share = efficiency_of(t, cpu->threads) * cpu->threads;
    d.lane = cpu->lanes;
    d.at_once = d.lane * (share > 1 ? share : 1);
    return d;
}

static struct cost_device gpu_of(const struct device_known *k, const struct tune *t,
                                 const char *class) {
    struct cost_device d = device_of(k->name, assumed_gpu, t);
    double units = k->units ? k->units : 1;
    d.lane = mean(t, k->name, MACHINE_LANE, class, assumed_gpu[MACHINE_LANE]);
    d.at_once = d.lane / mean(t, k->name, MACHINE_FULL, class, assumed_gpu[MACHINE_FULL] / units);
    return d;
}

void machine_costs(const struct machine *m, const struct machine_cpu *cpu, const struct tune *t,
                   const char *class, struct cost_table *out) {
    *out = (struct cost_table){.count = m->count};
    out->row[0].device = cpu_of(cpu, t);
    out->row[0].kernel.open = true;
    for (uint32_t i = 1; i < m->count; i++)
        out->row[i].device = gpu_of(m->known[i], t, class);
    for (uint32_t i = 0; i < m->count; i++)
        out->row[i].kernel.compile = machine_compile(m->known[i]);
}

double machine_compile(const struct device_known *d) { return d ? 1.0 : 0.25; }
