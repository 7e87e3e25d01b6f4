"""Simulations: arrivals from generators and files, replayed under policies, beside the optimum.

- **Arrivals.** `traces` are arrays of rows, in the order in which they are taken; `workloads`
  generates them (`drifting`, `skewed`), `tracefiles` reads them from files, whose
  `columns` become numbers.
- **Replays.** A `scenario` says what to replay, `player` knows the policies and replays one trace
  under one of them, `comparison` does so for several policies and runs and sums them up,
  `distortion` says how evenly results are lost.
- **The best possible.** `optimum` counts the results of an unlimited memory, and the most that any
  policy could get with hindsight; `flowexpect` plans with models of the streams.
"""
