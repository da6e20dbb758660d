# SPDX-License-Identifier: MIT
"""Python functions to model text: a function runs once, with symbols in place of numbers."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .model import Model


class TraceError(TypeError):
    """A function does something that cannot be traced; the message names the line."""


# ---- Symbols -------------------------------------------------------------------------------------

# Functions of one argument: NumPy's name, that of Shoal.
_UNARY = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "exp": "exp", "log": "ln", "log10": "log10", "log2": "log2", "log1p": "log1p",
    "expm1": "expm1", "sqrt": "sqrt", "cbrt": "cbrt", "floor": "floor", "ceil": "ceil",
    "sign": "sign", "absolute": "abs", "fabs": "abs",
}  # fmt: skip
_BINARY = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/",
    "power": "^", "float_power": "^", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "equal": "==", "not_equal": "!=", "logical_and": "&", "logical_or": "|",
}  # fmt: skip
_CALLS = {"maximum": "max", "fmax": "max", "minimum": "min", "fmin": "min", "arctan2": "atan2",
          "mod": "mod", "remainder": "mod"}  # fmt: skip


def _code_line(what: str, way_out: str) -> TraceError:
    """The error, with the innermost line that is not of this package or of NumPy."""
    for frame in reversed(inspect.stack()):
        where = frame.frame.f_globals.get("__shoal_traced__")
        if where:
            line = (frame.code_context or [""])[0].strip()
            return TraceError(
                f"{frame.filename}:{frame.lineno}: {what}; {way_out}" + (f"\n    {line}" if line else "")
            )
    return TraceError(f"{what}; {way_out}")


def _at_line(error: Exception) -> TraceError:
    """What a function raised when it met symbols, with the last of its lines on the way."""
    where, at = "", error.__traceback__
    while at is not None:
        if at.tb_frame.f_globals.get("__shoal_traced__"):
            where = f"{at.tb_frame.f_code.co_filename}:{at.tb_lineno}: "
        at = at.tb_next
    return TraceError(f"{where}this cannot be traced ({type(error).__name__}: {error}); "
                      "write it with operators and NumPy's functions (docs/python.md)")


class Symbol:
    """A number that is not known yet: a node of an expression."""

    __slots__ = ("op", "args", "truth")
    __array_priority__ = 1000

    def __init__(self, op: str, *args: Any, truth: bool = False) -> None:
        self.op, self.args, self.truth = op, args, truth

    # What Python does with numbers.
    # fmt: off
    def __add__(self, o: Any) -> Any: return _binary("+", self, o)
    def __radd__(self, o: Any) -> Any: return _binary("+", o, self)
    def __sub__(self, o: Any) -> Any: return _binary("-", self, o)
    def __rsub__(self, o: Any) -> Any: return _binary("-", o, self)
    def __mul__(self, o: Any) -> Any: return _binary("*", self, o)
    def __rmul__(self, o: Any) -> Any: return _binary("*", o, self)
    def __truediv__(self, o: Any) -> Any: return _binary("/", self, o)
    def __rtruediv__(self, o: Any) -> Any: return _binary("/", o, self)
    def __pow__(self, o: Any) -> Any: return _binary("^", self, o)
    def __rpow__(self, o: Any) -> Any: return _binary("^", o, self)
    def __mod__(self, o: Any) -> Any: return _call("mod", self, o)
    def __rmod__(self, o: Any) -> Any: return _call("mod", o, self)
    def __floordiv__(self, o: Any) -> Any: return _call("floor", _binary("/", self, o))
    def __rfloordiv__(self, o: Any) -> Any: return _call("floor", _binary("/", o, self))
    def __neg__(self) -> Any: return Symbol("neg", self)
    def __pos__(self) -> Any: return self
    def __abs__(self) -> Any: return Symbol("abs", self)
    def __lt__(self, o: Any) -> Any: return _binary("<", self, o)
    def __le__(self, o: Any) -> Any: return _binary("<=", self, o)
    def __gt__(self, o: Any) -> Any: return _binary(">", self, o)
    def __ge__(self, o: Any) -> Any: return _binary(">=", self, o)
    def __eq__(self, o: Any) -> Any: return _binary("==", self, o)
    def __ne__(self, o: Any) -> Any: return _binary("!=", self, o)
    def __and__(self, o: Any) -> Any: return _binary("&", _truth(self), _truth(o))
    def __rand__(self, o: Any) -> Any: return _binary("&", _truth(o), _truth(self))
    def __or__(self, o: Any) -> Any: return _binary("|", _truth(self), _truth(o))
    def __ror__(self, o: Any) -> Any: return _binary("|", _truth(o), _truth(self))
    def __invert__(self) -> Any: return Symbol("not", _truth(self), truth=True)
    def conjugate(self) -> Any: return self
    # fmt: on
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise _code_line("a decision depends on a value that is not known when the function is traced",
                         "use np.where(condition, a, b) or shoal.when(condition, a, b)")

    def _number(self, *_: Any) -> Any:
        raise _code_line("a number is needed where the value is not known yet",
                         "use NumPy's functions on it, and no conversion")

    __float__ = __int__ = __index__ = __complex__ = __round__ = _number

    def __iter__(self) -> Iterator[Any]:
        raise _code_line("one value is taken for several", "take the states out of y instead")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or any(v is not None for v in kwargs.values()):
            raise _code_line(f"np.{ufunc.__name__}.{method} is not traced", "write the operation out")
        return _elementwise(ufunc.__name__, *inputs)

    def __getattr__(self, name: str) -> Any:
        # NumPy calls exp(object array) by a method of each element.
        if name in _UNARY or name in ("square", "reciprocal", "logical_not", "rint"):
            return lambda: _ufunc(name, (self,))
        raise AttributeError(name)


class Symbols(np.ndarray):
    """An array of symbols and numbers. NumPy would ask comparisons of objects for their truth."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        if method == "__call__" and not any(v is not None for v in kwargs.values()):
            result = _elementwise(ufunc.__name__, *inputs)
        elif method == "reduce" and ufunc in (np.maximum, np.minimum):
            result = _extreme(ufunc.__name__)(inputs[0], kwargs.get("axis"))
        elif ufunc in (np.add, np.multiply, np.subtract, np.matmul):
            plain = [np.asarray(i, dtype=object) for i in inputs]
            result = getattr(ufunc, method)(*plain, **kwargs)
        else:
            raise _code_line(f"np.{ufunc.__name__}.{method} is not traced", "write the operation out")
        if out is not None:
            out[0][...] = result
            return out[0]
        return result.view(Symbols) if isinstance(result, np.ndarray) else result

    def max(self, axis: Any = None) -> Any:  # type: ignore[override]
        return _extreme("maximum")(self, axis)

    def min(self, axis: Any = None) -> Any:  # type: ignore[override]
        return _extreme("minimum")(self, axis)


