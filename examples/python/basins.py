# SPDX-License-Identifier: MIT
"""Which of three magnets a pendulum comes to rest at: python examples/python/basins.py [SIDE] [FIGURE]"""

import sys

import numpy as np
import shoal

MAGNETS = np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])


def pendulum(t, y):
    place, speed = y[:2], y[2:]
    pull = -0.5 * place - 0.2 * speed
    for magnet in MAGNETS:
        away = magnet - place
        pull = pull + away / (np.sum(away**2) + 0.04) ** 1.5
    return np.concatenate([speed, pull])


def basins(side):
    g = shoal.product(x=np.linspace(-2, 2, side), y=np.linspace(-2, 2, side))
    start = {"y0": g["x"], "y1": g["y"], "y2": 0.0, "y3": 0.0}
    r = shoal.solve_ivp(pendulum, (0, 60), start, rtol=1e-6, atol=1e-6)
    places = np.stack([r["y0"], r["y1"]], axis=-1)
    return np.linalg.norm(places[..., None, :] - MAGNETS, axis=-1).argmin(axis=-1)


if __name__ == "__main__":
    which = basins(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
    print("of", which.size, "pendulums", *np.bincount(which.ravel(), minlength=3), "come to rest at each magnet")
    if len(sys.argv) > 2:
        import matplotlib.pyplot as plt

        plt.imsave(sys.argv[2], which.T, cmap="viridis")
