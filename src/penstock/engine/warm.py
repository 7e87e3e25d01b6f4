"""Kernels compiled ahead: before an engine needs them, and in another process while it runs.

`prepare` makes ready all that a new engine needs: its own kernel, with `auto` the one kernel of all
miniatures and the hooks of every policy that is tried at first, and what is done between batches.
An engine that was not prepared starts as plain Python while a process beside (`beside.py`) compiles
its kernel. All do the same to the last bit, so that results do not depend on when a kernel is
ready.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..kernel.gains import PAIRS
from ..kernel.policy import CACHING
from .adapt.chooser import Chooser
from .adapt.miniatures import Columns
from .adapt.pilot import Finder
from .base import Engine
from .beside import Call, compiled_here
from .join import Join
from .lookup import Lookup

Terms = dict[str, Any]  # all that a kernel depends on: see `Engine._terms`


def prepare(engine: Engine) -> None:
    """Have everything compiled or loaded that an engine needs; it must be new, and is used up.

    >>> prepare(Lookup("fifo", 2))
    """
    compile_for(engine._terms())  # with `auto` the engine itself would use the kernel of miniatures
    columns = _two_rows(engine)
    with compiled_here():
        engine._show(columns)
        engine._grow(2 * engine._capacity)
        for miniature in _miniatures(engine):
            miniature._show(columns)
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
    needed = [engine, *_miniatures(engine)]
    return [Call(__name__, compile_for.__name__, (each._terms(),)) for each in needed]


def _miniatures(engine: Engine) -> Iterator[Engine]:
    """Return a miniature for each policy that is tried at first."""
    pilot, done = engine._pilot, set()
    if not isinstance(pilot, Finder):
        return
    for number, candidate in enumerate(pilot.candidates):
        asleep = isinstance(pilot, Chooser) and not pilot.is_awake(number)
        if not asleep and candidate.chosen.policy.name not in done:
            miniature = engine._miniature(candidate, 1.0)
            miniature.is_miniature = True
            yield miniature
            done.add(candidate.chosen.policy.name)


def _two_rows(engine: Engine) -> Columns:
    """Return rows such as miniatures are shown, one for each of two streams."""
    number, size = np.zeros(2, np.int64), np.ones(2, np.int64)
    sizes = (size,) if engine.sized else ()
    if isinstance(engine, Lookup):
        return (number, *sizes)
    assert isinstance(engine, Join)
    key = np.zeros((2, engine.form.shape.attributes), np.int64)
    return (np.array([0, 1], np.int8), key, number, number + 1, *sizes)


def prepare_all(policy: str, problem: str, goal: str = PAIRS) -> None:
    """Have everything compiled that two-way joins, or caches, under a policy may ever need.

    Budgets in rows and in bytes, and joins without one; with `auto` also what it may put in force,
    in one memory and in one for each stream; and what is done between batches.
    """
    for sized in (False, True):
        if problem == CACHING:
            make: Any = partial(Lookup, policy, 4, sized=sized)
        else:
            make = partial(Join, policy, 4, within=1, sized=sized, goal=goal)
            prepare(Join(within=1, sized=sized))
        engine = make()
        prepare(make())
        if engine.chooser is not None:
            for terms in _later_terms(engine):
                compile_for(terms)


def _later_terms(engine: Engine) -> Iterator[Terms]:
    """Return the terms of what `auto` may put in force later."""
    assert engine.chooser is not None
    done = set()
    for candidate in engine.chooser.candidates:
        policy = candidate.chosen.policy
        if policy.ordered or (policy.name, candidate.layout) in done:
            continue
        done.add((policy.name, candidate.layout))
        split = {"layout": candidate.layout} if isinstance(engine, Join) else {}
        yield engine._terms() | {"policy": str(candidate.chosen)} | split


def compile_for(terms: Terms) -> None:
    """Compile the kernel of an engine of these terms.

    >>> compile_for({"engine": "lookup", "policy": "fifo", "sized": False, "miniature": False})
    """
    given = dict(terms)
    is_miniature, kind = given.pop("miniature"), given.pop("engine")
    made: Engine
    if kind == Lookup.kind:
        made = Lookup(budget=2, **given)
    else:
        bounded = {"policy": given.pop("policy"), "budget": 2}
        made = Join(within=1, **(bounded if given.pop("bounded") else {}), **given)
    made.is_miniature = is_miniature
    with compiled_here():
        made._show(_two_rows(made))