_TRUTHS = {"<", "<=", ">", ">=", "==", "!=", "&", "|"}


def _binary(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return NotImplemented
    if not (_is_value(a) and _is_value(b)):
        return NotImplemented
    return Symbol(op, a, b, truth=op in _TRUTHS)


def _truth(a: Any) -> Any:
    if isinstance(a, Symbol) and not a.truth:
        raise _code_line("& and | are traced for conditions only", "compare the values first")
    return a


def _call(name: str, *args: Any) -> Any:
    return Symbol(name, *args)


def _is_value(a: Any) -> bool:
    return isinstance(a, (Symbol, bool, int, float, np.number, np.bool_))


def _ufunc(name: str, inputs: Sequence[Any]) -> Any:
    if name in _BINARY:
        return Symbol(_BINARY[name], *inputs, truth=_BINARY[name] in _TRUTHS)
    if name in _UNARY:
        return Symbol(_UNARY[name], *inputs)
    if name in _CALLS:
        return Symbol(_CALLS[name], *inputs)
    a = inputs[0]
    known: dict[str, Callable[[], Any]] = {
        "negative": lambda: -a, "positive": lambda: a, "square": lambda: a * a,
        "reciprocal": lambda: 1.0 / a, "conjugate": lambda: a, "floor_divide": lambda: a // inputs[1],
        "hypot": lambda: Symbol("sqrt", a * a + inputs[1] * inputs[1]),
        "logical_not": lambda: ~a, "heaviside": lambda: _heaviside(a, inputs[1]),
        "deg2rad": lambda: a * (math.pi / 180), "radians": lambda: a * (math.pi / 180),
        "rad2deg": lambda: a * (180 / math.pi), "degrees": lambda: a * (180 / math.pi),
        "exp2": lambda: Symbol("^", 2.0, a), "bitwise_and": lambda: a & inputs[1],
        "bitwise_or": lambda: a | inputs[1], "invert": lambda: ~a,
    }  # fmt: skip
    if name in known:
        return known[name]()
    raise _code_line(f"np.{name} is not traced", "write it with functions that are (docs/python.md)")


def _heaviside(a: Any, at_zero: Any) -> Any:
    return when(a < 0, 0.0, when(a == 0, at_zero, 1.0))


def when(condition: Any, then: Any, otherwise: Any) -> Any:
    """``then`` where the condition holds, else ``otherwise``: an ``if`` that can be traced.

    >>> shoal.when(2 > 1, "yes", "no")
    'yes'
    """
    if not isinstance(condition, Symbol):
        return then if condition else otherwise
    return Symbol("if", _truth(condition), then, otherwise)


# ---- Stand-ins -----------------------------------------------------------------------------------


def _has_symbols(values: Any) -> bool:
    if isinstance(values, Symbol):
        return True
    if isinstance(values, np.ndarray):
        return values.dtype == object
    return isinstance(values, (list, tuple)) and any(_has_symbols(v) for v in values)


def _array(values: Any) -> Symbols:
    return np.asarray(values, dtype=object).view(Symbols)


def _where(condition: Any, a: Any, b: Any) -> Any:
    if not (_has_symbols(condition) or _has_symbols(a) or _has_symbols(b)):
        return np.where(condition, a, b)
    c, a, b = np.broadcast_arrays(*[_array(v) for v in (condition, a, b)])
    out = _array(np.empty(c.shape, dtype=object))
    for i in np.ndindex(c.shape):
        out[i] = when(c[i], a[i], b[i])
    return out[()] if not c.shape else out


def _clip(a: Any, lo: Any, hi: Any) -> Any:
    if lo is not None:
        a = _elementwise("maximum", a, lo)
    return a if hi is None else _elementwise("minimum", a, hi)


def _elementwise(name: str, *values: Any) -> Any:
    if name == "matmul":
        return _array(np.asarray(values[0], dtype=object) @ np.asarray(values[1], dtype=object))[()]
    arrays = np.broadcast_arrays(*[_array(v) for v in values])
    out = _array(np.empty(arrays[0].shape, dtype=object))
    for i in np.ndindex(out.shape):
        parts = [a[i] for a in arrays]
        traced = any(isinstance(p, Symbol) for p in parts)
        out[i] = _ufunc(name, parts) if traced else getattr(np, name)(*[np.float64(p) for p in parts])
    return out if out.shape else out[()]


def _extreme(name: str) -> Callable[..., Any]:
    def reduce(values: Any, axis: Any = None) -> Any:
        if axis is not None:
            raise _code_line("an axis of max and min is not traced", "write it out")
        flat = list(np.asarray(values, dtype=object).ravel())
        best = flat[0]
        for v in flat[1:]:
            best = _elementwise(name, best, v)
        return best

    return reduce


def _norm(x: Any, ord: Any = None) -> Any:
    if ord not in (None, 2):
        raise _code_line("only the Euclidean norm is traced", "write the norm out")
    flat = list(_array(x).ravel())
    return _elementwise("sqrt", sum((v * v for v in flat[1:]), flat[0] * flat[0]))


def _made(fill: float) -> Callable[..., Any]:
    def make(shape: Any, *_: Any, **__: Any) -> Any:
        out = _array(np.empty(np.shape(shape) if isinstance(shape, np.ndarray) else shape, dtype=object))
        out[...] = fill
        return out

    return make


class _Module:
    """NumPy or math as a traced function sees it: what takes symbols is ours, the rest its own."""

    def __init__(self, module: Any, ours: dict[str, Any]) -> None:
        self._module, self._ours = module, ours

    def __getattr__(self, name: str) -> Any:
        if name in self._ours:
            return self._ours[name]
        return getattr(self._module, name)


def _traced(name: str) -> Callable[..., Any]:
    """A function that takes symbols, or is NumPy's own where there are none."""

    def call(*values: Any, **kwargs: Any) -> Any:
        if not any(_has_symbols(v) for v in values):
            return getattr(np, name)(*values, **kwargs)
        if any(v is not None for v in kwargs.values()):
            raise _code_line(f"np.{name} with {', '.join(kwargs)} is not traced", "assign the result")
        return _elementwise(name, *values)

    return call


def _either(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(*values: Any, **kwargs: Any) -> Any:
        if any(_has_symbols(v) for v in values):
            return ours(*values, **kwargs)
        module: Any = np
        for part in name.split("."):
            module = getattr(module, part)
        return module(*values, **kwargs)

    return call


def _linalg() -> _Module:
    return _Module(np.linalg, {"norm": _either("linalg.norm", _norm)})


def _array_like(values: Any, *_: Any, **__: Any) -> Any:
    return _array(values).copy() if _has_symbols(values) else np.array(values, *_, **__)


def _numpy() -> _Module:
    ours: dict[str, Any] = {name: _traced(name) for name in (*_UNARY, *_BINARY, *_CALLS)}
    ours |= {n: _traced(n) for n in ("square", "reciprocal", "heaviside", "hypot", "floor_divide", "negative",
                                     "deg2rad", "radians", "rad2deg", "degrees", "logical_not", "exp2")}
    ours |= {
        "abs": _traced("absolute"), "pow": _traced("power"), "where": _where,
        "clip": _either("clip", _clip), "max": _either("max", _extreme("maximum")),
        "min": _either("min", _extreme("minimum")), "amax": _either("max", _extreme("maximum")),
        "amin": _either("min", _extreme("minimum")), "zeros": _made(0.0), "ones": _made(1.0),
        "empty": _made(0.0), "zeros_like": _made(0.0), "ones_like": _made(1.0),
        "empty_like": _made(0.0), "array": _array_like, "asarray": _array_like,
        "linalg": _linalg(), "interp": _interp,
    }  # fmt: skip
    return _Module(np, ours)


def _math() -> _Module:
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh",
             "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2", "fabs": "absolute",
             "pow": "power"}  # fmt: skip

    def one(name: str, own: Any) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            if not any(_has_symbols(v) for v in values):
                return own(*values)
            return _elementwise(names.get(name, name), *values)

        return call

    known = {names.get(n, n) for n in dir(math)} & {*_UNARY, *_CALLS, "power", "hypot"}
    mine = {n: one(n, getattr(math, n)) for n in dir(math) if names.get(n, n) in known}
    return _Module(math, mine)


def _builtin(name: str) -> Callable[..., Any]:
    """Python's own max or min, of several values or of a list of them."""
    own, ours = getattr(builtins, name), f"{name}imum"

    def call(*values: Any, **how: Any) -> Any:
        items = list(values[0]) if len(values) == 1 else list(values)
        if how or any(np.ndim(v) for v in items) or not any(_has_symbols(v) for v in items):
            return own(items, **how)
        return functools.reduce(functools.partial(_elementwise, ours), items)

    return call


def _interp(x: Any, *table: Any, **how: Any) -> Any:
    if _has_symbols(x):
        raise _code_line("np.interp is not traced", "give the signal to a model's text by drivers=, or use np.where")
    return np.interp(x, *table, **how)


def _stand_in(value: Any) -> Any:
    """What a name of the function's module means while it is traced."""
    if value is np:
        return _numpy()
    if value is math:
        return _math()
    if isinstance(value, np.ufunc):
        return _traced(value.__name__)
    if value is np.where:
        return _where
    if getattr(value, "__module__", None) == "math":
        return getattr(_math(), value.__name__)
    if isinstance(value, types.FunctionType) and value.__module__ not in ("shoal.trace", "numpy"):
        return _copy(value)
    return value


_copies: dict[Any, Any] = {}


def _copy(function: Any) -> Any:
    """The function with stand-ins for what it calls."""
    if function in _copies:
        return _copies[function]
    names = dict(function.__globals__)
    names["__shoal_traced__"] = True
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__,
                              _cells(function))
    copy.__kwdefaults__ = function.__kwdefaults__
    _copies[function] = copy
    for name in function.__code__.co_names:
        if name in names:
            names[name] = _stand_in(names[name])
        elif name in ("max", "min"):
            names[name] = _builtin(name)
    return copy


