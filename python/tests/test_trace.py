# SPDX-License-Identifier: MIT
"""Tracing: what is traced is what the function computes, and what cannot be is refused by line."""

import functools
import math
import unittest
from math import exp

import numpy as np

import shoal

A = np.array([[-1.0, 2.0], [0.5, -3.0]])
FACTOR = 2.5


def helper(x):
    return np.tanh(x) + FACTOR


class Rhs:
    def __init__(self, k):
        self.k = k

    def __call__(self, t, y):
        return -self.k * y

    def method(self, t, y):
        return [self.k * y[1], -y[0]]


def where(t, y):
    return np.where(y > 0, -y, y * 2)


def clipped(t, y):
    return [np.clip(y[0], -0.5, 0.5), np.maximum(y[1], 0) - min_of(y)]


def min_of(y):
    return np.min(y)


def filled(t, y):
    d = np.empty(3)
    d[0] = y[1] * y[2]
    d[1:] = -0.51 * y[1:] ** 2
    d[2] += np.sum(y[:2])
    return d


def loops(t, y):
    out = []
    for i in range(len(y)):
        out.append(sum(y[j] * (i + j) for j in range(len(y))) - y[i] ** 3)
    return out


def with_math(t, y):
    return [math.sin(t) * math.sqrt(abs(y[0]) + 1), exp(-y[1] ** 2) + math.atan2(y[0], 2)]


def unpacked(t, y, alpha, beta=0.5):
    x, v = y
    return v, -alpha * x - beta * v**3


def shared(t, y):
    a = y[0]
    for _ in range(60):
        a = a * a - 0.3 * a
    return [a * 1e-3]


