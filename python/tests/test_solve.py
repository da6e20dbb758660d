# SPDX-License-Identifier: MIT
"""solve_ivp against SciPy, closed forms, and its own promises about shapes and errors."""

import math
import os
import pickle
import tempfile
import unittest
import warnings

import numpy as np

import shoal

try:
    import pandas
    import xarray
except ImportError:
    pandas = xarray = None
try:
    from scipy.integrate import solve_ivp as scipy_solve_ivp
except ImportError:
    scipy_solve_ivp = None

LORENZ = "x' = 10*(y-x)\ny' = x*(r-z)-y\nz' = x*y-8/3*z\npar r=28\ninit x=1,y=1,z=1\n"
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def decay(t, y, k):
    return -k * y


def oscillator(t, y):
    return [y[1], -y[0]]


def vdp(t, y, mu):
    x, v = y
    return [v, mu * (1 - x**2) * v - x]


def robertson(t, y):
    a, b, c = y
    return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b * b, 3e7 * b * b]


def lotka(t, z, a, b, c, d):
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


def pendulum(t, y):
    return np.array([y[1], -9.81 * np.sin(y[0]) - 0.1 * y[1]])


def cannon(t, y):
    return [y[2], y[3], -0.01 * y[2] * math.hypot(y[2], y[3]), -9.81 - 0.01 * y[3] * math.hypot(y[2], y[3])]


def forced(t, y):
    return [y[1], np.cos(2 * t) - y[0] - 0.2 * y[1]]


def kepler(t, y):
    r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return [y[2], y[3], -y[0] / r3, -y[1] / r3]


def heat(t, y):
    d = np.zeros_like(y)
    d[1:-1] = y[2:] - 2 * y[1:-1] + y[:-2]
    d[0] = y[1] - y[0]
    d[-1] = y[-2] - y[-1]
    return d


PROBLEMS = [
    (decay, (0, 2), [1.0, 2.0], (0.7,), "RK45"),
    (oscillator, (0, 10), [1.0, 0.0], None, "DOP853"),
    (vdp, (0, 10), [2.0, 0.0], (1.0,), "RK45"),
    (vdp, (0, 50), [2.0, 0.0], (100.0,), "Radau"),
    (robertson, (0, 40), [1.0, 0.0, 0.0], None, "Radau"),
    (lotka, (0, 15), [10.0, 5.0], (1.5, 1, 3, 1), "DOP853"),
    (pendulum, (0, 10), [1.0, 0.0], None, "RK45"),
    (cannon, (0, 3), [0.0, 0.0, 50.0, 50.0], None, "DOP853"),
    (forced, (5, 0), [0.3, 0.1], None, "DOP853"),
    (kepler, (0, 6), [1.0, 0.0, 0.0, 1.1], None, "DOP853"),
    (heat, (0, 1), list(np.linspace(0, 1, 12) ** 2), None, "Radau"),
]


class AgainstSciPy(unittest.TestCase):
    @unittest.skipUnless(scipy_solve_ivp, "needs SciPy")
    def test_problems(self):
        every = 1 if os.environ.get("SHOAL_TEST_ALL_WAYS") else 2
        for fun, span, y0, args, method in PROBLEMS[::every]:
            with self.subTest(fun=fun.__name__, method=method):
                times = np.linspace(*span, 7)
                given = dict(t_eval=times, args=args, method=method, rtol=1e-9, atol=1e-11)
                ours = shoal.solve_ivp(fun, span, y0, **given)
                theirs = scipy_solve_ivp(fun, span, y0, **given)
                self.assertEqual(ours.y.shape, theirs.y.shape)
                np.testing.assert_array_equal(ours.t, theirs.t)
                np.testing.assert_allclose(ours.y, theirs.y, rtol=2e-6, atol=1e-8)
                self.assertEqual((ours.status, ours.success), (theirs.status, theirs.success))

    @unittest.skipUnless(scipy_solve_ivp, "needs SciPy")
    def test_every_step(self):
        ours = shoal.solve_ivp(vdp, (0, 5), [2, 0], args=(1.0,))
        theirs = scipy_solve_ivp(vdp, (0, 5), [2, 0], args=(1.0,))
        for r in (ours, theirs):
            self.assertEqual(r.y.shape, (2, r.t.size))
            self.assertEqual((r.t[0], r.t[-1]), (0, 5))
            self.assertTrue(r.success and isinstance(r.message, str) and r.nfev > 10)
        np.testing.assert_array_equal(ours.y[:, 0], [2, 0])


