# SPDX-License-Identifier: MIT
"""Models: a file, a text in Shoal's language, or a function that was traced."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _core

_STATE, _PARAMETER, _CONSTANT, _DERIVED, _OBSERVABLE = range(5)


def is_path(source: str) -> bool:
    """Whether a text names a file rather than being a model itself: a model has a line with ``=``."""
    return "\n" not in source and "=" not in source


class Model:
    """A system of equations, with its values.

    ``source`` is a path, or the text of a model. Models do not change: :meth:`set` returns another.

    >>> m = shoal.Model("x' = -k*x; par k = 2; init x = 1".replace(";", chr(10)))
    >>> m.states, m.parameters
    (['x'], ['k'])
    >>> m.rhs(0, [3.0])
    array([-6.])
    """

    def __init__(self, source: str | os.PathLike[str], *, name: str = "model") -> None:
        if isinstance(source, str) and not is_path(source):
            self._core = _core.parse(name, source)
        else:
            self._core = _core.load(source)
        self._changes: tuple[tuple[str, tuple[Any, ...]], ...] = ()
        self.function: Callable[..., Any] | None = None  # that was traced,
        self.renamed: dict[str, str] = {}  # and its parameters by their names in the model

    @property
    def name(self) -> str:
        """Its file, or what stands for it in messages."""
        return self._core.name

    @property
    def text(self) -> str:
        """Its text, in the language of docs/language.md."""
        return self._core.text

    @property
    def states(self) -> list[str]:
        """Names of states, in the order of ``y``."""
        return self._core.symbols(_STATE)

    @property
    def parameters(self) -> list[str]:
        """Names of parameters, which may differ from run to run."""
        return self._core.symbols(_PARAMETER)

    @property
    def constants(self) -> list[str]:
        """Names of constants, which are part of the kernel."""
        return self._core.symbols(_CONSTANT)

    @property
    def observables(self) -> list[str]:
        """Names of what is computed from the states beside them."""
        return self._core.symbols(_OBSERVABLE)

    @property
    def values(self) -> dict[str, float]:
        """Initial values, parameters and constants by name."""
        found: dict[str, float] = {}
        for kind in (_CONSTANT, _PARAMETER, _STATE):
            found.update(zip(self._core.symbols(kind), self._core.values(kind)))
        return found

    def rhs(self, t: float, y: Sequence[float]) -> np.ndarray:
        """The right-hand side, with the model's own values."""
        return np.array(self._core.rhs(float(t), list(y)))

    def _changed(self, method: str, *args: Any) -> Model:
        other = self.__new__(type(self))
        other._core = _core.parse(self.name, self.text)
        other._changes = (*self._changes, (method, args))
        other.function, other.renamed = self.function, self.renamed
        other._change()
        return other

    def _change(self) -> None:
        """Changes it as it was changed; the library wants events before values."""
        for name, given in sorted(self._changes, key=lambda change: change[0] != "add_event"):
            getattr(self._core, name)(*given)

    def set(self, values: Mapping[str, float] | None = None, **more: float) -> Model:
        """The model with other values of parameters, initial values or constants.

        >>> shoal.Model("x'=-k*x" + chr(10) + "par k=1").set(k=3).values["k"]
        3.0
        """
        every = {**(values or {}), **more}
        if not every:
            return self
        return self._changed("set", ",".join(f"{k}={float(v)!r}" for k, v in every.items()))

    def event(self, line: str) -> Model:
        """The model with one more event: ``"hit when x < 0 : x = 0, v = -0.9*v"``."""
        return self._changed("add_event", line)

    def driver(self, name: str, t: Any, values: Any, how: str | None = None, id: Any = None) -> Model:
        """The model with samples of a driver; ``how`` is as in ``--driver``: ``"cubic,ends=hold"``.

        With ``by=_column`` runs choose a signal by a column of the batch: ``values`` then has a row
        for each signal, and ``id`` what stands for it in the column, a number or a word (without it
        the number of the row); or ``id`` says of each sample which signal it is of.
        """
        t, values = (np.asarray(a, dtype=np.float64) for a in (t, values))
        if values.ndim > 2:
            raise ValueError(f"the driver {name} has values with {values.ndim} axes")
        if values.ndim == 2:
            id = np.arange(len(values)) if id is None else np.asarray(id)
            if id.shape != (len(values),):
                raise ValueError(f"the driver {name} has {len(values)} signals, and ids of the shape {id.shape}")
            t, id = np.broadcast_to(t, values.shape), np.repeat(id, values.shape[1])
        t, values = (np.ascontiguousarray(a).ravel() for a in (t, values))
        return self._changed("driver", name, how, t, values, None if id is None else _ids(id))

    def driver_file(self, name: str, file: str) -> Model:
        """The model with a driver from a file: ``"signal.csv:column,cubic"``, as in ``--driver``."""
        return self._changed("driver_file", f"{name}={file}")

    def __repr__(self) -> str:
        return f"<shoal.Model {self.name}: states {', '.join(self.states)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"name": self.name, "text": self.text, "changes": self._changes, "renamed": self.renamed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._core = _core.parse(state["name"], state["text"])
        self._changes = state["changes"]
        self.function, self.renamed = None, state["renamed"]
        self._change()


def _ids(id: Any) -> Any:
    """Words as a tuple, numbers as doubles."""
    array = np.asarray(id).ravel()
    words = array.dtype.kind == "U" or array.dtype.kind == "O" and all(isinstance(v, str) for v in array)
    return tuple(map(str, array)) if words else np.ascontiguousarray(array, dtype=np.float64)


def model_of(source: Any) -> Model:
    """A model of whatever stands for one; functions are not among these."""
    if isinstance(source, Model):
        return source
    if isinstance(source, (str, os.PathLike)):
        return Model(source)
    raise TypeError(f"a model is a path, a text, a Model or a function, not {type(source).__name__}")
