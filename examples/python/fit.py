# SPDX-License-Identifier: MIT
"""Parameters of a predator and its prey out of noisy data, by least squares from many starts: fit.py [STARTS]

Gauss and Newton's steps are taken for all starts at once: each asks for the residuals of every
start, and of every start with each parameter changed a little, in one batch.
"""

import sys

import numpy as np
import shoal

TRUE = np.array([1.0, 0.4, 0.9, 0.3])
TIMES = np.linspace(0, 12, 49)


def lotka(t, y, a, b, c, d):
    return [a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]]


def fit(starts, steps=25):
    rng = np.random.default_rng(3)
    solver = shoal.Solver(lotka, (0, 12), [4.0, 2.0], args=TRUE, t_eval=TIMES, rtol=1e-8, atol=1e-8)
    data = solver(dict(zip("abcd", TRUE[:, None]))).y[0] * (1 + 0.02 * rng.standard_normal((2, TIMES.size)))

    def residuals(log_p):
        y = solver(dict(zip("abcd", np.moveaxis(np.exp(log_p), -1, 0)))).y
        return np.log(np.maximum(y, 1e-9) / data).reshape(*log_p.shape[:-1], -1)

    p = np.log(TRUE) + 0.3 * rng.standard_normal((starts, 4))
    damping = np.full(starts, 1e-2)
    r = residuals(p)
    for _ in range(steps):
        near = residuals(p[:, None, :] + 1e-6 * np.eye(4))
        j = np.moveaxis(near - r[:, None, :], 1, 2) / 1e-6
        normal = np.swapaxes(j, 1, 2) @ j
        system = normal + damping[:, None, None] * np.eye(4) * normal.diagonal(axis1=1, axis2=2)[:, None, :]
        step = -np.linalg.solve(system, np.swapaxes(j, 1, 2) @ r[..., None])[..., 0]
        new = residuals(p + step)
        better = (new**2).sum(-1) < (r**2).sum(-1)
        p, r = np.where(better[:, None], p + step, p), np.where(better[:, None], new, r)
        damping = np.where(better, damping / 5, damping * 5)
    best = np.argmin((r**2).sum(-1))
    return np.exp(p[best]), np.sqrt((r[best] ** 2).mean())


if __name__ == "__main__":
    found, error = fit(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    print("found", found.round(3), "of", TRUE, f"residual {error:.3f}")
