# SPDX-License-Identifier: MIT
"""The C compiler that pip installs: where it is looked for, and what is said where there is none."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

MODEL = "x'=v\nv'=-sin(x)+exp(-t)\ninit x=1,v=0\n"
WHICH = "import os, shoal; print(os.environ.get('SHOAL_CC'))"
RUN = f"import shoal; print(repr(shoal.solve_ivp({MODEL!r}, (0, 5), t_eval=[5.0]).y.tolist()))"


class Compiler(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def python(self, code, *folders, path=None, **env):
        """A new process in which only these folders, NumPy and the package are found."""
        import shoal

        own = [os.path.dirname(os.path.dirname(m.__file__)) for m in (shoal, np)]
        env = {"PATH": self.folder if path is None else path, "SHOAL_CACHE_DIR": self.folder, **env}
        code = f"import sys; sys.path[1:1] = {[*folders, *own]!r}\n" + code
        return subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True)

    def fake(self):
        """A package ziglang."""
        place = os.path.join(self.folder, "site", "ziglang")
        os.makedirs(place)
        zig = os.path.join(place, "zig")
        with open(zig, "w") as file:
            file.write("#!/bin/sh\nexit 1\n")
        os.chmod(zig, 0o755)
        return os.path.dirname(place), zig

    def test_is_found_where_there_is_no_other(self):
        site, zig = self.fake()
        self.assertEqual(self.python(WHICH, site).stdout.strip(), zig)
        self.assertEqual(self.python(WHICH, site, SHOAL_CC="").stdout.strip(), zig)

    def test_another_comes_first(self):
        site, _ = self.fake()
        with open(os.path.join(self.folder, "cc"), "w") as file:
            file.write("#!/bin/sh\n")
        os.chmod(file.name, 0o755)
        self.assertEqual(self.python(WHICH, site).stdout.strip(), "None")
        self.assertEqual(self.python(WHICH, site, path="", SHOAL_CC="mine").stdout.strip(), "mine")

    def test_none(self):
        if importlib.util.find_spec("ziglang"):
            self.skipTest("ziglang is installed")
        p = self.python(RUN)
        self.assertEqual(p.returncode, 1)
        self.assertIn("shoal.DeviceError", p.stderr)
        self.assertIn("pip install shoal[cc]", p.stderr)

    def test_runs(self):
        found = importlib.util.find_spec("ziglang")
        if not found or not found.origin:
            self.skipTest("ziglang is not installed")
        p = self.python(RUN, os.path.dirname(os.path.dirname(found.origin)))
        self.assertEqual(p.stderr, "")
        self.assertEqual(p.stdout, self.python(RUN, path=os.environ["PATH"]).stdout)


if __name__ == "__main__":
    unittest.main()
