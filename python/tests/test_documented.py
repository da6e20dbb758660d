# SPDX-License-Identifier: MIT
"""Examples of docstrings and of docs/python.md are run; stubs and docstrings are complete."""

import doctest
import importlib
import inspect
import os
import pathlib
import tempfile
import unittest

import numpy as np

import shoal

MODULES = ["shoal", "shoal.machine", "shoal.cache", "shoal.options", "shoal.grids", "shoal.model", "shoal.trace",
           "shoal.solve", "shoal.result"]
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"


def names():
    return {"np": np, "shoal": shoal}


class Documented(unittest.TestCase):
    def test_docstrings(self):
        ran = 0
        for name in MODULES:
            result = doctest.testmod(importlib.import_module(name), extraglobs=names())
            self.assertEqual(result.failed, 0, name)
            ran += result.attempted
        self.assertGreater(ran, 10)

    def test_page(self):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                result = doctest.testfile(str(PAGE), module_relative=False, globs=names())
            finally:
                os.chdir(here)
        self.assertEqual(result.failed, 0)
        self.assertGreater(result.attempted, 10)

    def test_every_public_thing_has_a_docstring(self):
        for name in shoal.__all__:
            thing = getattr(shoal, name)
            self.assertTrue(inspect.getdoc(thing), name)
            if inspect.isclass(thing):
                for part, value in vars(thing).items():
                    if not part.startswith("_") and (callable(value) or isinstance(value, property)):
                        self.assertTrue(inspect.getdoc(value), f"{name}.{part}")

    def test_options_are_those_of_the_library(self):
        self.assertGreater(len(shoal.options()), 40)
        for name in ("rtol", "dt_max", "save", "sweep", "device"):
            self.assertIn(name, shoal.options())


if __name__ == "__main__":
    unittest.main()
