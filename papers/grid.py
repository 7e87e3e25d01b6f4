"""Many cells of work on all cores, written down when done: a sweep can be stopped and resumed.

A cell is one piece of work in plain values (numbers, texts, lists, dictionaries), so that it can be
sent to another process or machine, and be written down. The work itself is a function at the top of
a module, which a worker can import. `papers.grid_on_spark` does the same on a cluster.
"""

import functools
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

from papers.pool import Pool
from penstock.errors import BadInput
from penstock.kernel.jit import source_hash
from penstock.kernel.options import check_word
from penstock.kernel.policy import JOINING
from penstock.profile.stream_profile import Progress
from penstock.simulate.comparison import Measurement, counting, measure_run
from penstock.simulate.scenario import Scenario, choose_source

Given = dict[str, Any]
Work = Callable[[Given], Given]
Done = tuple[str, Given, Given]  # the key of a cell, the cell, and what was found

SOURCE = ("workload", "trace", "key", "time", "side", "length")  # what a cell says of its arrivals
SCENARIO = tuple(field.name for field in fields(Scenario) if field.name != "source")

FILE = "cells.jsonl"
PARTS = 8  # that each worker's share is cut into, so that none has to wait long for the others
LARGEST = 16  # cells of a part


def product(**axes: Any) -> list[Given]:
    """Return a cell for each combination; lists and other iterables are axes, the rest is the same.

    The last axis changes fastest: what is costly to change should come first.

    >>> product(workload="tower", run=range(2), policy=["rand", "prob"])[1]
    {'workload': 'tower', 'run': 0, 'policy': 'prob'}
    """
    columns = [list(each) if _is_axis(each) else [each] for each in axes.values()]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*columns)]


def _is_axis(each: Any) -> bool:
    return isinstance(each, Iterable) and not isinstance(each, (str, bytes, dict))


