// SPDX-License-Identifier: MIT
// SUNDIALS CVODE on the stiff ensembles: the library a C user would take.
//
// usage: peer_cvode HIRES|POLLU M RTOL ATOL         STIFF_SIZE(M) trajectories
//
// BDF with Newton iterations, dense matrix and factorisation, the Jacobian written by hand, serial
// vectors with fused operations, one thread. One integrator is made and re-initialised for each
// trajectory; the end time is a stop time, so that nothing is interpolated. For the rest, the
// library's defaults, of version 6 or 7. Prints seconds of the processor, steps (of all
// trajectories), and a line `final VALUE` for each state of each sample.
#include "stiff.h"

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#ifndef SUN_COMM_NULL // before version 7
#define SUN_COMM_NULL NULL
#endif

// ---- The problems -------------------------------------------------------------------------------

static int hires(sunrealtype t, N_Vector y_vector, N_Vector out, void *user) {
    (void)t;
    const sunrealtype *y = N_VGetArrayPointer(y_vector);
    sunrealtype *f = N_VGetArrayPointer(out), r = *(const double *)user * y[5] * y[7];
    f[0] = -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007;
    f[1] = 1.71 * y[0] - 8.75 * y[1];
    f[2] = -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4];
    f[3] = 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3];
    f[4] = -1.745 * y[4] + 0.43 * (y[5] + y[6]);
    f[5] = -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6];
    f[6] = r - 1.81 * y[6];
    f[7] = -f[6];
    return 0;
}

// Columns of the Jacobian; the matrix comes full of zeros.
static int hires_jacobian(sunrealtype t, N_Vector y_vector, N_Vector f, SUNMatrix matrix,
                          void *user, N_Vector v1, N_Vector v2, N_Vector v3) {
    (void)t, (void)f, (void)v1, (void)v2, (void)v3;
    const sunrealtype *y = N_VGetArrayPointer(y_vector);
    sunrealtype **j = SUNDenseMatrix_Cols(matrix), k = *(const double *)user;
    j[0][0] = -1.71, j[0][1] = 1.71;
    j[1][0] = 0.43, j[1][1] = -8.75, j[1][3] = 8.32;
    j[2][0] = 8.32, j[2][2] = -10.03, j[2][3] = 1.71;
    j[3][2] = 0.43, j[3][3] = -1.12, j[3][5] = 0.69;
    j[4][2] = 0.035, j[4][4] = -1.745, j[4][5] = 1.71;
    j[5][4] = 0.43, j[5][5] = -k * y[7] - 0.43, j[5][6] = k * y[7], j[5][7] = -k * y[7];
    j[6][4] = 0.43, j[6][5] = 0.69, j[6][6] = -1.81, j[6][7] = 1.81;
    j[7][5] = -k * y[5], j[7][6] = k * y[5], j[7][7] = -k * y[5];
    return 0;
}

static int pollu(sunrealtype t, N_Vector y_vector, N_Vector out, void *user) {
    (void)t;
    const sunrealtype *y = N_VGetArrayPointer(y_vector), k1 = *(const double *)user;
    sunrealtype *f = N_VGetArrayPointer(out);
    const double r1 = k1 * y[0], r2 = 26.6 * y[1] * y[3], r3 = 1.23e4 * y[4] * y[1];
    const double r4 = 8.6e-4 * y[6], r5 = 8.2e-4 * y[6], r6 = 1.5e4 * y[6] * y[5];
    const double r7 = 1.3e-4 * y[8], r8 = 2.4e4 * y[8] * y[5], r9 = 1.65e4 * y[10] * y[1];
    const double r10 = 9e3 * y[10] * y[0], r11 = 0.022 * y[12], r12 = 1.2e4 * y[9] * y[1];
    const double r13 = 1.88 * y[13], r14 = 1.63e4 * y[0] * y[5], r15 = 4.8e6 * y[2];
    const double r16 = 3.5e-4 * y[3], r17 = 0.0175 * y[3], r18 = 1e8 * y[15];
    const double r19 = 4.44e11 * y[15], r20 = 1.24e3 * y[16] * y[5], r21 = 2.1 * y[18];
    const double r22 = 5.78 * y[18], r23 = 0.0474 * y[0] * y[3], r24 = 1.78e3 * y[18] * y[0];
    const double r25 = 3.12 * y[19];
    f[0] = -r1 - r10 - r14 - r23 - r24 + r2 + r3 + r9 + r11 + r12 + r22 + r25;
    f[1] = -r2 - r3 - r9 - r12 + r1 + r21;
    f[2] = -r15 + r1 + r17 + r19 + r22;
    f[3] = -r2 - r16 - r17 - r23 + r15;
    f[4] = -r3 + 2 * r4 + r6 + r7 + r13 + r20;
    f[5] = -r6 - r8 - r14 - r20 + r3 + 2 * r18;
    f[6] = -r4 - r5 - r6 + r13;
    f[7] = r4 + r5 + r6 + r7;
    f[8] = -r7 - r8;
    f[9] = -r12 + r7 + r9;
    f[10] = -r9 - r10 + r8 + r11;
    f[11] = r9;
    f[12] = -r11 + r10;
    f[13] = -r13 + r12;
    f[14] = r14;
    f[15] = -r18 - r19 + r16;
    f[16] = -r20;
    f[17] = r20;
    f[18] = -r21 - r22 - r24 + r23 + r25;
    f[19] = -r25 + r24;
    return 0;
}

