# SPDX-License-Identifier: MIT
"""The kernels that are kept on disk."""

from __future__ import annotations

from typing import NamedTuple

from . import _core


class Kernel(NamedTuple):
    """A kernel that is kept."""

    key: str
    target: str
    model: str
    method: str
    precision: str
    bytes: int
    compile_seconds: float


def place() -> str:
    """The directory of the cache; ``""`` when there is none."""
    return _core.cache_place()


def kernels() -> list[Kernel]:
    """All kernels that are kept."""
    return [Kernel(*row) for row in _core.cache_list()]


def clear(model: str | None = None, unused: float = 0.0, stale: bool = False) -> int:
    """Removes kernels: of a model, those not used for so many seconds, or whose compiler is gone."""
    return _core.cache_clear(model, unused, stale)
