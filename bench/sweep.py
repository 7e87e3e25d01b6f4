"""A sweep on Spark beside the bare engine in as many processes: simulations a second.

python bench/sweep.py [--cells 2000] [--cores 2] [--repeats 3] [--json FILE]

Both make the same simulations of 5,000 steps, by turns. *Bare* is a loop in each of the processes,
started and warm before the clock runs; it shares nothing out and writes nothing down. *Local* is
`papers.grid.sweep`, *Spark* is `papers.grid_on_spark.sweep` on a session whose workers are warm
too; both write every result down. *Cold* is Spark's first sweep, which starts its workers.
"""

import argparse
import json
import multiprocessing
import tempfile
import time
from pathlib import Path
from statistics import median

from papers import grid
from papers.grid import simulate_cell
from papers.grid_on_spark import sweep
from penstock.spark.session import local

POLICIES = ["rand", "prob", "life", "heeb"]


def cells_of(count: int) -> list[dict]:
    """Return a grid of so many simulations: workloads, runs, memories and policies."""
    axes = {"workload": ["tower", "roof", "floor"], "memory": [5, 10, 20, 40], "policy": POLICIES}
    runs = range(-(-count // (3 * 4 * len(POLICIES))))
    return grid.product(run=runs, **axes)[:count]


def bare(cells: list[dict], gate, seconds) -> None:
    """Loop over some cells once they are let go."""
    for given in cells[:60]:
        simulate_cell(given)
    while gate.wait() is not None:
        started = time.perf_counter()
        for given in cells:
            simulate_cell(given)
        seconds.put(time.perf_counter() - started)


class Bare:
    """Processes that wait to be let go together."""

    def __init__(self, cells: list[dict], cores: int):
        context = multiprocessing.get_context("spawn")
        self.gate, self.seconds, self.cores = context.Barrier(cores + 1), context.Queue(), cores
        # Neighbours share their arrivals, so that each core gets whole stretches.
        size = -(-len(cells) // cores)
        shares = [cells[core * size : (core + 1) * size] for core in range(cores)]
        self.processes = [
            context.Process(target=bare, args=(share, self.gate, self.seconds), daemon=True)
            for share in shares
        ]
        for process in self.processes:
            process.start()

    def run(self) -> float:
        self.gate.wait()
        return max(self.seconds.get() for _ in self.processes)

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()


def timed(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    cells = cells_of(chosen.cells)
    session = local(cores=chosen.cores)
    session.sparkContext.setLogLevel("ERROR")
    rivals = Bare(cells, chosen.cores)
    pool = grid.Pool(chosen.cores)
    found: dict[str, list[float]] = {"bare": [], "local": [], "spark": []}
    with tempfile.TemporaryDirectory() as folder, pool:
        places = (str(Path(folder) / str(number)) for number in range(1000))
        cold = timed(lambda: sweep(session, cells, folder=next(places)))
        grid.sweep(simulate_cell, cells, pool=pool)  # warms the workers
        for _ in range(chosen.repeats):
            found["bare"].append(rivals.run())
            found["local"].append(
                timed(lambda: grid.sweep(simulate_cell, cells, folder=next(places), pool=pool))
            )
            found["spark"].append(timed(lambda: sweep(session, cells, folder=next(places))))
    rivals.stop()
    rates = {name: [len(cells) / s for s in seconds] for name, seconds in found.items()}
    for name, each in rates.items():
        print(f"{name:6} {median(each):7.0f} simulations/s   {[round(rate) for rate in each]}")
    of_bare = {
        name: median(r / b for r, b in zip(rates[name], rates["bare"]))
        for name in ("local", "spark")
    }
    print(", ".join(f"{name} {share:.2f} of bare" for name, share in of_bare.items()))
    print(f"Spark, cold: {cold:.1f} s")
    if chosen.json:
        report = {"cells": len(cells), "rates": rates, "of_bare": of_bare, "cold_seconds": cold}
        chosen.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
