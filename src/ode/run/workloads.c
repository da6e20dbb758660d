// SPDX-License-Identifier: MIT
// A small and a larger system that are not stiff, and one that is, in both precisions.
#include "ode/run/workloads.h"

#define LORENZ "par rho=28\ninit x=1,y=1,z=1\nx'=10*(y-x)\ny'=x*(rho-z)-y\nz'=x*y-8/3*z\n@ t1=5\n"
// Lorenz (1996), ten sites.
#define RING                                                                                       \
    "par F=8\ninit x1=9\ninit x[2..10]=8\nx1'=(x2-x9)*x10-x1+F\nx2'=(x3-x10)*x1-x2+F\n"            \
    "x[3..9]'=(x[j+1]-x[j-2])*x[j-1]-x[j]+F\nx10'=(x1-x8)*x9-x10+F\n@ t1=2\n"
// The Brusselator with diffusion, ten cells.
#define CELLS                                                                                      \
    "par D=2.4\ninit u[1..10]=1.2,v[1..10]=3\n"                                                    \
    "u1'=1+u1^2*v1-4*u1+D*(1-2*u1+u2)\nv1'=3*u1-u1^2*v1+D*(3-2*v1+v2)\n"                           \
    "u[2..9]'=1+u[j]^2*v[j]-4*u[j]+D*(u[j-1]-2*u[j]+u[j+1])\n"                                     \
    "v[2..9]'=3*u[j]-u[j]^2*v[j]+D*(v[j-1]-2*v[j]+v[j+1])\n"                                       \
    "u10'=1+u10^2*v10-4*u10+D*(u9-2*u10+1)\nv10'=3*u10-u10^2*v10+D*(v9-2*v10+3)\n@ t1=5\n"

const struct workload ode_workloads[] = {
    {"one step", "par k=1\ninit x=1\nx'=k*x\n@ t1=1e-3, dt=1e-3\n", "method=euler", "k", 1, 2},
    {"Lorenz, f64", LORENZ, "method=tsit5", "rho", 20, 28},
    {"Lorenz, f32", LORENZ, "method=tsit5 precision=f32", "rho", 20, 28},
    {"10 states, f64", RING, "method=tsit5", "F", 4, 8},
    {"10 states, f32", RING, "method=tsit5 precision=f32", "F", 4, 8},
    {"20 stiff states, f64", CELLS, "method=rodas5p", "D", 2, 3},
    {"20 stiff states, f32", CELLS, "method=rodas5p precision=f32", "D", 2, 3},
};
const uint32_t ode_workload_count = sizeof ode_workloads / sizeof *ode_workloads;
