# SPDX-License-Identifier: MIT
"""Right-hand sides as people write them: of SciPy's documentation and tests, of the sets DETEST for problems that are
not stiff and stiff, and of the stiff problems of Hairer and Wanner. All but those that decide by time or compute with
complex numbers are traced as they are, and give SciPy's answers."""

import math
import os
import unittest

import numpy as np

import shoal

try:
    from scipy.integrate import solve_ivp
except ImportError:
    solve_ivp = None

A_CHAIN = np.diag(-2.0 * np.ones(10)) + np.diag(np.ones(9), 1) + np.diag(np.ones(9), -1)
MASSES = [0.000954786104043, 0.000285583733151, 0.0000437273164546, 0.0000517759138449, 0.00000277777777778]


def exponential_decay(t, y): return -0.5 * y
def upward_cannon(t, y): return [y[1], -0.5]
def linear(t, y): return np.array([-y[0] - 5 * y[1], y[0] + y[1]])
def rational(t, y): return np.array([y[1] / t, y[1] * (y[0] + 2 * y[1] - 1) / (t * (y[0] - 1))])
def rational_stacked(t, y): return np.vstack((y[1] / t, y[1] * (y[0] + 2 * y[1] - 1) / (t * (y[0] - 1)))).ravel()
def nothing(t, y): return np.zeros_like(y)


