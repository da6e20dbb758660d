// SPDX-License-Identifier: MIT
// The CUDA backend: NVRTC makes a cubin, the driver loads and runs it. Both are opened by dlopen,
// so Shoal builds and runs on machines that have neither.
//
// api.c       the driver and NVRTC: finding them, their functions, errors in words
// target.c    devices and architectures
// identity.c  what NVRTC is, for the key
// build.c     source to cubin
// load.c      cubin to module, its facts, its block sizes
// memory.c    buffers of the device, resident blocks
// run.c       chunks on streams
#ifndef SHOAL_DEVICE_CUDA_CUDA_H
#define SHOAL_DEVICE_CUDA_CUDA_H

#include "device/file_id.h"
#include "device/offload.h"

#include <pthread.h>
#include <sys/types.h>

extern const struct shoal_backend cuda_backend;

// ---- The driver ---------------------------------------------------------------------------------

typedef int cu_device;
typedef unsigned long long cu_address; // in device memory
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;

// Name here, symbol, parameters; all return a CUresult.
#define CUDA_DRIVER(X)                                                                             \
    X(init, cuInit, (unsigned flags))                                                              \
    X(driver_version, cuDriverGetVersion, (int *version))                                          \
    X(error_name, cuGetErrorName, (int result, const char **text))                                 \
    X(error_text, cuGetErrorString, (int result, const char **text))                               \
    X(device_count, cuDeviceGetCount, (int *count))                                                \
    X(device_get, cuDeviceGet, (cu_device * device, int ordinal))                                  \
    X(device_name, cuDeviceGetName, (char *name, int room, cu_device device))                      \
    X(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, cu_device device))       \
    X(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                      \
    X(context_retain, cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))          \
    X(context_release, cuDevicePrimaryCtxRelease_v2, (cu_device device))                           \
    X(context_push, cuCtxPushCurrent_v2, (cu_context context))                                     \
    X(context_wait, cuCtxSynchronize, (void))                                                      \
    X(context_pop, cuCtxPopCurrent_v2, (cu_context * context))                                     \
    X(module_load, cuModuleLoadDataEx,                                                             \
      (cu_module * module, const void *image, unsigned count, int *options, void **values))        \
    X(module_unload, cuModuleUnload, (cu_module module))                                           \
    X(module_function, cuModuleGetFunction,                                                        \
      (cu_function * function, cu_module module, const char *name))                                \
    X(function_attribute, cuFuncGetAttribute, (int *value, int attribute, cu_function function))   \
    X(resident_blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                \
      (int *blocks, cu_function function, int block_size, size_t shared_bytes))                    \
    X(memory_info, cuMemGetInfo_v2, (size_t * available, size_t * total))                          \
    X(memory_new, cuMemAlloc_v2, (cu_address * address, size_t bytes))                             \
    X(memory_free, cuMemFree_v2, (cu_address address))                                             \
    X(host_new, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                     \
    X(host_free, cuMemFreeHost, (void *memory))                                                    \
    X(pointer_attribute, cuPointerGetAttribute, (void *value, int attribute, cu_address pointer))  \
    X(copy_in, cuMemcpyHtoDAsync_v2,                                                               \
      (cu_address to, const void *from, size_t bytes, cu_stream stream))                           \
    X(copy_out, cuMemcpyDtoHAsync_v2, (void *to, cu_address from, size_t bytes, cu_stream stream)) \
    X(fill, cuMemsetD8Async, (cu_address to, unsigned char value, size_t count, cu_stream stream)) \
    X(stream_new, cuStreamCreate, (cu_stream * stream, unsigned flags))                            \
    X(stream_free, cuStreamDestroy_v2, (cu_stream stream))                                         \
    X(stream_wait, cuStreamSynchronize, (cu_stream stream))                                        \
    X(stream_query, cuStreamQuery, (cu_stream stream))                                             \
    X(event_new, cuEventCreate, (cu_event * event, unsigned flags))                                \
    X(event_free, cuEventDestroy_v2, (cu_event event))                                             \
    X(event_record, cuEventRecord, (cu_event event, cu_stream stream))                             \
    X(event_query, cuEventQuery, (cu_event event))                                                 \
    X(event_elapsed, cuEventElapsedTime, (float *ms, cu_event from, cu_event to))                  \
    X(launch, cuLaunchKernel,                                                                      \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                \
       void **arguments, void **extra))

struct cuda_driver {
#define X(name, symbol, parameters) int(*name) parameters;
    CUDA_DRIVER(X)
#undef X
    int version;   // 1000 major + 10 minor
    char file[64]; // its name, which has the version of the driver in it
};

