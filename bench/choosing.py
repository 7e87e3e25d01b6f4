"""What `auto` finds, beside the best policy with hindsight, in joins and caches.

python bench/choosing.py --json bench/results/choosing.json     # some 10 minutes of one core
python bench/choosing.py --kind caches --share 0.01 --share 0.5 # other memories

The streams are those of `python -m papers quality`, generated ones and, of the folder that
PENSTOCK_DATA names, recorded ones; and for caches some more generated ones, loops and scans among
them. Recorded joins are cut to 200,000 rows, recorded caches to 1,000,000 references. The best
policy is the best of ours and, for caches, of libCacheSim's where it is installed. What fixed
policies find is kept in `--fixed` between runs: delete that file when a policy has changed.

Streams of even number are those that constants may be chosen on; the others only report.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.policies import Rival
from papers.quality.cell import memory_of
from papers.quality.plan import contenders
from papers.quality.streams import STEPS, Arriving, Stream, everything
from penstock.simulate.player import play
from penstock.simulate.skewed import popularity
from penstock.simulate.traces import LookupTrace

SHARES = (0.05, 0.2)
KINDS = ("joins", "caches")
AUTO, BESIDE = "auto", {"joins": ("rate",), "caches": ("rate", "wtinylfu", "s3fifo")}
HOPELESS = ("rand", "fifo", "age")  # never the best policy by 1 %
THEIRS = ("LIRS", "TwoQ", "ARC", "S3FIFO", "Sieve", "WTinyLFU", "LHD", "SLRU", "Clock2QPlus")
MOST = 1_000_000  # references of a recorded cache
LENGTH, KEYS = 60_000, 2_000  # of the generated caches that are made here
GOOD = 0.98


def _zipf(length: int, seed: int, alpha: float = 1.0, first: int = 0) -> np.ndarray:
    return first + np.random.default_rng(seed).choice(KEYS, length, p=popularity(KEYS, alpha))


def _loop(length: int, period: int, first: int = 10**6) -> np.ndarray:
    return first + np.arange(length) % period


def _mixed(one: np.ndarray, two: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return references of two kinds, a share of them of the second."""
    return np.where(np.random.default_rng(seed).random(len(one)) < share, two, one)


def _bursts(length: int, seed: int) -> np.ndarray:
    """Return keys that are asked for about eight times within some hundred references, then no
    more."""
    random = np.random.default_rng(seed)
    return np.arange(length) // 8 - np.rint(random.exponential(30, length)).astype(np.int64)


def made_here() -> dict[str, np.ndarray]:
    """Return more references to cache, by name."""
    half = LENGTH // 2
    return {
        "loop": _loop(LENGTH, KEYS),
        "zipf and loop": _mixed(_zipf(LENGTH, 1), _loop(LENGTH, KEYS), 0.5, 2),
        "zipf and scan": _mixed(_zipf(LENGTH, 3), _loop(LENGTH, LENGTH), 0.4, 4),
        "loop, then zipf": np.r_[_loop(half, KEYS), _zipf(half, 5)],
        "zipf, then loop": np.r_[_zipf(half, 6), _loop(half, KEYS)],
        "zipf that jumps": np.r_[_zipf(half, 7), KEYS - _zipf(half, 8)],
        "bursts": _bursts(LENGTH, 9),
        "bursts and zipf": _mixed(_bursts(LENGTH, 10), _zipf(LENGTH, 11, first=-(10**6)), 0.5, 12),
        "bursts, then zipf": np.r_[_bursts(half, 13), _zipf(half, 14, first=-(10**6))],
        "zipf 0.75": _zipf(LENGTH, 15, 0.75),
    }


def streams(kind: str) -> list[Stream]:
    """Return the streams of a kind; their numbers are their places."""
    found = [each for each in everything() if each.caching == (kind == "caches")]
    if kind == "caches":
        found += [
            Stream(f"cache: {name}", partial(_references, keys), caching=True)
            for name, keys in made_here().items()
        ]
    return found


def _references(keys: np.ndarray, steps: int) -> Arriving:
    return Arriving(LookupTrace(keys))


def arriving(stream: Stream) -> Arriving:
    found = stream.make(STEPS)
    if stream.caching and len(found.trace) > MOST:
        assert isinstance(found.trace, LookupTrace)
        found = found._replace(trace=replace(found.trace, key=found.trace.key[:MOST]))
    return found


def ours(arrivals: Arriving, policy: str, memory: int) -> dict[str, Any]:
    """Return what a policy finds; of `auto` also what it ended with."""
    started = time.process_time()
    played = play(arrivals.trace, policy, memory, within=arrivals.within)
    found = {"found": played.results, "seconds": round(time.process_time() - started, 3)}
    if policy == AUTO and played.explained:
        found |= {name: played.explained.get(name) for name in ("in_force", "switches", "since")}
    return found


