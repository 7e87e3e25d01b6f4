"""Figure 16: how HEEB divides one memory between two streams that differ in lag or noise."""

from typing import Any

from papers import grid

from .drifting import share_memory
from .frame import Experiment, Found, judge
from .lab import Lab
from .style import name_axes

LAGS, SPREADS = (0, 2, 4), (1, 2, 4)


def run(lab: Lab) -> Found:
    """Measure R's share in five settings, of which the first belongs to both series."""
    axes = {
        "length": lab.pick(5000, 600),
        "run": range(lab.pick(10, 1)),
        "policy": "heeb:lifetime=10",
    }
    same = {"memory": 10, "sd_r": 1}
    lags = grid.product(sd_s=1, lag=LAGS, **axes, **same)
    noises = grid.product(sd_s=SPREADS[1:], lag=0, **axes, **same)
    table = lab.sweep(share_memory, lags + noises).means("share", "lag", "sd_s")
    share = {(row["lag"], row["sd_s"]): row["share"] for row in table}
    by_lag, by_noise = [share[lag, 1] for lag in LAGS], [share[0, sd] for sd in SPREADS]

    def draw(figure: Any) -> None:
        labels = ["alike", "R lags 2", "R lags 4", "S's σ x 2", "S's σ x 4"]
        panel = figure.subplots()
        panel.bar(labels, by_lag + by_noise[1:], width=0.55, color="#c8452f")
        panel.axhline(0.5, color="#5f6368", linewidth=0.8)
        panel.set_ylim(0, 1)
        name_axes(panel, "", "share of the memory that R gets")

    verdicts = [
        judge(
            "HEEB gives less memory to a stream that lags behind",
            [by_lag[0] > by_lag[1] > by_lag[2]],
            "R's share at lags 0, 2, 4: " + ", ".join(f"{each:.2f}" for each in by_lag),
        ),
        judge(
            "HEEB gives less memory to a stream with a larger variance",
            [by_noise[0] < by_noise[1] < by_noise[2]],
            "R's share with S's σ x 1, 2, 4: " + ", ".join(f"{each:.2f}" for each in by_noise),
        ),
    ]
    return Found(
        table,
        draw,
        verdicts,
        [
            "Both noises have σ = 1 to begin with; memory 10. α follows from a mean lifetime of 10"
            " steps, the bound of the noise (section 7.3): α = 9.5."
        ],
    )


HEEB_16 = Experiment("heeb-16", "HEEB", "figure 16", "memory of each stream", run)
