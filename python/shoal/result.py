# SPDX-License-Identifier: MIT
"""What came out of a run."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np

from . import _core

PENDING = 255


def is_copied(name: str) -> bool:
    """Whether a column of a batch is no input: it goes to results, and runs are grouped and choose signals by it."""
    return name.startswith("_")


def _grid_of(keys: dict[str, np.ndarray], rows: int) -> list[tuple[str, int]] | None:
    """Names and lengths of the axes of groups, the slowest first; none where they are no grid."""
    def block(values: np.ndarray) -> int:
        changes = np.flatnonzero(values != values[0])
        return int(changes[0]) if changes.size else rows

    axes: list[tuple[str, int]] = []
    left = rows
    for name in sorted(keys, key=lambda name: -block(keys[name])):
        inner = block(keys[name])
        if not inner:  # not a number
            return None
        length = left // inner if inner < left else 1
        grid = keys[name].reshape(-1, length, inner) if rows % (length * inner) == 0 else None
        if grid is None or length * inner != left or np.any(grid != grid[:1, :, :1]):
            return None
        axes.append((name, length))
        left = inner
    return axes if left == 1 else None


class FailedRuns(RuntimeWarning):
    """Some trajectories of a batch did not reach their end."""


@functools.cache
def _statuses() -> list[tuple[str, str, str]]:
    return _core.statuses()


def callers_level() -> int:
    """How many frames there are from the caller of this to the first outside the package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    return level


class Tally(NamedTuple):
    """Numbers of a whole run."""

    runs: int
    done: int
    by_status: tuple[int, ...]
    steps: int
    rejected: int
    f_evals: int
    seconds: float
    complete: bool
    method: str
    stiff_method: str | None
    call: int


class Timing(NamedTuple):
    """Where the time of a run went."""

    text: str
    categories: dict[str, float]
    spans: list[tuple[str, str, int, float, float, int]]

    def __str__(self) -> str:
        return self.text


