"""What the demonstration found, as a table, in words, and for JSON."""

import math
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from .run import BY_HAND, RULE, STATION, VARIATION, Case, Demo, Run

HEADS = ("wanted\nwithin", "width of intervals", "sent", "asked", "messages", "per\nreading")


def comparison(made: Demo) -> Table:
    """Return the table of all runs."""
    table = Table(
        title=f"\nMessages for {made.readings:,} readings of three airports, a query every hour",
        caption="a message for an interval that is sent, two for one that is asked for",
        box=box.SIMPLE_HEAD,
        title_style="bold",
    )
    table.title_justify = table.caption_justify = "left"
    for head in HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    table.columns[1].justify = "left"
    for case in made.cases:
        wanted = f"±{case.delta / 2:g} °C"
        table.add_row(wanted, "found by itself", *_cells(made, case.ours), style="bold green")
        table.add_row("", f"{width_of(BY_HAND)}, set by hand", *_cells(made, case.by_hand))
        share = f"{case.best_messages / made.readings:.2f}"
        best = f"{_said(case.best_width)}, best with hindsight"
        table.add_row("", best, "", "", f"{case.best_messages:,}", share, style="dim")
    return table


def _cells(made: Demo, run: Run) -> list[str]:
    share = f"{run.messages / made.readings:.2f}"
    return [f"{run.sent:,}", f"{run.asked:,}", f"{run.messages:,}", share]


def width_of(rule: str) -> str:
    """Return the width of a static rule, in words."""
    return _said(float(rule.partition("=")[2]))


def _said(width: float) -> str:
    if math.isinf(width):
        return "no copy at all"
    return f"{width:.1f} °C" if width else "0 (every change)"


def moral(made: Demo) -> str:
    """Say in words what the run showed."""
    precise, loose = made.cases
    return (
        f"\nThe same rule ({RULE}), told nothing, keeps narrow intervals where queries are strict "
        f"and wide ones where they are not: {_change(precise)} than the width set by hand within "
        f"±{precise.delta / 2:g} °C, and {_change(loose)} within ±{loose.delta / 2:g} °C. The best "
        "fixed width, another one for each precision and known only afterwards, would have taken "
        f"{_hindsight(precise)} and {_hindsight(loose)}."
    )


def _hindsight(case: Case) -> str:
    change = 1 - case.best_messages / case.ours.messages
    return f"{abs(change):.0%} {'less' if change > 0 else 'more'}"


def _change(case: Case) -> str:
    change = case.ours.messages / case.by_hand.messages - 1
    return f"{abs(change):.0%} {'fewer' if change < 0 else 'more'} messages"


def summarise(made: Demo, picture: Path) -> dict[str, Any]:
    """Return everything that the demonstration found."""
    return {
        "sources": made.weather.names,
        "shown": STATION,
        "readings": made.readings,
        "period_hours": 1,
        "delta_variation": VARIATION,
        "picture": str(picture),
        "cases": [
            {
                "delta": case.delta,
                "rules": [
                    {
                        "rule": run.rule,
                        "sent": run.sent,
                        "asked": run.asked,
                        "messages": run.messages,
                    }
                    for run in (case.ours, case.by_hand)
                ],
                "best_fixed": {
                    "width": case.best_width if math.isfinite(case.best_width) else None,
                    "messages": case.best_messages,
                },
            }
            for case in made.cases
        ],
    }
