// SPDX-License-Identifier: MIT
// The OpenCL backend: AMD, Intel, and CPUs through PoCL, with OpenCL C 1.2. libOpenCL is opened by
// dlopen when somebody asks for it.
//
// api.c       libOpenCL and its functions, devices in a list, errors in words
// target.c    devices and their memory
// identity.c  what the compiler is, for the key
// build.c     source to the driver's binary
// load.c      binary to kernel
// memory.c    buffers of the device, resident blocks
// run.c       chunks on queues
#ifndef SHOAL_DEVICE_OPENCL_OPENCL_H
#define SHOAL_DEVICE_OPENCL_OPENCL_H

#include "device/offload.h"

#include <pthread.h>
#include <sys/types.h>

extern const struct shoal_backend opencl_backend;

// ---- The library --------------------------------------------------------------------------------

typedef struct _cl_platform_id *cl_platform;
typedef struct _cl_device_id *cl_device;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_queue;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_mem *cl_buffer;
typedef struct _cl_event *cl_event;

// Name here, what it returns, symbol, parameters.
#define OPENCL_API(X)                                                                              \
    X(platforms, int, clGetPlatformIDs, (unsigned room, cl_platform *out, unsigned *count))        \
    X(platform_info, int, clGetPlatformInfo,                                                       \
      (cl_platform platform, unsigned what, size_t room, void *out, size_t *bytes))                \
    X(devices, int, clGetDeviceIDs,                                                                \
      (cl_platform platform, uint64_t type, unsigned room, cl_device *out, unsigned *count))       \
    X(device_info, int, clGetDeviceInfo,                                                           \
      (cl_device device, unsigned what, size_t room, void *out, size_t *bytes))                    \
    X(context_new, cl_context, clCreateContext,                                                    \
      (const intptr_t *properties, unsigned count, const cl_device *devices,                       \
       void (*notify)(const char *, const void *, size_t, void *), void *user, int *error))        \
    X(context_keep, int, clRetainContext, (cl_context context))                                    \
    X(context_free, int, clReleaseContext, (cl_context context))                                   \
    X(queue_new, cl_queue, clCreateCommandQueue,                                                   \
      (cl_context context, cl_device device, uint64_t properties, int *error))                     \
    X(queue_free, int, clReleaseCommandQueue, (cl_queue queue))                                    \
    X(program_source, cl_program, clCreateProgramWithSource,                                       \
      (cl_context context, unsigned count, const char **texts, const size_t *lengths, int *error)) \
    X(program_binary, cl_program, clCreateProgramWithBinary,                                       \
      (cl_context context, unsigned count, const cl_device *devices, const size_t *lengths,        \
       const unsigned char **binaries, int *states, int *error))                                   \
    X(program_free, int, clReleaseProgram, (cl_program program))                                   \
    X(program_build, int, clBuildProgram,                                                          \
      (cl_program program, unsigned count, const cl_device *devices, const char *options,          \
       void (*notify)(cl_program, void *), void *user))                                            \
    X(program_info, int, clGetProgramInfo,                                                         \
      (cl_program program, unsigned what, size_t room, void *out, size_t *bytes))                  \
    X(build_info, int, clGetProgramBuildInfo,                                                      \
      (cl_program program, cl_device device, unsigned what, size_t room, void *out,                \
       size_t *bytes))                                                                             \
    X(kernel_new, cl_kernel, clCreateKernel, (cl_program program, const char *name, int *error))   \
    X(kernel_free, int, clReleaseKernel, (cl_kernel kernel))                                       \
    X(kernel_argument, int, clSetKernelArg,                                                        \
      (cl_kernel kernel, unsigned index, size_t bytes, const void *value))                         \
    X(kernel_info, int, clGetKernelWorkGroupInfo,                                                  \
      (cl_kernel kernel, cl_device device, unsigned what, size_t room, void *out, size_t *bytes))  \
    X(buffer_new, cl_buffer, clCreateBuffer,                                                       \
      (cl_context context, uint64_t flags, size_t bytes, void *host, int *error))                  \
    X(buffer_free, int, clReleaseMemObject, (cl_buffer buffer))                                    \
    X(buffer_map, void *, clEnqueueMapBuffer,                                                      \
      (cl_queue queue, cl_buffer buffer, unsigned blocking, uint64_t flags, size_t offset,         \
       size_t bytes, unsigned waits, const cl_event *wait, cl_event *event, int *error))           \
    X(buffer_unmap, int, clEnqueueUnmapMemObject,                                                  \
      (cl_queue queue, cl_buffer buffer, void *memory, unsigned waits, const cl_event *wait,       \
       cl_event *event))                                                                           \
    X(fill, int, clEnqueueFillBuffer,                                                              \
      (cl_queue queue, cl_buffer buffer, const void *pattern, size_t pattern_bytes, size_t offset, \
       size_t bytes, unsigned waits, const cl_event *wait, cl_event *event))                       \
    X(write, int, clEnqueueWriteBuffer,                                                            \
      (cl_queue queue, cl_buffer buffer, unsigned blocking, size_t offset, size_t bytes,           \
       const void *from, unsigned waits, const cl_event *wait, cl_event *event))                   \
    X(read, int, clEnqueueReadBuffer,                                                              \
      (cl_queue queue, cl_buffer buffer, unsigned blocking, size_t offset, size_t bytes, void *to, \
       unsigned waits, const cl_event *wait, cl_event *event))                                     \
    X(launch, int, clEnqueueNDRangeKernel,                                                         \
      (cl_queue queue, cl_kernel kernel, unsigned dimensions, const size_t *offset,                \
       const size_t *global, const size_t *local, unsigned waits, const cl_event *wait,            \
       cl_event *event))                                                                           \
    X(flush, int, clFlush, (cl_queue queue))                                                       \
    X(finish, int, clFinish, (cl_queue queue))                                                     \
    X(event_info, int, clGetEventInfo,                                                             \
      (cl_event event, unsigned what, size_t room, void *out, size_t *bytes))                      \
    X(event_time, int, clGetEventProfilingInfo,                                                    \
      (cl_event event, unsigned what, size_t room, void *out, size_t *bytes))                      \
    X(event_free, int, clReleaseEvent, (cl_event event))

