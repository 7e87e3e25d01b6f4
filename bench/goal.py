"""What the goal of rows finds and takes, beside that of pairs.

python bench/goal.py --json bench/results/goal.json     # minutes; --only speed: one

Quality: of the rows that an exact join matches, the share that is matched: by the best policy for
pairs, by policies for rows, and the most that is possible without knowing the future, where keys
are drawn (`goal_bound.py`); with --hindsight also over the first rows, beside the most with it.
Speed: processor time for a row, rows over pairs by turns, the least of some turns; nothing listed.
Recorded streams lie in the folder that PENSTOCK_DATA names, else in ../shared/data; those that are
not there are left out. Memory is a share of the mean window.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from penstock.engine import Join

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import goal_bound
from papers.quality import recorded
from papers.theory.most_rows import most_rows

ROWS, WINDOW, KEYS = 200_000, 20_000, 20_000
SHARES = (0.05, 0.2, 0.5)
FOR_PAIRS = ("rate", "prob", "lba", "gdj", "clock", "lru", "fifo")
FOR_ROWS = ("auto", "rate", "prob", "clock", "lru", "fifo")
HINDSIGHT = 4_000  # rows
SPEED_POLICIES = ("fifo", "lru", "clock", "prob", "rate")
SPEED_STREAMS = ("zipf 1.0", "higgs, 1 hour", "stock, 2,000 rows a side")
SPEED_BUDGETS = (1_000, 10_000)


class Stream(NamedTuple):
    """Rows to join."""

    side: np.ndarray
    key: np.ndarray
    time: np.ndarray
    within: int

    @property
    def window(self) -> float:
        """Rows alive, in the mean, once the first window is full."""
        alive = np.arange(1, len(self.time) + 1) - np.searchsorted(
            self.time, self.time - self.within
        )
        return float(alive.mean())

    def first(self, rows: int) -> "Stream":
        return Stream(self.side[:rows], self.key[:rows], self.time[:rows], self.within)


def zipf(power: float, seed: int = 1, change: int = ROWS) -> Stream:
    """Draw keys by rank; ranks are dealt anew after so many rows as `change` says."""
    random = np.random.default_rng(seed)
    rank = random.choice(KEYS, ROWS, p=goal_bound.zipf_chances(KEYS, power))
    names = np.array([random.permutation(KEYS) for _ in range(0, ROWS, change)])
    at = np.arange(ROWS)
    return Stream(
        random.integers(0, 2, ROWS).astype(np.int8), names[at // change, rank], at, WINDOW
    )


def by_turns(within: int) -> Stream:
    """Return trades and orders by turns, as many of each; time counts the rows of both."""
    side, key, time, _ = recorded.stock(within)
    both = time < min((side == 0).sum(), (side == 1).sum())
    return Stream(side[both], key[both], np.arange(both.sum()), within)


def streams() -> dict[str, Callable[[], Stream]]:
    """Return what can be measured here, by name."""
    drawn: dict[str, Callable[[], Stream]] = {
        f"zipf {power}": partial(zipf, power) for power in (0.6, 0.8, 1.0, 1.1, 1.3)
    }
    drawn["zipf 0.8, another draw"] = partial(zipf, 0.8, 2)
    drawn["zipf 0.8, hot keys change"] = partial(zipf, 0.8, 1, 2 * WINDOW)
    drawn["zipf 1.0, hot keys change"] = partial(zipf, 1.0, 1, 2 * WINDOW)
    found: dict[str, tuple[str, Callable[[], Any]]] = {
        "higgs, 1 hour": ("twostream", partial(recorded.higgs, 3600)),
        "higgs, 1 hour, first 150,000": ("twostream", partial(recorded.higgs, 3600)),
        "stock, 2,000 rows a side": ("twostream", partial(recorded.stock, 2000)),
        "stock, 2,000 rows": ("twostream", partial(by_turns, 2000)),
        "dns and ssl, 60 s": ("netflow", partial(recorded.netflow, 60 * recorded.SECOND)),
        "trades, 10 min, first 400,000": ("trades", partial(recorded.trades, 600_000)),
    }
    real = {
        name: partial(_read, name, make)
        for name, (folder, make) in found.items()
        if (recorded.data_folder() / folder).is_dir()
    }
    return drawn | real


def _read(name: str, make: Callable[[], Any]) -> Stream:
    _, _, first = name.partition("first ")
    stream = Stream(*make())
    return stream.first(int(first.replace(",", ""))) if first else stream


def matched(stream: Stream, policy: str, budget: int | None, goal: str) -> int:
    """Return how many rows are matched."""
    join = Join(within=stream.within)
    if budget is not None:
        join = Join(policy, budget, within=stream.within, goal=goal)
    join.push(stream.side, stream.key, stream.time, emit=False)
    return join.rows_matched


def quality(name: str, stream: Stream, hindsight: bool) -> Iterator[dict[str, Any]]:
    """Yield what is found in each memory."""
    exact = matched(stream, "", None, "pairs")
    window = WINDOW if name.startswith("zipf") else stream.window
    for share in SHARES:
        budget = max(1, round(share * window))
        pairs = {each: matched(stream, each, budget, "pairs") / exact for each in FOR_PAIRS}
        rows = {each: matched(stream, each, budget, "rows") / exact for each in FOR_ROWS}
        line: dict[str, Any] = {"stream": name, "share": share, "pairs": pairs, "rows": rows}
        if name.startswith("zipf") and "change" not in name:
            chance = goal_bound.zipf_chances(KEYS, float(name.split()[1].rstrip(",")))
            most = goal_bound.most_rows(chance, budget, WINDOW)
            line["online"] = most / goal_bound.exact_rows(chance, WINDOW).sum()
        if hindsight:
            line["hindsight"] = beside_hindsight(stream, share)
        yield line


def beside_hindsight(stream: Stream, share: float) -> float:
    """Return what `rate` matches of the most that are possible, over the first rows.

    Where a window holds more than a tenth of them it is made so much shorter.
    """
    part = stream.first(HINDSIGHT)
    if part.window > HINDSIGHT / 10:
        part = part._replace(within=int(part.within * HINDSIGHT / 10 / part.window))
    budget = max(1, round(share * part.window))
    most = most_rows(*part[:3], part.time + part.within, budget=budget, relaxed=True)
    return matched(part, "rate", budget, "rows") / max(1, most)


def speed(stream: Stream, policy: str, budget: int, turns: int) -> dict[str, float]:
    """Return nanoseconds a row, by goal."""
    least = {"pairs": np.inf, "rows": np.inf}
    for turn in range(turns + 1):
        for goal in ("pairs", "rows") if turn % 2 else ("rows", "pairs"):
            join = Join(policy, budget, within=stream.within, goal=goal)
            started = time.process_time()
            join.push(stream.side, stream.key, stream.time, emit=False)
            if turn:  # the first compiles
                least[goal] = min(least[goal], time.process_time() - started)
    return {goal: 1e9 * each / len(stream.side) for goal, each in least.items()}


def quality_table(found: list[dict[str, Any]]) -> Table:
    heads = ("stream", "memory", "best for pairs", *FOR_ROWS, "x best", "online", "hindsight")
    table = Table(*heads, title="share of the matched rows")
    for each in found:
        best = max(each["pairs"], key=each["pairs"].get)
        rows = each["rows"]
        table.add_row(
            each["stream"],
            f"{each['share']:.0%}",
            f"{each['pairs'][best]:.3f} {best}",
            *(f"{rows[name]:.3f}" for name in FOR_ROWS),
            f"{rows['rate'] / each['pairs'][best]:.2f}",
            f"{each['online']:.3f}" if "online" in each else "",
            f"{each['hindsight']:.2f}" if "hindsight" in each else "",
        )
    return table


def speed_table(found: list[dict[str, Any]]) -> Table:
    table = Table("stream", "policy", "rows held", "pairs, ns a row", "rows, ns a row", "more")
    for each in found:
        pairs, rows = each["pairs"], each["rows"]
        numbers = f"{each['budget']:,}", f"{pairs:.0f}", f"{rows:.0f}", f"{rows / pairs - 1:+.1%}"
        table.add_row(each["stream"], each["policy"], *numbers)
    return table


def main() -> None:
    """Measure what was chosen, and show it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="keep the figures here")
    parser.add_argument("--only", choices=["quality", "speed"])
    parser.add_argument("--stream", nargs="*", default=[""], help="parts of names")
    parser.add_argument("--turns", type=int, default=9, help="of which the fastest counts")
    parser.add_argument("--hindsight", action="store_true", help="some minutes more a stream")
    asked = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {"quality": [], "speed": []}
    chosen = {n: make for n, make in streams().items() if any(part in n for part in asked.stream)}
    for name, make in track(chosen.items()):
        stream = make()
        if asked.only != "speed":
            found["quality"] += quality(name, stream, asked.hindsight)
        if asked.only != "quality" and name in SPEED_STREAMS:
            for policy in SPEED_POLICIES:
                for budget in SPEED_BUDGETS:
                    taken = speed(stream.first(ROWS), policy, budget, asked.turns)
                    cell = {"stream": name, "policy": policy, "budget": budget}
                    found["speed"].append(cell | taken)
        if asked.json:
            asked.json.parent.mkdir(parents=True, exist_ok=True)
            asked.json.write_text(json.dumps(found, indent=1))
    console = Console(width=140)
    if found["quality"]:
        console.print(quality_table(found["quality"]))
    if found["speed"]:
        console.print(speed_table(found["speed"]))


if __name__ == "__main__":
    main()