class Events(unittest.TestCase):
    """SciPy's functions of events."""

    @staticmethod
    def ground(t, y, *w):
        return y[0]

    def of_scipy(self, span=(0, 30), **given):
        ours = shoal.solve_ivp(oscillator, span, [1.0, 0.5], rtol=1e-9, atol=1e-11, **given)
        theirs = scipy_solve_ivp(oscillator, span, [1.0, 0.5], rtol=1e-9, atol=1e-11, **given)
        self.assertEqual(ours.status, theirs.status)
        self.assertEqual(len(ours.t_events), len(theirs.t_events))
        for a, b in zip(ours.t_events, theirs.t_events):
            np.testing.assert_allclose(a, b, atol=1e-6)
        for a, b in zip(ours.y_events, theirs.y_events):
            np.testing.assert_allclose(a, b, atol=1e-6)
        return ours, theirs

    @unittest.skipUnless(scipy_solve_ivp, "needs SciPy")
    def test_directions(self):
        for direction in (0, 1, -1) if os.environ.get("SHOAL_TEST_ALL_WAYS") else (-1,):
            def event(t, y):
                return y[0] - 0.25

            event.direction = direction
            self.of_scipy(events=event)
            self.of_scipy((30, 0), events=[event, lambda t, y: y[1] + 0.1 * t - 1], t_eval=[30, 20, 10])

    @unittest.skipUnless(scipy_solve_ivp, "needs SciPy")
    def test_terminal(self):
        def event(t, y):
            return y[0]

        event.terminal = True
        ours, theirs = self.of_scipy(events=event)
        self.assertAlmostEqual(ours.t[-1], theirs.t[-1], 6)
        ours, theirs = self.of_scipy(events=event, t_eval=np.linspace(0, 30, 31))
        np.testing.assert_array_equal(ours.t, theirs.t)
        self.assertEqual(ours.y.shape, theirs.y.shape)

    def test_more_than_room(self):
        r = shoal.solve_ivp(oscillator, (0, 400), [1.0, 0.0], events=self.ground, rtol=1e-8, atol=1e-8)
        self.assertEqual(r.t_events[0].size, 127)

    def test_of_a_batch(self):
        r = shoal.solve_ivp(lambda t, y, w: [y[1], -w * w * y[0]], (0, 4), [1.0, 0.0],
                            args={"w": np.array([1.0, 2.0])}, events=self.ground, rtol=1e-9, atol=1e-11)
        want = np.array([[np.pi / 2, np.nan, np.nan], [np.pi / 4, 3 * np.pi / 4, 5 * np.pi / 4]])
        np.testing.assert_allclose(r.t_events[0], want, atol=1e-7)
        self.assertEqual(r.y_events[0].shape, (2, 3, 2))


