"""Many cells of work on all cores, written down when done: a sweep can be stopped and resumed.

A cell is one piece of work in plain values (numbers, texts, lists, dictionaries), so that it can be
sent to another process or machine, and be written down. The work itself is a function at the top of
a module, which a worker can import. `penstock.spark.sweep` does the same on a cluster.

A `Pool` holds the worker processes. They end with their parent; if one is killed, all restart.
"""

import functools
import hashlib
import itertools
import json
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import BadInput
from ..kernel.jit import source_hash

ENDING = (signal.SIGINT, signal.SIGTERM)
RETRIES = 3  # of what was under way when a worker died


class Pool:
    """One process for each core, or as many as are asked for; they start when they are needed.

    >>> with Pool(workers=1) as pool:  # one worker is this process itself
    ...     dict(pool.map(abs, [-3, 4]))
    {0: 3, 1: 4}
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else workers
        self._pool: ProcessPoolExecutor | None = None
        self._before: set[Any] = set()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._stop(at_once=kind is not None)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and its result, as they are done."""
        if self.workers <= 1:
            yield from enumerate(map(work, items))
            return
        waiting = dict(enumerate(items))
        for attempt in range(1 + RETRIES):
            try:
                for number, found in self._spread(work, waiting):
                    del waiting[number]
                    yield number, found
                return
            except BrokenProcessPool:  # a worker was killed, and took the others with it
                self._stop(at_once=True)
                if attempt == RETRIES:
                    raise
            except BaseException:  # Ctrl-C, or work that failed: the others are stopped
                self._stop(at_once=True)
                raise

    def _spread(
        self, work: Callable[[Any], Any], waiting: dict[int, Any]
    ) -> Iterator[tuple[int, Any]]:
        if self._pool is None:
            self._before = set(multiprocessing.active_children())
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, _end_with_parent)
        with _interrupts_delayed():  # the workers, which start here, never see Ctrl-C
            futures: dict[Future, int] = {
                self._pool.submit(work, item): number for number, item in waiting.items()
            }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _stop(self, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if at_once:
            for process in set(multiprocessing.active_children()) - self._before:
                process.terminate()
        pool.shutdown(wait=not at_once, cancel_futures=True)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end_with_parent() -> None:
    """Watch the parent: a worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C and termination, so that no worker is left half started.

    In the processes started meanwhile Ctrl-C stays blocked: their parent will end them. A signal
    that is blocked is delivered later, where one that is ignored would be lost. But it is blocked
    in this thread only, and Python's handler runs here whichever thread gets the signal; so the
    handlers are replaced too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING if _may_handle(number)}
    for number in handlers:
        signal.signal(number, lambda which, _: came.append(which))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(came[0])


def _may_handle(number: int) -> bool:
    """Return whether Python handles a signal, and this thread may replace the handler."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and callable(signal.getsignal(number))


Given = dict[str, Any]
Work = Callable[[Given], Given]
Done = tuple[str, Given, Given]  # the key of a cell, the cell, and what was found
Progress = Callable[[int, int], None]  # called with how many of how many are done

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

    >>> from penstock.simulate import simulate_cell
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


def counting(progress: Progress | None, total: int) -> Callable[[int], None]:
    """Return a function that reports so many more steps of a total."""
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    return step


def key_of(work: Work, given: Given) -> str:
    """Return a key that no other work, other cell or other state of the sources has."""
    sources = [source_hash(), _sources_beside(work.__module__.partition(".")[0])]
    text = json.dumps([name_of(work), sources, given], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


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
    """Return the name by which a worker finds the function.

    >>> from penstock.simulate import simulate_cell
    >>> name_of(simulate_cell)
    'penstock.simulate.comparison:simulate_cell'
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