// r<I>_<J>: the derivative of reaction I by state J, counted from 1.
static int pollu_jacobian(sunrealtype t, N_Vector y_vector, N_Vector f, SUNMatrix matrix,
                          void *user, N_Vector v1, N_Vector v2, N_Vector v3) {
    (void)t, (void)f, (void)v1, (void)v2, (void)v3;
    const sunrealtype *y = N_VGetArrayPointer(y_vector), k1 = *(const double *)user;
    sunrealtype **j = SUNDenseMatrix_Cols(matrix);
    const double r2_2 = 26.6 * y[3], r2_4 = 26.6 * y[1], r3_5 = 1.23e4 * y[1];
    const double r3_2 = 1.23e4 * y[4], r6_7 = 1.5e4 * y[5], r6_6 = 1.5e4 * y[6];
    const double r8_9 = 2.4e4 * y[5], r8_6 = 2.4e4 * y[8], r9_11 = 1.65e4 * y[1];
    const double r9_2 = 1.65e4 * y[10], r10_11 = 9e3 * y[0], r10_1 = 9e3 * y[10];
    const double r12_10 = 1.2e4 * y[1], r12_2 = 1.2e4 * y[9], r14_1 = 1.63e4 * y[5];
    const double r14_6 = 1.63e4 * y[0], r20_17 = 1.24e3 * y[5], r20_6 = 1.24e3 * y[16];
    const double r23_1 = 0.0474 * y[3], r23_4 = 0.0474 * y[0], r24_19 = 1.78e3 * y[0];
    const double r24_1 = 1.78e3 * y[18];
    j[0][0] = -k1 - r10_1 - r14_1 - r23_1 - r24_1, j[0][1] = k1, j[0][2] = k1, j[0][3] = -r23_1;
    j[0][5] = -r14_1, j[0][10] = -r10_1, j[0][12] = r10_1, j[0][14] = r14_1;
    j[0][18] = -r24_1 + r23_1, j[0][19] = r24_1;
    j[1][0] = r2_2 + r3_2 + r9_2 + r12_2, j[1][1] = -j[1][0], j[1][3] = -r2_2, j[1][4] = -r3_2;
    j[1][5] = r3_2, j[1][9] = -r12_2 + r9_2, j[1][10] = -r9_2, j[1][11] = r9_2, j[1][13] = r12_2;
    j[2][2] = -4.8e6, j[2][3] = 4.8e6;
    j[3][0] = -r23_4 + r2_4, j[3][1] = -r2_4, j[3][2] = 0.0175;
    j[3][3] = -r2_4 - 3.5e-4 - 0.0175 - r23_4, j[3][15] = 3.5e-4, j[3][18] = r23_4;
    j[4][0] = r3_5, j[4][1] = -r3_5, j[4][4] = -r3_5, j[4][5] = r3_5;
    j[5][0] = -r14_6, j[5][4] = r6_6 + r20_6, j[5][5] = -r6_6 - r8_6 - r14_6 - r20_6;
    j[5][6] = -r6_6, j[5][7] = r6_6, j[5][8] = -r8_6, j[5][10] = r8_6, j[5][14] = r14_6;
    j[5][16] = -r20_6, j[5][17] = r20_6;
    j[6][4] = 2 * 8.6e-4 + r6_7, j[6][5] = -r6_7, j[6][6] = -8.6e-4 - 8.2e-4 - r6_7;
    j[6][7] = 8.6e-4 + 8.2e-4 + r6_7;
    j[8][4] = 1.3e-4, j[8][5] = -r8_9, j[8][7] = 1.3e-4, j[8][8] = -1.3e-4 - r8_9;
    j[8][9] = 1.3e-4, j[8][10] = r8_9;
    j[9][0] = r12_10, j[9][1] = -r12_10, j[9][9] = -r12_10, j[9][13] = r12_10;
    j[10][0] = -r10_11 + r9_11, j[10][1] = -r9_11, j[10][9] = r9_11, j[10][10] = -r9_11 - r10_11;
    j[10][11] = r9_11, j[10][12] = r10_11;
    j[12][0] = 0.022, j[12][10] = 0.022, j[12][12] = -0.022;
    j[13][4] = 1.88, j[13][6] = 1.88, j[13][13] = -1.88;
    j[15][2] = 4.44e11, j[15][5] = 2e8, j[15][15] = -1e8 - 4.44e11;
    j[16][4] = r20_17, j[16][5] = -r20_17, j[16][16] = -r20_17, j[16][17] = r20_17;
    j[18][0] = -r24_19 + 5.78, j[18][1] = 2.1, j[18][2] = 5.78;
    j[18][18] = -2.1 - 5.78 - r24_19, j[18][19] = r24_19;
    j[19][0] = 3.12, j[19][18] = 3.12, j[19][19] = -3.12;
    return 0;
}

