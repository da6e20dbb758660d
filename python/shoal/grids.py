# SPDX-License-Identifier: MIT
"""Pipelines on batches of small integer grids (docs/grid.md)."""

from __future__ import annotations

import functools
import importlib
import warnings
from typing import Any

import numpy as np

from . import _core
from .options import pairs_of

_CELLS = (np.dtype(np.uint8), np.dtype(np.int16), np.dtype(np.int32))


class MarkedGrids(RuntimeWarning):
    """A pipeline could not be applied to some grids."""


@functools.cache
def _words() -> list[tuple[str, str]]:
    return _core.grid_statuses()


class Grid:
    """A pipeline that is applied to stacks or lists of grids; made by :func:`grid`."""

    def __init__(self, text: str, options: dict[str, Any]) -> None:
        words, batch_words = pairs_of(options)
        if batch_words:
            raise TypeError(f"a pipeline has no option {batch_words[0][0]!r}")
        self.text = text
        self._words = tuple(words)
        self._core = _core.grid(text, self._words)

    def __call__(self, grids: Any, *, dtype: Any = None, out: np.ndarray | None = None,
                 return_status: bool = False) -> Any:
        """The results: a stack for a stack where all have one shape, else a list.

        ``out`` is a stack that they are written to.

        A grid that the pipeline cannot be applied to is zeros in a stack and ``None`` in a list; a
        warning tells, or with ``return_status`` an array of words is returned beside.
        """
        given, stack = _given(grids)
        if out is not None:
            dtype = out.dtype
        out_type = given[1] if dtype is None else _cell(dtype)
        results, status = self._run(given, out_type, stack, out)
        if return_status:
            return results, np.array([_words()[s][0] for s in status.tolist()])
        if status.any():
            marked = np.flatnonzero(status)
            word, text = _words()[int(status[marked[0]])]
            warnings.warn(f"{marked.size} of {status.size} grids are marked, the first is {marked[0]}: "
                          f"{word}, {text}", MarkedGrids, stacklevel=2)
        return results

    def _run(self, given: tuple[Any, ...], out_type: int, stack: bool,
             out: np.ndarray | None) -> tuple[Any, np.ndarray]:
        count = given[0]
        shapes, offsets = np.empty((count, 2), np.int32), np.empty(count, np.uint64)
        status = np.empty(count, np.uint8)
        needed, height, width = self._core.shapes(given, (out_type, None, shapes, offsets, status))
        if out is None:
            cells = np.empty(needed, _CELLS[out_type])
        elif out.shape == (count, height, width) and out.flags.c_contiguous:
            cells = out.reshape(-1)
        else:
            raise ValueError(f"out is no dense array of the shape {(count, height, width)}")
        _, height, width = self._core.run(given, (out_type, cells, shapes, offsets, status))
        if height and stack:
            return cells[: count * height * width].reshape(count, height, width), status
        return _core.grid_views(_numpy_table(), cells, shapes, offsets, status), status

    def warm(self, grids: Any) -> None:
        """Compiles and loads what batches like this one need, and runs it once."""
        given, _ = _given(grids)
        self._core.ready(given, (given[1], None, None, None, None))
        self(grids, return_status=True)

    @property
    def device(self) -> str:
        """Where the last batch ran, in words."""
        return self._core.device

    def __repr__(self) -> str:
        return f"<shoal.Grid {self.text!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.text, self._words)


def _again(text: str, words: tuple[tuple[str, str], ...]) -> Grid:
    return Grid(text, {name.replace("-", "_"): value for name, value in words})


@functools.cache
def _numpy_table() -> Any:
    """NumPy's functions for C; None where they are not to be had."""
    for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"):
        try:
            return importlib.import_module(name)._ARRAY_API
        except (ImportError, AttributeError):
            pass
    return None


def _cell(dtype: Any) -> int:
    try:
        return _CELLS.index(np.dtype(dtype))
    except ValueError:
        raise TypeError(f"cells are uint8, int16 or int32, not {np.dtype(dtype)}") from None


def _cells(array: np.ndarray) -> np.ndarray:
    """With a type of ours: other integers as int32, if they fit."""
    if array.dtype in _CELLS:
        return array
    if array.dtype.kind not in "iub":
        raise TypeError(f"cells are integers, not {array.dtype}")
    small = array.astype(np.int32)
    if (small != array).any():
        raise OverflowError("a cell does not fit int32")
    return small


def _given(grids: Any) -> tuple[tuple[Any, ...], bool]:
    """(count, type, height, width, cells, shapes, offsets), and whether it is a stack."""
    if isinstance(grids, np.ndarray) and grids.dtype != object:
        if grids.ndim != 3:
            raise ValueError("a stack of grids has three axes: grid, row, column")
        cells = np.ascontiguousarray(_cells(grids))
        count, height, width = cells.shape
        return (count, _cell(cells.dtype), height, width, cells, None, None), True
    return _given_list(list(grids)), False


def _given_list(arrays: list[Any]) -> tuple[Any, ...]:
    try:
        return _core.grid_pack(arrays)
    except (TypeError, BufferError, ValueError):  # not arrays of one type of ours as they are
        arrays = [np.ascontiguousarray(_cells(np.asarray(a))) for a in arrays]
        if len({a.dtype for a in arrays}) > 1:
            arrays = [a.astype(np.int32) for a in arrays]
        return _core.grid_pack(arrays)


def grid(text: str, *, threshold: int | None = None, **options: Any) -> Grid:
    """A pipeline on integer grids, compiled once.

    >>> g = shoal.grid("rot90 | mask(v>5)")
    >>> g(np.array([[[1, 9], [7, 3]]], dtype=np.uint8))
    array([[[9, 0],
            [0, 7]]], dtype=uint8)
    """
    return Grid(text, {"threshold": threshold, **options})
