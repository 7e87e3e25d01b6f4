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
            "HEEB, L^exp (sections 5.3, 6.1)",
            "`heeb:lifetime=12.5`, `heeb:alpha=N`, with the model given",
            "`heeb`: finds model and α while it runs",
            "src/penstock/policies/heeb.py",
        ),
        Algorithm(
            "L^fixed, L^inf, L^inv (section 5.3, table 1)",
            "`heeb:L=fixed`, `L=inf`, `L=inv`",
            SAME + "; L is one for all tuples",
            "src/penstock/policies/heeb_tables.py",
        ),
        Algorithm(
            "L of each tuple (section 5.3), streams that depend on each other (section 7)",
            "named, with no example: `sketched_heeb` (L ends where a tuple expires; "
            "`lag=N,follows=P`: S follows R) is ours",
            "none: one L for all, independent streams, as in the paper's case studies",
            "papers/printed/heeb.py",
        ),
        Algorithm(
            "histogram HEEB (section 6.2)",
            "`printed_hist`: two histograms, learned from tuples that leave",
            "`hist`: one curve, learned from watched tuples; finds the form of the streams",
            "papers/printed/hist.py, src/penstock/policies/hist.py",
        ),
        Algorithm(
            "FLOWEXPECT (section 4)",
            "`flowexpect`, in the simulator, for joins; `FlowExpectCache` for caches",
            SAME + ", for joins",
            "src/penstock/simulate/flowexpect.py, papers/printed/flowexpect.py",
        ),
        Algorithm(
            "OPT-offline, LFD",
            "`opt`, `lfd`, in the simulator",
            SAME,
            "src/penstock/simulate/optimum.py",
        ),
        Algorithm(
            "RAND, PROB, LIFE, LRU, LFU (section 8)",
            "`rand`, `prob`, `life`, `lru`, `lfu`; tuples outside the window leave first",
            SAME,
            "src/penstock/policies/baselines.py, src/penstock/policies/frequency.py",
        ),
        Algorithm(
            "ECB dominance (section 5.2), reduction of caching to joining (section 3.1)",
            "as theory",
            "none: no policy needs them",
            "papers/theory/dominance.py, papers/theory/reduction.py",
        ),
        Algorithm(
            "H from that of a step before or of another value (section 6.1, corollaries 3 to 5)",
            "as theory",
            "corollary 5, for trends; else tables",
            "papers/theory/heeb.py, src/penstock/models/benefit.py",
        ),
        Algorithm(
            "AR(1) surface of 25 control points (sections 6.1, 8)",
            "`printed_surface`, for caches",
            "41 x 81 points over five deviations, refined by splines",
            "papers/printed/surface.py, src/penstock/models/benefit.py",
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
            "several streams (section 5.3.4)",
            "does not say what a partial result earns",
            "`gdj`: a whole result earns; `gdj:credit=parts`: each part of one",
            "src/penstock/policies/gdj.py",
        ),
        Algorithm(
            "unified memory (section 4.3)",
            "`layout=unified`",
            "unified by default",
            "src/penstock/engine/join.py",
        ),
        Algorithm(
            "memory by the average credit of each join (section 4.3)",
            "one sentence: how `sketched_shares` does it is ours",
            "none: one memory for all joins",
            "papers/printed/credit.py",
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
        Algorithm("RAND, FIFO", "`rand`, `fifo`", SAME, "src/penstock/policies/baselines.py"),
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
            "`printed_lba`: T = W, h = 80, least squares in a warm-up, newcomer admitted; "
            "for caches too, T = memory",
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
            "PROB, RAND (section 5)",
            "`prob`, `rand`",
            SAME,
            "src/penstock/policies/frequency.py, src/penstock/policies/baselines.py",
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
            SAME + "; `WindowCounter` counts a sliding window",
            "src/penstock/profile/lossy.py, papers/theory/lossy_space.py, "
            "src/penstock/profile/windowed.py",
        ),
        Algorithm(
            "ε for a memory (algorithm 3)",
            "`m_to_epsilon` with `locality_entries`; as printed it does not end: after ε was too "
            "small e1 and e2 are equal",
            "`m_to_epsilon` with `steady_entries`, which needs no model",
            "src/penstock/profile/lossy.py, papers/theory/lossy_space.py",
        ),
        Algorithm(
            "entropy (definition 3)", "`conditional`", SAME, "src/penstock/profile/locality.py"
        ),
        Algorithm(
            "theorem 1, lemma 4",
            "as tests",
            "none: no policy needs them",
            "tests/papers/test_printed.py",
        ),
    ),
    "CLOCK": (
        Algorithm(
            "CLOCK, linear and exponential (section 3.2)",
            "`clock:hand=stays`, `clock:hand=stays,rho=0.5,w0=1`",
            "`clock`: the hand moves on behind the newcomer; `rho=auto`, `w0=auto`, `hand=auto`",
            "src/penstock/policies/clock.py",
        ),
        Algorithm(
            "smallest-score extension, O(M) steps (section 3.2)",
            "always: at most five steps a tuple",
            SAME,
            "src/penstock/policies/clock.py",
        ),
        Algorithm(
            "different increments for partial results (section 3.2)",
            "one sentence: the sizes of `sketched_clock:part=0.5,full=1` are ours",
            "a tuple earns when a whole result is found",
            "papers/printed/credit.py, src/penstock/policies/clock.py",
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
            "stale values: intervals that bound the updates missed (section 4.7)",
            "`adaptive:stale=true`",
            SAME,
            "src/penstock/precision/rules/published.py",
        ),
        Algorithm(
            "SUM and MAX with a precision constraint [OW00] (section 4.1)",
            "`sum(*) within 20`, `max(*) within 20`",
            SAME + "; averages, minima, counts and quantiles too",
            "src/penstock/precision/queries.py",
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
