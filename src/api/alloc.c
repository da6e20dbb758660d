// SPDX-License-Identifier: MIT
// Memory of the host that devices copy from and to by themselves; elsewhere ordinary memory.
//
// What was given out is listed, with the device that it came from: that stays open as long as its
// memory is in use, for a driver that ends takes it away. Nothing is read from a pointer that is
// not in the list.
#include "api/model.h"
#include "api/several.h"
#include "device/device.h"
#include "device/known.h"
#include "log/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

struct memory {
    struct memory *next;
    void *data;
    const struct shoal_backend *backend; // NULL: it is ordinary
    struct shoal_device *device;
};

static struct {
    pthread_mutex_t mutex;
    pthread_once_t once;
    struct memory *first;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

static void lock(void) { pthread_mutex_lock(&state.mutex); }
static void unlock(void) { pthread_mutex_unlock(&state.mutex); }
static void start(void) { pthread_atfork(lock, unlock, unlock); }

// ---- Which device -------------------------------------------------------------------------------

struct provider {
    const struct shoal_backend *backend;
    uint32_t index;
};

// The first of those that `auto` may choose.
static struct provider any_that_reaches(struct report *r) {
    const struct device_known *list;
    uint32_t count = device_known(&list, r);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].backend->reaches)
            return (struct provider){list[i].backend, list[i].index};
    return (struct provider){0};
}

// Of several, the first: what one has pinned is pinned for all.
static shoal_code one_of_several(const char *device, struct provider *out, struct report *r) {
    char name[SEVERAL_MOST + 1][SEVERAL_NAME];
    uint32_t count;
    shoal_code code = several_names(device, name, &count, r);
    for (uint32_t i = 0; i < count && code == SHOAL_OK; i++) {
        code = device_choose(name[i], &out->backend, &out->index, r);
        if (code == SHOAL_OK && out->backend->reaches)
            break;
    }
    return code;
}

static shoal_code find_place(const char *device, struct provider *out, struct report *r) {
    if (several_is(device))
        return one_of_several(device, out, r);
    if (!device_is_free(device))
        return device_choose(device, &out->backend, &out->index, r);
    *out = any_that_reaches(r);
    return SHOAL_OK;
}

// ---- Memory -------------------------------------------------------------------------------------

static void *take_ordinary(size_t bytes) {
    size_t align = bytes < HUGE_PAGE ? PAGE : HUGE_PAGE;
    if (bytes > SIZE_MAX / 2)
        return NULL;
    size_t room = (bytes + align - 1) / align * align;
    void *data = aligned_alloc(align, room);
    if (data && align == HUGE_PAGE)
        madvise(data, room, MADV_HUGEPAGE);
    return data;
}

static void *take_pinned(struct memory *m, const struct provider *p, size_t bytes) {
    if (!p->backend || !p->backend->reaches ||
        p->backend->open(p->index, NULL, false, &m->device, NULL) != SHOAL_OK)
        return NULL;
    void *data = p->backend->alloc(m->device, bytes);
    if (data)
        m->backend = p->backend;
    else
        p->backend->close(m->device);
    return data;
}

static void take(struct memory *m, const struct provider *p, size_t bytes, struct report *r) {
    m->data = take_pinned(m, p, bytes);
    if (m->data)
        return;
    m->data = take_ordinary(bytes);
    if (m->data && p->backend && p->backend->reaches)
        report_note(r, "%s:%u does not pin %zu bytes; ordinary memory is used", p->backend->name,
                    p->index, bytes);
}

shoal_code shoal_alloc(size_t bytes, const char *device, void **out, shoal_log *log) {
    struct report *r = log_report(log);
    struct provider place = {0};
    if (!out)
        return api_usage(log, "shoal_alloc", "place for it");
    *out = NULL;
    shoal_code code = find_place(device, &place, r);
    if (code != SHOAL_OK)
        return code;
    struct memory *m = calloc(1, sizeof *m);
    if (m)
        take(m, &place, bytes ? bytes : 1, r);
    if (!m || !m->data) {
        free(m);
        return report_error(r, SHOAL_MEMORY, "out of memory: shoal_alloc of %zu bytes", bytes);
    }
    pthread_once(&state.once, start);
    lock();
    m->next = state.first;
    state.first = m;
    unlock();
    *out = m->data;
    return SHOAL_OK;
}

// Takes it off the list; NULL: it is not there.
static struct memory *unlist(const void *data) {
    lock();
    struct memory **at = &state.first;
    while (*at && (*at)->data != data)
        at = &(*at)->next;
    struct memory *m = *at;
    if (m)
        *at = m->next;
    unlock();
    return m;
}

void shoal_free(void *memory) {
    struct memory *m = memory ? unlist(memory) : NULL;
    if (!m)
        return;
    if (m->backend) {
        m->backend->release(m->device, m->data);
        m->backend->close(m->device);
    } else
        free(m->data);
    free(m);
}