def lotkavolterra(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


def a2(t, y): return -(y**3) / 2
def a3(t, y): return y * math.cos(t)
def a4(t, y): return y / 4 * (1 - y / 20)
def a5(t, y): return (y - t) / (y + t)
def b1(t, y): return 2 * (y[0] - y[0] * y[1]), -(y[1] - y[0] * y[1])
def b2(t, y): return [-y[0] + y[1], y[0] - 2 * y[1] + y[2], y[1] - y[2]]
def b3(t, y): return [-y[0], y[0] - y[1] ** 2, y[1] ** 2]


def b4(t, y):
    r = np.sqrt(y[0] ** 2 + y[1] ** 2)
    return np.array([-y[1] - y[0] * y[2] / r, y[0] - y[1] * y[2] / r, y[0] / r])


def b5(t, y): return [y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]


def c1(t, y):
    d = np.empty_like(y)
    d[0] = -y[0]
    d[1:-1] = y[:-2] - y[1:-1]
    d[-1] = y[-2]
    return d


def c2(t, y):
    i = np.arange(1, y.size + 1)
    d = np.append(0, (i * y)[:-1]) - i * y
    d[-1] = (y.size - 1) * y[-2]
    return d


def c3(t, y): return A_CHAIN @ y


def c5(t, y):
    """Five outer planets; positions planet by planet, then speeds."""
    x, v = y[:15].reshape(5, 3), y[15:]
    r3 = [np.linalg.norm(x[j]) ** 3 for j in range(5)]
    out = []
    for j in range(5):
        pull = -(1.00000597682 + MASSES[j]) * x[j] / r3[j]
        for k in range(5):
            if k != j:
                pull = pull + MASSES[k] * ((x[k] - x[j]) / np.linalg.norm(x[k] - x[j]) ** 3 - x[k] / r3[k])
        out.append(2.95912208286 * pull)
    return np.concatenate([v, np.concatenate(out)])


def d1(t, y):
    r3 = np.hypot(y[0], y[1]) ** 3
    return [y[2], y[3], -y[0] / r3, -y[1] / r3]


def e1(t, y): return [y[1], -(y[1] / (t + 1) + (1 - 0.25 / (t + 1) ** 2) * y[0])]
def e2(t, y): return [y[1], (1 - y[0] ** 2) * y[1] - y[0]]
def e3(t, y): return [y[1], y[0] ** 3 / 6 - y[0] + 2 * np.sin(2.78535 * t)]
def e4(t, y): return [y[1], 0.032 - 0.4 * y[1] ** 2]
def e5(t, y): return [y[1], math.sqrt(1 + y[1] ** 2) / (25 - t)]
def stiff_a1(t, y): return np.array([-0.5, -1, -100, -90]) * y


def stiff_c1(t, y):
    s = y[2] ** 2 + y[3] ** 2
    return [-y[0] + y[1] ** 2 + s, -10 * y[1] + 10 * s, -40 * y[2] + 40 * y[3] ** 2, -100 * y[3] + 2]


def stiff_e2(t, y): return [y[1], 5 * (1 - y[0] * y[0]) * y[1] - y[0]]


def robertson(t, state):
    x, y, z = state
    xy, yy = 1e4 * y * z, 3e7 * y * y
    return [-0.04 * x + xy, 0.04 * x - xy - yy, yy]


def oregonator(t, y):
    return [77.27 * (y[1] + y[0] * (1 - 8.375e-6 * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / 77.27, 0.161 * (y[0] - y[2])]


def brusselator(t, y):
    u, v = y[::2], y[1::2]
    d = np.zeros(y.shape)
    lap = lambda w, edge: np.concatenate([[edge], w[:-1]]) - 2 * w + np.concatenate([w[1:], [edge]])
    d[::2] = 1 + u * u * v - 4 * u + 0.5 * lap(u, 1.0)
    d[1::2] = 3 * u - u * u * v + 0.5 * lap(v, 3.0)
    return d


def decides_by_time(t, y):
    phi = 2 if t <= 5 else 0
    return phi - y


def complex_matrix(t, y):
    return np.array([[-0.25 + 0.14j, 0], [0, -0.33]]) @ y


TRACED = [
    (exponential_decay, [2, 4, 8.0], (0, 10)), (upward_cannon, [0, 10], (0, 10)), (linear, [0, 2.0], (0, 2)),
    (rational, [1 / 3, 2 / 9], (5, 9)), (rational_stacked, [1 / 3, 2 / 9], (5, 9)), (nothing, [1.0, 2.0], (0, 1)),
    (lotkavolterra, [10, 5], (0, 5), (1.5, 1, 3, 1)), (a2, [1], (0, 20)), (a3, [1], (0, 10)), (a4, [1], (0, 20)),
    (a5, [4], (0, 20)), (b1, [1, 3], (0, 8)), (b2, [2, 0, 1], (0, 5)), (b3, [1, 0, 0], (0, 20)),
    (b4, [3, 0, 0], (0, 20)), (b5, [0, 1, 1], (0, 20)), (c1, [1.0] + [0.0] * 9, (0, 5)),
    (c2, [1.0] + [0.0] * 9, (0, 5)), (c3, [1.0] + [0.0] * 9, (0, 5)),
    (c5, [3.42947415189, 3.35386959711, 1.35494901715, 6.64145542550, 5.97156957878, 2.18231499728, 11.2630437207,
          14.6952576794, 6.27960525067, -30.1552268759, 1.65699966404, 1.43785752721, -21.1238353380, 28.4465098142,
          15.3882659679, -0.557160570446, 0.505696783289, 0.230578543901, -0.415570776342, 0.365682722812,
          0.169143213293, -0.325325669158, 0.189706021964, 0.0877265322780, -0.0240476254170, -0.287659532608,
          -0.117219543175, -0.176860753121, -0.216393453025, -0.0148647893090], (0, 20)),
    (d1, [0.9, 0, 0, math.sqrt(1.1 / 0.9)], (0, 10)), (e1, [0.67, 0.095], (0, 10)), (e2, [2, 0], (0, 10)),
    (e3, [0, 0], (0, 10)), (e4, [30, 0], (0, 20)), (e5, [0, 0], (0, 20)), (stiff_a1, [1, 1, 1, 1], (0, 2)),
    (stiff_c1, [1, 1, 1, 1], (0, 2)), (stiff_e2, [2, 0], (0, 1)), (robertson, [1, 0, 0], (0, 40)),
    (oregonator, [1, 2, 3], (0, 30)), (brusselator, [1.0, 3.0] * 8, (0, 1)),
]  # fmt: skip


class Sets(unittest.TestCase):
    def test_traced(self):
        self.assertGreaterEqual(len(TRACED), 30)
        for fun, y0, span, *args in TRACED:
            with self.subTest(fun=fun.__name__):
                shoal.trace(fun, len(y0), args=args[0] if args else None)

    @unittest.skipUnless(solve_ivp, "needs SciPy")
    def test_right(self):
        for fun, y0, span, *args in TRACED[:: 1 if os.environ.get("SHOAL_TEST_ALL_WAYS") else 8]:
            with self.subTest(fun=fun.__name__):
                given = {"args": args[0] if args else None, "t_eval": [span[1]]}
                ours = shoal.solve_ivp(fun, span, y0, rtol=1e-8, atol=1e-10, **given)
                theirs = solve_ivp(fun, span, y0, method="LSODA", rtol=1e-10, atol=1e-12, **given)
                np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-5, atol=1e-7)

    def test_refused_by_line(self):
        for fun, size in ((decides_by_time, 1), (complex_matrix, 2)):
            with self.subTest(fun=fun.__name__), self.assertRaises(shoal.TraceError) as caught:
                shoal.trace(fun, size)
            self.assertIn(f"test_sets.py:{fun.__code__.co_firstlineno + 1}", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