static const struct {
    CVRhsFn f;
    CVLsJacFn jacobian;
} problems[] = {{hires, hires_jacobian}, {pollu, pollu_jacobian}};

// ---- The integrator -----------------------------------------------------------------------------

struct integrator {
    SUNContext context;
    N_Vector y;
    SUNMatrix matrix;
    SUNLinearSolver solver;
    void *memory;
    double rate;
};

// Every call that can fail is checked; a benchmark has nothing better to do than to stop.
static void check(int flag, const char *what) {
    if (flag < 0) {
        fprintf(stderr, "peer_cvode: %s failed with %d\n", what, flag);
        exit(1);
    }
}

static void integrator_make(struct integrator *s, int problem, double rtol, double atol) {
    sunindextype n = (sunindextype)stiff_ensembles[problem].states;
    check(SUNContext_Create(SUN_COMM_NULL, &s->context), "SUNContext_Create");
    s->y = N_VNew_Serial(n, s->context);
    s->matrix = SUNDenseMatrix(n, n, s->context);
    check(s->y && s->matrix ? 0 : -1, "N_VNew_Serial");
    check(N_VEnableFusedOps_Serial(s->y, SUNTRUE), "N_VEnableFusedOps_Serial");
    s->solver = SUNLinSol_Dense(s->y, s->matrix, s->context);
    s->memory = CVodeCreate(CV_BDF, s->context);
    check(s->solver && s->memory ? 0 : -1, "CVodeCreate");
    check(CVodeInit(s->memory, problems[problem].f, 0, s->y), "CVodeInit");
    check(CVodeSetUserData(s->memory, &s->rate), "CVodeSetUserData");
    check(CVodeSStolerances(s->memory, rtol, atol), "CVodeSStolerances");
    check(CVodeSetLinearSolver(s->memory, s->solver, s->matrix), "CVodeSetLinearSolver");
    check(CVodeSetJacFn(s->memory, problems[problem].jacobian), "CVodeSetJacFn");
    check(CVodeSetMaxNumSteps(s->memory, 1000000), "CVodeSetMaxNumSteps");
}

static void integrator_free(struct integrator *s) {
    CVodeFree(&s->memory);
    SUNLinSolFree(s->solver);
    SUNMatDestroy(s->matrix);
    N_VDestroy(s->y);
    SUNContext_Free(&s->context);
}

// One trajectory, and the steps it took.
static long run_one(struct integrator *s, const struct stiff_ensemble *e) {
    sunrealtype t = 0;
    long steps = 0;
    memcpy(N_VGetArrayPointer(s->y), e->start, e->states * sizeof(double));
    check(CVodeReInit(s->memory, 0, s->y), "CVodeReInit");
    check(CVodeSetStopTime(s->memory, e->t1), "CVodeSetStopTime");
    check(CVode(s->memory, e->t1, s->y, &t, CV_NORMAL), "CVode");
    check(CVodeGetNumSteps(s->memory, &steps), "CVodeGetNumSteps");
    return steps;
}

int main(int argc, char **argv) {
    int problem = argc == 5 && !strcmp(argv[1], stiff_ensembles[STIFF_POLLU].name);
    const struct stiff_ensemble *e = &stiff_ensembles[problem];
    if (argc != 5 || strcmp(argv[1], e->name) || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: peer_cvode HIRES|POLLU M RTOL ATOL\n");
        return 2;
    }
    uint64_t n = STIFF_SIZE((uint64_t)atoi(argv[2]));
    double *final = malloc(n * e->states * sizeof *final), start = stiff_seconds();
    long steps = 0;
    struct integrator s;
    check(final ? 0 : -1, "malloc");
    integrator_make(&s, problem, strtod(argv[3], NULL), strtod(argv[4], NULL));
    for (uint64_t i = 0; i < n; i++) {
        s.rate = stiff_rate(e, i, n);
        steps += run_one(&s, e);
        memcpy(final + i * e->states, N_VGetArrayPointer(s.y), e->states * sizeof *final);
    }
    integrator_free(&s);
    printf("seconds %.9g\nsteps %ld\n", stiff_seconds() - start, steps);
    for (uint64_t i = 0; i < STIFF_SAMPLES; i++)
        for (uint64_t k = 0; k < e->states; k++)
            printf("final %.17g\n", final[stiff_sample(i, n) * e->states + k]);
    free(final);
    return 0;
}