class Result:
    """Results of a batch, or of one run in SciPy's form.

    ``r["x"]`` is a variable, a summary or an array that every result has (``status``, ``steps``,
    ``f_evals``), with the axes of the batch first. ``r.t``, ``r.y``, ``r.status``, ``r.success``,
    ``r.message`` and ``r.nfev`` are SciPy's.
    """

    def __init__(self, solver: Any, batch: Any, shape: tuple[int, ...], arrays: dict[str, np.ndarray],
                 y: np.ndarray | None, wanted: tuple[Any, ...], single: bool,
                 steps: _core.Steps | None = None, keys: dict[str, np.ndarray] | None = None) -> None:
        self._solver, self._batch, self.shape = solver, batch, shape
        self._arrays, self._y, self._wanted, self._single = arrays, y, wanted, single
        self._steps = steps
        self._keys = keys or {}  # of groups of runs
        self._dims: tuple[str, ...] = ("group",)
        self._tally: tuple[Any, ...] | None = None
        self._spans: Timing | None = None
        self._call = 0  # which of the solver's it was

    def _finish(self, tally: tuple[Any, ...] | None) -> None:
        self._tally, self._spans = tally, None
        self._call = tally[-1] if tally else self._solver._core.calls
        if tally and not self._single and tally[1] != tally[2][0] + tally[2][1]:
            failed = tally[1] - tally[2][0] - tally[2][1]
            warnings.warn(f"{failed:,} of {tally[0]:,} runs failed: {self.message}", FailedRuns,
                          stacklevel=callers_level())

    def _group(self) -> None:
        """Gives groups of runs the axes of a grid, where they are one."""
        rows = self.shape[0] if self._is_reduced and self.shape else 0
        axes = _grid_of(self._keys, rows) if self._keys and rows else None
        if axes is None or len(self.shape) != 1:
            return
        self._dims, self.shape = tuple(name for name, _ in axes), tuple(n for _, n in axes)
        self._keys = {k: v.reshape(self.shape) for k, v in self._keys.items()}
        for name, value in self._arrays.items():
            if name not in self._once:
                self._arrays[name] = value.reshape(*self.shape, *value.shape[1:])

    @property
    def _is_reduced(self) -> bool:
        return "status" not in self._arrays

    @property
    def _once(self) -> set[str]:
        """Names of arrays that all rows share."""
        return {a[0] for a in self._solver._arrays if a[7]}

    @property
    def tally(self) -> Tally | None:
        """Numbers of the whole run; none after a stop."""
        return Tally(*self._tally) if self._tally else None

    @property
    def device(self) -> str:
        """Where it ran, in words."""
        self._must_be_last("device")
        return str(self._solver.device)

    def _must_be_last(self, what: str) -> None:
        """The log is the solver's, and of its last run."""
        if self._call != self._solver._core.calls:
            raise RuntimeError(f"the solver has run again since; read {what} before its next run")

    def _give_up(self) -> None:
        """Runs that a stop has left have no values; nor has a reduction."""
        self._finish(None)
        pending: Any = self._arrays["status"] == PENDING if "status" in self._arrays else ...
        for array in (self._y, *self._arrays.values()):
            if array is not None and array.dtype.kind == "f":
                array[pending] = np.nan

    @functools.cached_property
    def _step_lists(self) -> tuple[list[np.ndarray], list[np.ndarray]] | None:
        """Times and values of each run that has steps of its own."""
        if self._steps is None:
            return None
        times, values = [], []
        for row in range(self._batch.rows):
            count = self._steps.count(row)
            t, y = np.empty(count), np.empty((len(self._solver.variables), count))
            self._steps.fill(row, t, y)
            times.append(t)
            values.append(y)
        return times, values

    # ---- arrays --------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names that ``r[...]`` knows."""
        return list(dict.fromkeys([*self._solver.variables, *self._arrays, *self.inputs]))

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What differed from run to run, or from group to group."""
        return self._keys if self._is_reduced else self._batch.inputs()

    def __getitem__(self, name: str) -> np.ndarray:
        name = self._solver._name(name)
        if name in self._solver.variables and (self._y is not None or self._step_lists):
            i = self._solver.variables.index(name)
            if self._step_lists:
                return self._ragged([y[i] for y in self._step_lists[1]])
            return self.y[..., i, :] if self._solver._series else self.y[..., i, 0]
        if name in self._arrays:
            return self._arrays[name]
        inputs = self.inputs
        if name in inputs:
            return inputs[name]
        raise KeyError(f"{name!r}: there is {', '.join(self.names)}")

    def _ragged(self, rows: list[np.ndarray]) -> np.ndarray:
        if self._single:
            return rows[0]
        out = np.empty(len(rows), dtype=object)
        out[:] = rows
        return out.reshape(self.shape)

    @property
    def t(self) -> np.ndarray:
        """Times of the samples; one array, for all runs have the same, but for those of steps."""
        if self._step_lists:
            return self._ragged(self._step_lists[0])
        return self._solver._times[: self._kept()]

    @property
    def y(self) -> np.ndarray:
        """All variables: axes of the batch, then variables, then samples."""
        if self._step_lists:
            return self._ragged(self._step_lists[1])
        if self._y is None:
            raise AttributeError("no states were kept")
        return self._y[..., : self._kept()]

    def _kept(self) -> int | None:
        """Of one run SciPy gives no samples behind the event that stopped it."""
        if not self._single or not self._solver._series or self._arrays["status"] != 1:
            return None
        assert self._y is not None
        return int((~np.isnan(self._y[0])).sum())

    @property
    def _codes(self) -> np.ndarray:
        if "status" not in self._arrays:
            raise AttributeError("a reduction has no status of a run; r.tally counts them")
        return self._arrays["status"]

    @property
    def status(self) -> Any:
        """Of one run SciPy's: 0, 1 (an event) or -1. Of a batch an array: 0 and 1 the same, else why."""
        if not self._single:
            return self._codes
        code = int(self._codes.ravel()[0])
        return code if code <= 1 else -1

    @property
    def success(self) -> Any:
        """Whether a run reached its end."""
        good = self._codes <= 1
        return bool(good.ravel()[0]) if self._single else good

    @property
    def failed(self) -> np.ndarray:
        """Numbers of the runs that failed."""
        return np.flatnonzero(self._codes.ravel() > 1)

    @property
    def message(self) -> str:
        """What happened, in words."""
        words = _statuses()
        if self._single:
            code = int(self._codes.ravel()[0])
            word, text, hint = words[code] if code < len(words) else ("pending", "not finished", "")
            return text + (f"; {hint}" if hint else "")
        if not self.tally:
            return "stopped"
        counts = [f"{n:,} {words[i][0]}" for i, n in enumerate(self.tally.by_status) if n]
        return ", ".join(counts)

    @property
    def nfev(self) -> int:
        """Evaluations of the right-hand side."""
        return self.tally.f_evals if self.tally else 0

    njev = nlu = 0
    sol = None
    t_events: list[np.ndarray] | None = None
    y_events: list[np.ndarray] | None = None

    @property
    def timing(self) -> Timing:
        """Where the time went: ``print(r.timing)``."""
        if self._spans is None:
            self._must_be_last("timing")
            self._spans = Timing(*self._solver._core.timing())
        return self._spans

    def __repr__(self) -> str:
        what = "1 run" if self._single else f"{self.tally.runs if self.tally else 0:,} runs"
        return f"<shoal.Result of {what}: {self.message}; {', '.join(self._solver.variables)}>"

    # ---- elsewhere -----------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, .npz, .h5 or .csv, that the command line knows too.

        Of a run that was stopped it has the rows that were done.
        """
        if self._steps is not None:
            self._steps.write(self._solver._core, self._batch.core, path)
        elif self._tally is None and "status" not in self._arrays:
            raise ValueError("a reduction that was stopped has no values")
        else:
            self._solver._core.write(self._batch.core, self._wanted, path)

    def rerun(self, only: Any = None, **options: Any) -> Result:
        """The same again, or some of its runs (``only=r.failed``), with other options."""
        solver = self._solver._with(options) if options else self._solver
        batch = self._batch if only is None else self._batch.only(np.asarray(only), solver.model)
        return solver._run(batch, None, False, False)

    def to_xarray(self) -> Any:
        """As an xarray Dataset; inputs along an axis of their own are its coordinates."""
        import xarray as xr

        dims, coords = self._axes()
        data: dict[str, Any] = {}
        if self._is_reduced:
            return self._groups_to_xarray(xr, dims, coords)
        for name in self._solver.variables:
            value = self[name]
            data[name] = ((*dims, "t"), value) if self._solver._series else (dims, value)
        for name, value in self._arrays.items():
            extra = tuple(f"{name}_{i}" for i in range(value.ndim - len(dims)))
            data[name] = ((*dims, *extra), value)
        if self._solver._series:
            coords["t"] = ("t", self.t)
        return xr.Dataset(data, coords)

    def _groups_to_xarray(self, xr: Any, dims: tuple[str, ...], coords: dict[str, Any]) -> Any:
        series = {a[0] for a in self._solver._arrays if a[2]}
        data: dict[str, Any] = {}
        for name, value in self._arrays.items():
            behind = value.shape[len(dims) if name not in self._once else 0:]
            extra = ("t",) if name in series else tuple(f"{name}_{i}" for i in range(len(behind)))
            data[name] = ((*dims, *extra) if name not in self._once else extra, value)
        if series:
            coords["t"] = ("t", self.t)
        return xr.Dataset(data, coords)

    def _axes(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Names of the batch's axes: that of the one input that varies along it, else axis_0, ..."""
        coords: dict[str, Any]
        at: Any
        if self._is_reduced:
            coords = {k: (self._dims, v) for k, v in self._keys.items()}
            for axis, name in enumerate(self._dims):
                if name in coords:
                    at = tuple(slice(None) if i == axis else 0 for i in range(len(self._dims)))
                    coords[name] = ((name,), self._keys[name][at])
            return self._dims, coords
        names = [f"axis_{i}" for i in range(len(self.shape))]
        coords = {}
        for name, values in self.inputs.items():
            varies = [i for i in range(values.ndim) if np.any(values != values.take([0], axis=i))]
            if len(varies) == 1 and names[varies[0]].startswith("axis_"):
                i = varies[0]
                names[i] = name
                at = tuple(slice(None) if k == i else 0 for k in range(values.ndim))
                coords[name] = (name, values[at])
        for name, values in self.inputs.items():
            if name not in coords:
                coords[name] = (tuple(names), values)
        return tuple(names), coords

    def to_pandas(self) -> Any:
        """As a pandas DataFrame: a row a run, or a row a sample."""
        import pandas as pd

        rows = int(np.prod(self.shape))
        if self._is_reduced:
            return self._groups_to_pandas(pd)
        if self._step_lists:
            counts = [len(t) for t in self._step_lists[0]]
            columns: dict[str, Any] = {"run": np.repeat(np.arange(rows), counts)}
            columns |= {n: np.repeat(v.ravel(), counts) for n, v in self.inputs.items()}
            columns["t"] = np.concatenate(self._step_lists[0])
            for i, name in enumerate(self._solver.variables):
                columns[name] = np.concatenate([y[i] for y in self._step_lists[1]])
            return pd.DataFrame(columns)
        repeat = len(self.t) if self._solver._series else 1
        columns = {"run": np.repeat(np.arange(rows), repeat)}
        columns |= {n: np.repeat(v.ravel(), repeat) for n, v in self.inputs.items()}
        if self._solver._series:
            columns["t"] = np.tile(self.t, rows)
        columns |= {n: self[n].ravel() for n in self._solver.variables if self._y is not None}
        for name, value in self._arrays.items():
            if value.ndim == len(self.shape) and name != "t":
                columns[name] = np.repeat(value.ravel(), repeat)
        return pd.DataFrame(columns)

    def _groups_to_pandas(self, pd: Any) -> Any:
        """A row a group, or a row a sample of one."""
        repeat = len(self.t) if self._solver._series else 1
        rows = int(np.prod(self.shape))
        columns: dict[str, Any] = {n: np.repeat(v.ravel(), repeat) for n, v in self._keys.items()}
        if self._solver._series:
            columns["t"] = np.tile(self.t, rows)
        for name, value in self._arrays.items():
            if name not in self._once and value.size in (rows, rows * repeat):
                columns[name] = value.ravel() if value.size == rows * repeat else np.repeat(value.ravel(), repeat)
        return pd.DataFrame(columns)

    def plot(self, *names: str, ax: Any = None) -> Any:
        """Draws variables over time, or final values over the first input, with matplotlib."""
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots()[1]
        for name in names or self._solver.variables:
            value = self[name]
            if self._step_lists and not self._single:
                for t, y in zip(self.t.ravel(), value.ravel()):
                    ax.plot(t, y, label=name)
            elif self._step_lists or self._solver._series:
                ax.plot(self.t, value.reshape(-1, len(self.t)).T, label=name)
                ax.set_xlabel("t")
            else:
                label, x = next(iter(self.inputs.items()), ("run", np.arange(value.size)))
                ax.plot(x.ravel(), value.ravel(), ".", label=name)
                ax.set_xlabel(label)
        ax.set_ylabel(", ".join(names or self._solver.variables))
        return ax


def load(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a result file that the command line or :meth:`Result.save` wrote."""
    name = os.fspath(path)
    if name.endswith(".npz"):
        with np.load(name) as file:
            return {k: file[k] for k in file.files}
    if name.endswith((".h5", ".hdf5")):
        import h5py

        with h5py.File(name) as file:
            return {k: v[()] for k, v in file.items() if hasattr(v, "dtype")}
    if name.endswith(".csv"):
        table: Any = np.genfromtxt(name, delimiter=",", names=True, dtype=None, encoding="utf-8",
                              deletechars="")
        return {k: np.atleast_1d(table[k]) for k in table.dtype.names or ()}
    raise ValueError(f"{name}: a result file ends in .npz, .h5 or .csv")
