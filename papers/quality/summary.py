"""What the cells say together: shares of the best there can be, and the ranking.

A *configuration* is a policy and a layout. On a stream, in a memory, the best configuration with
hindsight is the measure for all others; `auto` does not count as one of those.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from papers.grid import FILE, Given

from .cell import BEST
from .plan import AUTO

PARTS = ("whole", "after")  # over the whole run, and after the first ten windows
CACHE = "cache: "


class Share(NamedTuple):
    """What a configuration got on a stream in a memory, of the best there can be."""

    stream: str
    memory: float  # a share
    rows: int  # the same in rows
    policy: str
    layout: str
    of: str  # what it is a share of
    whole: float
    after: float

    @property
    def configuration(self) -> str:
        """The policy, and the layout where it is not the usual one."""
        return self.policy if self.layout == "unified" else f"{self.policy}, {self.layout}"


class Standing(NamedTuple):
    """How a configuration does against the best one with hindsight, over all streams and sizes."""

    configuration: str
    streams: int  # and sizes, taken together
    mean: float
    worst: float
    where: str  # it was worst
    wins: int  # within 2 % of the best


@dataclass(frozen=True)
class Quality:
    """All shares that are known, and how many cells are missing, by stream."""

    shares: list[Share]
    missing: dict[str, int]
    quick: bool

    def streams(self, caching: bool) -> list[str]:
        """Return the names of the streams to cache, or to join."""
        names = dict.fromkeys(each.stream for each in self.shares)
        return [name for name in names if name.startswith(CACHE) == caching]

    def best(self, part: str) -> dict[tuple[str, float], Share]:
        """Return the best fixed configuration of each stream and memory."""
        found: dict[tuple[str, float], Share] = {}
        for each in self.shares:
            at = each.stream, each.memory
            better = at not in found or getattr(each, part) > getattr(found[at], part)
            if each.policy != AUTO and better:
                found[at] = each
        return found

    def relative(self, part: str, caching: bool) -> Iterator[tuple[Share, float]]:
        """Yield what each configuration got of what the best one got."""
        best = self.best(part)
        for each in self.shares:
            if each.stream.startswith(CACHE) == caching and (each.stream, each.memory) in best:
                most = getattr(best[each.stream, each.memory], part)
                yield each, getattr(each, part) / most if most > 0 else 1.0

    def standings(self, part: str, caching: bool) -> list[Standing]:
        """Return the configurations, the best on average first."""
        by_name: dict[str, list[tuple[float, str]]] = {}
        for each, value in self.relative(part, caching):
            where = f"{plain(each.stream)}, {each.memory:.0%}"
            by_name.setdefault(each.configuration, []).append((value, where))
        made = [
            Standing(
                name,
                len(values),
                sum(value for value, _ in values) / len(values),
                *min(values),
                sum(value >= 0.98 for value, _ in values),
            )
            for name, values in by_name.items()
        ]
        return sorted(made, key=lambda standing: -standing.mean)


def plain(stream: str) -> str:
    """Return a stream's name without what it is for.

    >>> plain("cache: arc_P3")
    'arc_P3'
    """
    return stream.partition(": ")[2]


def gather(folder: str | Path, planned: Iterable[Given], quick: bool) -> Quality:
    """Return what a folder knows of the planned cells.

    Cells count whatever the state of the sources was when they were done; the last one counts.
    A stream in a memory is left out until all fixed policies are known there: the best of some
    would be taken for the best of all.
    """
    known = _known(Path(folder) / FILE)
    cells = [(given, known.get(_told(given))) for given in planned]
    bests = {_place(given): found for given, found in cells if given["policy"] == BEST}
    open_places = {_place(given) for given, found in cells if found is None and _is_fixed(given)}
    shares, missing = [], dict[str, int]()
    for given, found in cells:
        best = bests.get(_place(given))
        if found is None or best is None:
            missing[given["stream"]] = missing.get(given["stream"], 0) + 1
        elif given["policy"] != BEST and _place(given) not in open_places:
            shares.append(_share(given, found, best))
    return Quality(shares, missing, quick)


def _is_fixed(given: Given) -> bool:
    return bool(given["policy"] != AUTO)


def _share(given: Given, found: Given, best: Given) -> Share:
    whole, after = (found[part] / best[part] if best[part] else 1.0 for part in PARTS)
    return Share(
        given["stream"],
        given["share"],
        found["memory"],
        given["policy"],
        given["layout"],
        best["of"],
        whole,
        after,
    )


def _place(given: Given) -> tuple[Any, ...]:
    return given["stream"], given["steps"], given["share"]


def _told(given: Given) -> str:
    return json.dumps(given, sort_keys=True)


def _known(path: Path) -> dict[str, Given]:
    known = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            row = json.loads(line)
            known[_told(row["given"])] = row["found"]
        except (json.JSONDecodeError, KeyError, TypeError):
            continue  # half a line of a process that was killed
    return known
