// SPDX-License-Identifier: MIT
// A driver without a device: memory is the host's, streams are lists that are worked off when an
// event is asked for, and a kernel does what the test says, whatever its bytes are. Where it says
// nothing, it triples its inputs and adds the first number of a resident block. Built by the tests
// that use it, with the soname of the real one.
//
// It is stricter than the real one: nothing works without a current context, host memory is read
// and written only when the stream gets there, and everything that is made is counted.
#include "libcuda.h"

#include "../../kernels/ode/abi.h"

#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NOT_READY = 600, OPS = 256, ARGS = 1024 };

static struct fake_cuda fake = {.version = 13000, .major = 9, .memory = (size_t)1 << 30};
API struct fake_cuda *fake_cuda(void);
API struct fake_cuda *fake_cuda(void) { return &fake; }

// A context is the place of its device here. Those of a thread that are current: the last one.
static char context_of[FAKE_DEVICES];
static _Thread_local int depth, current[8];
#define DEVICE_NOW (depth ? current[depth - 1] : 0)
#define FAILS_HERE (!fake.fail_only || fake.fail_only == DEVICE_NOW + 1)

#define ENTER(name)                                                                                \
    do {                                                                                           \
        if (fake.fail && !strcmp(fake.fail, #name) && FAILS_HERE && fake.fail_after-- <= 0)        \
            return fake.fail_result;                                                               \
        if (!fake.pushed)                                                                          \
            return 201;                                                                            \
    } while (0)

// ---- Driver, device, context --------------------------------------------------------------------

API int cuInit(unsigned flags);
API int cuInit(unsigned flags) {
    const char *fail = getenv("FAKE_CUDA_FAIL"); // of processes that have no other knob
    if (fail && !strcmp(fail, "cuInit"))
        return 999;
    return fake.fail && !strcmp(fake.fail, "cuInit") ? fake.fail_result : flags ? INVALID : OK;
}
API int cuDriverGetVersion(int *version);
API int cuDriverGetVersion(int *version) {
    *version = fake.version;
    return OK;
}
API int cuGetErrorName(int result, const char **text);
API int cuGetErrorName(int result, const char **text) {
    (void)result;
    *text = "CUDA_ERROR_FAKE";
    return OK;
}
API int cuGetErrorString(int result, const char **text);
API int cuGetErrorString(int result, const char **text) {
    (void)result;
    *text = "a fake error";
    return OK;
}
// As many as the environment says, for processes that are asked beforehand, too.
static int devices(void) {
    const char *text = getenv("FAKE_CUDA_DEVICES");
    return text ? atoi(text) : 1;
}
API int cuDeviceGetCount(int *count);
API int cuDeviceGetCount(int *count) {
    *count = devices();
    return OK;
}
API int cuDeviceGet(int *device, int ordinal);
API int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < devices() ? OK : 101;
}
API int cuDeviceGetName(char *name, int room, int device);
API int cuDeviceGetName(char *name, int room, int device) {
    (void)device;
    strncpy(name, "Fake 9000", (size_t)room);
    return OK;
}
API int cuDeviceGetAttribute(int *value, int attribute, int device);
API int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 16 ? 2 : attribute == 39 ? 256 : attribute == 75 ? fake.major : 0;
    return OK;
}
API int cuDeviceTotalMem_v2(size_t *bytes, int device);
API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = fake.memory;
    return OK;
}
API int cuDevicePrimaryCtxRetain(void **context, int device);
API int cuDevicePrimaryCtxRetain(void **context, int device) {
    if (fake.fail && !strcmp(fake.fail, "cuDevicePrimaryCtxRetain"))
        return fake.fail_result;
    usleep((unsigned)fake.start_ms * 1000);
    *context = &context_of[device];
    fake.contexts++;
    return OK;
}
API int cuDevicePrimaryCtxRelease_v2(int device);
API int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    fake.contexts--;
    return OK;
}
API int cuCtxPushCurrent_v2(void *context);
API int cuCtxPushCurrent_v2(void *context) {
    ptrdiff_t device = (char *)context - context_of;
    if (device < 0 || device >= FAKE_DEVICES || depth == 8)
        return 201;
    current[depth++] = (int)device;
    __atomic_fetch_add(&fake.pushed, 1, __ATOMIC_RELAXED);
    return OK;
}
API int cuCtxPopCurrent_v2(void **context);
API int cuCtxPopCurrent_v2(void **context) {
    *context = &context_of[DEVICE_NOW];
    depth -= depth > 0;
    __atomic_fetch_sub(&fake.pushed, 1, __ATOMIC_RELAXED);
    return OK;
}

