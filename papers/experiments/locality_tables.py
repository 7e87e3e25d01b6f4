"""Tables 1 and 2: bounds on the space of lossy counting, and the entropy of streams."""

from typing import Any

import numpy as np

from penstock.profile.locality import conditional, fit_likelihood
from penstock.profile.ranked import permuted, rank_keys, whole

from ..theory.lossy_space import theorem_2
from .frame import Experiment, Found, judge
from .lab import Lab
from .streams import TRADES, keys_of
from .style import bars, legend_below, name_axes

PAPERS = {1.1: 3869, 1.3: 2409, 1.5: 2089}
EPSILON, OLD = 0.001, 7000
ENTROPIES = {"uniform": 6.19, "permuted": 5.48, "original": 3.32}


def run_bounds(lab: Lab) -> Found:
    """Compute theorem 2."""
    ours = {z: theorem_2(EPSILON, z) for z in PAPERS}
    rows = [{"z": z, "old": OLD, "paper": PAPERS[z], "ours": ours[z]} for z in PAPERS]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        series: dict[str, Any] = {
            "7 / ε": [OLD] * 3,
            "the paper's": list(PAPERS.values()),
            "ours": list(ours.values()),
        }
        bars(axes, [f"z = {z}" for z in PAPERS], series, "bound on the keys held", labels=str)
        legend_below(figure, axes)

    verdict = judge(
        "the bounds are 3869, 2409 and 2089 (to 0.1 %)",
        {f"z = {z}": abs(ours[z] / PAPERS[z] - 1) < 0.001 for z in PAPERS},
        ", ".join(f"{each:.1f}" for each in ours.values()),
    )
    return Found(rows, draw, [verdict])


def run_entropies(lab: Lab) -> Found:
    """Measure the entropy of trades, of a random order of them, and of uniform values."""
    rank = rank_keys(keys_of("stock")[: lab.pick(None, 10_000)]).rank
    count = int(rank.max()) + 1
    h = lab.pick(50, 10)
    nats = {"uniform": float(np.log(count))}
    for name, stream in (("permuted", permuted(rank, 0)), ("original", rank)):
        nats[name] = conditional(whole(stream), fit_likelihood(stream, h)) * float(np.log(2))
    rows = [{"stream": n, "nats": nats[n], "paper": ENTROPIES[n], "keys": count} for n in nats]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        series = {"the paper's": list(ENTROPIES.values()), "ours": list(nats.values())}
        bars(axes, list(nats), series, "entropy, nats a tuple", labels=str)
        legend_below(figure, axes)
        name_axes(axes, f"{count:,} stocks here, 500 in the paper", "entropy, nats a tuple")

    verdicts = [
        judge(
            "the original stream has a much smaller entropy than its permutation (10 % or more)",
            [nats["original"] < 0.9 * nats["permuted"]],
            f"{nats['original']:.2f} against {nats['permuted']:.2f} nats (paper: 3.32 and 5.48)",
        ),
        judge(
            "which has less than uniform values",
            [nats["permuted"] < nats["uniform"]],
            f"{nats['permuted']:.2f} against {nats['uniform']:.2f} nats (paper: 5.48 and 6.19)",
        ),
    ]
    note = "Trades of another exchange; the paper's figures seem to be in nats: log 500 is 6.21."
    return Found(rows, draw, verdicts, [note])


TABLE_1 = Experiment("locality-table-1", "locality", "table 1", "bounds on space", run_bounds)
TABLE_2 = Experiment(
    "locality-table-2", "locality", "table 2", "entropy of streams", run_entropies, needs=(TRADES,)
)
