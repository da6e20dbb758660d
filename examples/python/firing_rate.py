# SPDX-License-Identifier: MIT
"""Spikes per second of Hodgkin and Huxley's neuron over the current: firing_rate.py [CURRENTS] [FIGURE]"""

import sys

import numpy as np
import shoal


def neuron(t, y, current):
    v, m, h, n = y
    am, bm = 0.1 * (v + 40) / (1 - np.exp(-(v + 40) / 10)), 4 * np.exp(-(v + 65) / 18)
    ah, bh = 0.07 * np.exp(-(v + 65) / 20), 1 / (1 + np.exp(-(v + 35) / 10))
    an, bn = 0.01 * (v + 55) / (1 - np.exp(-(v + 55) / 10)), 0.125 * np.exp(-(v + 65) / 80)
    inward = 120 * m**3 * h * (v - 50) + 36 * n**4 * (v + 77) + 0.3 * (v + 54.387)
    return [current - inward, am * (1 - m) - bm * m, ah * (1 - h) - bh * h, an * (1 - n) - bn * n]


def rates(count):
    current = np.linspace(0, 20, count)
    r = shoal.solve_ivp(neuron, (0, 1000), [-65, 0.05, 0.6, 0.32], args={"current": current}, settle=200,
                        summary={"spikes": "crossings(y0,0,rising)"})
    return current, r["spikes"] / 0.8


if __name__ == "__main__":
    current, rate = rates(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    print(f"it fires from {current[rate > 5].min():.2f} uA/cm2 on, at most {rate.max():.0f} times a second")
    if len(sys.argv) > 2:
        import matplotlib.pyplot as plt

        plt.plot(current, rate)
        plt.xlabel("current, uA/cm2")
        plt.ylabel("spikes per second")
        plt.savefig(sys.argv[2])