def _cells(function: types.FunctionType) -> tuple[Any, ...] | None:
    if function.__closure__ is None:
        return None
    return tuple(types.CellType(_stand_in(c.cell_contents)) for c in function.__closure__)


# ---- Text ----------------------------------------------------------------------------------------


class _Writer:
    """Expressions as text; what is used more than once becomes a line of its own."""

    def __init__(self) -> None:
        self.uses: dict[int, int] = {}
        self.names: dict[int, str] = {}
        self.lines: list[str] = []

    def count(self, roots: Sequence[Any]) -> list[Symbol]:
        """All nodes, arguments before what uses them."""
        order: list[Symbol] = []
        for root in roots:
            stack: list[tuple[Any, bool]] = [(root, False)]
            while stack:
                node, done = stack.pop()
                if not isinstance(node, Symbol):
                    continue
                if done:
                    order.append(node)
                    continue
                self.uses[id(node)] = self.uses.get(id(node), 0) + 1
                if self.uses[id(node)] == 1:
                    stack.append((node, True))
                    stack.extend((a, False) for a in reversed(node.args))
        return order

    def write(self, roots: Sequence[Any]) -> list[str]:
        """Texts of the roots; `lines` are what has to stand before."""
        texts: dict[int, str] = {}
        for node in self.count(roots):
            text = self._text(node, texts)
            if node.op != "name" and (self.uses[id(node)] > 1 or len(text) > 400) and not node.truth:
                name = f"w{len(self.lines)}_"
                self.lines.append(f"{name} = {text}")
                text = name
            texts[id(node)] = text
        return [self._argument(r, texts) for r in roots]

    def _argument(self, a: Any, texts: dict[int, str]) -> str:
        if isinstance(a, Symbol):
            return texts[id(a)]
        value = float(a)
        if not math.isfinite(value):
            raise TraceError(f"the function computes with {value}, which no model can")
        text = repr(value)
        return f"({text})" if value < 0 or "e" in text else text

    def _text(self, node: Symbol, texts: dict[int, str]) -> str:
        if node.op == "name":
            return node.args[0]
        args = [self._argument(a, texts) for a in node.args]
        if node.op == "neg":
            return f"(-{args[0]})"
        if node.op == "not":
            return f"(not {args[0]})"
        if node.op == "if":
            return f"(if({args[0]})then({args[1]})else({args[2]}))"
        if node.op == "log2":
            return f"(ln({args[0]})/{math.log(2)!r})"
        if len(args) == 2 and not node.op[0].isalpha():
            return f"({args[0]}{node.op}{args[1]})"
        return f"{node.op}({', '.join(args)})"