// ---- Modules ------------------------------------------------------------------------------------

API int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options,
                           void **values);
API int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options,
                           void **values) {
    (void)n, (void)options, (void)values;
    ENTER(cuModuleLoadDataEx);
    *module = (void *)(uintptr_t)image;
    fake.modules++;
    return OK;
}
API int cuModuleUnload(void *module);
API int cuModuleUnload(void *module) {
    (void)module;
    ENTER(cuModuleUnload);
    fake.modules--;
    return OK;
}
API int cuModuleGetFunction(void **function, void *module, const char *name);
API int cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER(cuModuleGetFunction);
    const char *section = (const char *)module + sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr);
    *function = module;
    return strcmp(name, section + strlen(".text.")) ? 500 : OK;
}
API int cuFuncGetAttribute(int *value, int attribute, void *function);
API int cuFuncGetAttribute(int *value, int attribute, void *function) {
    (void)function;
    ENTER(cuFuncGetAttribute);
    *value = attribute == 4 ? 42 : attribute == 3 ? 16 : attribute == 0 ? 1024 : 0;
    return OK;
}
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int size, size_t shared);
API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int size, size_t shared) {
    (void)f, (void)shared;
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor);
    *blocks = 256 / size < 2 ? 256 / size : 2;
    return OK;
}

// ---- Memory -------------------------------------------------------------------------------------

API int cuMemGetInfo_v2(size_t *available, size_t *total);
API int cuMemGetInfo_v2(size_t *available, size_t *total) {
    ENTER(cuMemGetInfo_v2);
    *available = fake.memory - fake.used;
    *total = fake.memory;
    return OK;
}
API int cuMemAlloc_v2(unsigned long long *address, size_t bytes);
API int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    ENTER(cuMemAlloc_v2);
    if (!bytes || bytes > fake.memory - fake.used)
        return bytes ? NO_MEMORY : INVALID;
    size_t *block = malloc(sizeof *block * 2 + bytes);
    if (!block)
        return NO_MEMORY;
    memset(block + 2, 0x5a, bytes);
    block[0] = bytes;
    fake.used += bytes;
    fake.buffers++;
    fake.made++;
    *address = (uintptr_t)(block + 2);
    return OK;
}
API int cuMemFree_v2(unsigned long long address);
API int cuMemFree_v2(unsigned long long address) {
    ENTER(cuMemFree_v2);
    size_t *block = (size_t *)(uintptr_t)address - 2;
    fake.used -= block[0];
    fake.buffers--;
    free(block);
    return OK;
}
// Host memory that the driver knows, of all threads.
enum { HOST_BLOCKS = 64 };
static struct {
    char *memory;
    size_t bytes;
} pinned[HOST_BLOCKS];
static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;

