"""Section 4's example: the best plan is not the best strategy."""

from itertools import product
from typing import Any

import numpy as np

from penstock.simulate.flowexpect import FlowExpect

from .frame import Experiment, Found, judge
from .lab import Lab
from .style import name_axes

NOBODY_R, NOBODY_S = -1, -2  # "-" in the paper: values that join nothing
# What R and S bring at t0, t0 + 1, ...: value -> chance; the rest is "-".
LawsOf = tuple[dict[int, float], ...]
R: LawsOf = ({}, {2: 1.0}, {3: 1.0}, {2: 0.5})
S: LawsOf = ({2: 1.0}, {3: 0.5}, {1: 0.8}, {1: 0.8})
LATE = "take S's 2, then S's next if 3"
CHANCES = (0.5, 0.8, 0.8, 0.5)  # of the four things that may happen: S 3, S 1, S 1, R 2


class Laws:
    """A stream whose chances are written down, step by step, after a first step that is past."""

    def __init__(self, laws: LawsOf) -> None:
        self.laws: LawsOf = ({}, *laws)

    def law(self, t: int) -> dict[int, float]:
        """Return the chances of the values at a step."""
        return self.laws[t] if t < len(self.laws) else {}

    def prob(self, v: Any, d: Any, history: Any) -> np.ndarray:
        """Return the chance of v, d steps ahead."""
        v, d = np.broadcast_arrays(v, d)
        found = [self.law(history.time + int(e)).get(int(x), 0.0) for x, e in zip(v.flat, d.flat)]
        return np.array(found).reshape(v.shape)

    def support(self, most: int, history: Any) -> np.ndarray:
        """Return the values that can occur within the next steps."""
        laws = [self.law(history.time + d) for d in range(1, most + 1)]
        return np.unique(np.array([v for law in laws for v in law], np.int64))


def outcomes() -> list[tuple[float, list[int], list[int]]]:
    """Return all that may happen: its chance, and what R and S bring."""
    found = []
    for three, one, again, two in product([True, False], repeat=4):
        happens = (three, one, again, two)
        chance = np.prod([p if yes else 1 - p for p, yes in zip(CHANCES, happens)])
        r = [NOBODY_R, 2, 3, 2 if two else NOBODY_R]
        s = [2, *(value if yes else NOBODY_S for value, yes in zip((3, 1, 1), happens))]
        found.append((float(chance), r, s))
    return found


def flow_expect() -> float:
    """Return what FLOWEXPECT gains on average; before t0 it holds the R tuple 1."""
    total = 0.0
    for chance, r, s in outcomes():
        join = FlowExpect([Laws(R), Laws(S)], budget=1, lookahead=3)  # type: ignore[list-item]
        join.push(1, NOBODY_S)
        total += chance * sum(join.push(*step) for step in zip(r, s))
    return total


def gain(first: str, then: str) -> float:
    """Return what a strategy gains on average.

    first: what is held after t0: "1", R's tuple, or "2", the new S tuple.
    then: whether that is replaced by S's tuple of t0 + 1: "never", "always", or "if 3".
    """
    total = 0.0
    for chance, r, s in outcomes():
        side, key = (0, 1) if first == "1" else (1, 2)
        for step in (1, 2, 3):
            total += chance * (key == (s[step] if side == 0 else r[step]))
            if step == 1 and (then == "always" or (then == "if 3" and s[1] == 3)):
                side, key = 1, s[1]
    return total


def run(lab: Lab) -> Found:
    """Compare the plans, FLOWEXPECT, and the strategy that looks before it decides."""
    values = {
        "keep R's 1": gain("1", "never"),
        "take S's 2, keep it": gain("2", "never"),
        "take S's 2, then S's next": gain("2", "always"),
        "FLOWEXPECT": flow_expect(),
        LATE: gain("2", "if 3"),
    }
    papers = dict(zip(values, (1.6, 1.5, 1.5, 1.6, 1.75)))
    best = max(list(values.values())[:3])

    def draw(figure: Any) -> None:
        panel = figure.subplots()
        panel.barh(list(values)[::-1], list(values.values())[::-1], color="#7b5ea7", height=0.55)
        for place, value in enumerate(list(values.values())[::-1]):
            panel.annotate(
                f"{value:.2f}", (value, place), (4, 0), textcoords="offset points", va="center"
            )
        panel.set_xlim(0, 2)
        panel.grid(axis="y", visible=False)
        name_axes(panel, "expected results, t0 + 1 to t0 + 3", "")

    verdicts = [
        judge(
            "FLOWEXPECT chooses to keep R's tuple, worth 1.6, the best of all plans",
            [abs(values["FLOWEXPECT"] - 1.6) < 1e-9 and abs(best - 1.6) < 1e-9],
            f"{values['FLOWEXPECT']:.2f}",
        ),
        judge(
            "the two other plans are worth 1.5 each",
            {name: abs(values[name] - 1.5) < 1e-9 for name in list(values)[1:3]},
            ", ".join(f"{values[name]:.2f}" for name in list(values)[1:3]),
        ),
        judge(
            "a strategy that looks at S's next value first is worth 1.75",
            [abs(values[LATE] - 1.75) < 1e-9],
            f"{values[LATE]:.2f}",
        ),
    ]
    rows = [{"strategy": k, "expected": v, "paper": papers[k]} for k, v in values.items()]
    return Found(rows, draw, verdicts, size=(7.0, 2.8))


HEEB_FLOWEXPECT = Experiment(
    "heeb-flowexpect", "HEEB", "section 4", "the example in which FLOWEXPECT is not optimal", run
)
