// SPDX-License-Identifier: MIT
// Blocks of chunks, which are host memory from which a device copies fast, and slots.
#include "dispatch/pool.h"

#include "device/spans.h"

void *pool_block(struct dispatch_pool *pool, uint32_t place, enum dispatch_block which,
                 size_t bytes) {
    void **data = &pool->block[place][which].data;
    size_t *room = &pool->block[place][which].bytes;
    if (*data && *room >= bytes)
        return *data;
    size_t ample = *room + *room / 2; // what grew once will grow again
    ample = ample > bytes ? ample : bytes;
    int32_t span = log_begin(pool->log, LOG_device_memory);
    if (*data)
        pool->backend->release(pool->device, *data);
    *data = pool->backend->alloc(pool->device, ample);
    if (!*data && ample > bytes)
        *data = pool->backend->alloc(pool->device, ample = bytes);
    *room = *data ? ample : 0;
    log_nbytes(pool->log, span, *room);
    log_end(pool->log, span);
    return *data;
}

struct shoal_slot *pool_slot(struct dispatch_pool *pool, uint32_t place) {
    if (!pool->slot[place])
        pool->slot[place] = pool->backend->slot_open(pool->device, place);
    return pool->slot[place];
}

void pool_free(struct dispatch_pool *pool) {
    for (uint32_t i = 0; i < DISPATCH_SLOTS; i++)
        if (pool->slot[i])
            pool->backend->slot_close(pool->slot[i]);
    for (uint32_t i = 0; i < DISPATCH_PLACES; i++)
        for (uint32_t k = 0; k < DISPATCH_BLOCKS; k++)
            if (pool->block[i][k].data)
                pool->backend->release(pool->device, pool->block[i][k].data);
    team_free(pool->team);
    *pool = (struct dispatch_pool){.backend = pool->backend, .device = pool->device};
}
