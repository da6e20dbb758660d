# SPDX-License-Identifier: MIT
"""Runs: `solve_ivp` as SciPy has it, and `Solver` for loops."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core
from .model import Model, model_of
from .options import pairs_of
from .result import PENDING, Result, callers_level, is_copied
from .trace import arguments, event_names, traced

# SciPy's methods by the names of ours.
_METHODS = {"RK45": "dopri5", "RK23": "bs3", "DOP853": "dop853", "Radau": "radau5"}
_AUTO = {"LSODA", "BDF"}
_REFUSED = {
    "dense_output": "give t_eval, or read every step of a single run",
    "jac": "Jacobians are derived from the model",
    "jac_sparsity": "Jacobians are derived from the model",
    "lband": "Jacobians are derived from the model",
    "uband": "Jacobians are derived from the model",
}


def product(**axes: Any) -> dict[str, np.ndarray]:
    """Every combination of some values, as arrays that broadcast to one axis each.

    >>> g = shoal.product(a=[1, 2, 3], b=[10, 20])
    >>> g["a"].shape, g["b"].shape
    ((3, 1), (1, 2))
    """
    arrays = [np.asarray(v, dtype=float).ravel() for v in axes.values()]
    return dict(zip(axes, np.meshgrid(*arrays, indexing="ij", sparse=True)))


# ---- Batches -------------------------------------------------------------------------------------


def _values(params: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Numbers, and arrays."""
    numbers: dict[str, float] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, value in params.items():
        value = _input(name, value)
        if value.ndim or is_copied(name):
            arrays[name] = value
        else:
            numbers[name] = float(value)
            if not np.isfinite(numbers[name]):
                raise ValueError(f"{name} is {numbers[name]}, not a finite number")
    return numbers, arrays


def _mapping(params: Any) -> dict[str, Any]:
    """Values by name: of a dict, a DataFrame or an array with named fields."""
    if params is None:
        return {}
    if hasattr(params, "columns"):
        return {str(c): params[c].to_numpy() for c in params.columns}
    if isinstance(params, np.ndarray) and params.dtype.names:
        return {n: params[n] for n in params.dtype.names}
    return dict(params)


def _host_array(name: str, value: Any) -> np.ndarray:
    """A NumPy array of floats; arrays of others are taken by DLPack."""
    if not isinstance(value, (np.ndarray, float, int)) and hasattr(value, "__dlpack__"):
        kind = int(value.__dlpack_device__()[0])
        if kind not in (1, 3):  # ordinary and pinned memory of the host
            raise TypeError(f"{name} is an array on a GPU; copy it to the host first")
        value = np.from_dlpack(value)
    if value is None:
        raise TypeError(f"{name} is None, not a number")
    if type(value) is not np.ndarray and isinstance(value, np.ndarray) and np.any(getattr(value, "mask", False)):
        raise TypeError(f"{name} has values that are masked")
    array = np.asarray(value)
    if array.dtype.kind not in "fiubO":
        raise TypeError(f"{name} is an array of {array.dtype}, not of real numbers")
    if array.dtype not in (np.float64, np.float32):
        array = array.astype(np.float64)
    return array


def _input(name: str, value: Any) -> np.ndarray:
    """Values of a name; a column that is only copied may have words."""
    if not is_copied(name):
        return _host_array(name, value)
    array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(v, str) for v in array.ravel()):
        array = array.astype(str)
    return array if array.dtype.kind == "U" else _host_array(name, value).astype(np.float64, copy=False)