enum {
    CL_OK = 0,
    CL_NO_ROOM = -4,      // MEM_OBJECT_ALLOCATION_FAILURE
    CL_NO_RESOURCES = -5, // OUT_OF_RESOURCES
    CL_NO_HOST_ROOM = -6, // OUT_OF_HOST_MEMORY
    CL_TOO_LARGE = -61,   // INVALID_BUFFER_SIZE
    CL_TYPE_CPU = 2,
    CL_TYPE_GPU = 4,
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_UNITS = 0x1002,
    CL_DEVICE_F32 = 0x101b,
    CL_DEVICE_MEMORY = 0x101f,
    CL_DEVICE_SHARED_BYTES = 0x1023, // LOCAL_MEM_SIZE
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER = 0x1028,
    CL_DEVICE_NAME = 0x102b,
    CL_DEVICE_DRIVER = 0x102d,
    CL_DEVICE_VERSION = 0x102f,
    CL_DEVICE_F64 = 0x1032,
    CL_F32_ROUNDED_DIVIDE_SQRT = 1 << 7,
    CL_QUEUE_PROFILING = 2,
    CL_BUFFER_READ_WRITE = 1,
    CL_BUFFER_READ_ONLY = 4,
    CL_BUFFER_USE_HOST = 8,
    CL_BUFFER_ALLOC_HOST = 16,
    CL_MAP_BOTH = 3,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_BUILD_LOG = 0x1183,
    CL_KERNEL_GROUP_SIZE = 0x11b0,
    CL_KERNEL_GROUP_MULTIPLE = 0x11b3,
    CL_KERNEL_PRIVATE_BYTES = 0x11b4,
    CL_EVENT_STATUS = 0x11d3,
    CL_TIME_QUEUED = 0x1280,
    CL_TIME_START = 0x1282,
    CL_TIME_END = 0x1283,
};

struct opencl {
#define X(name, type, symbol, parameters) type(*name) parameters;
    OPENCL_API(X)
#undef X
};

enum { OPENCL_DEVICES = 64, OPENCL_NAME = 256 };

// The library and all devices it knows, GPUs first; NULL with the reason when there are none.
struct opencl_list {
    struct opencl api;
    uint32_t count;
    struct {
        cl_platform platform;
        cl_device device;
    } item[OPENCL_DEVICES];
};
const struct opencl_list *opencl_list(char *why, size_t room);

// A message with the name of the error.
shoal_code opencl_error(const char *what, int error, struct report *r);
bool opencl_no_memory(int error);

// ---- Devices and modules ------------------------------------------------------------------------