def _name(text: str) -> Symbol:
    s = Symbol("name")
    s.args = (text,)
    return s


def _safe(names: Sequence[str], taken: set[str]) -> list[str]:
    """Names for the model: as they are, or with `_` where one is taken but for its case."""
    out = []
    for name in names:
        safe = name
        while safe.lower() in taken:
            safe += "_"
        taken.add(safe.lower())
        out.append(safe)
    return out


# Words that mean something else in a model.
_WORDS = {"t", "pi", "par", "p", "param", "params", "init", "i", "aux", "const", "num", "number",
          "done", "d", "bdry", "b", "solv", "solve", "alg", "table", "global", "set", "driver",
          "event", "observe", *_UNARY.values(), *_CALLS.values(), "if", "then", "else", "and", "or",
          "not", "heav", "sum", "of", "shift", "int", "ran", "normal", "delay", "gamma", "bessel"}


def trace(fun: Callable[..., Any], size: int, *, args: Any = None, name: str | None = None,
          events: Sequence[Callable[..., Any]] = (), y0: Any = None) -> Model:
    """The model that a function ``fun(t, y, *parameters)`` computes, for ``size`` states.

    ``events`` are functions of the same arguments, with SciPy's attributes ``terminal`` and ``direction``;
    ``y0`` are its initial values, those in the middle where there are several.

    >>> def fall(t, y, g):
    ...     return [y[1], -g]
    >>> print(shoal.trace(fall, 2, args={"g": 9.81}).text)
    par g = 9.81
    y0' = y1
    y1' = (-g)
    <BLANKLINE>
    """
    return traced(fun, size, arguments(fun, args, {}), name, events, y0)


