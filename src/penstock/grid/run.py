"""A grid on this machine: cells shared out to worker processes, and written down when done."""

from collections.abc import Callable, Sequence
from pathlib import Path

from .cells import Given, Work, find_work, key_of, name_of
from .ledger import Ledger
from .pool import Pool

Progress = Callable[[int, int], None]  # told how many of how many are done
PARTS = 8  # that each worker's share is cut into, so that none has to wait long for the others
LARGEST = 16  # cells of a part


def run(
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

    >>> from penstock.simulation import simulate_cell
    >>> tower = {"workload": "tower", "policy": "rand", "length": 60, "warmup": 0}
    >>> cells = [tower | {"memory": 2}, tower | {"memory": 9}]
    >>> few, many = run(simulate_cell, cells, pool=Pool(workers=1))
    >>> few["results"] < many["results"] <= many["full"]
    True
    """
    ledger = Ledger(folder)
    keys = [key_of(work, given) for given in cells]
    todo = {key: given for key, given in zip(keys, cells, strict=True) if key not in ledger.found}
    follow = _teller(progress, len(set(keys)))
    follow(len(set(keys)) - len(todo))
    parts = cut(list(todo.items()), 1 if pool is None else pool.workers)
    with _own(pool) as workers:
        told = [(name_of(work), [given for _, given in part]) for part in parts]
        for number, found in workers.map(do_part, told):
            done = [(key, given, f) for (key, given), f in zip(parts[number], found, strict=True)]
            ledger.add(done)
            follow(len(done))
    return [ledger.found[key] for key in keys]


def do_part(told: tuple[str, list[Given]]) -> list[Given]:
    """Do the work of some cells: what a worker is asked for."""
    name, cells = told
    work = find_work(name)
    return [work(given) for given in cells]


def cut(todo: list, workers: int) -> list[list]:
    """Cut a list into parts of neighbours, which often share their arrivals."""
    size = max(1, min(LARGEST, len(todo) // (PARTS * workers)))
    return [todo[start : start + size] for start in range(0, len(todo), size)]


def _teller(progress: Progress | None, total: int) -> Callable[[int], None]:
    done = 0

    def tell(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, total)

    return tell


class _own:
    """The given pool, which stays, or one of our own, which ends with the work."""

    def __init__(self, pool: Pool | None) -> None:
        self.pool, self.ours = (Pool(), True) if pool is None else (pool, False)

    def __enter__(self) -> Pool:
        return self.pool

    def __exit__(self, *how: object) -> None:
        if self.ours:
            self.pool.__exit__(*how)
