"""A short run that shows what the choice of a policy is worth."""

from .scenario import Scenario
from .source import Generated
from .summary import summarise
from .sweep import Progress, Sweep, sweep

WITHIN = 500  # steps; a step brings one tuple of each stream
MEMORY = 2 * (WITHIN + 1) // 10  # a tenth of the tuples that are alive at a time


def run_demo(progress: Progress | None = None) -> Sweep:
    """Join two skewed streams in a tenth of the memory that all results would take."""
    scenario = Scenario(Generated("zipf", 20_000), "joining", MEMORY, within=WITHIN)
    return sweep(scenario, progress=progress)


def moral(made: Sweep) -> str:
    """Say in one sentence what the run showed."""
    by_recall = sorted(summarise(made)["policies"], key=lambda each: each["recall"]["mean"])
    worst, best = by_recall[0], by_recall[-1]
    return (
        f"In a tenth of the memory that the whole window takes, {best['policy']} still finds "
        f"{best['recall']['mean']:.0%} of the results and {worst['policy']} only "
        f"{worst['recall']['mean']:.0%}: what to keep matters as much as how much."
    )
