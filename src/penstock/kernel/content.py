"""What a kernel is made of, as one hash: its code and everything that the code refers to.

Two functions of equal hash compile to the same machine code. The walk follows closures, globals and
the attributes of modules, through functions of this package and of any other but NumPy, Numba and
Python itself, whose versions belong to the key elsewhere. Comments, docstrings and line numbers do
not count, so that editing them compiles nothing.
"""

import dis
import hashlib
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

LIBRARIES = {"builtins", "llvmlite", "math", "numba", "numpy"} | set(sys.stdlib_module_names)
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), np.generic, np.dtype)

_known: dict[FunctionType, str] = {}


class UnknownContent(Exception):
    """A function refers to something whose contents cannot be determined."""


def content_hash(function: Any) -> str:
    """Return a hash of a function, compiled or not, and of all that it refers to."""
    return _function(getattr(function, "py_func", function), frozenset())


def _function(function: Any, within: frozenset) -> str:
    """Return the hash of a plain function; `within` are those that the walk is inside of."""
    if function in _known:
        return _known[function]
    if function in within:
        raise UnknownContent(f"{function.__qualname__} calls itself")
    if not isinstance(function, FunctionType):
        raise UnknownContent(repr(function))
    within = within | {function}
    parts = [*_code(function.__code__, function, within)]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            raise UnknownContent(f"{name} of {function.__qualname__} is not set yet") from None
        parts += [name, _value(value, within)]
    parts.append(_value((function.__defaults__, function.__kwdefaults__ or ()), within))
    _known[function] = found = _digest(parts)
    return found


def _code(code: CodeType, function: Any, within: frozenset) -> list[str]:
    constants = list(code.co_consts)
    if constants and constants[0] == function.__doc__:
        constants[0] = None
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    parts = [
        code.co_name,
        code.co_code.hex(),
        repr(names),
        getattr(code, "co_exceptiontable", b"").hex(),
    ]
    for each in constants:
        parts += (
            _code(each, function, within) if isinstance(each, CodeType) else [_value(each, within)]
        )
    for name, value in _references(code, function.__globals__):
        parts += [name, _value(value, within)]
    return parts


def _references(code: CodeType, known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Return the globals that the code uses; of a module what is taken from it."""
    value: Any = None
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            value = known.get(step.argval)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
            value = getattr(value, step.argval, None)
        else:
            value = None
            continue
        if not isinstance(value, ModuleType):
            yield step.argval, value


def _value(value: Any, within: frozenset) -> str:
    if isinstance(value, Dispatcher):
        options = sorted((name, str(each)) for name, each in value.targetoptions.items())
        return f"{_function(value.py_func, within)} {options}"
    if isinstance(value, _Intrinsic):
        return _function(value._defn, within)
    if isinstance(value, PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _digest([str(value.dtype), str(value.shape), value.tobytes().hex()])
    if isinstance(value, tuple | list):
        fields = getattr(value, "_fields", ())
        return _digest([type(value).__name__, *fields, *(_value(each, within) for each in value)])
    if isinstance(value, frozenset):
        return _digest(sorted(_value(each, within) for each in value))
    if isinstance(value, dict):
        return _digest([_value(list(value.items()), within)])
    if isinstance(value, FunctionType) and not _from_library(value.__module__):
        return _function(value, within)
    if isinstance(value, types.Type) or type(value).__module__.startswith("llvmlite."):
        return str(value)
    if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        return f"{value.__qualname__} {value._fields}"
    if isinstance(value, type) and issubclass(value, types.Type):  # what it does is in the key
        return f"{value.__module__}.{value.__qualname__}"
    named = (FunctionType, type, BuiltinFunctionType, MethodDescriptorType, np.ufunc)
    module = getattr(value, "__module__", None) or "builtins"
    if (isinstance(value, named) or module.partition(".")[0] == "numpy") and _from_library(module):
        return f"{module}.{getattr(value, '__qualname__', getattr(value, '__name__', value))}"
    raise UnknownContent(f"{type(value).__name__} {value!r}")


def _from_library(module: str | None) -> bool:
    return (module or "builtins").partition(".")[0] in LIBRARIES


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