TRACED = [
    (where, 3, None), (clipped, 2, None), (filled, 3, None), (loops, 4, None), (with_math, 2, None),
    (unpacked, 2, (1.5,)), (lambda t, y: A @ y, 2, None), (lambda t, y: y @ A.T + np.dot(A, y), 2, None),
    (lambda t, y: helper(y) * t, 2, None), (Rhs(2.0), 1, None), (Rhs(2.0).method, 2, None),
    (lambda t, y: np.array([y[1], -np.linalg.norm(y) * y[0]]), 2, None),
    (lambda t, y: -y / np.sqrt(np.sum(y**2)), 3, None), (lambda t, y: np.roll(y, 1) - y, 4, None),
    (lambda t, y: np.concatenate([y[1:], y[:1]]) * np.exp(-t), 4, None),
    (lambda t, y: [np.heaviside(y[0], 0.5), np.sign(y[1])], 2, None),
    (lambda t, y: [(y[0] > 0) * y[1], 1 - (t < 1)], 2, None),
    (lambda t, y: [y[0] % 0.7, y[1] // 0.3], 2, None),
    (lambda t, y: y.reshape(2, 2).T.ravel(), 4, None), (lambda t, y: np.diff(np.append(y, 0)), 3, None),
    (lambda t, y: [abs(y[0]), -y[1] ** 2], 2, None), (lambda t, y: [2.0 ** y[0], y[1] ** -1.5], 2, None),
    (lambda t, y: np.outer(y, y).sum(axis=0), 3, None), (lambda t, y: [np.log1p(y[0] ** 2), np.log10(2 + y[1] ** 2)], 2, None),
    (lambda t, y: np.stack([y[1], -y[0]]), 2, None), (lambda t, y: [y.mean(), y.sum() - y.prod()], 2, None),
    (lambda t, y: np.where((y > 0) & (y < 1), y, 0.0), 3, None), (lambda t, y: [1 if t is None else y[0]], 1, None),
]  # fmt: skip


class Traced(unittest.TestCase):
    def test_functions(self):
        rng = np.random.default_rng(1)
        for i, (fun, size, args) in enumerate(TRACED):
            with self.subTest(i=i, fun=getattr(fun, "__name__", "")):
                model = shoal.trace(fun, size, args=args)
                for _ in range(20):
                    t, y = rng.uniform(-2, 2), rng.uniform(-2, 2, size)
                    with np.errstate(all="ignore"):
                        want = np.asarray(fun(t, y.copy(), *(args or ())), dtype=float).ravel()
                    np.testing.assert_allclose(model.rhs(t, y), want, rtol=1e-11, atol=1e-13)

    def test_every_function(self):
        for name in ("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp log log10 "
                     "log2 log1p expm1 sqrt cbrt floor ceil sign absolute fabs square reciprocal exp2 deg2rad").split():
            with self.subTest(name=name):
                f = getattr(np, name)
                model = shoal.trace(lambda t, y: f(y), 2)
                for x in (-2.5, -0.5, 0.3, 0.9, 2.0, 7.25):
                    with np.errstate(all="ignore"):
                        want = f(np.array([x, -x]))
                    np.testing.assert_allclose(model.rhs(0, [x, -x]), want, rtol=1e-13, atol=1e-300)
        for name in "add subtract multiply divide power maximum minimum fmax fmin arctan2 hypot mod floor_divide less greater_equal".split():
            with self.subTest(name=name):
                g = getattr(np, name)
                model = shoal.trace(lambda t, y: [g(y[0], y[1]), 1.0 * g(y[1], 0.7)], 2)
                for x, z in ((2.5, 0.5), (0.3, 1.7), (1.25, 1.25)):
                    np.testing.assert_allclose(model.rhs(0, [x, z]), [g(x, z), g(z, 0.7)], rtol=1e-13)

    def test_shared_expressions_stay_small(self):
        model = shoal.trace(shared, 1)
        self.assertLess(len(model.text), 10_000)

    def test_names_that_mean_something_else(self):
        def fun(t, y, p, P, y1, init, pi):
            return [p * y[0] + P * y[1], y1 * init - pi * y[1]]

        model = shoal.trace(fun, 2, args=(2.0, 3.0, 5.0, 7.0, 11.0))
        np.testing.assert_allclose(model.rhs(0, [1, 10]), [2 + 30, 35 - 110])
        r = shoal.solve_ivp(fun, (0, 0.1), [1, 0], args={"p": np.array([0.0, 1.0]), "P": 0, "y1": 0,
                                                        "init": 0, "pi": 0}, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(r["y0"], [1, np.exp(0.1)], rtol=1e-8)

    def test_the_function_is_left_alone(self):
        before = dict(with_math.__globals__)
        shoal.trace(with_math, 2)
        self.assertEqual({k: id(v) for k, v in before.items()},
                         {k: id(v) for k, v in with_math.__globals__.items()})


def branches(t, y):
    if y[0] > 0:
        return [1.0]
    return [-1.0]


def converts(t, y):
    return [float(y[0])]


def unknown(t, y):
    return [np.spacing(y[0])]


def interpolates(t, y):
    return [np.interp(t, [0, 1], [1, 2]) * y[0]]


class Changing:
    calls = 0

    def __call__(self, t, y):
        self.calls += 1
        return y * self.calls


class Refused(unittest.TestCase):
    def refused(self, fun, size, *parts):
        with self.assertRaises(shoal.TraceError) as caught:
            shoal.trace(fun, size)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_by_line(self):
        line = branches.__code__.co_firstlineno + 1
        self.refused(branches, 1, f"{__file__}:{line}:", "np.where", "shoal.when", "if y[0] > 0")
        self.refused(converts, 1, f":{converts.__code__.co_firstlineno + 1}:", "number")

    def test_unknown_functions(self):
        self.refused(unknown, 1, "test_trace.py:")
        self.refused(interpolates, 1, "test_trace.py:")

    def test_what_changes_or_is_wrong(self):
        self.refused(Changing(), 1, "differs")
        self.refused(lambda t, y: [y[0], y[0], y[0]], 2, "3 derivatives of 2")
        self.refused(lambda t, y: [y[0] * np.inf], 1, "inf")
        self.refused(lambda t, y: [max(y, 2 * y)[0]], 2, "traced")
        self.refused(lambda t, y: [y[0] * np.interp(t, [0, 1], [1, 2])], 1, "np.interp", "drivers=")
        with self.assertRaisesRegex(shoal.TraceError, "raises an error wherever"):
            shoal.solve_ivp(raises, (0, 1), [3.0])


def raises(t, y):
    if np.ndim(y) and type(y) is np.ndarray:
        raise ValueError("always")
    return -y


class Model:
    rate = np.array([1.0, 2.0])

    def method(self, t, y):
        return -self.rate * y

    @classmethod
    def of_class(cls, t, y, k):
        return -k * cls.rate * y


def several(t, y, *p):
    a, b = p
    return [-a * y[0], -b * y[1]]


def two(t, y, a, b):
    return [-a * y[0], -b * y[1]]


class Arguments(unittest.TestCase):
    """Whatever a function may be called with gives the derivatives that it has."""

    def check(self, fun, args=None, names=()):
        model = shoal.trace(fun, 2, args=args)
        self.assertEqual(tuple(model.renamed), names)
        given = () if args is None else tuple(args.values()) if isinstance(args, dict) else tuple(args)
        y = np.array([0.7, -1.3])
        np.testing.assert_allclose(model.rhs(0.4, y.tolist()), fun(0.4, y, *given), rtol=1e-12)

    def test_arrays_are_constants(self):
        w, a = np.array([1.0, 2.0]), np.array([[0.5, 1], [-1, 0.25]])
        self.check(lambda t, y, w: -w * y, (w,))
        self.check(lambda t, y, w: -w * y, (w.astype(np.float32),))
        self.check(lambda t, y, a: a @ y, (a,))
        self.check(lambda t, y, a: np.dot(a, y), (a.tolist(),))
        self.check(lambda t, y, k, w: [-k * w[0] * y[0], w[1] * y[1]], (3.0, [1, 2]), ("k",))
        self.check(lambda t, y, w=np.array([1.0, 2.0]): -w * y)  # the middle of it is no rate
        self.check(lambda t, y, w=[1.0, 2.0], k=2.0: [-w[0] * y[0], k * y[1]], None, ("k",))
        with self.assertRaisesRegex(shoal.TraceError, "gives 5 derivatives of 2 states.*args={'k': ...}"):
            shoal.trace(lambda t, y, k: -k * y[0], 2, args=(np.arange(5.0),))

    def test_others_are_constants(self):
        self.check(lambda t, y, mode: -y if mode == "decay" else y, ("decay",))
        self.check(lambda t, y, mode: -y if mode == "decay" else y, {"mode": "grow"})
        self.check(lambda t, y, c: -y if c is None else c * y, (None,))
        self.check(lambda t, y, c=None: -y if c is None else c * y)
        self.check(lambda t, y, f: f(t) - y, (np.sin,))
        self.check(lambda t, y, f: f(t) - y, (lambda t: np.exp(-t),))
        self.check(lambda t, y, p: -p["a"] * y, ({"a": 2.0},))
        self.check(lambda t, y, p: [p[0][0] * y[0], p[1][1] * y[1]], ([[1.0], [2.0, 3.0]],))
        self.check(lambda t, y, p: -p.rate * y, (Model,))

    def test_whole_numbers(self):
        self.check(lambda t, y, k: -k * y, (3,), ("k",))
        self.check(lambda t, y, n: sum(y**i for i in range(n)), (3,))
        self.check(lambda t, y, on: -y if on else y, (True,))
        self.check(lambda t, y, n, k: -k * y[::-1] if n > 2 else y, (np.int64(3), 0.5), ("k",))
        with self.assertRaisesRegex(shoal.TraceError, "np.where"):
            shoal.trace(lambda t, y, n: -y if y[0] > n else y, 2, args=(3,))

    def test_ways_to_take_them(self):
        self.check(several, (2.0, 3), ("p0", "p1"))
        self.check(lambda t, y, *p: -y)
        self.check(lambda t, y, **p: -y)
        self.check(lambda t, y, *, k=3.0: -k * y)
        self.check(functools.partial(two, b=1.5), (2.0,), ("a",))
        self.check(functools.partial(two, a=0.5, b=1.5))
        self.check(Model().method)
        self.check(Model.of_class, (2.0,), ("k",))
        self.check(lambda t, y: [max(y[0], 0.2, y[1]), min([y[1], t])])
        self.check(lambda t, y: [max(1, 2) * y[0], y[1]])

    def test_what_is_wrong(self):
        for args, what in ((2.0, r"args is a tuple, as in args=\(2.0,\)"), ((1, 2, 3), "takes 2 parameters, args has 3"),
                           ((1.0,), "needed for the parameter 'b'"), ({"c": 1}, "no parameter 'c'"), ((1j, 2), "a is complex")):
            with self.assertRaisesRegex(TypeError, what):
                shoal.trace(two, 2, args=args)
        with self.assertRaisesRegex(ValueError, "a is nan, not a finite number"):
            shoal.trace(two, 2, args=(np.nan, 1))


if __name__ == "__main__":
    unittest.main()
