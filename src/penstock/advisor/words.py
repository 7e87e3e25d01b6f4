"""Advice in sentences."""

from .advice import Advice
from .sizes import spark_bytes

WHAT = {"joining": "recall", "caching": "hit ratio"}


def headline(made: Advice) -> str:
    """Return the answer in one sentence."""
    what, answer, peak = WHAT[made.streams.problem], made.answer, made.streams.peak
    if made.exact:
        return (
            f"A {what} of {made.goal:.1%} needs nearly all of the {peak:,} rows of the window "
            f"({size(made.exact_bytes)}): leave the budget out, and the join "
            "is exact."
        )
    return (
        f"For a {what} of {made.goal:.1%} hold {answer.rows:,} rows (about {size(answer.bytes)}) "
        f"with {answer.policy}: {answer.rows / peak:.1%} of what an exact "
        f"{'join' if made.streams.problem == 'joining' else 'cache'} holds."
    )


def doubts(made: Advice) -> list[str]:
    """Return what to beware of, as sentences."""
    return [each[:1].upper() + each[1:] + "." for each in made.said]


def facts(made: Advice) -> list[tuple[str, str]]:
    """Return what the advice rests on, and what it is to be compared with."""
    streams, answer, low_high = made.streams, made.answer, made.between
    what = WHAT[streams.problem]
    rows = [
        ("rows", " + ".join(f"{each:,}" for each in streams.rows)),
        ("keys", f"{streams.keys:,}"),
    ]
    if streams.skew is not None:
        rows.append(("Zipf exponent of the keys", f"{streams.skew:.2f}"))
    rows.append(("the hottest key", f"{streams.hottest:.1%}"))
    if not made.sampled["whole"]:
        rows.append(("the budget lies between (95 %)", f"{low_high[0]:,} and {low_high[1]:,} rows"))
    for name, other in (("half", made.half), ("twice", made.double)):
        said = f"{what} {_with_error(other.share, other.error)}"
        rows.append((f"with {name} the memory, {other.rows:,} rows", said))
    if streams.problem == "joining":
        held = made.exact_bytes
        theirs = spark_bytes(streams.peak, streams.payload)
        rows += [
            ("rows alive on average", f"{streams.mean:,.0f}"),
            ("an exact join holds at most", f"{streams.peak:,} rows, about {size(held)}"),
            ("Spark's own join holds them in", f"about {size(theirs)}"),
        ]
    else:
        most = f"{streams.peak:,} rows, about {size(made.exact_bytes)}"
        rows.append((f"every row cached, {what} {streams.most:.1%}", most))
    rows.append(("replayed", _replayed(made)))
    rows.append((f"{what} expected", _with_error(answer.share, answer.error)))
    return rows


def _replayed(made: Advice) -> str:
    sampled = made.sampled
    if sampled["whole"]:
        return f"all {sampled['rows']:,} rows"
    parts = [f"{sampled['rows']:,} rows"]
    if sampled["weight"] > 1:
        parts.append(f"all of hot keys, 1 of {sampled['weight']} other keys")
    if sampled.get("crowded", 1) > 1:
        parts.append(f"of crowded keys 1 of up to {sampled['crowded']:.0f} rows kept")
    if sampled.get("stretches", 1) > 1:
        parts.append(f"{sampled['stretches']} stretches of time")
    return ", ".join(parts)


def _with_error(share: float, error: float) -> str:
    return f"{share:.1%}" + (f" ± {100 * error:.1f}" if error >= 0.0005 else "")


def size(count: float) -> str:
    """Return bytes in few figures.

    >>> size(950), size(1_840_000), size(5.57e8)
    ('950 B', '1.8 MB', '557 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 999.5:
            few = value < 10 and unit != "B"
            return f"{value:.1f} {unit}" if few else f"{int(value + 0.5)} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
