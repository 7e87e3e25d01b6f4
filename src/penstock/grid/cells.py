"""A cell: one piece of work of a grid, told in plain values, and the key it is found by.

What a cell says is plain (numbers, texts, lists, dictionaries), so that it can be sent to another
process or machine, and be written down. The work itself is a function at the top of a module, which
a worker can import.
"""

import functools
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..core.jit import source_hash
from ..errors import BadInput

Given = dict[str, Any]
Work = Callable[[Given], Given]


def product(**axes: Any) -> list[Given]:
    """Return a cell for each combination; lists and other iterables are axes, the rest is the same.

    The last axis changes fastest: what is costly to change should come first.

    >>> product(workload="tower", run=range(2), policy=["rand", "prob"])[1]
    {'workload': 'tower', 'run': 0, 'policy': 'prob'}
    """
    columns = [list(each) if _is_axis(each) else [each] for each in axes.values()]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*columns)]


def key_of(work: Work, given: Given) -> str:
    """Return a key that no other work, other cell or other state of the sources has."""
    sources = [source_hash(), _sources_beside(work.__module__.partition(".")[0])]
    told = json.dumps([name_of(work), sources, given], sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:24]


@functools.cache
def _sources_beside(package: str) -> str:
    """Return a hash of the sources of a package other than this one, which has its own hash."""
    if package == __name__.partition(".")[0]:
        return ""
    digest = hashlib.sha256()
    for folder in getattr(sys.modules.get(package), "__path__", ()):
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def name_of(work: Work) -> str:
    """Return where a worker finds the function.

    >>> from penstock.simulation import simulate_cell
    >>> name_of(simulate_cell)
    'penstock.simulation.cell:simulate_cell'
    """
    name = f"{work.__module__}:{work.__qualname__}"
    if "<" in name:
        raise BadInput(
            f"the work of a grid must be a function at the top of a module, got {name};"
            " workers import it by its name"
        )
    return name


def find_work(name: str) -> Work:
    """Return the function of that name."""
    module, _, function = name.partition(":")
    found: Work = getattr(import_module(module), function)
    return found


def _is_axis(each: Any) -> bool:
    return isinstance(each, Iterable) and not isinstance(each, (str, bytes, dict))