def _their(name: str, keys: np.ndarray, memory: int, pipe: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rival = Rival(np.unique(keys, return_inverse=True)[1], Path(folder))
        kind = rival.library.TraceType.ORACLE_GENERAL_TRACE
        reader = rival.library.TraceReader(str(rival.path), kind)
        cache = getattr(rival.library, name)(cache_size=memory)
        misses, _ = cache.process_trace(reader, 0, rival.length)
        pipe.send(round((1 - misses) * rival.length))


def theirs(name: str, keys: np.ndarray, memory: int) -> int:
    """Return the hits of a policy of libCacheSim's, 0 if it ends with an error."""
    ours_end, their_end = multiprocessing.Pipe(False)
    process = multiprocessing.get_context("fork").Process(
        target=_their, args=(name, keys, memory, their_end)
    )
    process.start()
    their_end.close()
    try:
        return int(ours_end.recv())
    except EOFError:
        return 0
    finally:
        process.join()


class Known:
    """What fixed policies found, kept in a file."""

    def __init__(self, path: Path):
        self.path = path
        self.found = dict(map(json.loads, path.read_text().splitlines())) if path.exists() else {}

    def get(self, name: str, work: Any) -> int:
        if name not in self.found:
            self.found[name] = work()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps([name, self.found[name]]) + "\n")
        return int(self.found[name])


def has_rivals() -> bool:
    try:
        import libcachesim  # noqa: F401
    except ImportError:
        return False
    return True


def fixed(stream: Stream, share: float, arrivals: Arriving, known: Known) -> dict[str, int]:
    """Return what each fixed policy found."""
    memory, found = memory_of(arrivals, share), {}
    for policy in contenders(stream):
        if policy != AUTO and policy not in HOPELESS:
            found[policy] = known.get(
                f"{stream.name} | {share} | {policy}",
                lambda policy=policy: ours(arrivals, policy, memory)["found"],
            )
    for name in THEIRS if stream.caching and has_rivals() else ():
        found[f"libCacheSim {name}"] = known.get(
            f"{stream.name} | {share} | libCacheSim {name}",
            lambda name=name: theirs(name, arrivals.trace.key, memory),
        )
    return found


def cells(kind: str, shares: list[float], asked: Any) -> Iterator[dict[str, Any]]:
    """Measure every stream in every memory."""
    known = Known(asked.fixed)
    chosen = [(n, each) for n, each in enumerate(streams(kind)) if asked.stream in each.name]
    for number, stream in track(chosen, kind, console=Console(stderr=True)):
        if asked.half and number % 2 != ("even", "odd").index(asked.half):
            continue
        arrivals = arriving(stream)
        for share in shares:
            found = fixed(stream, share, arrivals, known)
            cell = {"kind": kind, "stream": stream.name, "even": number % 2 == 0, "share": share}
            best = max(found, key=lambda name: found[name])
            beside = {name: found[name] / max(1, found[best]) for name in BESIDE[kind]}
            cell |= {"best": best, "most": found[best], "of best": beside}
            if not asked.only_fixed:
                auto = ours(arrivals, AUTO, memory_of(arrivals, share))
                share_of_best = {AUTO: auto["found"] / max(1, found[best])}
                cell |= {"auto": auto, "of best": share_of_best | beside}
            yield cell


def summary(found: list[dict[str, Any]], kind: str) -> Table:
    table = Table("streams", "policy", "cells", "mean", f"{GOOD} or more", "worst", title=kind)
    for half, wanted in (("all", (True, False)), ("even", (True,)), ("odd", (False,))):
        mine = [each for each in found if each["kind"] == kind and each["even"] in wanted]
        for policy in mine[0]["of best"] if mine else ():
            values = [each["of best"][policy] for each in mine]
            good = sum(value >= GOOD for value in values) / len(values)
            table.add_row(
                half,
                policy,
                str(len(values)),
                f"{fmean(values):.4f}",
                f"{good:.1%}",
                f"{min(values):.3f}",
            )
    return table


def each_cell(found: list[dict[str, Any]], kind: str) -> Table:
    table = Table("stream", "memory", "best", *(AUTO, *BESIDE[kind]), "ends with", "switches")
    for each in found:
        if each["kind"] == kind and AUTO in each["of best"]:
            table.add_row(
                each["stream"].partition(": ")[2] + ("" if each["even"] else " (odd)"),
                f"{each['share']:.0%}",
                each["best"],
                *(f"{each['of best'][name]:.3f}" for name in (AUTO, *BESIDE[kind])),
                str(each["auto"].get("in_force")),
                str(each["auto"].get("switches")),
            )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--fixed", type=Path, default=Path("bench/results/fixed.jsonl"))
    parser.add_argument("--kind", choices=KINDS, action="append")
    parser.add_argument("--share", type=float, action="append", help="memories, as shares")
    parser.add_argument("--stream", default="", help="only streams whose name holds this")
    parser.add_argument("--half", choices=("even", "odd"))
    parser.add_argument("--only-fixed", action="store_true", help="fill the file of fixed policies")
    asked = parser.parse_args()
    console = Console(width=120)
    if not has_rivals():
        console.print("libCacheSim is not installed: caches are compared with our policies only")
    found: list[dict[str, Any]] = []
    for kind in asked.kind or KINDS:
        found += cells(kind, asked.share or list(SHARES), asked)
        console.print(each_cell(found, kind))
        console.print(summary(found, kind))
    if asked.json:
        asked.json.parent.mkdir(parents=True, exist_ok=True)
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