enum {
    CU_OK = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_NOT_READY = 600,
    CU_UNKNOWN = 999,
    CU_HOST_PORTABLE = 1,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_NO_TIMING = 2,
    CU_DEVICE_BLOCK_SHARED_BYTES = 8, // of a block, unless it asks for more
    CU_DEVICE_MULTIPROCESSORS = 16,
    CU_DEVICE_THREADS = 39, // of a multiprocessor
    CU_DEVICE_MAJOR = 75,
    CU_DEVICE_MINOR = 76,
    CU_DEVICE_SHARED_BYTES = 81,   // of a multiprocessor, at most
    CU_FUNCTION_BLOCK_THREADS = 0, // at most
    CU_FUNCTION_LOCAL_BYTES = 3,
    CU_FUNCTION_REGISTERS = 4,
    CU_POINTER_MEMORY_TYPE = 2,
    CU_MEMORY_HOST = 1, // pinned, by whom ever
};

// The driver, started; NULL with the reason when it cannot be used.
const struct cuda_driver *cuda_driver(char *why, size_t room);
// A message with the driver's own words, and what they mean here.
shoal_code cuda_error(const struct cuda_driver *cu, const char *what, int result, struct report *r);

// ---- NVRTC --------------------------------------------------------------------------------------

typedef struct _nvrtcProgram *nvrtc_program;

#define CUDA_NVRTC(X)                                                                              \
    X(version, nvrtcVersion, (int *major, int *minor))                                             \
    X(create, nvrtcCreateProgram,                                                                  \
      (nvrtc_program * program, const char *source, const char *name, int headers,                 \
       const char *const *header, const char *const *header_name))                                 \
    X(destroy, nvrtcDestroyProgram, (nvrtc_program * program))                                     \
    X(compile, nvrtcCompileProgram,                                                                \
      (nvrtc_program program, int count, const char *const *options))                              \
    X(log_size, nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))                   \
    X(log, nvrtcGetProgramLog, (nvrtc_program program, char *text))                                \
    X(cubin_size, nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))                      \
    X(cubin, nvrtcGetCUBIN, (nvrtc_program program, char *bytes))

enum { CUDA_PATH_ROOM = 4096, CUDA_SEARCH = 80 };

// Stays loaded to the end of the process: an abandoned compilation may still be in it.
struct nvrtc {
#define X(name, symbol, parameters) int(*name) parameters;
    CUDA_NVRTC(X)
#undef X
    char path[CUDA_PATH_ROOM];   // its file; empty: not loaded
    char stamp[FILE_STAMP_ROOM]; // of that, when it was loaded
    int major, minor;
};

// Loads the file `path`, or (NULL) the one that SHOAL_NVRTC, the system's search or the usual
// places give, for a driver of that version (0: any).
shoal_code cuda_nvrtc_load(struct nvrtc *n, const char *path, int driver_version, struct report *r);

// ---- Devices and modules ------------------------------------------------------------------------

struct shoal_device {
    struct shoal_target target;
    char arch[16];                // sm_90, the target's name
    const struct cuda_driver *cu; // NULL: opened by a target's name, nothing can be loaded
    uint32_t index;
    cu_device device;
    pid_t pid;                    // of the process that owns it
    int multiprocessors, threads; // threads of a multiprocessor, at most
    int cache_bytes;              // of its first-level cache, about
    bool has_lone;                // kernels for it have a LONE_PARAMETER (prelude_cuda.h)
    int shared_bytes;             // of a block
    struct offload_busy busy;
    pthread_mutex_t context_lock;
    cu_context context;  // the device's primary one; NULL: not needed so far
    uint64_t context_ns; // that making it took
    bool opening;        // `opener` makes it, or has made it
    pthread_t opener;
    pthread_mutex_t lock;            // of what is found when it is first needed:
    char search[CUDA_SEARCH];        // what the search for NVRTC depended on
    char nvrtc_path[CUDA_PATH_ROOM]; // what the key was made for; empty: not asked for yet
    struct nvrtc nvrtc;
};

// Makes the device's context the thread's; the first time it is created. cuda_leave undoes it.
shoal_code cuda_enter(struct shoal_device *d, struct report *r);
void cuda_leave(const struct shoal_device *d);

uint32_t cuda_count(char *why, size_t room);
void cuda_describe(uint32_t index, struct shoal_card *out);
shoal_code cuda_open(uint32_t index, const char *target, bool fast_math, struct shoal_device **out,
                     struct report *r);