class Batches(unittest.TestCase):
    def test_closed_form(self):
        k = np.linspace(0.1, 3, 1000)
        r = shoal.solve_ivp(decay, (0, 2), [1.0], args={"k": k}, **TIGHT)
        self.assertEqual(r["y0"].shape, (1000,))
        self.assertEqual(r.y.shape, (1000, 1, 1))
        np.testing.assert_allclose(r["y0"], np.exp(-2 * k), rtol=1e-8)
        np.testing.assert_array_equal(r["k"], k)
        self.assertTrue(r.success.all() and not r.failed.size)

    def test_axes_broadcast(self):
        k, y0 = np.array([0.5, 1.0, 2.0])[:, None], np.array([[1.0], [3.0]])
        r = shoal.solve_ivp(decay, (0, 1), y0, args={"k": k}, t_eval=[0, 0.5, 1], **TIGHT)
        self.assertEqual(r.y.shape, (3, 2, 1, 3))
        want = y0[None, :, :, None] * np.exp(-k[..., None, None] * np.array([0, 0.5, 1]))
        np.testing.assert_allclose(r.y, want, rtol=1e-8)
        self.assertEqual(r["y0"].shape, (3, 2, 3))

    def test_product(self):
        r = shoal.solve_ivp(decay, (0, 1), [1.0], args=shoal.product(k=[1, 2]), **TIGHT)
        np.testing.assert_allclose(r["y0"], np.exp([-1, -2]), rtol=1e-8)

    def test_a_row_alone_is_the_same(self):
        r = np.linspace(0, 40, 33)
        batch = shoal.solve_ivp(LORENZ, (0, 5), params={"r": r}, device="cpu")
        for i in (0, 7, 32):
            alone = shoal.solve_ivp(LORENZ, (0, 5), params={"r": r[i : i + 1]}, device="cpu")
            np.testing.assert_array_equal(alone.y[0], batch.y[i])

    def test_sweep_and_sample_by_words(self):
        r = shoal.solve_ivp(LORENZ, (0, 1), sweep="r=lin:1:3:5")
        np.testing.assert_allclose(r["r"], [1, 1.5, 2, 2.5, 3])
        r = shoal.solve_ivp(LORENZ, (0, 1), sample="r=uniform:0:1", runs=20, seed=3)
        self.assertEqual(r["x"].shape, (20,))

    def test_single_precision(self):
        k = np.linspace(0.1, 3, 50, dtype=np.float32)
        r = shoal.solve_ivp(decay, (0, 2), [1.0], args={"k": k}, precision="f32")
        self.assertEqual(r.y.dtype, np.float32)
        np.testing.assert_allclose(r["y0"], np.exp(-2 * k), rtol=3e-4)

    def test_summaries(self):
        r = shoal.solve_ivp(oscillator, (0, 30), np.array([[1.0, 0.0], [2.0, 0.0]]),
                            summary={"peak": "max(y0)", "T": "period(y0)"}, **TIGHT)
        np.testing.assert_allclose(r["peak"], [1, 2], rtol=1e-8)
        np.testing.assert_allclose(r["T"], 2 * np.pi, rtol=1e-6)

    def test_events(self):
        r = shoal.solve_ivp("h'=v\nv'=-9.81\ninit h=1,v=0\n", (0, 5), events="ground when h<0 : stop",
                            summary="last(t)", params={"h": np.array([1.0, 4.0])}, **TIGHT)
        np.testing.assert_array_equal(r.status, [1, 1])
        np.testing.assert_allclose(r["last_t"] if "last_t" in r.names else r[r.names[0]],
                                   np.sqrt(2 * np.array([1, 4]) / 9.81), rtol=1e-7)

    def test_failed_runs_are_data(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            r = shoal.solve_ivp(lambda t, y, a: y * y * a, (0, 2), [1.0], args={"a": np.array([0.1, 1.0])})
        self.assertEqual([w.category for w in said], [shoal.FailedRuns])
        np.testing.assert_array_equal(r.success, [True, False])
        self.assertTrue(np.isnan(r["y0"][1]))
        self.assertTrue(np.isfinite(r["y0"][0]))
        np.testing.assert_array_equal(r.failed, [1])

    def test_models_with_their_own_values(self):
        r = shoal.solve_ivp(LORENZ, (0, 1), params={"r": 14.0}, **TIGHT)
        again = shoal.solve_ivp(shoal.Model(LORENZ).set(r=14), (0, 1), **TIGHT)
        np.testing.assert_array_equal(r.y, again.y)

    def test_a_solver_may_vary_what_was_set(self):
        r = np.array([1.0, 14.0])
        s = shoal.Solver(LORENZ, (0, 1), params={"r": 3.0, "x": 2.0}, **TIGHT)
        t = shoal.Solver(shoal.Model(LORENZ), (0, 1), **TIGHT)
        np.testing.assert_array_equal(s(r=r).y, t(r=r, x=2.0).y)
        np.testing.assert_array_equal(s().y, t(r=3.0, x=2.0).y)
        f = shoal.Solver(decay, (0, 1), [1.0], args={"k": 5.0}, **TIGHT)
        np.testing.assert_allclose(f(k=np.array([1.0, 2.0]))["y0"], np.exp([-1, -2]), rtol=1e-8)
        np.testing.assert_allclose(f(y0=np.array([1.0, 2.0]))["y0"], np.exp(-5) * np.array([1, 2]), rtol=1e-7)
        with self.assertRaises(TypeError):
            shoal.solve_ivp(LORENZ, (0, 1), [1, 1, 1], params={"x": np.ones(2)})

    def test_rerun_of_some(self):
        k = np.array([1.0, 2.0, 3.0])
        r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": k})
        some = r.rerun(only=[2, 0], rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(some["y0"], np.exp([-3, -1]), rtol=1e-9)

    def test_tables(self):
        k = np.array([1.0, 2.0, 3.0])
        want = np.exp(-k)
        table = np.array([(v,) for v in k], dtype=[("k", float)])
        tables = [table]
        if pandas:
            tables.append(pandas.DataFrame({"k": k}))
        for t in tables:
            r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": 1.0}, params=t, **TIGHT)
            np.testing.assert_allclose(r["y0"], want, rtol=1e-8)

    def test_reductions(self):
        k = np.linspace(0, 1, 101)
        r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": k}, reduce="mean,min,max", **TIGHT)
        np.testing.assert_allclose(r["y0.mean"], [np.exp(-k).mean()], rtol=1e-8)
        np.testing.assert_allclose(r["y0.max"], [1], rtol=1e-8)
        r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": k}, reduce="mean", t_eval=[0, 0.5, 1], **TIGHT)
        np.testing.assert_allclose(r["y0.mean"], [[np.exp(-k * t).mean() for t in (0, 0.5, 1)]], rtol=1e-8)

    @unittest.skipUnless(pandas and xarray, "needs pandas and xarray")
    def test_elsewhere(self):
        g = shoal.product(k=[1.0, 2.0], y0=[1.0, 3.0, 5.0])
        r = shoal.solve_ivp(decay, (0, 1), {"y0": g["y0"]}, args={"k": g["k"]}, t_eval=[0, 1], **TIGHT)
        d = r.to_xarray()
        self.assertEqual(dict(d.sizes), {"k": 2, "y0(0)": 3, "t": 2})
        self.assertAlmostEqual(float(d["y0"].sel(k=2.0, t=1.0)[2]), 5 * np.exp(-2), 7)
        f = r.to_pandas()
        self.assertEqual(len(f), 12)
        self.assertAlmostEqual(f[(f.k == 2) & (f["y0(0)"] == 5) & (f.t == 1)]["y0"].item(), 5 * np.exp(-2), 7)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.npz")
            r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": np.array([1.0, 2.0])}, **TIGHT)
            r.save(path)
            file = shoal.load(path)
            np.testing.assert_array_equal(file["y0"], r["y0"])
            np.testing.assert_array_equal(file["k"], r["k"])
            r.save(os.path.join(folder, "out.csv"))
            table = shoal.load(os.path.join(folder, "out.csv"))
            np.testing.assert_array_equal(table["y0"], r["y0"])

    def test_files_of_everything(self):
        grid = shoal.product(k=[1.0, 2.0, 3.0], y0=[1.0, 3.0])
        kinds = [{}, {"t_eval": [0, 0.5, 1], "precision": "f32"}, {"summary": "max(y0)", "window": 0.5},
                 {"save": "steps"}, {"reduce": "mean,max", "by": "k"}, {"t_eval": [1, 0], "t_span": (1, 0)}]
        for options in kinds:
            given = {"t_span": (0, 1), "y0": {"y0": grid["y0"]}, "args": {"k": grid["k"]}, **options}
            r = shoal.solve_ivp(decay, **given)
            calls = r._solver._core.calls
            with self.subTest(**options), tempfile.TemporaryDirectory() as folder:
                for ending in ("npz", "csv", "h5"):
                    try:
                        r.save(os.path.join(folder, f"out.{ending}"))
                    except shoal.FileError:  # there is no HDF5
                        self.assertEqual(ending, "h5")
                file = shoal.load(os.path.join(folder, "out.npz"))
                self.assertEqual(r._solver._core.calls, calls)  # nothing ran
                for name in r._arrays:
                    np.testing.assert_array_equal(file[name].ravel(), r[name].ravel())
                if "save" in options:
                    np.testing.assert_array_equal(file["y0"], np.concatenate(list(r["y0"].ravel())))
                elif r._y is not None:
                    np.testing.assert_array_equal(file["y0"].ravel(), r["y0"].ravel())
                self.assertIn('"complete": true', str(file["meta"]))
                self.assertTrue(r.timing.spans)

    def test_solvers_have_times_of_events(self):
        def swing(t, y):
            return [y[1], -y[0]]

        def half(t, y):
            return y[0] - 0.5

        want = np.sort(np.concatenate([2 * np.pi * n + np.array([-1, 1]) * np.pi / 3 for n in range(0, 14)]))
        for options in ({}, {"t_eval": [1.0, 2.0]}, {"save": "steps"}):
            for end in (10.0, 80.0):  # some, and more than there is room for at first
                s = shoal.Solver(swing, (0, end), [1.0, 0.0], events=[half], **TIGHT, **options)
                for s in (s, pickle.loads(pickle.dumps(s))):
                    r = s(y1=np.array([0.0, 0.0]))
                    times = want[(want > 0) & (want < end)]
                    np.testing.assert_allclose(r.t_events[0], [times, times], atol=1e-6)
                    np.testing.assert_allclose(r.y_events[0][..., 0], 0.5, atol=1e-6)
        out = np.empty((2, 2))
        s = shoal.Solver(swing, (0, 80), [1.0, 0.0], events=[half], **TIGHT)
        for shift in (0.0, 0.25):
            r = s(y0=np.array([1.0, 0.75]) + shift, out=out)
            self.assertTrue(np.shares_memory(out, r.y))
            self.assertEqual(r.t_events[0].shape, s(y0=np.array([1.0, 0.75]) + shift).t_events[0].shape)
        self.assertIs(s(y0=np.ones(2), out=r), r)

    def test_a_signal_for_each_run(self):
        t = np.linspace(0, 10, 101)
        text, signals = "driver u\nx'=k*u\ninit x=0\npar k=1\n", np.stack([np.cos(t), np.ones_like(t), t])
        ends = np.array([np.sin(10), 10, 50])
        by_number = shoal.Solver(text, (0, 10), drivers={"u": (t, signals, "cubic,by=_id")}, **TIGHT)
        by_word = shoal.Solver(text, (0, 10), drivers={"u": (t, signals, "cubic,by=_id", ["a", "b", "c"])}, **TIGHT)
        out = np.empty((4, 1))
        for ids in ([2, 0, 1, 2], [0, 1, 2, 0], [1, 1, 0, 2]):  # in the same memory: nothing of the last call is left
            for s, column in ((by_number, np.array(ids)), (pickle.loads(pickle.dumps(by_word)), np.array(list("abc"))[ids])):
                np.testing.assert_allclose(s(_id=column, k=np.arange(4.0), out=out)["x"], ends[ids] * np.arange(4), atol=1e-6)
                np.testing.assert_array_equal(s(_id=column)["_id"], column)
        np.testing.assert_allclose(by_word(_id=["c", "a"]).rerun(only=[1])["x"], ends[:1], atol=1e-6)
        for wrong in ((t, signals), (t, signals, "linear,by=_id", [1, 2]), (t, signals[None], "linear,by=_id")):
            with self.assertRaisesRegex((TypeError, ValueError), "driver u"):
                shoal.Solver(text, (0, 10), drivers={"u": wrong})
        for wrong in ({}, {"_id": [0, 7]}, {"_id": ["a", "b"]}, {"_id": [np.nan, 1]}):
            with self.assertRaises(shoal.ModelError):
                by_number(wrong)

    def test_groups(self):
        text = "x'=-k*x+a*b\ninit x=1\npar k=1,a=1,b=1\n"
        grid = shoal.product(a=[1, 2, 3], b=[5, 6], k=np.linspace(0, 1, 9))
        every = shoal.solve_ivp(text, (0, 1), params=grid, t_eval=[0, 0.5, 1])["x"]
        r = shoal.solve_ivp(text, (0, 1), params=grid, t_eval=[0, 0.5, 1], reduce="mean,max", by=["b", "a"])
        self.assertEqual((r.shape, r["b"].tolist()), ((3, 2), [[5, 6]] * 3))
        np.testing.assert_allclose(r["x.mean"], every.mean(axis=2), rtol=1e-14)
        np.testing.assert_array_equal(r["x.max"], every.max(axis=2))
        r = shoal.solve_ivp(text, (0, 1), sweep=["a=1,2,3", "k=lin:0:1:9"], params={"b": 5}, reduce="mean", by="a")
        np.testing.assert_allclose(r["x.mean"], every[:, 0, :, -1].mean(axis=1), rtol=1e-12)
        np.testing.assert_array_equal(r["a"], [1, 2, 3])
        random = np.random.default_rng(1)
        arm, a = random.choice(["x", "y", "z"], 40), random.choice([1.0, 2.0], 40)
        given = {"_arm": arm, "a": a, "k": np.linspace(0, 1, 40), "b": 2}
        every = shoal.solve_ivp(text, (0, 1), params=given)["x"]
        r = shoal.solve_ivp(text, (0, 1), params=given, reduce="mean", by="_arm,a")
        self.assertEqual(r.shape, (6,))
        for word, number, mean, n in zip(r["_arm"], r["a"], r["x.mean"], r["x.n"]):
            mine = (arm == word) & (a == number)
            self.assertAlmostEqual(mean, every[mine].mean(), 14)
            self.assertEqual(n, mine.sum())
        with tempfile.TemporaryDirectory() as place:
            r.save(place + "/o.npz")
            self.assertEqual(shoal.load(place + "/o.npz")["_arm"].tolist(), r["_arm"].tolist())

    def test_groups_of_no_number(self):
        s = shoal.Solver("x'=-a*x\npar a=1\ninit x=1\n", (0, 1), reduce="mean", by="a")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", shoal.FailedRuns)
            self.assertEqual(s(a=np.array([np.nan, 1.0]))["x.n"].tolist(), [0, 1])
        with self.assertRaisesRegex(TypeError, "a is None"):
            s(a=None)

    def test_words_of_batch_files(self):
        """As the command line has them: in each run, and of groups, with those that have no run."""
        text = "x'=-k*x+s\ninit x=1\npar k=1,s=0\n"
        with tempfile.TemporaryDirectory() as place:
            file = place + "/b.csv"
            with open(file, "w") as f:
                f.write("k,_arm,_id\n1,treated,4\n2,control,5\n3,treated,6\n4,other,6\n")
            r = shoal.solve_ivp(text, (0, 1), batch=file)
            self.assertEqual(r["_arm"].tolist(), ["treated", "control", "treated", "other"])
            self.assertEqual(r["_id"].tolist(), [4, 5, 6, 6])
            self.assertEqual(r.rerun(only=[1, 3])["_arm"].tolist(), ["control", "other"])
            for more in ({"by": "_arm"}, {"by": "_arm,s", "sweep": "s=0,1"}, {"by": ["_arm"], "only_runs": "1:3"},
                         {"by": "_id,_arm"}, {"by": "_arm", "sample": "s=uniform:0:1", "runs": 3}):
                r = shoal.solve_ivp(text, (0, 1), batch=file, reduce="mean", **more)
                r.save(place + "/o.npz")
                kept = shoal.load(place + "/o.npz")
                for name in r.inputs:
                    self.assertEqual(r[name].ravel().tolist(), kept[name].ravel().tolist(), (more, name))
                self.assertEqual(set(r["_arm"].ravel().tolist()), {"treated", "control", "other"})
                with self.assertRaisesRegex(KeyError, "there is x.mean"):
                    r["k"]

    def test_groups_elsewhere(self):
        try:
            import pandas
            import xarray
        except ImportError:
            self.skipTest("needs pandas and xarray")
        runs = {**shoal.product(a=[1, 2, 3], k=np.linspace(0, 1, 9)), "_arm": np.array(["u", "v"])[:, None, None]}
        r = shoal.solve_ivp("x'=-k*x+a\npar k=1,a=1\n", (0, 1), params=runs, t_eval=[0, 1], reduce="mean", by="_arm,a")
        d = r.to_xarray()
        self.assertEqual(dict(d["x.mean"].sizes), {"_arm": 2, "a": 3, "t": 2})
        self.assertEqual(float(d["x.mean"].sel(_arm="v", a=2, t=1)), r["x.mean"][1, 1, 1])
        table = r.to_pandas()
        self.assertEqual([*table.columns], ["_arm", "a", "t", "x.mean", "x.n", "failed"])
        row = table[(table._arm == "v") & (table.a == 2) & (table.t == 1)]
        self.assertEqual(row["x.mean"].item(), r["x.mean"][1, 1, 1])

    def test_drivers(self):
        t = np.linspace(0, 10, 201)
        text = "driver u\nx'=k*u\ninit x=0\npar k=1\n"
        for how in ((), ("cubic",), ("linear,ends=hold",)):
            r = shoal.solve_ivp(text, (0, 10), params={"k": np.array([1.0, 2.0])}, drivers={"u": (t, np.cos(t), *how)}, **TIGHT)
            np.testing.assert_allclose(r["x"], [np.sin(10), 2 * np.sin(10)], rtol=1e-3)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "u.csv")
            np.savetxt(path, np.stack([t, np.cos(t)], axis=1), delimiter=",", header="t,u", comments="")
            s = shoal.Solver(text, (0, 10), drivers={"u": path + ",linear,ends=hold"}, **TIGHT)
        np.testing.assert_allclose(s(k=np.array([1.0, 2.0]))["x"], r["x"], rtol=1e-12)
        for wrong in (3, (t,), (t, t, "cubic", 1), [t, t]):
            with self.assertRaisesRegex(TypeError, "driver u"):
                shoal.Solver(text, (0, 10), drivers={"u": wrong})

    def test_calibrate(self):
        for seconds in (1, 5, 25):  # a compiler may take long
            rows = shoal.calibrate("x'=-x" + chr(10) + "init x=1", seconds=seconds, device="cpu", t1=1)
            if rows:
                break
        self.assertEqual([r.runs for r in rows], sorted(r.runs for r in rows))
        self.assertTrue(all(r.cpu > 0 and r.choice == "cpu" for r in rows))
        with self.assertRaises(TypeError):
            shoal.calibrate(3)

    def test_atol_of_each_state(self):
        def swing(t, y):
            return [y[1], -y[0]]

        given = {"t_span": (0, 1), "y0": [1.0, 0.0], "t_eval": [1.0], "rtol": 1e-9}
        want = shoal.solve_ivp(swing, atol={"y0": 1e-9, "y1": 1e-3}, **given)
        got = shoal.solve_ivp(swing, atol=np.array([1e-9, 1e-3]), **given)
        np.testing.assert_array_equal(got.y, want.y)
        np.testing.assert_array_equal(want.rerun(atol=[1e-9, 1e-3]).y.ravel(), want.y.ravel())

    def test_edges_of_windows(self):
        r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": np.arange(1.0, 5)}, summary="max(y0)", window=0.25)
        np.testing.assert_array_equal(r["window_t"], [0, 0.25, 0.5, 0.75, 1])
        self.assertEqual(r["max(y0)"].shape, (4, 4))

    def test_empty_batch(self):
        with self.assertRaises((shoal.Error, ValueError)):
            shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": np.array([])})


class Refusals(unittest.TestCase):
    def refused(self, error, part, *args, **options):
        with self.assertRaises(error) as caught:
            shoal.solve_ivp(*args, **options)
        self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_names(self):
        self.refused(TypeError, "dense_output", decay, (0, 1), [1], args=(1,), dense_output=True)
        self.refused(TypeError, "rtol", decay, (0, 1), [1], args=(1,), rtoll=1e-3)
        self.refused(TypeError, "'q'", decay, (0, 1), [1], args={"k": 1, "q": 2})
        self.refused(TypeError, "'k'", decay, (0, 1), [1])
        self.refused(TypeError, "y0", decay, (0, 1), args=(1,))
        self.refused(ValueError, "3 states", LORENZ, (0, 1), [1, 2])
        self.refused(ValueError, "sorted", decay, (0, 1), [1], args=(1,), t_eval=[0, 1, 0.5])
        self.refused(shoal.ModelError, "nosuch", LORENZ, (0, 1), params={"nosuch": np.ones(3)})
        self.refused(shoal.ModelError, "method", LORENZ, (0, 1), method="nosuch")
        self.refused(shoal.FileError, "nosuch.ode", "nosuch.ode", (0, 1))
        self.refused(TypeError, "args", LORENZ, (0, 1), args=(1,))
        self.refused(TypeError, "given by name", decay, (0, 1), [1], args=(np.ones(3),))
        self.refused(TypeError, "complex", decay, (0, 1), [1 + 1j], args=(1,))
        self.refused(TypeError, "complex", decay, (0, 1), [1], args={"k": np.array([1, 1j])})
        self.refused(TypeError, "complex", decay, (0, 1), [1], args=(np.array(1j),))
        self.refused(TypeError, "real", decay, (0, 1), ["1"], args=(1,))
        self.refused(ValueError, "atol", decay, (0, 1), [1], args=(1,), atol=[1e-6, 1e-6])

    def test_model_errors_say_where(self):
        e = self.refused(shoal.ModelError, "^", "x' = y +\ny' = zz\n", (0, 1))
        self.assertEqual([(m[0], m[3]) for m in e.messages], [("error", 1), ("error", 2)])
        self.assertIsInstance(e, ValueError)

    def test_words_of_scipy(self):
        decay = lambda t, y: -y
        for more, error, what in (
                ({"t_eval": [0, 0.1, 0.30000000000000004]}, ValueError, "t_eval has 0.30000000000000004.*outside of t_span"),
                ({"y0": [np.nan]}, ValueError, "is nan, not a finite number"), ({"y0": []}, ValueError, "y0 is empty"),
                ({"y0": [1j]}, TypeError, "y0 is an array of complex128"), ({"jac": -np.eye(2)}, TypeError, "jac is not supported"),
                ({"jac": np.zeros((1, 1))}, TypeError, "jac is not supported"), ({"y0": np.ma.array([1.0], mask=[1])}, TypeError, "masked"),
                ({"drivers": [1]}, TypeError, "drivers is a dict"), ({"params": {"y0": None}, "y0": None}, TypeError, "needs y0"),
                ({"method": 5}, TypeError, "a method is a name")):
            with self.assertRaisesRegex(error, what):
                shoal.solve_ivp(decay, (0, 0.3), **{"y0": [1.0], **more})

        class DOP853:  # as scipy.integrate has it
            pass

        one, other = (shoal.solve_ivp(decay, (0, 1), [1], m, jac=None, dense_output=False) for m in (DOP853, "DOP853"))
        np.testing.assert_array_equal(one.y, other.y)

    def test_lsoda_is_a_note(self):
        with self.assertWarnsRegex(UserWarning, "LSODA"):
            shoal.solve_ivp(decay, (0, 1), [1], args=(1,), method="LSODA")


if __name__ == "__main__":
    unittest.main()
