// SPDX-License-Identifier: MIT
// The table of open devices and loaded kernels. Lists are short; what was used last is in front.
//
// Backends are called without the lock. After fork the child's entries are lost: whoever has one
// may use it as far as the backend lets him, and it goes with its last user.
#include "kernel/table.h"

#include "device/detached.h"
#include "device/known.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct open_device {
    const struct shoal_backend *backend;
    uint32_t index;
    bool fast_math;
    struct shoal_device *device;
    uint32_t users; // solvers and kernels
    bool lost;
    struct open_device *next;
};

enum { OPENS = 16 }; // devices whose openings are counted

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    struct open_device *devices;
    struct kernel *kernels;
    struct {
        const struct shoal_backend *backend; // NULL: free
        uint32_t index, count;
    } opens[OPENS];
} table = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void lock_table(void) { pthread_mutex_lock(&table.mutex); }
static void unlock_table(void) { pthread_mutex_unlock(&table.mutex); }

static void start_child(void) {
    for (struct open_device *d = table.devices; d; d = d->next)
        d->lost = true;
    for (struct kernel *k = table.kernels; k; k = k->next)
        k->lost = true;
    unlock_table();
}

static void start_table(void) { pthread_atfork(lock_table, unlock_table, start_child); }

static void enter(void) {
    pthread_once(&table.once, start_table);
    lock_table();
}

// ---- Devices ------------------------------------------------------------------------------------

static struct open_device *holder(const struct shoal_device *d) {
    struct open_device *o = table.devices;
    while (o && o->device != d)
        o = o->next;
    return o;
}

// A device that is another by now (the compiler on PATH, say) stays with those who have it.
static bool is_same(const struct open_device *o, const struct open_device *wanted) {
    return !o->lost && o->backend == wanted->backend && o->index == wanted->index &&
           o->fast_math == wanted->fast_math &&
           (!o->backend->is_current || o->backend->is_current(o->device));
}

static struct open_device *find_device(const struct open_device *wanted) {
    struct open_device *o = table.devices;
    while (o && !is_same(o, wanted))
        o = o->next;
    if (o)
        o->users++;
    return o;
}

// True when it was the last user: then it is out of the table.
static bool leave_device(struct open_device *o) {
    struct open_device **at = &table.devices;
    if (--o->users)
        return false;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    return true;
}

static void close_device(struct open_device *o) {
    o->backend->close(o->device);
    free(o);
}

// Another thread may have opened the same one meanwhile.
static struct open_device *add_device(struct open_device *o) {
    enter();
    struct open_device *other = find_device(o);
    if (!other) {
        o->users = 1;
        o->next = table.devices;
        table.devices = o;
    }
    unlock_table();
    if (other)
        close_device(o);
    return other ? other : o;
}

// Devices beyond the table count as never opened.
static void count_open(const struct shoal_backend *backend, uint32_t index) {
    uint32_t i = 0;
    enter();
    while (i < OPENS && table.opens[i].backend &&
           (table.opens[i].backend != backend || table.opens[i].index != index))
        i++;
    if (i < OPENS) {
        table.opens[i].backend = backend;
        table.opens[i].index = index;
        table.opens[i].count++;
    }
    unlock_table();
}

shoal_code kernel_device_open(const struct shoal_backend *backend, uint32_t index, bool fast_math,
                              struct shoal_device **out, struct report *r) {
    const struct open_device wanted = {.backend = backend, .index = index, .fast_math = fast_math};
    enter();
    struct open_device *o = find_device(&wanted);
    unlock_table();
    if (o) {
        *out = o->device;
        return SHOAL_OK;
    }
    o = malloc(sizeof *o);
    if (!o)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    *o = wanted;
    shoal_code code = backend->open(index, NULL, fast_math, &o->device, r);
    if (code == SHOAL_OK)
        count_open(backend, index);
    if (code == SHOAL_OK)
        *out = add_device(o)->device;
    else {
        known_doubt(backend);
        free(o);
    }
    return code;
}

bool kernel_devices_leave(void) {
    bool any = detached_any();
    enter();
    for (struct open_device *o = table.devices; o; o = o->next) {
        bool leaves = !o->lost && o->backend->leave;
        if (leaves)
            o->backend->leave(o->device);
        any = any || leaves;
    }
    unlock_table();
    return any;
}

uint32_t kernel_device_opens(const struct shoal_backend *backend, uint32_t index) {
    uint32_t opens = 0;
    enter();
    for (uint32_t i = 0; i < OPENS; i++)
        if (table.opens[i].backend == backend && table.opens[i].index == index)
            opens = table.opens[i].count;
    unlock_table();
    return opens;
}

void kernel_device_keep(struct shoal_device *d) {
    enter();
    holder(d)->users++;
    unlock_table();
}

void kernel_device_close(struct shoal_device *d) {
    if (!d)
        return;
    enter();
    struct open_device *o = holder(d);
    bool last = leave_device(o);
    unlock_table();
    if (last)
        close_device(o);
}

// ---- Kernels ------------------------------------------------------------------------------------

static void put_in_front(struct kernel *k) {
    struct kernel **at = &table.kernels;
    while (*at && *at != k)
        at = &(*at)->next;
    if (*at)
        *at = k->next;
    k->next = table.kernels;
    table.kernels = k;
}

// Takes out those that nobody uses, but for the first few.
static struct kernel *take_idle(uint32_t stay) {
    struct kernel *gone = NULL;
    for (struct kernel **at = &table.kernels; *at;) {
        struct kernel *k = *at;
        if (k->users || (!k->lost && stay && stay--)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        k->next = gone;
        gone = k;
    }
    return gone;
}

static void unload(struct kernel *k) {
    for (struct kernel *next; k; k = next) {
        next = k->next;
        k->on->backend->unload(k->module);
        kernel_device_close(k->on->device);
        free(k);
    }
}

struct kernel *kernel_find(const struct shoal_device *d, const char key[KEY_HEX]) {
    enter();
    struct kernel *k = table.kernels;
    while (k && (k->lost || k->on->device != d || strcmp(k->key, key)))
        k = k->next;
    if (k) {
        k->users++;
        put_in_front(k);
    }
    unlock_table();
    return k;
}

struct kernel *kernel_add(struct shoal_device *d, const char key[KEY_HEX],
                          struct shoal_module *module, struct shoal_facts facts) {
    struct kernel *k = malloc(sizeof *k);
    enter();
    struct open_device *on = holder(d);
    if (k) {
        *k = (struct kernel){
            .module = module, .facts = facts, .on = on, .users = 1, .lost = on->lost};
        memcpy(k->key, key, KEY_HEX);
        on->users++;
        put_in_front(k);
    }
    unlock_table();
    if (!k)
        on->backend->unload(module);
    return k;
}

struct kernel *kernel_keep(struct kernel *k) {
    if (!k)
        return NULL;
    enter();
    k->users++;
    unlock_table();
    return k;
}

void kernel_drop(struct kernel *k) {
    if (!k)
        return;
    enter();
    k->users--;
    put_in_front(k);
    struct kernel *gone = take_idle(KERNELS_IDLE);
    unlock_table();
    unload(gone);
}

bool kernel_runs_first(struct kernel *k) {
    return !__atomic_exchange_n(&k->ran, 1, __ATOMIC_RELAXED);
}

void kernel_forget_idle(void) {
    enter();
    struct kernel *gone = take_idle(0);
    unlock_table();
    unload(gone);
}