def sweep(
    work: Work,
    cells: Sequence[Given],
    *,
    folder: str | Path | None = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> list[Given]:
    """Return what the work finds for each cell, in their order.

    folder: where finished cells are written down; those found there are not done again.
    pool: the workers; by default one for each core, for this call only.

    >>> tower = {"workload": "tower", "policy": "rand", "length": 60, "warmup": 0}
    >>> cells = [tower | {"memory": 2}, tower | {"memory": 9}]
    >>> few, many = sweep(simulate_cell, cells, pool=Pool(workers=1))
    >>> few["results"] < many["results"] <= many["full"]
    True
    """
    name, shares = name_of(work), 1 if pool is None else pool.workers

    def do(todo: list[tuple[str, Given]]) -> Iterator[list[Done]]:
        parts = cut(todo, shares)
        tasks = [(name, [given for _, given in part]) for part in parts]
        with Pool() if pool is None else nullcontext(pool) as workers:
            for number, found in workers.map(do_part, tasks):
                yield [(key, given, f) for (key, given), f in zip(parts[number], found)]

    return sweep_by(do, work, cells, folder, progress)


def sweep_by(
    do: Callable[[list[tuple[str, Given]]], Iterable[list[Done]]],
    work: Work,
    cells: Sequence[Given],
    folder: str | Path | None,
    progress: Progress | None,
) -> list[Given]:
    """Return what is found for each cell; `do` yields what is done of the keys and cells to do."""
    ledger = Ledger(folder)
    keys = [key_of(work, given) for given in cells]
    todo = {key: given for key, given in zip(keys, cells, strict=True) if key not in ledger.found}
    follow = counting(progress, len(set(keys)))
    follow(len(set(keys)) - len(todo))
    for done in do(list(todo.items())):
        ledger.add(done)
        follow(len(done))
    return [ledger.found[key] for key in keys]


def do_part(task: tuple[str, list[Given]]) -> list[Given]:
    """Do the work of some cells, in a worker."""
    name, cells = task
    work = find_work(name)
    return [work(given) for given in cells]


def cut(todo: list, workers: int) -> list[list]:
    """Cut a list into parts of neighbours, which often share their arrivals."""
    size = max(1, min(LARGEST, len(todo) // (PARTS * workers)))
    return [todo[start : start + size] for start in range(0, len(todo), size)]


def key_of(work: Work, given: Given) -> str:
    """Return a key that no other work, other cell or other state of the sources has."""
    sources = [source_hash(), _sources_beside(work.__module__.partition(".")[0])]
    text = json.dumps([name_of(work), sources, given], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@functools.cache
def _sources_beside(package: str) -> str:
    """Return a hash of the sources of a package other than penstock, which has its own hash."""
    if package == "penstock":
        return ""
    digest = hashlib.sha256()
    for folder in getattr(sys.modules.get(package), "__path__", ()):
        for path in sorted(Path(folder).rglob("*.py")):
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def name_of(work: Work) -> str:
    """Return the name by which a worker finds the function.

    >>> name_of(simulate_cell)
    'papers.grid:simulate_cell'
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


class Ledger:
    """The finished cells of a folder, in a file that grows by a line for each; or of no folder.

    >>> ledger = Ledger(None)
    >>> ledger.add([("some key", {"memory": 10}, {"results": 7})])
    >>> ledger.found["some key"]
    {'results': 7}
    """

    def __init__(self, folder: str | Path | None) -> None:
        self.found: dict[str, Given] = {}
        self.path = None if folder is None else Path(folder) / FILE
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            self.found = dict(_lines(self.path))
        except OSError as error:
            raise BadInput(
                f"the folder of a grid must be one that can be written, got {folder}: "
                f"{error.strerror}; choose another"
            ) from error

    def add(self, rows: Sequence[Done]) -> None:
        """Write down what is done at once."""
        self.found |= {key: found for key, _, found in rows}
        if self.path is None:
            return
        lines = (json.dumps({"cell": k, "given": g, "found": f}) + "\n" for k, g, f in rows)
        with self.path.open("a") as file:
            file.write("".join(lines))


def _lines(path: Path) -> list[tuple[str, Given]]:
    """Return the lines that can be read. A killed process leaves half a line at the end."""
    found = []
    text = path.read_text()
    for line in text.splitlines():
        try:
            row = json.loads(line)
            found.append((row["cell"], row["found"]))
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    if text and not text.endswith("\n"):
        with path.open("a") as file:
            file.write("\n")  # so that the next line is whole
    return found


def simulate_cell(given: Given) -> Given:
    """Simulate one cell of a grid: one policy in one run.

    A cell names its policy and memory, its arrivals, and perhaps more fields of a `Scenario`:

        {"workload": "tower", "policy": "heeb", "memory": 10, "run": 3}
        {"trace": "calls.csv", "key": "caller", "policy": "lru", "memory": 9, "problem": "caching"}

    >>> found = simulate_cell({"workload": "zipf", "policy": "prob", "memory": 20, "length": 200})
    >>> list(found)
    ['results', 'full', 'recall', 'rows', 'seconds', 'matched', 'matchable']
    """
    for name in given:
        check_word("a cell's entry", name, (*SOURCE, *SCENARIO, "policy", "run"))
    for name in ("policy", "memory"):
        if name not in given:
            raise BadInput(f"a cell must name its {name}, got {given}; add {name!r}")
    columns = {name: given[name] for name in SOURCE[2:] if name in given}
    source = choose_source(given.get("workload"), given.get("trace"), **columns)
    options = {name: given[name] for name in SCENARIO if name in given}
    scenario = Scenario(source, **{"problem": JOINING} | options)
    return figures(measure_run(scenario, [given["policy"]], given.get("run", 0))[0])


def figures(measured: Measurement) -> Given:
    """Return the figures of a replay as plain values."""
    played = measured.played
    found = {
        "results": played.results,
        "full": measured.full,
        "recall": measured.recall,
        "rows": played.rows,
        "seconds": played.seconds,
    }
    if played.matched is not None:
        found |= {"matched": played.matched, "matchable": measured.matchable}
    return found if measured.distortion is None else found | measured.distortion._asdict()
