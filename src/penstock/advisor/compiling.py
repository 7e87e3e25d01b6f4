"""Kernels compiled in a second process, while this one is at others.

In one process Numba compiles one function after another, so that the first advice on a machine
would leave all cores but one idle for half a minute. Here a process beside (`engine.beside`) begins
at the other end of the list. What either has compiled is kept on disk, and the process that comes
second to a kernel waits for the first (`kernel.jit`); so nothing is compiled twice.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..engine import Join, Lookup
from ..engine.beside import Call, compiled_here, is_compiled_beside, is_made, note_made
from ..kernel.gains import PAIRS
from ..kernel.jit import cache_folder
from ..kernel.policy import JOINING
from ..simulate.comparison import cores

FEW = 3  # policies that are not worth a second process


@contextmanager
def compiled_beside(
    names: Sequence[str], problem: str, sized: bool, goal: str = PAIRS
) -> Iterator[None]:
    """Have the kernels of these policies compiled by a process beside too, if they are not yet."""
    if cache_folder() is None or len(names) <= FEW or cores() < 2:
        yield
        return
    call = Call(__name__, "compile_all", (tuple(names), problem, sized, goal))
    if not is_made(repr(call)):
        is_compiled_beside(call)
    with compiled_here():
        yield
    note_made(repr(call))


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
