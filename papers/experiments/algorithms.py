"""The algorithms of each paper: as printed, ours, and where they are."""

from typing import NamedTuple


class Algorithm(NamedTuple):
    """An algorithm of a paper, and what Penstock does."""

    name: str
    printed: str  # how to run it as the paper prints it
    ours: str  # what is different by default
    file: str


SAME = "the same"
ALGORITHMS: dict[str, tuple[Algorithm, ...]] = {
    "HEEB": (
        Algorithm(
            "HEEB, L^exp (sections 4.3, 6.1)",
            "`heeb:lifetime=12.5`, `heeb:alpha=N`, with the model given",
            "`heeb`: finds model and α while it runs",
            "src/penstock/policies/heeb.py",
        ),
        Algorithm(
            "L^fixed, L^inf, L^inv (table 1)",
            "`heeb:L=fixed`, `L=inf`, `L=inv`",
            SAME + "; L is one for all tuples, not one for each",
            "src/penstock/policies/heeb_tables.py",
        ),
        Algorithm(
            "histogram HEEB (section 6.2)",
            "`printed_hist`: two histograms, learned from tuples that leave",
            "`hist`: one curve, learned from watched tuples; finds the form of the streams",
            "papers/printed/hist.py, src/penstock/policies/hist.py",
        ),
        Algorithm(
            "FLOWEXPECT (section 3)",
            "`flowexpect`, in the simulator, for joins",
            SAME + "; not for caching",
            "src/penstock/simulate/flowexpect.py",
        ),
        Algorithm(
            "OPT-offline, LFD",
            "`opt`, `lfd`, in the simulator",
            SAME,
            "src/penstock/simulate/optimum.py",
        ),
        Algorithm(
            "dominance (section 4.1), reduction of caching to joining (section 2)",
            "as theory",
            "none: no policy needs them",
            "papers/theory/dominance.py, papers/theory/reduction.py",
        ),
        Algorithm(
            "AR(1) surface of 25 control points (section 6.1)",
            "not made",
            "H computed for each value",
            "src/penstock/policies/heeb_tables.py",
        ),
    ),
    "GDJ": (
        Algorithm(
            "GDJ, methods 1 to 3 (section 5.2)",
            "`gdj:method=1`, `2`, `3`; percentile counted from the lowest credit",
            "`gdj`: method 1, percentile 0.2; `percentile=auto` finds it",
            "src/penstock/policies/gdj.py",
        ),
        Algorithm(
            "credit for partial results, memory by average credit (section 4.3)",
            "not made",
            "a tuple earns when a whole result is found",
            "src/penstock/policies/gdj.py",
        ),
        Algorithm(
            "AGE (section 3.2)",
            "`printed_age`: the exact best age of each value, offline",
            "`age`: learns one age for each stream",
            "papers/printed/age.py, src/penstock/policies/age.py",
        ),
        Algorithm(
            "PROB",
            "`prob:admit=always`",
            "`prob`: a newcomer competes",
            "src/penstock/policies/frequency.py",
        ),
        Algorithm(
            "sampling by drop rates (section 4.2)",
            "`drop=`",
            SAME,
            "src/penstock/engine/join.py",
        ),
    ),
    "locality": (
        Algorithm(
            "LBA (algorithm 1)",
            "`printed_lba`: T = W, h = 80, least squares in a warm-up, newcomer admitted",
            "`lba`: T by memory, h = 200, likelihood, learned throughout, newcomer competes",
            "papers/printed/lba.py, src/penstock/policies/lba.py",
        ),
        Algorithm(
            "ELBA (section 4.1)",
            "`elba:admit=always,h=80,steps=W`",
            "`elba`: as `lba`; `remaining=yes` respects windows",
            "src/penstock/policies/lba.py",
        ),
        Algorithm(
            "the model's weights (section 3.1)",
            "`least_squares`",
            "`fit_likelihood`",
            "src/penstock/profile/locality.py",
        ),
        Algorithm(
            "lossy counting (algorithm 2), bounds on its space (section 4.2)",
            "`LossyCounter`, `papers/theory`",
            SAME,
            "src/penstock/profile/lossy.py, papers/theory/lossy_space.py",
        ),
        Algorithm(
            "entropy (definition 3)", "`conditional`", SAME, "src/penstock/profile/locality.py"
        ),
    ),
    "CLOCK": (
        Algorithm(
            "CLOCK, linear and exponential (section 3.2)",
            "`clock:hand=stays`, `clock:hand=stays,rho=0.5,w0=1`",
            "`clock`: the hand moves on behind the newcomer; `rho=auto`, `w0=auto`",
            "src/penstock/policies/clock.py",
        ),
        Algorithm(
            "smallest-score extension, O(M) steps (section 3.2)",
            "always",
            SAME,
            "src/penstock/policies/clock.py",
        ),
        Algorithm(
            "different increments for partial results (section 3.2)",
            "not made",
            "a tuple earns when a whole result is found",
            "src/penstock/policies/clock.py",
        ),
        Algorithm(
            "random, FIFO, LRU, garbage collection (section 3.1)",
            "`rand`, `fifo`, `lru`; rows that have expired leave first",
            SAME,
            "src/penstock/policies/baselines.py",
        ),
    ),
    "precision": (
        Algorithm(
            "adaptive widths (section 2)",
            "`adaptive:alpha=1,tau_0=1`",
            "`settling`: converges",
            "src/penstock/precision/rules/published.py, settling.py",
        ),
        Algorithm(
            "uncentred, growing and voting variations (section 4.5)",
            "`uncentred`, `growing`, `majority`",
            SAME,
            "src/penstock/precision/rules/published.py",
        ),
        Algorithm(
            "exact caching [WJH97], divergence caching [HSW94]",
            "`exact`, `divergence`",
            SAME,
            "src/penstock/precision/rules/published.py",
        ),
    ),
}


def table(paper: str) -> str:
    """Return the algorithms of a paper as a table.

    >>> print(table("precision").splitlines()[0])
    | algorithm | as printed | ours | file |
    """
    rows = [f"| {' | '.join((*each[:3], _files(each.file)))} |" for each in ALGORITHMS[paper]]
    return "\n".join(["| algorithm | as printed | ours | file |", "|---|---|---|---|", *rows])


def _files(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))
