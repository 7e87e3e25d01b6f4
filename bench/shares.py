"""What it costs to split one budget over many buckets: recall beside that of one bucket.

python bench/shares.py --json bench/results/shares.json     # some hours; --policy, --stream: fewer

Buckets are local engines that share by a ledger (`tests/sharing.py`), as those of a query do. Every
figure is the results that they find as a share of those that one bucket finds. Micro-batches are
half a window long. Where hot keys change, the first two windows after each change are not counted.
Figures that the file has already are not measured again. Recorded streams lie in the folder that
PENSTOCK_DATA names, else in ../shared/data; those that are not there are left out.
"""

import argparse
import functools
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers.quality import recorded
from tests.sharing import Rows, Sharing, results

ROWS, WINDOW, KEYS = 400_000, 20_000, 20_000
CHANGE, SETTLED = 10, 2  # windows: how often hot keys change, and from when on results count
POLICIES = ("prob", "rate", "auto")
BUCKETS = (1, 2, 8, 32, 128)
BUDGETS = (0.05, 0.2)
FEW_ROWS = {"auto": 200_000}  # its shadow caches take long


class Stream(NamedTuple):
    """Rows to join, and which micro-batches count."""

    rows: Rows
    within: int
    window: int  # rows alive, in the mean
    counted: Callable[[np.ndarray], np.ndarray]  # from the number of a batch's first row


class Cell(NamedTuple):
    """What is measured."""

    stream: str
    policy: str
    budget: float  # the share of the window
    buckets: int
    batches: int = 2  # in a window
    equal: bool = False  # shares


def zipf(power: float, changing: bool) -> Stream:
    """Draw keys by rank; where they change, ranks are dealt anew every ten windows."""
    rng = np.random.default_rng(1)
    weight = 1 / np.arange(1, KEYS + 1) ** power
    rank = rng.choice(KEYS, ROWS, p=weight / weight.sum())
    period = CHANGE * WINDOW if changing else ROWS
    names = np.array([rng.permutation(KEYS) for _ in range(0, ROWS, period)])
    at = np.arange(ROWS)
    rows = Rows(rng.integers(0, 2, ROWS).astype(np.int8), names[at // period, rank], at)
    settled = SETTLED * WINDOW if changing else 0
    return Stream(rows, WINDOW, WINDOW, lambda row: row % period >= settled)


def real(make: Callable[[], recorded.Rows]) -> Stream:
    """Read the first rows of recorded streams."""
    side, key, time, within = make()
    rows = Rows(side, key, time).where(slice(0, ROWS))
    alive = np.arange(len(rows.time)) - np.searchsorted(rows.time, rows.time - within)
    return Stream(rows, within, round(alive.mean()), lambda row: row >= 0)


def streams() -> dict[str, Callable[[], Stream]]:
    """Return what can be measured here, by name."""
    drawn = {
        f"zipf {power}{', changing' * changing}": partial(zipf, power, changing)
        for changing in (False, True)
        for power in (0.8, 1.0, 1.3)
    }
    found = {
        "dns and ssl, 60 s": ("netflow", partial(recorded.netflow, 60 * recorded.SECOND)),
        "higgs, 1 hour": ("twostream", partial(recorded.higgs, 3600)),
        "trades, 10 min": ("trades", partial(recorded.trades, 600_000)),
    }
    return drawn | {
        name: partial(real, make)
        for name, (folder, make) in found.items()
        if (recorded.data_folder() / folder).is_dir()
    }


@functools.lru_cache(maxsize=1)
def stream_of(name: str) -> Stream:
    """Return a stream by its name; neighbouring cells have the same."""
    return streams()[name]()


def measure(cell: Cell) -> int:
    """Return the results that count."""
    stream = stream_of(cell.stream)
    rows = stream.rows.where(slice(0, FEW_ROWS.get(cell.policy, ROWS)))
    budget = max(1, round(cell.budget * stream.window))
    sharing = Sharing(cell.policy, cell.buckets, budget, stream.within, equal=cell.equal)
    batch = max(1, stream.window // cell.batches)
    found = results(rows, batch, sharing)
    return int(found[stream.counted(batch * np.arange(len(found)))].sum())


def table(found: dict[Cell, int]) -> Table:
    """Return one line per stream, policy and budget, one column per number of buckets."""
    shown = Table("stream", "policy", "budget", "batches", "shares", *map(str, BUCKETS[1:]))
    for kind in dict.fromkeys(cell._replace(buckets=1, equal=False) for cell in found):
        for equal in (False, True):
            mine = [found.get(kind._replace(buckets=n, equal=equal)) for n in BUCKETS[1:]]
            if kind in found and any(each is not None for each in mine):
                ratios = ["" if n is None else f"{n / found[kind]:.3f}" for n in mine]
                how = "equal" if equal else "by demand"
                about = kind.stream, kind.policy, f"{kind.budget:.0%}", str(kind.batches), how
                shown.add_row(*about, *ratios)
    return shown


def cells(chosen: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells that were chosen."""
    for stream, policy, budget in itertools.product(streams(), POLICIES, BUDGETS):
        if policy in chosen.policy and any(part in stream for part in chosen.stream):
            for buckets in (1, *chosen.buckets):
                equal = chosen.equal and buckets > 1
                yield Cell(stream, policy, budget, buckets, chosen.batches, equal)


def main() -> None:
    """Measure what is not known yet, and show all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="keep the figures here")
    parser.add_argument("--policy", nargs="*", default=POLICIES)
    parser.add_argument("--stream", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--buckets", nargs="*", type=int, default=BUCKETS[1:])
    parser.add_argument("--batches", type=int, default=2, help="micro-batches in a window")
    parser.add_argument("--equal", action="store_true", help="equal shares, for comparison")
    chosen = parser.parse_args()
    found: dict[Cell, int] = {}
    if chosen.json and chosen.json.exists():
        known: list[dict[str, Any]] = json.loads(chosen.json.read_text())
        found = {Cell(**{n: e[n] for n in Cell._fields}): e["results"] for e in known}
    for cell in track([each for each in cells(chosen) if each not in found]):
        found[cell] = measure(cell)
        if chosen.json:
            chosen.json.parent.mkdir(parents=True, exist_ok=True)
            lines = [cell._asdict() | {"results": n} for cell, n in found.items()]
            chosen.json.write_text(json.dumps(lines, indent=1))
    Console(width=120).print(table(found))


if __name__ == "__main__":
    main()
