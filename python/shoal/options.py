# SPDX-License-Identifier: MIT
"""Options by the one table that the command line, the manual and this package are made of."""

from __future__ import annotations

import difflib
import functools
from typing import Any, NamedTuple

from . import _core


class Option(NamedTuple):
    """A row of the table; in Python its name has ``_`` for ``-``."""

    name: str
    metavar: str | None
    default: str
    help: str
    field: bool
    in_batch: bool
    repeatable: bool


@functools.cache
def options() -> dict[str, Option]:
    """Every option that a solver or a batch takes, by its name in Python.

    >>> import shoal
    >>> shoal.options()["rtol"].metavar
    'R'
    """
    rows = (Option(*row) for row in _core.options())
    return {o.name.replace("-", "_"): o for o in rows if o.field or o.in_batch}


def text_of(value: Any) -> str:
    """A value as the command line has it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ",".join(f"{k}={text_of(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1:
        return ",".join(text_of(v) for v in value)
    if isinstance(value, int) or hasattr(value, "__index__"):
        return str(int(value))
    return repr(float(value))


def pairs_of(given: dict[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Keywords as pairs of texts: those of a solver, and those of a batch."""
    solver: list[tuple[str, str]] = []
    batch: list[tuple[str, str]] = []
    known = options()
    for name, value in given.items():
        if value is None:
            continue
        option = known.get(name)
        if option is None:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"there is no option {name!r}{hint}")
        several = option.in_batch and option.repeatable and isinstance(value, (list, tuple))
        for one in value if several else [value]:
            (batch if option.in_batch else solver).append((option.name, text_of(one)))
    return solver, batch
