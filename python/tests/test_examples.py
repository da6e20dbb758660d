# SPDX-License-Identifier: MIT
"""The scripts of examples/python, small, against what they should find."""

import importlib.util
import pathlib
import unittest

import numpy as np

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "python"


def script(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Examples(unittest.TestCase):
    def test_all_are_here(self):
        names = {p.stem for p in FOLDER.glob("*.py")}
        tested = {n.removeprefix("test_") for n in dir(self) if n.startswith("test_")}
        self.assertEqual(names - tested, set())

    def test_bifurcation(self):
        rho, values = script("bifurcation").maxima(9)
        self.assertEqual(rho.size, 9)
        self.assertTrue(np.nanmax(values[-1]) > np.nanmax(values[0]) > 10)

    def test_basins(self):
        which = script("basins").basins(9)
        self.assertEqual(set(which.ravel()), {0, 1, 2})
        self.assertEqual(which[6, 4], 0)  # it starts at the first magnet

    def test_firing_rate(self):
        current, rate = script("firing_rate").rates(5)
        self.assertEqual(rate[0], 0)
        self.assertTrue(50 < rate[2] < 90)

    def test_patients(self):
        t, (low, middle, high) = script("patients").percentiles(200)
        self.assertTrue((low <= middle).all() and (middle <= high).all() and 2 < middle.max() < 4)

    def test_forecast(self):
        t, s = script("forecast").spread(20)
        self.assertTrue(s[0] < 0.002 and s[-1] > 1)

    def test_fit(self):
        module = script("fit")
        found, error = module.fit(6)
        np.testing.assert_allclose(found, module.TRUE, rtol=0.05)
        self.assertLess(error, 0.03)

    def test_mcmc(self):
        module = script("mcmc")
        p = module.sample(40, 60)
        np.testing.assert_allclose(p.mean(axis=0), module.TRUE, rtol=0.05)


if __name__ == "__main__":
    unittest.main()
