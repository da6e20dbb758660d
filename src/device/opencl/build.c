// SPDX-License-Identifier: MIT
// Kernel source to the binary of the driver.
//
// The compiler is a function of the driver and cannot be interrupted. It works in a thread of its
// own, on a copy of all it needs, so that after a stop the caller goes on at once.
#include "device/opencl/opencl.h"

#include "device/detached.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_MOST = 64 << 10 };

// Contraction is off by a pragma of the prelude: OpenCL has no option for it.
void opencl_options(const struct shoal_device *d, char text[OPENCL_OPTIONS]) {
    uint64_t f32 = 0;
    d->cl->device_info(d->device, CL_DEVICE_F32, sizeof f32, &f32, NULL);
    snprintf(text, OPENCL_OPTIONS, "-cl-std=CL1.2 -w%s%s",
             f32 & CL_F32_ROUNDED_DIVIDE_SQRT && !d->target.fast_math
                 ? " -cl-fp32-correctly-rounded-divide-sqrt"
                 : "",
             d->target.fast_math ? " -cl-mad-enable -cl-no-signed-zeros" : "");
}

char *opencl_build_log(const struct opencl *cl, cl_program program, cl_device device) {
    size_t bytes = 0;
    if (cl->build_info(program, device, CL_BUILD_LOG, 0, NULL, &bytes) != CL_OK || bytes < 2)
        return NULL;
    char *log = malloc(bytes + 1);
    if (!log)
        return NULL;
    if (cl->build_info(program, device, CL_BUILD_LOG, bytes, log, NULL) != CL_OK)
        bytes = 0;
    log[bytes < LOG_MOST ? bytes : LOG_MOST] = 0;
    return log;
}

// ---- The compiler at work -----------------------------------------------------------------------

struct job {
    struct detached thread;
    const struct opencl *cl;
    cl_context context; // kept
    cl_device device;
    char options[OPENCL_OPTIONS];
    char *source;
    int error;
    char *log;
    struct shoal_bytes binary;
};

static void take_binary(struct job *j, cl_program program) {
    size_t bytes = 0;
    j->error = j->cl->program_info(program, CL_PROGRAM_BINARY_SIZES, sizeof bytes, &bytes, NULL);
    if (j->error != CL_OK || !bytes)
        return;
    j->binary.data = malloc(bytes);
    if (j->binary.data)
        j->error = j->cl->program_info(program, CL_PROGRAM_BINARIES, sizeof j->binary.data,
                                       &j->binary.data, NULL);
    if (j->binary.data && j->error == CL_OK)
        j->binary.length = bytes;
}

static void compile(struct detached *thread) {
    struct job *j = (struct job *)thread;
    const char *text = j->source;
    cl_program program = j->cl->program_source(j->context, 1, &text, NULL, &j->error);
    if (!program)
        return;
    j->error = j->cl->program_build(program, 1, &j->device, j->options, NULL, NULL);
    j->log = opencl_build_log(j->cl, program, j->device);
    if (j->error == CL_OK)
        take_binary(j, program);
    j->cl->program_free(program);
}

static void drop(struct detached *thread) {
    struct job *j = (struct job *)thread;
    j->cl->context_free(j->context);
    free(j->source);
    free(j->log);
    free(j->binary.data);
    free(j);
}

static shoal_code outcome(const struct shoal_device *d, struct job *j, struct shoal_bytes *out,
                          struct report *r) {
    if (j->error != CL_OK || !j->binary.length)
        return report_error(r, SHOAL_DEVICE, "the OpenCL compiler of %s failed (error %d)%s%s",
                            d->name, j->error, j->log ? ":\n" : " and said nothing",
                            j->log ? j->log : "");
    *out = j->binary;
    j->binary = (struct shoal_bytes){0};
    return SHOAL_OK;
}

shoal_code opencl_build(struct shoal_device *d, const struct shoal_kernel_text *k,
                        const volatile int *stop, struct shoal_bytes *out, struct report *r) {
    shoal_code code = opencl_same_process(d, r);
    if (code != SHOAL_OK)
        return code;
    struct job *j = calloc(1, sizeof *j);
    char *source = j ? strndup(k->text, k->length) : NULL;
    if (!source) {
        free(j);
        return report_error(r, SHOAL_MEMORY, "out of memory");
    }
    j->thread = (struct detached){.work = compile, .drop = drop};
    j->cl = d->cl;
    j->context = d->context;
    j->device = d->device;
    j->source = source;
    d->cl->context_keep(d->context);
    opencl_options(d, j->options);
    if (!detached_run(&j->thread, stop))
        return SHOAL_STOPPED;
    code = outcome(d, j, out, r);
    drop(&j->thread);
    return code;
}
