"""Simulations: arrivals from generators and files, replayed under policies, beside the optimum.

- **Arrivals.** `traces` are arrays of rows; `workloads` generates them (`drifting`, `skewed`,
  `repeating`), `tracefiles` reads them from CSV and Parquet (`columns`), `arrivals` orders them.
- **Replays.** A `scenario` says what to replay, `catalogue` has the policies, `player` replays one
  trace under one policy, `comparison` does so for several policies and runs, `summary` has its
  figures, `distortion` says how evenly results are lost.
- **The best possible.** `unlimited` counts the results of an unlimited memory, `optimum` the most
  that any policy could get with hindsight, `flowexpect` plans with models of the streams.
- **Sweeps.** `grid` does many cells of work, written down as they are done, on a `pool` of workers.
"""

from .comparison import Comparison, compare, measure, simulate_cell
from .grid import product, sweep
from .player import play
from .pool import Pool, cores
from .scenario import Scenario, TraceFile, choose_source
from .summary import summarise
from .tracefiles import read_join, read_keys, read_lookup, read_pair, read_readings, read_stream
from .traces import JoinTrace, LookupTrace, interleave
from .workloads import GENERATED, Generated

__all__ = [
    "GENERATED",
    "Comparison",
    "Generated",
    "JoinTrace",
    "LookupTrace",
    "Pool",
    "Scenario",
    "TraceFile",
    "choose_source",
    "compare",
    "cores",
    "interleave",
    "measure",
    "play",
    "product",
    "read_join",
    "read_keys",
    "read_lookup",
    "read_pair",
    "read_readings",
    "read_stream",
    "simulate_cell",
    "summarise",
    "sweep",
]
