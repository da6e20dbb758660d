# SPDX-License-Identifier: MIT
"""heyoka, Taylor methods compiled just in time, on the problems of bench/digits.c.

usage: peer_heyoka.py lorenz|pleiades REFERENCE

A line of the reference is an input and the states at the end. Its runs are repeated, all lanes of
a register at a time, on one thread. Prints a line for each tolerance: microseconds of CPU time for
a run, best of three, and the root mean square of |y - reference| / (1 + |reference|).
"""

import sys
import time

import heyoka as hy
import numpy as np

REPETITIONS = 3


def lorenz():
    x, y, z = hy.make_vars("x", "y", "z")
    equations = [
        (x, 10.0 * (y - x)),
        (y, x * (hy.par[0] - z) - y),
        (z, x * y - 8.0 / 3.0 * z),
    ]
    return equations, [1.0, 0.0, 0.0], 10.0


def pleiades():
    x, y, u, v = (
        hy.make_vars(*(f"{name}{i}" for i in range(1, 8))) for name in ("x", "y", "u", "v")
    )
    mass = [hy.par[0], 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    pull = {}
    for i in range(7):
        for j in range(i + 1, 7):
            a, b = x[j] - x[i], y[j] - y[i]
            pull[i, j] = (a, b, (a * a + b * b) ** -1.5)
    equations = [(x[i], u[i]) for i in range(7)] + [(y[i], v[i]) for i in range(7)]
    for k, speed in enumerate((u, v)):
        for i in range(7):
            terms = []
            for j in range(7):
                if j != i:
                    near = pull[min(i, j), max(i, j)]
                    sign = 1.0 if i < j else -1.0
                    terms.append(sign * mass[j] * near[k] * near[2])
            equations.append((speed[i], hy.sum(terms)))
    start = [3, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4]
    start += [0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0]
    return equations, [float(s) for s in start], 1.0


def main():
    equations, start, end = {"lorenz": lorenz, "pleiades": pleiades}[sys.argv[1]]()
    table = np.loadtxt(sys.argv[2])
    inputs, reference = table[:, 0], table[:, 1:]
    lanes = hy.recommended_simd_size()
    first = np.repeat(np.array(start)[:, None], lanes, axis=1)
    out = np.empty((len(start), len(inputs)))
    for tolerance in (1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15):
        solver = hy.taylor_adaptive_batch(
            equations, state=first.copy(), pars=np.ones((1, lanes)), tol=tolerance
        )
        best = np.inf
        for _ in range(REPETITIONS):
            begin = time.process_time()
            for i in range(0, len(inputs), lanes):
                solver.set_time(0.0)
                solver.state[:] = first
                solver.pars[0] = inputs[i : i + lanes]
                solver.propagate_until(end)
                out[:, i : i + lanes] = solver.state
            best = min(best, time.process_time() - begin)
        off = np.abs(out.T - reference) / (1 + np.abs(reference))
        print(tolerance, best / len(inputs) * 1e6, np.sqrt((off**2).mean()), flush=True)


main()
