"""How fast each policy is in this checkout and in another one: the same rows, by turns.

Each checkout has a process of its own. A stretch of rows is taken by one, then by the other, so
that both meet the same moods of the machine, and the least time of each over all stretches is
compared: what else runs there can only make a stretch longer. Where one seems slower than the
tolerance it is measured again, with a new engine, and the least of all counts. Kernels are compiled
before anything is measured.

A process takes orders from its standard input, a line of JSON each: `prepare` makes an engine and
fills it, `take` pushes a stretch and returns the seconds.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
STRETCHES = 24
AGAIN = 3  # times that a policy is measured which seems slower
TOLERANCE = 1.05
PART, FILLING = 10_000, 2.0  # rows at a time, and seconds, in which an engine is filled
LONGEST = 0.03  # seconds for a stretch


class Checkout:
    """A process that runs the engines of one checkout."""

    def __init__(self, folder: Path, length: int):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bench.turns", str(length)],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(folder / "src"), "PENSTOCK_COMPILE": "first"},
        )

    def ask(self, *order: Any) -> Any:
        """Have something done and return the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(order), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def compare(
    here: Checkout, there: Checkout, problem: str, policy: str, budget: int
) -> dict[str, Any]:
    """Return the rows a second of both, and how many times as long this checkout takes."""
    best, size = [float("inf"), float("inf")], 0
    for _ in range(AGAIN):
        both = here, there
        rows, size = here.ask("prepare", problem, policy, budget, None)
        there.ask("prepare", problem, policy, budget, rows)
        for stretch in range(STRETCHES):
            for place in (0, 1) if stretch % 2 else (1, 0):
                best[place] = min(best[place], both[place].ask("take", rows + size * stretch, size))
        if best[0] <= TOLERANCE * best[1]:
            break
    found = [each.ask("found") for each in (here, there)]
    return {
        "here": size / best[0],
        "there": size / best[1],
        "longer": best[0] / best[1],
        "same_results": found[0] == found[1],
    }


class Orders:
    """What a process does; it is started with the path of its checkout."""

    def __init__(self, length: int):
        from bench.policies import caching_trace, joining_trace

        self.length = length
        self.joins, self.keys = joining_trace(length), caching_trace(length)

    def known(self) -> list[str]:
        """Return the names of the policies that this checkout has."""
        from penstock import policies

        built_in = getattr(policies, "BUILT_IN", None) or policies.ALL  # as it was called before
        return [policy.name for policy in built_in]

    def prepare(self, problem: str, policy: str, budget: int, rows: int | None) -> tuple[int, int]:
        """Fill an engine with so many rows, or for some seconds; return how many, and a stretch."""
        from penstock import Join, Lookup

        self.problem = problem
        if problem == "joining":
            self.engine: Any = Join(policy, budget, within=self.length)
        else:
            self.engine = Lookup(policy, budget)
        taken = 1
        self._push(0, taken)  # compiled or loaded
        began = time.perf_counter()
        while taken < (self.length // 2 if rows is None else rows):
            self._push(taken, taken + PART)
            taken += PART
            if rows is None and time.perf_counter() - began > FILLING:
                break
        a_second = taken / (time.perf_counter() - began)
        return taken, min((self.length - taken) // STRETCHES, int(a_second * LONGEST))

    def take(self, start: int, size: int) -> float:
        """Return the seconds that some rows take."""
        began = time.perf_counter()
        self._push(start, start + size)
        return time.perf_counter() - began

    def found(self) -> int:
        """Return how many results or hits there were."""
        return int(self.engine.results if self.problem == "joining" else self.engine.hits)

    def _push(self, start: int, stop: int) -> None:
        if self.problem == "joining":
            side, key, at = (column[start:stop] for column in self.joins)
            self.engine.push(side, key, at, emit=False)
        else:
            self.engine.push(self.keys[start:stop], emit=False)


def serve(length: int) -> None:
    """Take orders until there are no more."""
    orders = Orders(length)
    for line in sys.stdin:
        name, *given = json.loads(line)
        print(json.dumps(getattr(orders, name)(*given)), flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
