"""A process beside that compiles kernels, so that rows need not wait for them.

It takes calls from its standard input, makes them one after the other, and what they compile is in
the cache folder, where other processes find it. It ends when it has had nothing to do for a while,
and with the process that started it.
"""

import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from numba import config

from ..kernel.jit import are_kept, cache_folder, machine_kind, source_hash

WHEN = "PENSTOCK_COMPILE"
FIRST = "first"  # rows wait for their kernel
SHARED = "shared"  # so they do, and the kernel that serves all policies serves them too
IS_BESIDE = "PENSTOCK_BESIDE"  # set in a process that compiles for another: it starts no more
NICE = 5  # how much it yields to others
IDLE = 20.0  # seconds without a call after which it ends

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


class Call(NamedTuple):
    """A call of a function that compiles kernels."""

    module: str
    function: str
    arguments: tuple[Any, ...]


class Compiler:
    """The process beside, and what it was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        code = f"from {__name__} import serve; serve()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {IS_BESIDE: "1", "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # Ctrl-C is not meant for it
        )
        # So that others see at once that it has ended: see `_is_alive`.
        threading.Thread(target=self.process.wait, daemon=True).start()

    def ask(self, call: Call) -> bool:
        """Have a call made; tell whether that can be hoped for."""
        if self.process.poll() is not None:
            return False
        if repr(call) not in self.asked:
            assert self.process.stdin is not None
            try:
                self.process.stdin.write(pickle.dumps(call))
                self.process.stdin.flush()
            except OSError:
                return False
            self.asked.add(repr(call))
        return True


class Elsewhere(NamedTuple):
    """A process beside another process of this machine, and what it was asked for."""

    process: int
    asked: frozenset[str]


_compilers: dict[int, Compiler | None] = {}  # by process: a fork must not use that of its parent
_elsewhere: set[Elsewhere] = set()


def is_compiled_beside(*calls: Call) -> bool:
    """Have calls made by a process beside; False: what they compile is not to be hoped for.

    That is where there is no folder to keep kernels in, where `PENSTOCK_COMPILE` says so, and
    where the process beside has failed.
    """
    if _waits or not are_kept() or config.DISABLE_JIT or os.environ.get(IS_BESIDE):
        return False
    return os.environ.get(WHEN) not in (FIRST, SHARED) and all(map(_is_asked, calls))


def shares_kernel() -> bool:
    """Tell whether engines are to use the kernel that serves all policies."""
    return os.environ.get(WHEN) == SHARED


def _is_asked(call: Call) -> bool:
    if any(repr(call) in each.asked and _is_alive(each.process) for each in _elsewhere):
        return True
    here = os.getpid()
    compiler = _compilers.get(here)
    if here not in _compilers or (compiler is not None and compiler.process.poll() == 0):
        try:
            _compilers[here] = Compiler()  # the first one, or the last had nothing to do
        except OSError:  # no memory or no right to start one
            _compilers[here] = None
    compiler = _compilers[here]
    return compiler is not None and compiler.ask(call)


def is_made(what: str) -> bool:
    """Tell whether it was noted, by this very code, that all kernels are made of something."""
    return _mark(what).exists()


def note_made(what: str) -> None:
    """Note that all kernels are made of something."""
    with suppress(OSError):  # a folder that an image came with
        _mark(what).touch()


def _mark(what: str) -> Path:
    folder = cache_folder()
    assert folder is not None
    digest = hashlib.sha256(repr((source_hash(), machine_kind(), what)).encode())
    return folder / f"{digest.hexdigest()[:32]}.made"


def beside_this() -> Elsewhere | None:
    """Return the process beside this one, for others of this machine."""
    compiler = _compilers.get(os.getpid())
    return None if compiler is None else Elsewhere(compiler.process.pid, frozenset(compiler.asked))


def rely_on(other: Elsewhere) -> None:
    """Start no process for what one beside another process was asked for."""
    _elsewhere.add(other)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def serve() -> None:
    """Make the calls that come by standard input, until none comes any more."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    while True:
        idle = threading.Timer(IDLE, os._exit, (0,))
        idle.start()
        try:
            call = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        finally:
            idle.cancel()
        getattr(import_module(call.module), call.function)(*call.arguments)