def traced(fun: Callable[..., Any], size: int, given: Arguments, name: str | None = None,
           events: Sequence[Callable[..., Any]] = (), y0: Any = None) -> Model:
    """The same of arguments that are sorted; whole numbers are constants where they cannot be parameters."""
    try:
        return _model(fun, size, given, name, events, y0)
    except TraceError:
        whole = {k: v for k, v in given.numbers.items() if isinstance(v, (int, np.integer, np.bool_))}
        if not whole:
            raise
        numbers = {k: v for k, v in given.numbers.items() if k not in whole}
        given = given._replace(numbers=numbers, constants={**given.constants, **whole})
        try:
            return _model(fun, size, given, name, events, y0)
        except TraceError:
            pass
        raise


def _model(fun: Callable[..., Any], size: int, given: Arguments, name: str | None,
           events: Sequence[Callable[..., Any]], y0: Any) -> Model:
    numbers = {k: _number(k, v) for k, v in given.numbers.items()}
    taken = {f"y{i}" for i in range(size)} | _WORDS
    safe = dict(zip(numbers, _safe(list(numbers), taken)))
    symbols = [_name(safe[n]) if n in safe else _stand_in(given.constants[n]) for n in given.names]
    roots = _roots(_run(fun, size, symbols), size, fun, given)
    conditions = [_roots(_run(e, size, symbols), 1, e, given)[0] for e in events]
    writer = _Writer()
    texts = writer.write([*roots, *conditions])
    lines = [f"par {safe[k]} = {v!r}" for k, v in numbers.items()]
    lines += [] if y0 is None else [f"init y{i} = {float(v)!r}" for i, v in enumerate(_middle(y0, size))]
    lines += writer.lines + [f"y{i}' = {text}" for i, text in enumerate(texts[:size])]
    for i, (event, text) in enumerate(zip(events, texts[size:])):
        lines += _event_lines(event, i, text)
    model = Model("\n".join(lines) + "\n", name=name or str(getattr(fun, "__name__", "function")))
    model.function = fun
    model.renamed = safe
    values = [numbers[n] if n in numbers else given.constants[n] for n in given.names]
    _compare(model, fun, size, values, _middle(y0, size) if y0 is not None else np.empty(0))
    return model