API int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags);
API int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    ENTER(cuMemHostAlloc);
    int free_one = 0;
    pthread_mutex_lock(&pinned_lock);
    while (free_one < HOST_BLOCKS && pinned[free_one].memory)
        free_one++;
    *memory = free_one < HOST_BLOCKS ? malloc(bytes) : NULL;
    if (*memory) {
        pinned[free_one].memory = *memory;
        pinned[free_one].bytes = bytes;
    }
    pthread_mutex_unlock(&pinned_lock);
    if (!*memory)
        return NO_MEMORY;
    memset(*memory, 0x5a, bytes);
    fake.host_blocks++;
    fake.made++;
    return OK;
}
API int cuMemFreeHost(void *memory);
API int cuMemFreeHost(void *memory) {
    ENTER(cuMemFreeHost);
    pthread_mutex_lock(&pinned_lock);
    for (int i = 0; i < HOST_BLOCKS; i++)
        if (pinned[i].memory == memory)
            pinned[i].memory = NULL;
    pthread_mutex_unlock(&pinned_lock);
    free(memory);
    fake.host_blocks--;
    return OK;
}
API int cuPointerGetAttribute(void *value, int attribute, unsigned long long pointer);
API int cuPointerGetAttribute(void *value, int attribute, unsigned long long pointer) {
    ENTER(cuPointerGetAttribute);
    bool found = false;
    pthread_mutex_lock(&pinned_lock);
    for (int i = 0; i < HOST_BLOCKS && attribute == 2; i++)
        found = found || (pinned[i].memory && pointer >= (uintptr_t)pinned[i].memory &&
                          pointer < (uintptr_t)pinned[i].memory + pinned[i].bytes);
    pthread_mutex_unlock(&pinned_lock);
    if (found)
        *(unsigned *)value = 1;
    return found ? OK : INVALID;
}

// ---- Streams ------------------------------------------------------------------------------------

struct event {
    float ms;
    bool timing;
    struct stream *stream;
};

struct op {
    void *to;
    const void *from;
    size_t bytes;
    unsigned value;
    bool copy, kernel;
    struct event *event;
    _Alignas(16) char args[ARGS];
    struct shoal_lone lone;
    const char *read;
    char *written;
    const char *resident;
    const volatile int *stop;
};

struct stream {
    struct op op[OPS];
    int count, device;
    float clock;
};

static bool triple(const void *args, const char *read, char *written, const char *resident,
                   const volatile int *stop) {
    const struct shoal_call *call = args;
    const double *in = (const double *)(const void *)(read + call->in);
    double *values = (double *)(void *)(written + call->values);
    unsigned char *status = (unsigned char *)written + call->status;
    unsigned long long *totals = (unsigned long long *)(void *)(written + call->totals);
    for (unsigned r = 0; r < call->head.rows && !*stop; r++) {
        values[r] = 3 * in[r] + (resident ? *(const double *)(const void *)resident : 0);
        status[r] = 0;
        totals[TOTAL_STEPS]++;
    }
    return true;
}

// False: it goes on.
static bool work(const struct op *o) {
    if (o->kernel) {
        memcpy((char *)(uintptr_t)o->read, o->lone.word, o->lone.words * sizeof *o->lone.word);
        bool ended = (fake.kernel ? fake.kernel : triple)(o->args, o->read, o->written, o->resident,
                                                          o->stop);
        if (ended && o->lone.done && !fake.silent)
            *(unsigned *)(uintptr_t)o->lone.done = o->lone.number;
        return ended;
    }
    if (o->copy)
        memcpy(o->to, o->from, o->bytes);
    else if (!o->event)
        memset(o->to, (int)o->value, o->bytes);
    return true;
}

// True when it is empty now; a slow kernel ends when it is stopped. Every op takes a millisecond.
static bool drain(struct stream *s) {
    int done = 0;
    for (; done < s->count; done++) {
        const struct op *o = &s->op[done];
        if (o->kernel && fake.launch_us[s->device])
            usleep(fake.launch_us[s->device]);
        if ((fake.slow && o->kernel && !*o->stop) || !work(o))
            break;
        s->clock += o->event ? 0 : 1;
        if (o->event)
            o->event->ms = s->clock;
    }
    s->count -= done;
    memmove(s->op, s->op + done, (size_t)s->count * sizeof *s->op);
    return s->count == 0;
}

static int put(struct stream *s, struct op op) {
    if (s->count == OPS)
        return INVALID;
    s->op[s->count++] = op;
    return OK;
}