def _flat(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """One value a run; the array itself where it has them all already."""
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    if not array.flags.aligned:
        array = array.copy()
    return np.ascontiguousarray(array).reshape(-1)


class _Batch:
    """What differs from run to run: arrays that broadcast, or words of the command line; and values of
    all runs, where nothing else gives them."""

    def __init__(self, model: Model, arrays: Mapping[str, np.ndarray], words: Sequence[tuple[str, str]],
                 fixed: Mapping[str, float], shape: tuple[int, ...] | None = None) -> None:
        if arrays and words:
            raise TypeError(f"{words[0][0]} and arrays exclude each other; put the values into arrays")
        if shape is None:
            shape = np.broadcast_shapes(*[a.shape for a in arrays.values()])
        self.arrays = {name: _flat(a, shape) for name, a in arrays.items()}
        given = {name.removesuffix("(0)") for name in arrays}
        self.fixed = {k: v for k, v in fixed.items() if k.removesuffix("(0)") not in given}
        given_arrays = [(k, a if a.dtype.kind == "f" else tuple(a.tolist())) for k, a in self.arrays.items()]
        self.core = _core.batch(model._core, (*given_arrays, *self.fixed.items(), *words))
        self.shape = shape if not words else (self.core.rows,)

    @property
    def rows(self) -> int:
        return self.core.rows

    def only(self, rows: np.ndarray, model: Model) -> _Batch:
        """The batch of some of its runs."""
        values = {k: v.reshape(-1)[rows] for k, v in self.inputs().items()}
        return _Batch(model, values, (), self.fixed, (len(rows),))

    def columns(self) -> dict[str, np.ndarray]:
        """Those that are only copied, one value a run."""
        if self.arrays:
            return {k: a for k, a in self.arrays.items() if is_copied(k)}
        return {name: np.array(self.core.column(i)) for i, name in enumerate(self.core.columns)}

    def words_of_groups(self, by: str, name: str, rows: int) -> np.ndarray | None:
        """Of each group of runs; None where the column has numbers."""
        values = self.columns().get(name)
        words = values is not None and values.dtype.kind == "U"
        return np.array(self.core.group_texts(by, name, rows)) if words else None

    def inputs(self) -> dict[str, np.ndarray]:
        """Values of all inputs and columns, in the batch's shape."""
        found = {}
        for i, name in enumerate(self.core.inputs):
            if name in self.fixed or name.removesuffix("(0)") in self.fixed:
                continue
            values = np.empty(self.rows)
            self.core.fill(i, values)
            found[name] = values.reshape(self.shape)
        return found | {k: a.reshape(self.shape) for k, a in self.columns().items()}


# ---- Options -------------------------------------------------------------------------------------


def _times(t_eval: Any, span: tuple[float, ...]) -> tuple[str, Any]:
    """Times to save at, as an option; they come out in the order of the run."""
    times = np.atleast_1d(np.asarray(t_eval, dtype=float))
    if times.ndim != 1 or not times.size:
        raise ValueError("t_eval must be one-dimensional, and not empty")
    steps = np.diff(times)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        raise ValueError("values in t_eval are not properly sorted")
    if span:
        outside = times[(times < min(span)) | (times > max(span))]
        if outside.size:
            raise ValueError(f"t_eval has {outside[0].item()!r}, which is outside of t_span, {span}")
    return "save", "at=" + ",".join(map(repr, times.tolist()))


def _method(method: Any) -> str | None:
    if method is None:
        return None
    if isinstance(method, type):  # SciPy's
        method = method.__name__
    if isinstance(method, str) and method not in _AUTO:
        return _METHODS.get(method, method)
    if isinstance(method, str):
        warnings.warn(f"{method} is run as `auto`: explicit steps, and implicit ones for stiff runs",
                      UserWarning, stacklevel=callers_level())
        return "auto"
    raise TypeError("a method is a name; shoal.methods() lists them")


def _renamed(options: dict[str, Any]) -> dict[str, Any]:
    """SciPy's words by ours."""
    for name, way_out in _REFUSED.items():
        value = options.pop(name, None)
        if value is not None and value is not False:
            raise TypeError(f"{name} is not supported: {way_out}")
    options.pop("vectorized", None)
    for theirs, ours in (("first_step", "dt0"), ("max_step", "dt_max"), ("min_step", "dt_min")):
        value = options.pop(theirs, None)
        if value is not None and np.isfinite(value):
            options[ours] = float(value)
    if isinstance(options.get("atol"), dict):
        options["atol"] = ",".join(f"{k}={float(v)!r}" for k, v in options["atol"].items())
    if isinstance(options.get("summary"), dict):
        options["summary"] = ",".join(f"{k}={v}" for k, v in options["summary"].items())
    options["method"] = _method(options.get("method"))
    return options


def _atol(atol: Any, states: Sequence[str]) -> Any:
    """SciPy has an array with one for each state."""
    if atol is None or not np.ndim(atol):
        return atol
    if np.shape(atol) != (len(states),):
        raise ValueError(f"atol has the shape {np.shape(atol)}, the model {len(states)} states")
    return ",".join(f"{name}={float(v)!r}" for name, v in zip(states, atol))


# ---- Solvers -------------------------------------------------------------------------------------

_TYPES = ("u1", "u4", "u8", "f4", "f8")


def _given(out: Any, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """An array of the caller's in the shape of y, without a copy."""
    if not isinstance(out, np.ndarray):
        raise TypeError("out is an array, or a result of this solver")
    if out.dtype != np.dtype(kind):
        raise TypeError(f"out has the type {out.dtype}, results are {np.dtype(kind)}")
    if not out.flags.writeable:
        raise ValueError("out cannot be written to")
    if out.shape == shape:
        return out
    if shape[-1] == 1 and out.shape == shape[:-1]:
        return out[..., None]
    if out.shape == tuple(n for n in shape if n != 1):
        return out[tuple(None if n == 1 else slice(None) for n in shape)]
    raise ValueError(f"out has the shape {out.shape}, results have {shape}")


def _strided(y: np.ndarray, axes: int) -> tuple[np.ndarray, int, int, int]:
    """Memory of y, and how many elements lie between rows, samples and variables."""
    size = y.itemsize
    if any(s % size for s in y.strides) or any(s < 0 for s in y.strides):
        raise ValueError("out has strides that are not a whole number of elements forwards")
    of_batch, var, sample = y.strides[:axes], y.strides[axes], y.strides[axes + 1]
    row = of_batch[-1] if axes else var * y.shape[axes]
    for i in range(axes - 1):
        if y.shape[i] > 1 and of_batch[i] != of_batch[i + 1] * y.shape[i + 1]:
            raise ValueError("the axes of the batch in out are not one behind the other")
    return y, row // size, sample // size, var // size


def _progress_bar(want: Any) -> Callable[[int, int, float], None] | None:
    """What is called while a batch runs: tqdm's bar where there is one, else a line."""
    if not want:
        return None
    if callable(want):
        return want
    try:
        from tqdm.auto import tqdm
    except ImportError:
        def line(done: int, total: int, seconds: float) -> None:
            end = "\n" if done == total else ""
            print(f"\r{done:,} of {total:,} runs, {seconds:.1f} s", end=end, file=sys.stderr, flush=True)
        return line
    bar = tqdm(unit=" runs")

    def show(done: int, total: int, seconds: float) -> None:
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()

    return show


# Inputs of batches up to this size are copied when results are written to memory that is given, so
# that the next call needs no other batch.
_SMALL = 4096


class _Again:
    """The last batch of a loop whose results go to the same memory each time."""

    def __init__(self, out: Any = None, result: Any = None,
                 shapes: dict[str, tuple[int, ...]] | None = None,
                 names: Mapping[str, str] | None = None) -> None:
        self.out, self.result = out, result
        # By name of the call: the batch's own values, in the shape they are given in.
        self.views: dict[str, np.ndarray] = {}
        if result is not None and result._batch.rows <= _SMALL and set((shapes or {}).values()) <= {result._batch.shape}:
            arrays, names = result._batch.arrays, names or {}
            self.views = {k: arrays[names.get(k, k)].reshape(result._batch.shape) for k in shapes or {}}
        else:
            self.out = None

    def takes(self, values: Mapping[str, Any]) -> bool:
        """Whether these values have taken the place of the last ones."""
        views = self.views
        if len(values) != len(views):
            return False
        for name, value in values.items():
            view = views.get(name)
            if view is None or type(value) is not np.ndarray or value.shape != view.shape or value.dtype.kind not in "fiu":
                return False
        for name, value in values.items():
            views[name][...] = value
        return True


class Solver:
    """A model compiled once, for many batches.

    ``source`` is a path, a text, a :class:`Model`, or a function with ``y0`` (or its size) and
    ``args``. Options are those of the command line, with ``_`` for ``-``.

    >>> s = shoal.Solver("x'=-k*x" + chr(10) + "init x=1" + chr(10) + "par k=1", (0, 1))
    >>> s(k=np.array([0.0, 1.0]))["x"].round(4)
    array([1.    , 0.3679])
    """

    def __init__(self, source: Any, t_span: Sequence[float] | None = None, y0: Any = None, *,
                 args: Any = None, t_eval: Any = None, params: Any = None,
                 events: Any = None, drivers: Any = None, **options: Any) -> None:
        problem = _Problem(source, t_span, y0, args, t_eval, params, events, drivers, options)
        if problem.batch_words:
            raise TypeError(f"{problem.batch_words[0][0]} describes a batch: give it to solve_ivp, "
                            "or arrays to the call")
        self._begin(problem.model, problem.fixed, problem.names, problem.solver_words, problem.event_names)

    def _begin(self, model: Model, fixed: Mapping[str, float], names: Mapping[str, str],
               words: Sequence[tuple[str, str]], events: Sequence[list[str]] = ()) -> None:
        self.model, self._fixed, self._names, self._asked, self._events = model, fixed, names, tuple(words), events
        # It records times of events itself, but where every step is saved, or there are too many.
        self._records = bool(events) and _STEPS not in self._asked
        self._pairs = _recording(self._asked, events, _ROOM) if self._records else self._asked
        self._recorder: Solver | None = None
        self._core = _core.solver(self.model._core, self._pairs)
        self._arrays = self._core.arrays()
        self._times = np.array(self._core.times())
        self._steps = not self._times.size
        self.variables = [a[0] for a in self._arrays if a[3]]
        self._series = any(a[2] and a[3] for a in self._arrays)
        self._again = _Again()
        self._lock = threading.Lock()

    @property
    def device(self) -> str:
        """Where the last batch ran, in words."""
        return self._core.device

    def _name(self, name: str) -> str:
        return self._names.get(name, name)

    def _batch(self, values: Mapping[str, Any], out: Any = None) -> _Batch:
        arrays = {self._name(k): _input(k, v) for k, v in values.items()}
        shape = np.broadcast_shapes(*[a.shape for a in arrays.values()])
        if out is not None and np.prod(shape) <= _SMALL:
            arrays = {k: np.array(a, dtype=None if a.dtype.kind == "U" else np.float64) for k, a in arrays.items()}
        elif out is not None:  # inputs are read while results are written
            memory = [out] if not isinstance(out, Result) else [out._y, *out._arrays.values()]
            arrays = {k: np.array(a) if any(np.may_share_memory(a, m) for m in memory) else a
                      for k, a in arrays.items()}
        return _Batch(self.model, arrays, (), self._fixed, shape)

    def __call__(self, values: Any = None, *, out: Any = None,
                 progress: Any = False, **more: Any) -> Result:
        """Runs a batch: values by name, which broadcast.

        ``out`` is what results are written to: an array of the shape of ``y`` (its axes of length 1
        may be left out), or a result of this solver, which is then changed.
        """
        again = self._again
        if again.out is out is not None and values is None and not progress:
            with self._lock:
                if again.takes(more):
                    return self._launch(again.result, None)
        batch = self._batch({**_mapping(values), **more}, out)
        result = self._run(batch, out, progress)
        if out is not None and not self._steps and not self._events:
            self._again = _Again(out, result, {k: np.shape(v) for k, v in more.items()}, self._names)
        return result

    def warm(self, values: Any = None, **more: Any) -> None:
        """Pays before it matters what the first run of such a batch would pay."""
        self._core.warm(self._batch({**_mapping(values), **more}).core)

    def _with(self, options: dict[str, Any]) -> Solver:
        """The same with some other options."""
        options = _renamed(dict(options))
        options["atol"] = _atol(options.get("atol"), self.model.states)
        words, batch_words = pairs_of(options)
        if batch_words:
            raise TypeError(f"{batch_words[0][0]} describes a batch, which stays as it was")
        names = {name for name, _ in words}
        return _solver(self.model, self._fixed, self._names,
                       [w for w in self._asked if w[0] not in names] + words, self._events)

    def _run(self, batch: _Batch, out: Any, progress: Any, single: bool = False) -> Result:
        if self._events:
            return self._run_with_events(batch, out, progress, single)
        return self._run_alone(batch, out, progress, single)

    def _run_with_events(self, batch: _Batch, out: Any, progress: Any, single: bool) -> Result:
        """With the times of all events; how many there are is found out by taking more."""
        found, room = None, _ROOM
        recorder = self._recorder or (self if self._records else None)
        while found is None:
            recorder = recorder or _solver(self.model, self._fixed, self._names,
                                           _recording(self._asked, self._events, room))
            result = recorder._run_alone(batch, None if self._steps else out,
                                         False if self._steps else progress, single)
            if _has_all(result, self._events):
                found = [_recorded(result, names) for names in self._events]
                self._recorder = recorder if recorder is not self else None
            else:
                recorder, room = None, room * 8
                out = out._y if isinstance(out, Result) else out
        if self._steps:
            result = self._run_alone(batch, out, progress, single)
        result.t_events, result.y_events = [t for t, _ in found], [y for _, y in found]
        return result

    def _run_alone(self, batch: _Batch, out: Any, progress: Any, single: bool) -> Result:
        if self._steps:
            return self._run_steps(batch, progress, single)
        if isinstance(out, Result):
            self._check_out(out, batch)
            return self._launch(out, progress)
        return self._launch(self._allocate(batch, single, out), progress)

    def _launch(self, result: Result, progress: Any) -> Result:
        try:
            tally = self._core.run(result._batch.core, result._wanted, _progress_bar(progress))
        except KeyboardInterrupt as stop:
            result._give_up()
            stop.result = result  # type: ignore[attr-defined]
            raise
        result._finish(tally)
        result._group()
        return result

    def _allocate(self, batch: _Batch, single: bool, out: Any) -> Result:
        reduces = self._has("reduce")
        rows = self._core.plan(batch.core)[1] if reduces else batch.rows
        shape = (rows,) if reduces else batch.shape
        samples, count = len(self._times), len(self.variables)
        arrays: dict[str, np.ndarray] = {}
        wanted: list[tuple[Any, ...]] = []
        y = None
        if count and not reduces:
            kind = next(a[1] for a in self._arrays if a[3])
            full = (*shape, count, samples if self._series else 1)
            y = np.empty(full, _TYPES[kind]) if out is None else _given(out, full, _TYPES[kind])
            wanted.append((None, *_strided(y, len(shape))))
        elif out is not None:
            raise TypeError("out is an array for states, and none are kept")
        keys = self._keys(batch, rows) if reduces else {}
        wanted += [(name, a, 0, 0, 0) for name, a in keys.items() if a.dtype.kind == "f"]
        for name, kind, per_sample, is_variable, _, first, second, once in self._arrays:
            if name == "run" or is_variable and y is not None or per_sample and name == "t":
                continue
            axes = (samples,) if per_sample else tuple(int(n) for n in (first, second) if n)
            arrays[name] = np.empty(axes if once else (*shape, *axes), dtype=_TYPES[kind])
            wanted.append((name, arrays[name], 0, 0, 0))
        return Result(self, batch, shape, arrays, y, tuple(wanted), single, keys=keys)

    def _keys(self, batch: _Batch, rows: int) -> dict[str, np.ndarray]:
        """Of each name that groups are made by, room for the value of each group; words as they are."""
        by = dict(self._pairs).get("by", "")
        keys = {}
        for name in (n.strip() for n in by.split(",") if n.strip()):
            if name in batch.core.inputs or name in batch.core.columns:
                words = batch.words_of_groups(by, name, rows)
                keys[name] = np.empty(rows) if words is None else words
        return keys

    def _forwards(self) -> bool:
        span = dict(self._pairs)
        return float(span.get("t1", 1)) >= float(span.get("t0", 0))

    def _has(self, option: str) -> bool:
        return any(name == option for name, _ in self._pairs)

    def _check_out(self, out: Result, batch: _Batch) -> None:
        if out._solver is not self:
            raise TypeError("out is a result of this solver")
        if out.shape != batch.shape:
            raise ValueError(f"out has the shape {out.shape}, the batch {batch.shape}")
        out._batch = batch

    def _run_steps(self, batch: _Batch, progress: Any, single: bool) -> Result:
        steps = self._core.steps()
        status = np.full(batch.rows, PENDING, dtype="u1")
        result = Result(self, batch, batch.shape, {"status": status.reshape(batch.shape)}, None, (), single, steps)
        try:
            tally = self._core.run_steps(batch.core, steps, _progress_bar(progress))
        except KeyboardInterrupt as stop:
            steps.fill_status(status)
            result._give_up()
            stop.result = result  # type: ignore[attr-defined]
            raise
        steps.fill_status(status)
        result._finish(tally)
        return result

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "fixed": self._fixed, "pairs": self._asked, "names": self._names,
                "events": self._events}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin(state["model"], state["fixed"], state["names"], state["pairs"], state["events"])


def _solver(model: Model, fixed: Mapping[str, float], names: Mapping[str, str],
            words: Sequence[tuple[str, str]], events: Sequence[list[str]] = ()) -> Solver:
    """A solver of what is known already."""
    solver = Solver.__new__(Solver)
    solver._begin(model, fixed, names, words, events)
    return solver


# ---- Times of events -----------------------------------------------------------------------------

_STEPS = ("save", "steps")
_ROOM = 32  # times that are recorded at first


def _recording(words: Sequence[tuple[str, str]], events: Sequence[list[str]], room: int) -> tuple[tuple[str, str], ...]:
    """The options with room for so many times of each event."""
    record = [text for name, text in words if name == "record"] + [f"{n},{room}" for names in events for n in names]
    return (*[w for w in words if w != _STEPS and w[0] != "record"], ("record", ",".join(record)))


def _has_all(result: Result, events: Sequence[list[str]]) -> bool:
    return all(np.isnan(result[f"{n}.t"][..., -1]).all() for names in events for n in names)


def _recorded(result: Result, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Times of events in order, NaN behind the last, and states at them."""
    t = np.concatenate([result[f"{n}.t"] for n in names], axis=-1)
    y = np.stack([np.concatenate([result[f"{n}.{v}"] for n in names], axis=-1)
                  for v in result._solver.model.states], axis=-1)
    order = np.argsort(t if result._solver._forwards() else -t, axis=-1)
    t = np.take_along_axis(t, order, axis=-1)
    y = np.take_along_axis(y, order[..., None], axis=-2)
    count = int((~np.isnan(t)).sum(axis=-1).max(initial=0))
    return t[..., :count], y[..., :count, :]


# ---- Problems ------------------------------------------------------------------------------------


class _Problem:
    """What was asked for, as a model, words of a solver, and a batch."""

    def __init__(self, source: Any, t_span: Any, y0: Any, args: Any, t_eval: Any,
                 params: Any, events: Any, drivers: Any, options: dict[str, Any]) -> None:
        options = _renamed(dict(options))
        given = _mapping(params)
        self.names: dict[str, str] = {}
        lines, self.events = _split_events(events)
        if callable(source) and not isinstance(source, (Model, str)):
            source, given = self._trace(source, y0, args, given)
        elif self.events:
            raise TypeError("events of a model are lines of its language: 'hit when x < 0 : stop'")
        elif args is not None:
            raise TypeError("args belongs to a function; a model's parameters are given by params")
        self.model = model_of(source)
        self.numbers, self.arrays = _values(given)
        self._initial(y0)
        for line in lines:
            self.model = self.model.event(line)
        if not isinstance(drivers, (Mapping, type(None))):
            raise TypeError("drivers is a dict: {'u': (t, values)}")
        for name, signal in (drivers or {}).items():
            self.model = _driven(self.model, name, signal)
        # A batch may vary what is not folded into the kernel.
        constants = {k: v for k, v in self.numbers.items() if k in self.model.constants}
        self.fixed = {k: v for k, v in self.numbers.items() if k not in constants}
        self.model = self.model.set(constants)
        options["atol"] = _atol(options.get("atol"), self.model.states)
        if options.get("by") is not None:
            by = options["by"].split(",") if isinstance(options["by"], str) else options["by"]
            options["by"] = [self.names.get(str(n).strip(), str(n).strip()) for n in by]
        self.solver_words, self.batch_words = pairs_of(options)
        span = () if t_span is None else tuple(float(t) for t in t_span)
        if t_span is not None:
            t0, t1 = span
            self.solver_words += [("t0", repr(t0)), ("t1", repr(t1))]
        if t_eval is not None:
            self.solver_words.append(_times(t_eval, span))
        reduces = any(name == "reduce" for name, _ in self.solver_words)
        self.event_names = event_names(self.events) if not reduces else []

    def solver(self, words: Sequence[tuple[str, str]]) -> Solver:
        return _solver(self.model, self.fixed, self.names, words, self.event_names)

    def _trace(self, fun: Any, y0: Any, args: Any, given: dict[str, Any]) -> tuple[Model, dict[str, Any]]:
        if y0 is None:
            raise TypeError("a function needs y0")
        if np.size(y0) == 0:
            raise ValueError("y0 is empty")
        size = len(y0) if isinstance(y0, dict) else np.shape(np.atleast_1d(y0))[-1]
        given_to = arguments(fun, args, given)
        start = None if isinstance(y0, dict) else _host_array("y0", np.atleast_1d(y0))
        model = traced(fun, int(size), given_to, events=self.events, y0=start)
        self.names = model.renamed
        # Numbers are in the text of the model; arrays are not.
        varied = {model.renamed[k]: v for k, v in given_to.numbers.items() if np.ndim(v)}
        return model, {**varied, **given_to.others}

    def _initial(self, y0: Any) -> None:
        if y0 is None:
            return
        states = self.model.states
        if isinstance(y0, dict):
            columns = dict(y0)
        else:
            y0 = _host_array("y0", np.atleast_1d(y0))
            if y0.shape[-1] != len(states):
                raise ValueError(f"y0 has {y0.shape[-1]} values, the model {len(states)} states")
            columns = {name: y0[..., i] for i, name in enumerate(states)}
        for name in columns:
            if {name, f"{name}(0)"} & {*self.numbers, *self.arrays}:
                raise TypeError(f"{name} is given by both y0 and params")
        numbers, arrays = _values({f"{k}(0)" if "(" not in k else k: v for k, v in columns.items()})
        self.numbers |= numbers
        self.arrays |= arrays


def _driven(model: Model, name: str, signal: Any) -> Model:
    """The model with a driver: its times and values, how it is between them, and ids of its signals; or what
    follows NAME= in `--driver`."""
    if isinstance(signal, str):
        return model.driver_file(name, signal)
    if not isinstance(signal, tuple) or len(signal) not in (2, 3, 4):
        raise TypeError(f"the driver {name} is (t, values), (t, values, 'cubic,ends=hold'), "
                        "(t, values, 'linear,by=_id', ids) or a file")
    if np.ndim(signal[1]) == 2 and not (len(signal) > 2 and "by=_" in str(signal[2])):
        raise TypeError(f"the driver {name} has several signals: 'linear,by=_id' says which column chooses one")
    return model.driver(name, *signal)


def _split_events(events: Any) -> tuple[list[str], list[Callable[..., Any]]]:
    """Lines, and functions as SciPy has them."""
    if events is None:
        return [], []
    every = [events] if isinstance(events, str) or callable(events) else list(events)
    if any(not isinstance(e, str) and not callable(e) for e in every):
        raise TypeError("an event is a function, or a line: 'hit when x < 0 : stop'")
    return [e for e in every if isinstance(e, str)], [e for e in every if callable(e)]


def solve_ivp(fun: Any, t_span: Sequence[float] | None = None, y0: Any = None, method: str | None = None,
              t_eval: Any = None, dense_output: bool = False, events: Any = None,
              vectorized: bool = False, args: Any = None, *, params: Any = None,
              drivers: Any = None, progress: Any = False, **options: Any) -> Result:
    """Solves an initial value problem, once or for every element of arrays.

    Arguments are SciPy's. ``fun`` may also be a file, a text, or a :class:`Model`. Arrays in
    ``params`` and ``args={}`` and leading axes of ``y0`` broadcast, and make a batch; its results
    have these axes first. A single problem without ``t_eval`` returns every step, a batch the final
    values. ``drivers`` are signals of the model: ``{"u": (t, values)}``, with how they are between
    samples as a third (``"cubic,ends=hold"``); with ``"linear,by=_id"`` values have a row for each
    signal, and a run takes the one that ``params={"_id": ...}`` says. Other keywords are options of the command line, with
    ``_`` for ``-``.

    >>> r = shoal.solve_ivp(lambda t, y: -y, (0, 1), [1.0], t_eval=[0, 1], rtol=1e-9, atol=1e-9)
    >>> r.y.round(6)
    array([[1.      , 0.367879]])
    """
    options = {**options, "method": method, "dense_output": dense_output}
    problem = _Problem(fun, t_span, y0, args, t_eval, params, events, drivers, options)
    words = {name for name, _ in problem.solver_words}
    single = not problem.arrays and not problem.batch_words and "reduce" not in words
    if single and not {"save", "summary"} & words:
        problem.solver_words.append(("save", "steps"))
    batch = _Batch(problem.model, problem.arrays, problem.batch_words, problem.fixed)
    return problem.solver(problem.solver_words)._run(batch, None, progress, single)


def warm(source: Any, t_span: Sequence[float] | None = None, **options: Any) -> Solver:
    """A solver whose kernel is compiled and loaded, before anything runs."""
    return Solver(source, t_span, **options)
