"""Kernels compiled ahead: before an engine needs them, and in another process while it runs.

`prepare` makes ready all that a new engine needs: its own kernel, with `auto` the one kernel of all
shadow caches and the hooks of every policy that is tried, and what is done between batches.
An engine that was not prepared starts as plain Python while a process beside (`beside.py`) compiles
its kernel. All do the same to the last bit, so that results do not depend on when a kernel is
ready.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..kernel.gains import PAIRS
from ..kernel.policy import CACHING, Configured
from .adapt.shadows import Columns
from .base import Engine
from .beside import Call, compiled_here
from .join import Join
from .lookup import Lookup

Terms = dict[str, Any]  # all that a kernel depends on: see `Engine._terms`


def prepare(engine: Engine) -> None:
    """Have everything compiled or loaded that an engine needs; it must be new, and is used up.

    >>> prepare(Lookup("fifo", 2))
    """
    compile_for(engine._terms())  # with `auto` the engine itself would use that of shadow caches
    columns = _two_rows(engine)
    with compiled_here():
        engine._show(columns)
        engine._grow(2 * engine._capacity)
        for shadow in _shadows(engine):
            shadow._show(columns)
        if engine.chooser is not None:
            engine._replay(columns)
        if isinstance(engine, Lookup):
            engine.find([0])
            engine.discard([0])
            Lookup.restore(engine.save(), policy="fifo")
        elif isinstance(engine, Join):
            restored = Join.restore(engine.save())
            restored.expire()
            if restored.budget is not None:
                restored.resize(0)


def calls_for(engine: Engine) -> list[Call]:
    """Return the calls by which a process beside compiles what takes the rows of a new engine."""
    needed = [engine, *_shadows(engine)]
    return [Call(__name__, compile_for.__name__, (each._terms(),)) for each in needed]


def _tried(engine: Engine) -> list[Configured]:
    """Return what `auto` may put in force, once for each policy: parameters change no kernel."""
    tried = () if engine.chooser is None else engine.chooser.candidates
    each = {chosen.policy.name: chosen for chosen in reversed(tried)}
    return [chosen for chosen in each.values() if not chosen.policy.ordered]


def _shadows(engine: Engine) -> Iterator[Engine]:
    """Return a shadow cache for each policy that is tried."""
    for chosen in _tried(engine):
        shadow = engine._shadow(chosen, 1.0)
        shadow.is_shadow = True
        yield shadow


def _two_rows(engine: Engine) -> Columns:
    """Return rows such as shadow caches are shown, one for each of two streams."""
    number, size = np.zeros(2, np.int64), np.ones(2, np.int64)
    sizes = (size,) if engine.sized else ()
    if isinstance(engine, Lookup):
        return (number, *sizes, *((size,) if engine.priced else ()))
    assert isinstance(engine, Join)
    key = np.zeros((2, engine.form.attributes), np.int64)
    return (np.array([0, 1], np.int8), key, number, number + 1, *sizes)


def prepare_all(policy: str, problem: str, goal: str = PAIRS) -> None:
    """Have everything compiled that two-way joins, or caches, under a policy may ever need.

    Budgets in rows and in bytes, and joins without one; with `auto` also what it may put in force;
    and what is done between batches.
    """
    for sized in (False, True):
        if problem == CACHING:
            make: Any = partial(Lookup, policy, 4, sized=sized)
        else:
            make = partial(Join, policy, 4, within=1, sized=sized, goal=goal)
            prepare(Join(within=1, sized=sized))
        engine = make()
        prepare(make())
        for chosen in _tried(engine):
            compile_for(engine._terms() | {"policy": str(chosen)})


def compile_for(terms: Terms) -> None:
    """Compile the kernel of an engine of these terms.

    >>> compile_for({"engine": "lookup", "policy": "fifo", "sized": False, "shadow": False})
    """
    given = dict(terms)
    is_shadow, kind = given.pop("shadow"), given.pop("engine")
    made: Engine
    if kind == Lookup.kind:
        made = Lookup(budget=2, **given)
    else:
        bounded = {"policy": given.pop("policy"), "budget": 2}
        made = Join(within=1, **(bounded if given.pop("bounded") else {}), **given)
    made.is_shadow = is_shadow
    with compiled_here():
        made._show(_two_rows(made))
