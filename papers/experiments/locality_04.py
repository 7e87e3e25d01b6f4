"""Figure 4: keys that lossy counting holds, by the skew of the stream and by ε."""

from typing import Any

import numpy as np

from papers import grid
from penstock.profile.lossy import LossyCounter
from penstock.simulate.skewed import popularity

from ..theory.lossy_space import theorem_2
from .frame import Experiment, Found, judge
from .lab import Lab
from .style import legend_below, lines, logarithmic

DOMAIN, ITEMS = 3000, 100_000
SHOWN = {"bound": "bound of theorem 2", "peak": "Max", "pruned": "Prune"}


def count_zipf(given: dict[str, Any]) -> dict[str, Any]:
    """Count a stream of a Zipf law; return the most keys held, before and after pruning.

    >>> found = count_zipf({"z": 1.5, "epsilon": 0.01, "items": 10_000, "run": 0})
    >>> found["pruned"] <= found["peak"] <= found["bound"]
    True
    """
    random = np.random.default_rng(given["run"])
    keys = random.choice(DOMAIN, given["items"], p=popularity(DOMAIN, given["z"]))
    counter = LossyCounter(given["epsilon"])
    counter.push(keys.astype(np.int64))
    bound = theorem_2(given["epsilon"], given["z"])
    return {"peak": counter.peak, "pruned": counter.peak_pruned, "bound": bound}


def run(lab: Lab) -> Found:
    """Count streams of several skews, and one with several ε."""
    skews = lab.pick((1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0), (1.1, 1.5, 2.0))
    epsilons = lab.pick((0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01), (0.001, 0.01))
    axes = {"items": ITEMS, "run": range(lab.pick(5, 1))}
    cells = grid.product(z=skews, epsilon=0.001, **axes) + grid.product(
        z=1.3, epsilon=epsilons, **axes
    )
    table = lab.sweep(count_zipf, cells).means(list(SHOWN), "z", "epsilon")

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        by_skew = {label: table.curve("z", of, epsilon=0.001) for of, label in SHOWN.items()}
        by_error = {label: table.curve("epsilon", of, z=1.3) for of, label in SHOWN.items()}
        for axes, curves, x, title in (
            (panels[0], by_skew, "z of the Zipf law", "ε = 0.001"),
            (panels[1], by_error, "ε", "z = 1.3"),
        ):
            lines(axes, curves, x, "keys held", title, legend=False, labels=str, plain=True)
            axes.set_yscale("log")
        logarithmic(panels[1], (0.0005, 0.001, 0.002, 0.005, 0.01))
        legend_below(figure, panels[0])

    peaks = table.curve("z", "peak", epsilon=0.001)[1]
    errors = table.curve("epsilon", "peak", z=1.3)[1]
    verdicts = [
        judge(
            "less memory is used as the distribution becomes skewer",
            [peaks == sorted(peaks, reverse=True)],
            f"{peaks[0]:.0f} keys at z = {skews[0]}, {peaks[-1]:.0f} at {skews[-1]}",
        ),
        judge(
            "and as ε grows",
            [errors == sorted(errors, reverse=True)],
            f"{errors[0]:.0f} keys at ε = {epsilons[0]}, {errors[-1]:.0f} at {epsilons[-1]}",
        ),
        judge(
            "the upper bound of theorem 2 holds",
            [row["peak"] <= row["bound"] for row in table],
            f"the bound is {min(row['bound'] / row['peak'] for row in table):.0f} to "
            f"{max(row['bound'] / row['peak'] for row in table):.0f} times what is held",
        ),
    ]
    return Found(table, draw, verdicts, size=(8.4, 3.8))


LOCALITY_4 = Experiment(
    "locality-4", "locality", "figure 4", "space of lossy counting by skew", run
)
