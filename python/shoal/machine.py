# SPDX-License-Identifier: MIT
"""Devices, methods, and the compilers that pip installs."""

from __future__ import annotations

import math
import operator
import os
import shutil
import sys
from typing import Any, Literal, NamedTuple

import numpy as np

from . import _core
from .model import model_of
from .options import pairs_of


class Device(NamedTuple):
    """A device that a batch can run on."""

    name: str
    description: str
    usable: bool


class Method(NamedTuple):
    """A method of integration."""

    name: str
    aliases: list[str]
    order: int
    embedded_order: int
    stability: str
    good_for: str


def devices() -> list[Device]:
    """What there is to run on; the CPU comes first.

    >>> import shoal
    >>> shoal.devices()[0].name
    'cpu'
    """
    return [Device(*row) for row in _core.devices()]


def methods() -> list[Method]:
    """All methods of integration, as ``shoal methods`` lists them."""
    return [Method(m[0], m[1].split(), *m[2:]) for m in _core.methods()]


def empty(shape: Any, dtype: Any = float, order: Literal["C", "F"] = "C",
          device: str | None = None) -> np.ndarray:
    """An array like ``numpy.empty``, in memory that a CUDA device copies from and to by itself.

    Use it for large values of a batch, in the precision of the solver, and as ``out``, with
    ``order="F"``: rows of a variable then lie as the device has them. Where there is no such device
    (``device`` as in the options) it is ordinary memory. It is freed with the array.

    >>> y = shoal.empty((1000, 3), np.float32, order="F")
    >>> y.shape, y.strides
    ((1000, 3), (4, 4000))
    """
    lengths = (operator.index(shape),) if np.ndim(shape) == 0 else tuple(operator.index(n) for n in shape)
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise TypeError(f"{kind} holds Python objects")
    if any(n < 0 for n in lengths):
        raise ValueError("negative dimensions are not allowed")
    return np.ndarray(lengths, kind, _core.alloc(math.prod(lengths) * kind.itemsize, device), order=order)


class Calibration(NamedTuple):
    """What batches of one size take: seconds on the CPU, and on a device with and without its start."""

    workload: str
    device: str
    runs: int
    cpu: float
    cold: float
    warm: float
    choice: str


def calibrate(model: Any = None, seconds: float = 0, **options: Any) -> list[Calibration]:
    """Measures this machine for ``device="auto"``, as ``shoal calibrate`` does, and keeps the numbers.

    It takes about so many ``seconds`` (0: less than 30), with workloads of its own or those of a model.
    """
    core = None if model is None else model_of(model)._core
    words, batch_words = pairs_of(options)
    if batch_words:
        raise TypeError(f"{batch_words[0][0]} describes a batch; those of a calibration are its own")
    return [Calibration(*row) for row in _core.calibrate(core, tuple(words), float(seconds))]


def use_nvrtc_of_packages() -> None:
    """NVRTC as pip installs it (``pip install shoal[cuda]``), unless SHOAL_NVRTC names one."""
    if "SHOAL_NVRTC" in os.environ:
        return
    for folder in sys.path:
        try:
            parts = os.listdir(os.path.join(folder, "nvidia"))
        except OSError:
            continue
        for part in sorted(parts, reverse=True):
            place = os.path.join(folder, "nvidia", part, "lib")
            found = [f for f in _files(place) if f.startswith("libnvrtc.so.")]
            if found:
                os.environ["SHOAL_NVRTC"] = os.path.join(place, sorted(found)[0])
                return


def use_compiler_of_packages() -> None:
    """The C compiler as pip installs it (``pip install shoal[cc]``), where there is no other."""
    if os.environ.get("SHOAL_CC") or shutil.which("cc"):
        return
    for folder in sys.path:
        zig = os.path.join(os.path.abspath(folder), "ziglang", "zig")
        if os.access(zig, os.X_OK):
            os.environ["SHOAL_CC"] = zig
            return


def _files(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
