"""Kernels compiled in a second process, while this one is at others.

In one process Numba compiles one function after another, so that the first advice on a machine
would leave all cores but one idle for half a minute. Here a second process begins at the other end
of the list. What either has compiled is kept on disk, and the process that comes second to a
kernel waits for the first (`kernel.jit`); so nothing is compiled twice, and nothing is lost if one
of them ends early.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from numba import config

from ..engine import Join, Lookup
from ..kernel.gains import PAIRS
from ..kernel.jit import cache_folder, source_hash
from ..kernel.policy import JOINING
from ..simulate.pool import cores

FEW = 3  # policies that are not worth a second process


@contextmanager
def compiled_beside(
    names: Sequence[str], problem: str, sized: bool, goal: str = PAIRS
) -> Iterator[None]:
    """Have the kernels of these policies compiled by a second process too, if they are not yet."""
    folder = cache_folder()
    if folder is None or config.DISABLE_JIT or len(names) <= FEW or cores() < 2:
        yield
        return
    mark = _mark(folder, names, problem, sized, goal)
    helper = None if mark.exists() else _start(names, problem, sized, goal)
    try:
        yield
        mark.touch()
    finally:
        if helper is not None:
            helper.kill()
            helper.wait()


def _mark(folder: Path, names: Sequence[str], problem: str, sized: bool, goal: str) -> Path:
    """Return the file that is there when all of these kernels are."""
    digest = hashlib.sha256(
        repr((source_hash(), tuple(names), problem, sized, goal)).encode()
    ).hexdigest()
    return folder / f"{digest[:32]}.advised"


def _start(names: Sequence[str], problem: str, sized: bool, goal: str) -> subprocess.Popen[bytes]:
    given = f"{list(names)}, {problem!r}, {sized}, {goal!r}"
    code = f"from {__name__} import compile_all; compile_all({given})"
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], stdin=quiet, stdout=quiet, stderr=quiet)


def compile_all(names: Sequence[str], problem: str, sized: bool, goal: str = PAIRS) -> None:
    """Compile the kernels of these policies, one after another.

    >>> compile_all(["fifo"], "joining", sized=False)
    """
    size = [1] if sized else None
    for name in names:
        if problem == JOINING:
            Join(name, 1, within=1, sized=sized, goal=goal).tallies([0], [0], [0], size=size)
        else:
            Lookup(name, 1, sized=sized).push([0], size=size, emit=False)