def _middle(y0: Any, size: int) -> np.ndarray:
    """Initial values of one run; none where they are no numbers."""
    values = np.asarray(y0)
    if not values.size or values.shape[-1:] != (size,) or values.dtype.kind not in "fiu":
        return np.empty(0)
    rows = values.reshape(-1, size)
    middle = rows[len(rows) // 2]
    return middle if np.isfinite(middle).all() else np.empty(0)


def _run(fun: Any, size: int, arguments: Sequence[Any]) -> Any:
    """What a function gives for symbols."""
    states = _array(np.empty(size, dtype=object))
    states[:] = [_name(f"y{i}") for i in range(size)]
    _copies.clear()
    try:
        return _callable(fun)(_name("t"), states, *arguments)
    except TraceError:
        raise
    except Exception as e:
        raise _at_line(e) from e
    finally:
        _copies.clear()


def event_names(events: Sequence[Any]) -> list[list[str]]:
    """The model's events of each function: those upwards and downwards."""
    found = []
    for i, event in enumerate(events):
        direction = getattr(event, "direction", 0)
        found.append([f"event{i}_{way}" for way, sign in (("up", 1), ("down", -1)) if direction * sign >= 0])
    return found


def _event_lines(event: Any, index: int, text: str) -> list[str]:
    terminal = getattr(event, "terminal", False)
    if terminal not in (False, True, 0, 1, None):
        raise TypeError("an event is terminal at its first occurrence, or not; counts are not supported")
    action = "stop" if terminal else "y0=y0"
    names = event_names([event])[0]
    return [f"event event{index}_{n.split('_')[1]} when {text} {'>' if n.endswith('up') else '<'} 0 : {action}"
            for n in names]


def _callable(fun: Any) -> Any:
    """A copy that can be called with symbols."""
    fun = getattr(fun, "py_func", fun)  # of Numba
    call = getattr(fun, "__call__", None)
    if isinstance(fun, types.FunctionType):
        return _copy(fun)
    if isinstance(fun, functools.partial):
        return functools.partial(_callable(fun.func), *fun.args, **fun.keywords)
    if isinstance(fun, types.MethodType):
        return functools.partial(_copy(fun.__func__), fun.__self__)
    if isinstance(call, types.MethodType):
        return functools.partial(_copy(call.__func__), fun)
    raise TraceError(f"{fun!r} is no Python function, so that it cannot be traced")


# ---- Arguments -----------------------------------------------------------------------------------


class Arguments(NamedTuple):
    """What a function gets behind t and y."""

    names: list[str]  # in order
    numbers: dict[str, Any]  # parameters of the model: numbers, and arrays with one for each run
    constants: dict[str, Any]  # the function has them as they are
    others: dict[str, Any]  # what is for something else


def _signature(fun: Callable[..., Any], count: int) -> list[inspect.Parameter]:
    """What comes behind t and y, where there are so many; what can only be given by name stays as it is."""
    found: list[inspect.Parameter] = []
    for p in list(inspect.signature(getattr(fun, "py_func", fun)).parameters.values())[2:]:
        if p.kind is p.VAR_POSITIONAL:
            found += [p.replace(name=f"{p.name}{i}", kind=p.POSITIONAL_ONLY) for i in range(count - len(found))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            found.append(p)
    return found


def _is_number(name: str, value: Any) -> bool:
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        return False
    if array.dtype.kind == "c":
        raise TypeError(f"{name} is complex, not a real number")
    return array.ndim == 0 and not isinstance(value, (str, type)) and hasattr(value, "__float__")


def arguments(fun: Callable[..., Any], args: Any, params: dict[str, Any]) -> Arguments:
    """What a function is called with. By name an array has a value for each run; in a tuple, and as a default, it is
    the same in all."""
    by_name = isinstance(args, dict)
    try:
        values = [] if args is None or by_name else list(args)
    except TypeError:
        raise TypeError(f"args is a tuple, as in args=({args!r},)") from None
    signature = _signature(fun, len(values))
    names = [p.name for p in signature]
    if len(values) > len(names):
        raise TypeError(f"the function takes {len(names)} parameters, args has {len(values)}")
    named = {**(args if by_name else {}), **{k: v for k, v in params.items() if k in names}}
    given = {p.name: p.default for p in signature} | dict(zip(names, values)) | named
    for name in given:
        if name not in names:
            raise TypeError(f"the function has no parameter {name!r}")
    for name, value in given.items():
        if value is inspect.Parameter.empty:
            raise TypeError(f"a value is needed for the parameter {name!r}")
    numbers = {k: v for k, v in given.items() if _is_number(k, v) or k in named and np.ndim(v)}
    return Arguments(names, numbers, {k: v for k, v in given.items() if k not in numbers},
                     {k: v for k, v in params.items() if k not in names})


def _number(name: str, value: Any) -> float:
    """Of an array the one in the middle."""
    numbers = np.asarray(value, dtype=float).ravel()
    if not numbers.size:
        raise ValueError(f"there is no value of {name!r}")
    number = float(numbers[numbers.size // 2])
    if not np.ndim(value) and not math.isfinite(number):
        raise ValueError(f"{name} is {number}, not a finite number")
    return number


def _roots(result: Any, size: int, fun: Any, given: Arguments) -> list[Any]:
    flat = list(_array(result).ravel())
    if len(flat) == size and all(_is_value(v) for v in flat):
        return flat
    arrays = [k for k, v in given.constants.items() if isinstance(v, (np.ndarray, list, tuple))]
    hint = f"; an array with a value for each run is given by name: args={{{arrays[0]!r}: ...}}" if arrays else ""
    raise TraceError(f"{getattr(fun, '__name__', fun)} gives {len(flat)} derivatives of {size} states{hint}")


def _compare(model: Model, fun: Any, size: int, arguments: Sequence[Any], y0: np.ndarray) -> None:
    """The model against the function itself, at eight points, or where a run begins when it has no value there."""
    rng = np.random.default_rng(8)
    points = [(0.0, np.zeros(size)), (1.0, np.ones(size))]
    points += [(float(rng.uniform(-3, 3)), rng.uniform(-2, 2, size)) for _ in range(6)]
    if any([_is_same(model, fun, t, y, arguments) for t, y in points]) or not y0.size:
        return
    if not _is_same(model, fun, 0.0, np.array(y0, dtype=float), arguments):
        raise TraceError(f"{getattr(fun, '__name__', fun)} raises an error wherever it is tried, and where a run begins")


def _is_same(model: Model, fun: Any, t: float, y: np.ndarray, arguments: Sequence[Any]) -> bool:
    """False where the function raises an error."""
    with np.errstate(all="ignore"):
        try:
            want = np.asarray(fun(t, y.copy(), *arguments), dtype=float).ravel()
        except (ValueError, ZeroDivisionError, OverflowError, FloatingPointError):
            return False  # math's functions raise where NumPy's give NaN
        got = model.rhs(t, y.tolist())
        near = np.abs(np.subtract(got, want)) <= 1e-10 * np.maximum(np.abs(want), np.abs(got)) + 1e-300
        same = near | np.equal(got, want) | (np.isnan(got) & np.isnan(want))
    if not same.all():
        i = int(np.argmin(same))
        raise TraceError(
            f"the traced model differs from {getattr(fun, '__name__', fun)}: at t={t}, y={y.tolist()} "
            f"derivative {i} is {got[i]!r}, not {want[i]!r}; does it depend on something that changes?"
        )
    return True
