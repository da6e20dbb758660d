// SPDX-License-Identifier: MIT
// What this process knows of the devices of others: from a record in the cache, or because it had
// them asked. Backends whose drivers are loaded by nobody but them are never asked here.
#include "device/known.h"

#include "cache/cache.h"
#include "device/ask.h"
#include "device/depends.h"
#include "device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// A driver that said no is believed so long; what a no may depend on is not all in its record.
enum { NO_LASTS_S = 3600, BACKENDS = 0 DEVICE_BACKENDS(DEVICE_ONE) };

struct all_devices {
    struct all_devices *older;
    uint32_t count;
    struct device_known device[];
};

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    struct known *of[BACKENDS]; // by the order of device_backends; NULL: not asked for so far
    struct all_devices *all;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

// Who may end an asking of this thread.
static _Thread_local const volatile int *watched[2];

static void lock(void) { pthread_mutex_lock(&state.mutex); }
static void unlock(void) { pthread_mutex_unlock(&state.mutex); }
static void start(void) { pthread_atfork(lock, unlock, unlock); }

void known_watch(const volatile int *stop, const volatile int *other) {
    watched[0] = stop;
    watched[1] = other;
}

bool known_is_stopped(void) {
    for (int i = 0; i < 2; i++)
        if (watched[i] && __atomic_load_n(watched[i], __ATOMIC_RELAXED))
            return true;
    return false;
}

static uint32_t number_of(const struct shoal_backend *b) {
    uint32_t i = 0;
    while (device_backends[i] != b)
        i++;
    return i;
}

// ---- Records ------------------------------------------------------------------------------------

static bool is(const struct key_field *f, const char *label) { return !strcmp(f->label, label); }

// Drivers may say anything: what is kept is printable.
static void put_text(const struct key_field *f, char *text, size_t room) {
    size_t n = f->length < room - 1 ? f->length : room - 1;
    for (size_t i = 0; i < n; i++)
        text[i] = f->bytes[i] < ' ' || f->bytes[i] == 127 ? ' ' : (char)f->bytes[i];
    text[n] = 0;
}

void known_digest(const void *identity, size_t length, char hex[65]) {
    unsigned char digest[KEY_BYTES];
    struct sha256 hash;
    sha256_init(&hash);
    sha256_add(&hash, identity, length);
    sha256_end(&hash, digest);
    key_hex(digest, hex);
}

static uint64_t number(const struct key_field *f) {
    char text[24];
    put_text(f, text, sizeof text);
    return strtoull(text, NULL, 10);
}

static void add_device(const struct shoal_backend *b, const struct key_field *f,
                       struct known *out) {
    struct device_known *d = &out->device[out->count];
    *d = (struct device_known){.backend = b, .index = out->count++};
    snprintf(d->name, sizeof d->name, "%.15s:%u", b->name, d->index);
    put_text(f, d->text, sizeof d->text);
}

static void take_field(const struct shoal_backend *b, const struct key_field *f,
                       struct known *out) {
    struct device_known *d = out->count ? &out->device[out->count - 1] : NULL;
    if (is(f, "why"))
        put_text(f, out->why, sizeof out->why);
    else if (is(f, "without")) {
        put_text(f, out->without, sizeof out->without);
        out->broken = true;
    } else if (is(f, "broken"))
        out->broken = true;
    else if (is(f, "device") && out->count < KNOWN_MOST)
        add_device(b, f, out);
    else if (is(f, "identity") && d)
        known_digest(f->bytes, f->length, d->digest);
    else if (is(f, "units") && d)
        d->units = (uint32_t)number(f);
    else if (is(f, "cpu") && d)
        d->is_cpu_type = number(f) != 0;
}

static void read_record(const struct shoal_backend *b, const struct buf *record,
                        struct known *out) {
    struct key_field f;
    *out = (struct known){0};
    for (size_t at = 0; key_next((const unsigned char *)record->data, record->length, &at, &f);)
        take_field(b, &f, out);
    if (!out->count && !out->why[0])
        snprintf(out->why, sizeof out->why, "its driver has no device");
}

// Whether a record can still be believed: files are what they were, and a no is young.
static bool holds(const struct buf *record) {
    const unsigned char *bytes = (const unsigned char *)record->data;
    struct key_field f;
    uint64_t asked = 0, now = (uint64_t)time(NULL);
    bool no = true;
    for (size_t at = 0; key_next(bytes, record->length, &at, &f);) {
        asked = is(&f, "asked") ? number(&f) : asked;
        no = no && !is(&f, "device");
    }
    return (!no || (asked <= now && now - asked < NO_LASTS_S)) &&
           depends_still_true(bytes, record->length);
}

// ---- Asking -------------------------------------------------------------------------------------

static void remember(struct cache *c, const char *name, struct ask *a) {
    struct key_record record = {.bytes = a->answer};
    char asked[24];
    a->answer = (struct buf){0};
    if (!record.bytes.length) {
        key_add_text(&record, "why", a->why);
        key_add_text(&record, "broken", "");
    }
    snprintf(asked, sizeof asked, "%lld", (long long)time(NULL));
    key_add_text(&record, "asked", asked);
    if (c && !record.bytes.failed)
        cache_probe_put(c, name, record.bytes.data, record.bytes.length);
    a->answer = record.bytes;
}

// What is remembered of backend i; else false.
static bool recall(struct cache *c, const struct shoal_backend *b, const char *name, bool again,
                   struct known *out) {
    struct buf record = {0};
    bool found = c && cache_probe_get(c, name, &record) && holds(&record);
    if (found)
        read_record(b, &record, out);
    buf_free(&record);
    return found && !(again && !out->count);
}

