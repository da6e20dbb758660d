# SPDX-License-Identifier: MIT
"""Millions of trajectories of one small dynamical system, on all cores or a GPU.

>>> import numpy as np, shoal
>>> def decay(t, y, k):
...     return -k * y
>>> r = shoal.solve_ivp(decay, (0, 1), [1.0], args={"k": np.array([1.0, 2.0])}, rtol=1e-10, atol=1e-12)
>>> np.allclose(r["y0"], np.exp([-1, -2]), rtol=1e-8)
True

A model is a file, a text in Shoal's language, or a Python function, which is traced once and
compiled; ``docs/python.md`` of the project compares it with SciPy, CuBIE and diffrax.
"""

from . import cache
from ._core import (
    DeviceError,
    Error,
    FileError,
    ModelError,
    OutOfMemory,
    Stopped,
    UsageError,
    version as __version__,
)
from .grids import Grid, MarkedGrids, grid
from .machine import calibrate, devices, empty, methods, use_compiler_of_packages, use_nvrtc_of_packages
from .model import Model
from .options import options
from .result import FailedRuns, Result, load
from .solve import Solver, product, solve_ivp, warm
from .trace import TraceError, trace, when

use_compiler_of_packages()
use_nvrtc_of_packages()

__all__ = [
    "DeviceError",
    "Error",
    "FailedRuns",
    "FileError",
    "Grid",
    "MarkedGrids",
    "Model",
    "ModelError",
    "OutOfMemory",
    "Result",
    "Solver",
    "Stopped",
    "TraceError",
    "UsageError",
    "cache",
    "calibrate",
    "devices",
    "empty",
    "grid",
    "load",
    "methods",
    "options",
    "product",
    "solve_ivp",
    "trace",
    "warm",
    "when",
]
