// SPDX-License-Identifier: MIT
// SUNDIALS ARKODE on the benchmark problem: the library a C user would take.
//
// ERKStep with the Dormand-Prince 7-4-5 table, serial vectors with fused operations, one thread.
// One integrator is made and re-initialised for each trajectory; the end time is a stop time, so
// that the last step lands on it and nothing is interpolated. The first step is given: the same as
// for the other peer, and faster than the library's own choice. For the rest, the library's
// defaults. Prints seconds (best repetition), trajectories_per_s, error_max, error_rms.
#include "lorenz.h"

#include <arkode/arkode_erkstep.h>
#include <nvector/nvector_serial.h>

static int lorenz(sunrealtype t, N_Vector y_vector, N_Vector dydt_vector, void *user) {
    (void)t;
    const double rho = *(const double *)user;
    const sunrealtype *y = N_VGetArrayPointer(y_vector);
    sunrealtype *dydt = N_VGetArrayPointer(dydt_vector);
    dydt[0] = LORENZ_SIGMA * (y[1] - y[0]);
    dydt[1] = y[0] * (rho - y[2]) - y[1];
    dydt[2] = y[0] * y[1] - LORENZ_BETA * y[2];
    return 0;
}

struct integrator {
    SUNContext context;
    N_Vector y;
    void *memory;
    double rho;
};

// Every call that can fail is checked; a benchmark has nothing better to do than to stop.
static void check(int flag, const char *what) {
    if (flag < 0) {
        fprintf(stderr, "peer_arkode: %s failed with %d\n", what, flag);
        exit(1);
    }
}

static void start_state(N_Vector v) {
    sunrealtype *y = N_VGetArrayPointer(v);
    y[0] = 1, y[1] = 0, y[2] = 0;
}

static void integrator_make(struct integrator *s) {
    const double first_step = 0.02;
    check(SUNContext_Create(NULL, &s->context), "SUNContext_Create");
    s->y = N_VNew_Serial(3, s->context);
    check(s->y ? 0 : -1, "N_VNew_Serial");
    check(N_VEnableFusedOps_Serial(s->y, SUNTRUE), "N_VEnableFusedOps_Serial");
    start_state(s->y);
    s->memory = ERKStepCreate(lorenz, 0, s->y, s->context);
    check(s->memory ? 0 : -1, "ERKStepCreate");
    check(ERKStepSetUserData(s->memory, &s->rho), "ERKStepSetUserData");
    check(ERKStepSetTableNum(s->memory, ARKODE_DORMAND_PRINCE_7_4_5), "ERKStepSetTableNum");
    check(ERKStepSetInitStep(s->memory, first_step), "ERKStepSetInitStep");
    check(ERKStepSStolerances(s->memory, LORENZ_TOLERANCE, LORENZ_TOLERANCE),
          "ERKStepSStolerances");
}

static void integrator_free(struct integrator *s) {
    ERKStepFree(&s->memory);
    N_VDestroy(s->y);
    SUNContext_Free(&s->context);
}

static double run(uint64_t n, double *final) {
    double start = lorenz_seconds();
    struct integrator s;
    integrator_make(&s);
    for (uint64_t i = 0; i < n; i++) {
        sunrealtype t = 0;
        s.rho = lorenz_rho(i, n);
        start_state(s.y);
        check(ERKStepReInit(s.memory, lorenz, 0, s.y), "ERKStepReInit");
        check(ERKStepSetStopTime(s.memory, LORENZ_T1), "ERKStepSetStopTime");
        check(ERKStepEvolve(s.memory, LORENZ_T1, s.y, &t, ARK_NORMAL), "ERKStepEvolve");
        const sunrealtype *y = N_VGetArrayPointer(s.y);
        for (uint64_t k = 0; k < 3; k++)
            final[3 * i + k] = y[k];
    }
    integrator_free(&s);
    return lorenz_seconds() - start;
}

int main(int argc, char **argv) {
    struct lorenz_job job = lorenz_arguments(argc, argv);
    double *final = malloc(3 * job.n * sizeof *final);
    if (!final) {
        fprintf(stderr, "peer_arkode: not enough memory\n");
        return 1;
    }
    double best = INFINITY;
    for (uint64_t r = 0; r < job.repetitions; r++) {
        double seconds = run(job.n, final);
        best = seconds < best ? seconds : best;
    }
    lorenz_print(job.n, best, final);
    free(final);
    return 0;
}