static void settle(struct cache *c, const char *name, struct ask *a, struct known *out) {
    if (a->unasked) {
        *out = (struct known){.unasked = true};
        memcpy(out->why, a->why, sizeof out->why);
        return;
    }
    remember(c, name, a);
    read_record(a->backend, &a->answer, out);
    out->fresh = true;
}

// Whether this process must look for it: it has no answer, or one that is not good enough.
static bool is_needed(uint32_t i, bool again) {
    lock();
    const struct known *k = state.of[i];
    bool needed = !k || (again && !k->count && !k->fresh);
    unlock();
    return needed;
}

// An answer is kept until it is doubted; of two that came at a time the later one.
static void keep(uint32_t i, const struct known *k) {
    struct known *copy = malloc(sizeof *copy);
    if (!copy)
        return;
    *copy = *k;
    lock();
    free(state.of[i]);
    state.of[i] = copy;
    unlock();
}

struct wanted {
    uint32_t number[BACKENDS], count;
};

static void look(const struct wanted *w, bool again) {
    struct cache *c = cache_open(NULL);
    struct ask ask[BACKENDS] = {0};
    struct known known = {0};
    char name[BACKENDS][DEPENDS_NAME];
    uint32_t number[BACKENDS], asked = 0;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct shoal_backend *b = device_backends[w->number[i]];
        depends_name(b, name[asked]);
        number[asked] = w->number[i];
        if (recall(c, b, name[asked], again, &known))
            keep(w->number[i], &known);
        else
            ask[asked++].backend = b;
    }
    ask_all(ask, asked);
    for (uint32_t i = 0; i < asked; i++) {
        if (known_is_stopped() && !ask[i].answer.length)
            continue; // nobody knows
        settle(c, name[i], &ask[i], &known);
        keep(number[i], &known);
        buf_free(&ask[i].answer);
    }
    cache_close(c);
}

void known_of(const struct shoal_backend *b, bool again, struct known *out) {
    pthread_once(&state.once, start);
    struct wanted w = {{number_of(b)}, 1};
    if (is_needed(w.number[0], again))
        look(&w, again);
    bool stopped = known_is_stopped();
    *out = (struct known){.unasked = !stopped, .why = "out of memory"};
    if (stopped)
        snprintf(out->why, sizeof out->why, "its driver was not asked");
    lock();
    if (state.of[w.number[0]])
        *out = *state.of[w.number[0]];
    unlock();
}

void known_without(const struct shoal_backend *b, char names[VENDORS_NAMES]) {
    lock();
    const struct known *k = state.of[number_of(b)];
    snprintf(names, VENDORS_NAMES, "%s", k ? k->without : "");
    unlock();
}

void known_doubt(const struct shoal_backend *b) {
    if (!b->depends)
        return;
    uint32_t i = number_of(b);
    lock();
    struct known *k = state.of[i];
    state.of[i] = NULL;
    unlock();
    bool remembered = k && !k->fresh;
    free(k);
    if (!remembered)
        return;
    struct cache *c = cache_open(NULL);
    char name[DEPENDS_NAME];
    depends_name(b, name);
    if (c)
        cache_probe_put(c, name, "", 0); // no device and never asked: whoever is next asks
    cache_close(c);
}

// ---- All of them --------------------------------------------------------------------------------

// The list as it was, where it has not changed: lists stay.
static const struct all_devices *publish(struct all_devices *next) {
    lock();
    struct all_devices *all = state.all;
    bool same = all && all->count == next->count &&
                !memcmp(all->device, next->device, next->count * sizeof *next->device);
    if (same)
        free(next);
    else {
        next->older = all;
        state.all = all = next;
    }
    unlock();
    return all;
}

static void list_needed(struct wanted *w) {
    *w = (struct wanted){.count = 0};
    pthread_once(&state.once, start);
    for (uint32_t i = 0; device_backends[i]; i++)
        if (device_backends[i]->depends && is_needed(i, false))
            w->number[w->count++] = i;
}

static void look_for_all(void) {
    struct wanted w;
    list_needed(&w);
    if (w.count)
        look(&w, false);
}

bool known_asks_nobody(void) {
    struct wanted w;
    struct known known;
    char name[DEPENDS_NAME];
    list_needed(&w);
    struct cache *c = w.count ? cache_open(NULL) : NULL;
    for (uint32_t i = 0; i < w.count; i++) {
        depends_name(device_backends[w.number[i]], name);
        if (recall(c, device_backends[w.number[i]], name, false, &known))
            keep(w.number[i], &known);
    }
    cache_close(c);
    list_needed(&w);
    return !w.count;
}

uint32_t device_known(const struct device_known **list, struct report *r) {
    const size_t room = (size_t)BACKENDS * KNOWN_MOST;
    struct all_devices *all = calloc(1, sizeof *all + room * sizeof *all->device);
    struct known *k = malloc(sizeof *k);
    *list = NULL;
    look_for_all();
    for (uint32_t i = 0; device_backends[i] && all && k; i++) {
        if (!device_backends[i]->depends)
            continue;
        known_of(device_backends[i], false, k);
        if (k->broken && k->fresh)
            report_note(r, k->count ? "%s: %s, and is left out" : "%s is left out: %s",
                        device_backends[i]->name, k->why);
        memcpy(all->device + all->count, k->device, k->count * sizeof *k->device);
        all->count += k->count;
    }
    bool made = all && k;
    free(k);
    if (!made) {
        free(all);
        return 0;
    }
    const struct all_devices *known = publish(all);
    *list = known->device;
    return known->count;
}

const char *known_target(const struct device_known *d, char word[KNOWN_TARGET]) {
    const char *at = d ? strstr(d->text, ", sm_") : NULL;
    if (!at)
        return NULL;
    snprintf(word, KNOWN_TARGET, "%.*s", (int)strcspn(at + 2, ","), at + 2);
    return word;
}
