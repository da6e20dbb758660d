# SPDX-License-Identifier: MIT
"""A drug in virtual patients, one dose every 12 hours: patients.py [PATIENTS] [FIGURE]"""

import sys

import numpy as np
import shoal

DRUG = """
gut' = -ka*gut
blood' = ka*gut - cl/v*blood
aux c = blood/v
par ka=1, cl=5, v=40
init gut=0, blood=0
event dose every 12 from 0 until 60 : gut=gut+100
"""


def percentiles(patients):
    rng = np.random.default_rng(1)
    vary = {name: value * np.exp(0.3 * rng.standard_normal(patients)) for name, value in (("ka", 1), ("cl", 5), ("v", 40))}
    r = shoal.solve_ivp(DRUG, (0, 72), params=vary, vars=["c"], t_eval=np.linspace(0, 72, 145))
    return r.t, np.percentile(r["c"], [5, 50, 95], axis=0)


if __name__ == "__main__":
    t, (low, middle, high) = percentiles(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    print(f"highest median {middle.max():.2f} mg/l, 90 % of patients between {low.max():.2f} and {high.max():.2f}")
    if len(sys.argv) > 2:
        import matplotlib.pyplot as plt

        plt.fill_between(t, low, high, alpha=0.3)
        plt.plot(t, middle)
        plt.xlabel("hours")
        plt.ylabel("mg/l")
        plt.savefig(sys.argv[2])
