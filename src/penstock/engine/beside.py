"""A process beside that compiles kernels, so that rows need not wait for them.

It takes the terms of engines from its standard input, compiles what these need one after the other,
and leaves it in the cache folder, where other processes find it. It ends with the process that
started it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba import config

from ..kernel.jit import cache_folder

WHEN = "PENSTOCK_COMPILE"  # "first": rows wait for their kernel, as in the tests
IS_BESIDE = "PENSTOCK_BESIDE"  # set in a process that compiles for another: it starts no more
NICE = 5  # how much it yields to others

_waits = False  # whether kernels are compiled here before they are used


@contextmanager
def compiled_here() -> Iterator[None]:
    """Have kernels compiled here, before they are used."""
    global _waits
    before, _waits = _waits, True
    try:
        yield
    finally:
        _waits = before


class Compiler:
    """The process beside, and what it was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        code = f"from {__package__}.warm import serve; serve()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {IS_BESIDE: "1", "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # Ctrl-C is not meant for it
        )

    def ask(self, terms: str) -> bool:
        """Have the kernels of an engine compiled; tell whether that can be hoped for."""
        if self.process.poll() is not None:
            return False
        if terms not in self.asked:
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(terms.encode() + b"\n")
                self.process.stdin.flush()
            except OSError:
                return False
            self.asked.add(terms)
        return True


_compilers: dict[int, Compiler | None] = {}  # by process: a fork must not use that of its parent


def is_compiled_beside(terms: dict[str, Any]) -> bool:
    """Have the kernels of an engine of these terms compiled beside; False: not to be hoped for.

    That is where there is no folder to keep them in, where `PENSTOCK_COMPILE=first`, and where the
    process beside has ended.
    """
    if _waits or cache_folder() is None or config.DISABLE_JIT or os.environ.get(IS_BESIDE):
        return False
    if os.environ.get(WHEN, "") == "first":
        return False
    if os.getpid() not in _compilers:
        try:
            _compilers[os.getpid()] = Compiler()
        except OSError:  # no memory or no right to start one
            _compilers[os.getpid()] = None
    compiler = _compilers[os.getpid()]
    return compiler is not None and compiler.ask(json.dumps(terms))
