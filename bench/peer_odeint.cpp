// SPDX-License-Identifier: MIT
// Boost.odeint on the benchmark problem: the template library a C++ user would take.
//
// Controlled Dormand-Prince 5(4) with integrate_adaptive and no observer, one thread, the state a
// std::array, so that every size is known to the compiler. odeint has no automatic first step; 0.02
// was the fastest choice tried.
// Prints seconds (best repetition), trajectories_per_s, error_max, error_rms.
#include "lorenz.h"

#include <array>
#include <vector>

#include <boost/numeric/odeint.hpp>

namespace odeint = boost::numeric::odeint;
using state = std::array<double, 3>;

struct lorenz {
    double rho;
    void operator()(const state &y, state &dydt, double) const {
        dydt[0] = LORENZ_SIGMA * (y[1] - y[0]);
        dydt[1] = y[0] * (rho - y[2]) - y[1];
        dydt[2] = y[0] * y[1] - LORENZ_BETA * y[2];
    }
};

static double run(uint64_t n, std::vector<double> &final) {
    const double first_step = 0.02;
    double start = lorenz_seconds();
    auto stepper = odeint::make_controlled<odeint::runge_kutta_dopri5<state>>(LORENZ_TOLERANCE,
                                                                              LORENZ_TOLERANCE);
    for (uint64_t i = 0; i < n; i++) {
        state y = {1.0, 0.0, 0.0};
        odeint::integrate_adaptive(stepper, lorenz{lorenz_rho(i, n)}, y, 0.0, LORENZ_T1,
                                   first_step);
        for (size_t k = 0; k < 3; k++)
            final[3 * i + k] = y[k];
    }
    return lorenz_seconds() - start;
}

int main(int argc, char **argv) {
    lorenz_job job = lorenz_arguments(argc, argv);
    std::vector<double> final(3 * job.n);
    double best = INFINITY;
    for (uint64_t r = 0; r < job.repetitions; r++)
        best = std::min(best, run(job.n, final));
    lorenz_print(job.n, best, final.data());
    return 0;
}
