# SPDX-License-Identifier: MIT
"""The posterior of a decay rate and a start value, by many walkers at once: mcmc.py [WALKERS] [STEPS]

Goodman and Weare's stretch move: half of the walkers move relative to the other half, all in one
batch of runs.
"""

import sys

import numpy as np
import shoal

TIMES = np.linspace(0, 4, 21)
TRUE = (0.7, 3.0)
NOISE = 0.05


def sample(walkers, steps):
    rng = np.random.default_rng(4)
    data = TRUE[1] * np.exp(-TRUE[0] * TIMES) + NOISE * rng.standard_normal(TIMES.size)
    solver = shoal.Solver("x' = -k*x\npar k=1\ninit x=1\n", (0, 4), t_eval=TIMES)

    def log_posterior(p):
        x = solver(k=p[:, 0].copy(), x=p[:, 1].copy())["x"]
        outside = (p <= 0).any(axis=1) | ~np.isfinite(x).all(axis=1)
        return np.where(outside, -np.inf, -0.5 * (((x - data) / NOISE) ** 2).sum(axis=1))

    p = np.abs(np.array([1.0, 2.0]) + 0.3 * rng.standard_normal((walkers, 2)))
    score = log_posterior(p)
    half, kept = walkers // 2, []
    for step in range(steps):
        for mine in (slice(0, half), slice(half, 2 * half)):
            others = p[half : 2 * half] if mine.start == 0 else p[:half]
            z = (1 + rng.random(half)) ** 2 / 2
            partner = others[rng.integers(half, size=half)]
            new = partner + z[:, None] * (p[mine] - partner)
            new_score = log_posterior(new)
            accept = np.log(rng.random(half)) < np.log(z) + new_score - score[mine]
            p[mine] = np.where(accept[:, None], new, p[mine])
            score[mine] = np.where(accept, new_score, score[mine])
        if step >= steps // 2:
            kept.append(p.copy())
    return np.concatenate(kept)


if __name__ == "__main__":
    numbers = [int(a) for a in sys.argv[1:]]
    p = sample(*(numbers + [400, 300][len(numbers) :]))
    print(f"rate {p[:, 0].mean():.3f} +- {p[:, 0].std():.3f}, start {p[:, 1].mean():.3f} +- {p[:, 1].std():.3f}, "
          f"which were {TRUE[0]} and {TRUE[1]}")