API int cuStreamCreate(struct stream **stream, unsigned flags);
API int cuStreamCreate(struct stream **stream, unsigned flags) {
    ENTER(cuStreamCreate);
    *stream = calloc(1, sizeof **stream);
    (*stream)->device = DEVICE_NOW;
    fake.streams++;
    return flags == 1 ? OK : INVALID;
}
API int cuStreamDestroy_v2(struct stream *stream);
API int cuStreamDestroy_v2(struct stream *stream) {
    ENTER(cuStreamDestroy_v2);
    free(stream);
    fake.streams--;
    return OK;
}
API int cuStreamSynchronize(struct stream *stream);
API int cuStreamSynchronize(struct stream *stream) {
    ENTER(cuStreamSynchronize);
    drain(stream);
    return OK;
}
// Kernels run when somebody asks, who is told the next time.
API int cuStreamQuery(struct stream *stream);
API int cuStreamQuery(struct stream *stream) {
    ENTER(cuStreamQuery);
    int before = stream->count;
    drain(stream);
    return before ? NOT_READY : OK;
}
API int cuCtxSynchronize(void);
API int cuCtxSynchronize(void) {
    ENTER(cuCtxSynchronize);
    fake.waits++;
    return OK;
}
API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, struct stream *s);
API int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t n, struct stream *s) {
    ENTER(cuMemcpyHtoDAsync_v2);
    fake.copies_in++;
    return put(s, (struct op){.to = (void *)(uintptr_t)to, .from = from, .bytes = n, .copy = true});
}
API int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, struct stream *s);
API int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t n, struct stream *s) {
    ENTER(cuMemcpyDtoHAsync_v2);
    fake.copies_out++;
    return put(s, (struct op){.to = to, .from = (void *)(uintptr_t)from, .bytes = n, .copy = true});
}
API int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t n, struct stream *s);
API int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t n, struct stream *s) {
    ENTER(cuMemsetD8Async);
    fake.fills++;
    return put(s, (struct op){.to = (void *)(uintptr_t)to, .value = value, .bytes = n});
}
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, struct stream *s, void **p, void **extra);
API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                       unsigned bz, unsigned shared, struct stream *s, void **p, void **extra) {
    (void)f;
    ENTER(cuLaunchKernel);
    if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra || !gx || !bx)
        return INVALID;
    struct op op = {.kernel = true};
    memcpy(op.args, p[0], fake.kernel ? fake.args_bytes : sizeof(struct shoal_call));
    memcpy(&op.read, p[1], sizeof op.read);
    memcpy(&op.written, p[2], sizeof op.written);
    memcpy(&op.resident, p[3], sizeof op.resident);
    memcpy(&op.stop, p[5], sizeof op.stop);
    memcpy(&op.lone, p[7], sizeof op.lone);
    fake.launches++;
    fake.launched[s->device]++;
    fake.grid = gx;
    fake.block = bx;
    fake.shared = shared;
    fake.refill = ((const struct shoal_head *)(const void *)op.args)->refill;
    return put(s, op);
}

// ---- Events -------------------------------------------------------------------------------------

API int cuEventCreate(struct event **event, unsigned flags);
API int cuEventCreate(struct event **event, unsigned flags) {
    ENTER(cuEventCreate);
    *event = calloc(1, sizeof **event);
    (*event)->timing = !(flags & 2);
    fake.events++;
    return OK;
}
API int cuEventDestroy_v2(struct event *event);
API int cuEventDestroy_v2(struct event *event) {
    ENTER(cuEventDestroy_v2);
    free(event);
    fake.events--;
    return OK;
}
API int cuEventRecord(struct event *event, struct stream *s);
API int cuEventRecord(struct event *event, struct stream *s) {
    ENTER(cuEventRecord);
    event->stream = s;
    return put(s, (struct op){.event = event});
}
API int cuEventQuery(struct event *event);
API int cuEventQuery(struct event *event) {
    ENTER(cuEventQuery);
    return !event->stream ? OK : drain(event->stream) ? OK : NOT_READY;
}
API int cuEventElapsedTime(float *ms, struct event *from, struct event *to);
API int cuEventElapsedTime(float *ms, struct event *from, struct event *to) {
    ENTER(cuEventElapsedTime);
    *ms = to->ms - from->ms;
    return from->timing && to->timing ? OK : INVALID;
}
