"""Kernels compiled ahead: before an engine needs them, and in another process while it runs.

`prepare` makes ready all that a new engine needs: its own kernel, and with `auto` the one kernel of
all miniatures and the hooks of every policy that is tried at first. What `auto` puts in force later
runs in the kernel of the miniatures until its own has been compiled by a process beside
(`compile_beside`), which yields to everything else on the machine. Both do the same to the last
bit, so that results do not depend on when it is ready.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numba import config

from ..kernel.gains import PAIRS
from ..kernel.jit import cache_folder
from ..kernel.policy import CACHING
from .adapt.chooser import Chooser
from .adapt.miniatures import Columns
from .adapt.pilot import Finder
from .base import Engine
from .join import Join
from .lookup import Lookup

BESIDE = "PENSTOCK_BESIDE"  # set in a process that compiles for another: it starts no more


def prepare(engine: Engine) -> None:
    """Have everything compiled or loaded that an engine needs; it must be new, and is used up.

    >>> prepare(Lookup("fifo", 2))
    """
    columns = _two_rows(engine)
    engine._show(columns)
    engine._grow(2 * engine._capacity)
    pilot = engine._pilot
    if not isinstance(pilot, Finder):
        return
    done = set()
    for number, candidate in enumerate(pilot.candidates):
        asleep = isinstance(pilot, Chooser) and not pilot.is_awake(number)
        if not asleep and candidate.chosen.policy.name not in done:
            miniature = engine._miniature(candidate, 1.0)
            miniature.is_miniature = True
            miniature._show(columns)
            done.add(candidate.chosen.policy.name)
    if isinstance(pilot, Chooser):
        engine._replay(columns)


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
                compile_for(json.dumps(terms))
        _keep_up(engine)


def _later_terms(engine: Engine) -> Iterator[dict[str, Any]]:
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


def _keep_up(engine: Engine) -> None:
    """Do everything that an engine does between batches."""
    engine._show(_two_rows(engine))
    if isinstance(engine, Lookup):
        engine.discard([0])
        Lookup.restore(engine.save(), policy="fifo", budget=1)
    elif isinstance(engine, Join):
        restored = Join.restore(engine.save(), policy="fifo", budget=1)
        restored.expire()


def compile_beside(terms: dict[str, Any]) -> None:
    """Have the kernel of an engine of these terms compiled by a process of low priority.

    It is kept on disk. Where there is no place to keep it nothing is done.
    """
    if cache_folder() is None or config.DISABLE_JIT or os.environ.get(BESIDE):
        return
    code = f"from {__name__} import compile_for; compile_for({json.dumps(terms)!r})"
    quiet = subprocess.DEVNULL
    try:
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            env=os.environ | {BESIDE: "1", "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,  # Ctrl-C is not meant for it
        )
    except OSError:  # no memory or no right to start one: the engine goes on as it is
        return


def compile_for(text: str) -> None:
    """Compile the kernel of an engine of these terms.

    >>> compile_for('{"engine": "lookup", "policy": "fifo", "sized": false}')
    """
    terms = json.loads(text)
    if hasattr(os, "nice") and os.environ.get(BESIDE):
        os.nice(19)
    made: Engine
    if terms.pop("engine") == Lookup.kind:
        made = Lookup(budget=2, **terms)
    else:
        made = Join(budget=2, **terms)
    made._show(_two_rows(made))