void cuda_close(struct shoal_device *d);
void cuda_prepare(struct shoal_device *d);
shoal_code cuda_ready(struct shoal_device *d, uint64_t *took_ns, struct report *r);
void cuda_leave_all(struct shoal_device *d);
struct shoal_limits cuda_limits(struct shoal_device *d);
void *cuda_alloc(struct shoal_device *d, size_t bytes);
void cuda_release(struct shoal_device *d, void *block);
bool cuda_reaches(struct shoal_device *d, const void *memory, size_t bytes);

// A digest of what the search for NVRTC depends on; whether it and NVRTC are what they were.
void cuda_search(const struct shoal_device *d, char name[CUDA_SEARCH]);
bool cuda_is_current(struct shoal_device *d);
shoal_code cuda_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                         struct cache *probes, const volatile int *stop, struct key_record *key,
                         struct report *r);

enum { CUDA_OPTIONS = 16 };
// Arguments of NVRTC; the text of the architecture lives in `arch`. Returns how many.
int cuda_options(const struct shoal_device *d, bool hurried, char arch[48],
                 const char *options[CUDA_OPTIONS]);
shoal_code cuda_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                      const volatile int *stop, struct shoal_bytes *out, struct report *r);
// Whether the bytes are a cubin for the device's target that has the entry point.
shoal_code cuda_check(const struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                      struct report *r);

// How a kernel is launched: block size and how many such blocks the device holds at a time.
struct cuda_shape {
    unsigned block, resident;
};

struct shoal_module {
    struct shoal_device *device;
    cu_module module;
    cu_function kernel;
    struct cuda_shape plain, refill, tiny;
    struct cuda_shape few; // refill, where lanes get few rows each
    int registers, local_bytes;
    int block_threads; // at most
    bool hasty;        // it may have said that it is done and not have ended yet
};

struct cuda_buffer {
    cu_address at;
    size_t bytes;
};

struct shoal_resident {
    struct shoal_device *device;
    struct cuda_buffer buffer;
    size_t bytes; // of the block
};

// Words on the device that a slot's kernel and the host share.
enum { CUDA_NEXT, CUDA_STOP, CUDA_WORDS };

// A stream, and what the chunk on it needs on the device; kept from one chunk to the next.
struct shoal_slot {
    struct shoal_device *device;
    struct offload chunk;              // what is under way
    struct offload_link busy;          // while something is
    const struct shoal_launch *launch; // NULL: nothing is
    struct shoal_module *module;
    unsigned grid, block; // of the launch
    cu_stream stream;     // NULL: never used
    cu_stream stopper;    // writes the stop word; NULL: never needed
    cu_event done;
    int result;     // of the chunk
    bool timed;     // somebody wants its times
    cu_event *mark; // [marks_most] between copies and kernel; made when they are wanted
    uint32_t marks, marks_most;
    float told_ms;    // time between mark[0] and the last that was looked at
    uint64_t t0_ns;   // of mark[0]
    cu_address words; // CUDA_WORDS; 0: none so far
    bool words_clean; // they are 0
    struct cuda_buffer read, written, workspace;
    cu_address read_at, written_at; // of the chunk's blocks
    bool straight;                  // the kernel writes to `stage`
    char *stage;            // host memory that small chunks are sent from; NULL: none so far
    struct shoal_lone lone; // of the chunk; with a number that no chunk before it had
    uint32_t looks;         // at its word
    char track[40];
};

shoal_code cuda_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                     struct shoal_module **out, struct shoal_facts *facts, struct report *r);
void cuda_unload(struct shoal_module *m);
// Blocks of that shape that the device holds at a time.
unsigned cuda_resident_blocks(const struct shoal_module *m, unsigned block, size_t shared);
shoal_code cuda_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                              struct shoal_resident **out, struct report *r);
void cuda_resident_close(struct shoal_resident *b);
struct shoal_resident *cuda_resident_take(struct shoal_slot *s);
shoal_code cuda_resident_read(struct shoal_resident *b, size_t offset, size_t bytes, void *to,
                              struct report *r);
struct shoal_slot *cuda_slot_open(struct shoal_device *d, uint32_t number);
void cuda_slot_close(struct shoal_slot *s);
shoal_code cuda_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                      struct report *r);
shoal_code cuda_finish(struct shoal_slot *s, struct report *r);

// Device memory of at least that many bytes; what was in it is lost when it grows.
int cuda_buffer_grow(const struct cuda_driver *cu, struct cuda_buffer *b, size_t bytes);
void cuda_buffer_free(const struct cuda_driver *cu, struct cuda_buffer *b);

#endif
