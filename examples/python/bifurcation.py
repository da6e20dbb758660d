# SPDX-License-Identifier: MIT
"""Maxima of z in the Lorenz system over rho: python examples/python/bifurcation.py [RHOS] [FIGURE]"""

import sys

import numpy as np
import shoal

LORENZ = "x' = 10*(y-x)\ny' = x*(rho-z) - y\nz' = x*y - 8/3*z\npar rho=28\ninit x=1, y=1, z=1\n"


def maxima(count):
    rho = np.linspace(20, 200, count)
    r = shoal.solve_ivp(LORENZ, (0, 60), params={"rho": rho}, settle=30, summary={"top": "peaks(z,40)"},
                        max_steps=10**6)
    return rho, r["top"]


if __name__ == "__main__":
    rho, values = maxima(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
    print(f"{np.isfinite(values).sum()} maxima of {rho.size} systems")
    if len(sys.argv) > 2:
        import matplotlib.pyplot as plt

        plt.plot(rho, values, ",k")
        plt.xlabel("rho")
        plt.ylabel("maxima of z")
        plt.savefig(sys.argv[2], dpi=200)
