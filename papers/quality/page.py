"""The page that says which policy is good for what, made of the shares alone."""

from collections.abc import Iterable

from .cell import MOST_ROWS
from .plan import AUTO, COSTLY
from .summary import PARTS, Quality, Share, Standing, plain

NAME = "which-policy.md"
TITLES = {False: "Joins", True: "Caches"}
SHOWN = ("rate", AUTO)  # beside the best one


def text(found: Quality, figure: str) -> str:
    """Return the page; `figure` is where its picture is."""
    parts = [_head(found), f"![Every policy on every stream]({figure})"]
    for caching, title in TITLES.items():
        if found.streams(caching):
            parts.append(f"## {title}")
            parts += [_standings(found, part, caching) for part in PARTS]
            parts.append(_by_stream(found, caching))
    parts.append("## Every figure")
    parts += [_details(found, stream) for c in TITLES for stream in found.streams(c)]
    return "\n\n".join(parts) + "\n"


def _head(found: Quality) -> str:
    lines = [
        "# Which policy?",
        "",
        "Made by `python -m papers quality`. Every policy with its usual parameters, on generated"
        " and recorded streams, in memories of 1 to 50 % of the rows that are alive on average (of"
        " a cache: of the keys there are). *Of the best* is what a configuration, a policy and a"
        " layout, got of what the best fixed one got there with hindsight. Shares of the optimum"
        f" are shares of OPT-offline for joins of up to {MOST_ROWS:,} rows and of LFD for caches;"
        " of longer joins, and of those of three streams, they are shares of all results, which no"
        " memory of that size may be able to find. *Later* leaves out the first ten windows (of a"
        " cache: ten times its memory; half of the stream at most). One draw of each generated"
        " stream, so differences of 1 or 2 % mean little.",
        "",
        f"{', '.join(COSTLY)} were run only where the order of keys means something; a mean is over"
        " the streams and sizes that a configuration was run on.",
    ]
    if AUTO not in {each.policy for each in found.shares}:
        lines.append(f"`{AUTO}` was not run.")
    if found.quick:
        lines.append("**This is the small version of `--quick`**: short streams, few sizes.")
    if found.missing:
        said = ", ".join(f"{stream} ({count})" for stream, count in found.missing.items())
        lines.append(f"**Not all was run.** Cells that are missing, by stream: {said}.")
    return "\n".join(lines)


def _standings(found: Quality, part: str, caching: bool) -> str:
    title = "Over the whole run" if part == "whole" else "Later"
    head = [
        "configuration",
        "streams and sizes",
        "mean of the best",
        "worst",
        "where",
        "within 2 %",
    ]
    rows = [_standing(each) for each in found.standings(part, caching)]
    return f"{title}:\n\n" + _table(head, rows)


def _standing(each: Standing) -> list[str]:
    name, streams, mean, worst, where, wins = each
    return [name, str(streams), f"{mean:.3f}", f"{worst:.3f}", where, str(wins)]


def _by_stream(found: Quality, caching: bool) -> str:
    """Return the best configuration of each stream and memory, over the whole run."""
    known = {each.policy for each in found.shares}
    shown = [name for name in SHOWN if name in known]
    by_place: dict[tuple[str, float, str], float] = {}
    for each, value in found.relative("whole", caching):
        if each.layout == "unified":
            by_place[each.stream, each.memory, each.policy] = value
    rows = [
        [plain(stream), _memory(best), best.configuration, f"{best.whole:.3f}", best.of]
        + [_number(by_place.get((stream, memory, name))) for name in shown]
        for (stream, memory), best in found.best("whole").items()
        if stream in found.streams(caching)
    ]
    head = ["stream", "memory", "the best", "its share", "of", *(f"{n} of it" for n in shown)]
    return "Stream by stream, over the whole run:\n\n" + _table(head, rows)


def _details(found: Quality, stream: str) -> str:
    """Return all shares of a stream, folded up."""
    mine = [each for each in found.shares if each.stream == stream]
    sizes = dict.fromkeys(each.memory for each in mine)
    at = {(each.configuration, each.memory): each for each in mine}
    rows = [
        [name] + [_both(at.get((name, size))) for size in sizes]
        for name in dict.fromkeys(each.configuration for each in mine)
    ]
    head = ["whole run / later", *(_memory(next(e for e in mine if e.memory == s)) for s in sizes)]
    title = f"{stream}: shares of {mine[0].of}"
    return f"<details><summary>{title}</summary>\n\n{_table(head, rows)}\n\n</details>"


def _both(each: Share | None) -> str:
    return "" if each is None else f"{each.whole:.3f} / {each.after:.3f}"


def _memory(each: Share) -> str:
    return f"{each.memory:.0%} ({each.rows:,})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