struct shoal_device {
    struct shoal_target target;
    char name[OPENCL_NAME]; // the target's
    const struct opencl *cl;
    uint32_t index;
    cl_platform platform;
    cl_device device;
    cl_context context;
    cl_queue queue; // for maps, and to stop kernels of other queues
    pid_t pid;
    bool is_cpu;
    uint32_t units;
    uint64_t shared_bytes; // of a group, at most
    struct offload_busy busy;
    pthread_mutex_t lock;        // of
    struct opencl_block *blocks; // what alloc gave
};

uint32_t opencl_count(char *why, size_t room);
void opencl_describe(uint32_t index, struct shoal_card *out);
shoal_code opencl_open(uint32_t index, const char *target, bool fast_math,
                       struct shoal_device **out, struct report *r);
void opencl_close(struct shoal_device *d);
void opencl_leave(struct shoal_device *d);
struct shoal_limits opencl_limits(struct shoal_device *d);
void *opencl_alloc(struct shoal_device *d, size_t bytes);
void opencl_release(struct shoal_device *d, void *block);
// Refuses a process that was forked from the one that opened the device.
shoal_code opencl_same_process(const struct shoal_device *d, struct report *r);

shoal_code opencl_identity(struct shoal_device *d, const struct shoal_kernel_text *k,
                           struct cache *probes, const volatile int *stop, struct key_record *key,
                           struct report *r);

enum { OPENCL_OPTIONS = 256 };
void opencl_options(const struct shoal_device *d, char text[OPENCL_OPTIONS]);
shoal_code opencl_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                        const volatile int *stop, struct shoal_bytes *out, struct report *r);
// What the compiler said, malloc; NULL: nothing.
char *opencl_build_log(const struct opencl *cl, cl_program program, cl_device device);

struct shoal_module {
    struct shoal_device *device;
    cl_program program;
    pthread_mutex_t lock; // of the kernel, which its arguments are set in before it is launched
    cl_kernel kernel;
    uint32_t group;    // work-items of a group
    uint32_t team;     // of one that works together, at most
    uint32_t resident; // work-items that run at a time, about
};

struct opencl_buffer {
    cl_buffer buffer;
    size_t bytes;
};

struct shoal_resident {
    const struct shoal_device *device;
    struct opencl_buffer buffer;
    size_t bytes; // of the block
};

enum { OPENCL_LINE = 4096 };

// A queue, and what the chunk on it needs on the device; kept from one chunk to the next.
struct shoal_slot {
    struct shoal_device *device;
    struct offload chunk;              // what is under way
    struct offload_link busy;          // while something is
    const struct shoal_launch *launch; // NULL: nothing is
    struct shoal_module *module;
    size_t items;   // of the launch
    size_t group;   // of them
    cl_queue queue; // NULL: never used
    int state;      // of the last command: 0 done, negative an error
    cl_event *mark; // [marks_most] of copies in, kernel, copies out
    uint32_t marks, marks_most;
    uint64_t t0_ns;     // when the first of them was queued
    uint64_t origin_ns; // the same by the device's clock
    struct opencl_buffer read, written, workspace, next;
    cl_buffer stop;          // on stop_word
    volatile int *stop_word; // OPENCL_LINE bytes
    char track[40];
};

shoal_code opencl_load(struct shoal_device *d, const struct shoal_bytes *b, const char *entry,
                       struct shoal_module **out, struct shoal_facts *facts, struct report *r);
void opencl_unload(struct shoal_module *m);
shoal_code opencl_resident_open(struct shoal_device *d, const struct shoal_block *b, shoal_log *log,
                                struct shoal_resident **out, struct report *r);
void opencl_resident_close(struct shoal_resident *b);
struct shoal_resident *opencl_resident_take(struct shoal_slot *s);
shoal_code opencl_resident_read(struct shoal_resident *b, size_t offset, size_t bytes, void *to,
                                struct report *r);
struct shoal_slot *opencl_slot_open(struct shoal_device *d, uint32_t number);
void opencl_slot_close(struct shoal_slot *s);
shoal_code opencl_start(struct shoal_module *m, struct shoal_slot *s, const struct shoal_launch *l,
                        struct report *r);
shoal_code opencl_finish(struct shoal_slot *s, struct report *r);

// A buffer of at least that many bytes; what was in it is lost when it grows.
int opencl_buffer_grow(const struct shoal_device *d, struct opencl_buffer *b, size_t bytes);
void opencl_buffer_free(const struct opencl *cl, struct opencl_buffer *b);

#endif
