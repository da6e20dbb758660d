# SPDX-License-Identifier: MIT
"""How an ensemble of forecasts of Lorenz 96 drifts apart: forecast.py [MEMBERS] [FIGURE]"""

import sys

import numpy as np
import shoal

SIZE = 40


def lorenz96(t, y):
    return (np.roll(y, -1) - np.roll(y, 2)) * np.roll(y, 1) - y + 8


def spread(members):
    rng = np.random.default_rng(2)
    truth = shoal.solve_ivp(lorenz96, (0, 20), 8 + 0.01 * rng.standard_normal((1, SIZE))).y[0, :, 0]
    start = truth + 1e-3 * rng.standard_normal((members, SIZE))
    r = shoal.solve_ivp(lorenz96, (0, 15), start, t_eval=np.linspace(0, 15, 61))
    return r.t, r.y.std(axis=0).mean(axis=0)


if __name__ == "__main__":
    t, s = spread(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    print(f"the spread grows from {s[0]:.4f} to {s[-1]:.2f}, and passes 1 at t = {t[np.argmax(s > 1)]:.2f}")
    if len(sys.argv) > 2:
        import matplotlib.pyplot as plt

        plt.semilogy(t, s)
        plt.xlabel("t")
        plt.ylabel("spread of the ensemble")
        plt.savefig(sys.argv[2])
