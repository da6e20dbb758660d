// SPDX-License-Identifier: MIT
// A binary into the driver, and how its kernel is best launched.
//
// A group is as large as the hardware's own, at least 64 work-items. On a CPU the items of a group
// run one after the other; a group has 8 there, always, because PoCL compiles for each size anew.
#include "device/opencl/opencl.h"

#include <stdlib.h>

enum { GROUP_CPU = 8, GROUP_GPU = 64, GROUPS_OF_UNIT = 16 };

static shoal_code make_program(struct shoal_module *m, const struct shoal_bytes *b,
                               const char *entry, struct report *r) {
    struct shoal_device *d = m->device;
    const unsigned char *bytes = b->data;
    int state = CL_OK, error = CL_OK;
    m->program =
        d->cl->program_binary(d->context, 1, &d->device, &b->length, &bytes, &state, &error);
    if (!m->program || state != CL_OK)
        return opencl_error("loading the compiled kernel", state != CL_OK ? state : error, r);
    error = d->cl->program_build(m->program, 1, &d->device, NULL, NULL, NULL);
    if (error != CL_OK)
        return opencl_error("linking the compiled kernel", error, r);
    m->kernel = d->cl->kernel_new(m->program, entry, &error);
    return m->kernel ? SHOAL_OK : opencl_error("finding the kernel", error, r);
}

static size_t kernel_number(const struct shoal_module *m, unsigned what) {
    const struct shoal_device *d = m->device;
    size_t value = 0;
    return d->cl->kernel_info(m->kernel, d->device, what, sizeof value, &value, NULL) == CL_OK
               ? value
               : 0;
}

static void choose_shape(struct shoal_module *m) {
    struct shoal_device *d = m->device;
    size_t most = kernel_number(m, CL_KERNEL_GROUP_SIZE);
    size_t multiple = kernel_number(m, CL_KERNEL_GROUP_MULTIPLE);
    size_t group = d->is_cpu ? GROUP_CPU : multiple > GROUP_GPU ? multiple : GROUP_GPU;
    m->group = (uint32_t)(most && group > most ? most : group);
    m->team = d->is_cpu || !most ? m->group : (uint32_t)most;
    m->resident = m->group * d->units * (d->is_cpu ? 4 : GROUPS_OF_UNIT);
}

static struct shoal_facts facts_of(const struct shoal_module *m) {
    const struct shoal_device *d = m->device;
    uint64_t bytes = 0;
    d->cl->kernel_info(m->kernel, d->device, CL_KERNEL_PRIVATE_BYTES, sizeof bytes, &bytes, NULL);
    return (struct shoal_facts){.spills = (uint32_t)bytes,
                                .block = m->group,
                                .resident = m->resident,
                                .team = m->team,
                                .shared = (size_t)d->shared_bytes};
}

// Only the driver can read its binaries; without loading one, little can be said of it.
shoal_code opencl_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                       struct shoal_module **out, struct shoal_facts *facts, struct report *r) {
    shoal_code code = opencl_same_process(d, r);
    if (code == SHOAL_OK && !b->length)
        code = report_error(r, SHOAL_DEVICE, "opencl: the binary is empty");
    if (code != SHOAL_OK || !out)
        return code;
    struct shoal_module *m = calloc(1, sizeof *m);
    if (!m)
        return report_error(r, SHOAL_MEMORY, "out of memory");
    m->device = d;
    pthread_mutex_init(&m->lock, NULL);
    code = make_program(m, b, entry, r);
    if (code != SHOAL_OK) {
        opencl_unload(m);
        return code;
    }
    choose_shape(m);
    if (facts)
        *facts = facts_of(m);
    *out = m;
    return SHOAL_OK;
}

void opencl_unload(struct shoal_module *m) {
    if (!m)
        return;
    const struct opencl *cl = m->device->cl;
    if (opencl_same_process(m->device, NULL) == SHOAL_OK) {
        if (m->kernel)
            cl->kernel_free(m->kernel);
        if (m->program)
            cl->program_free(m->program);
    }
    pthread_mutex_destroy(&m->lock);
    free(m);
}
