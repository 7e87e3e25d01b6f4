"""Commands about streams in files: `penstock profile`, `count` and `advise`.

Why keys are repeated, which are frequent, and how much memory to buy for which policy.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput
from .output import (
    AsJson,
    FileArgument,
    SeedOption,
    WithinOption,
    flag,
    following,
    option,
    show_made,
)


def profile(
    file: FileArgument,
    key: Annotated[str, option("Its key column, or several: a,b.", "COL")] = "key",
    time: Annotated[str | None, option("Its time column. [time, or none]", "COL")] = None,
    h: Annotated[
        int | None, option("Preceding rows in the locality model. [as many as needed]", "H", "--h")
    ] = None,
    seed: Annotated[int, option("Seed of the random order.", "S")] = 0,
    html: Annotated[Path | None, option("Write an HTML page with plots.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Show why keys are repeated in a stream: popularity, locality, distances, bursts."""
    from ..profile import summary
    from ..profile.stream_profile import profile as make_profile
    from ..report import profile_page, where_to_write
    from ..simulate.tracefiles import read_stream

    target = None if html is None else where_to_write(html)
    trace, times = read_stream(file, key=key, time=time, sort=True)
    with following("profiling") as progress:
        made = make_profile(trace.key, times, h=h, seed=seed, name=trace.name, progress=progress)
    if target is not None:
        target.write_text(profile_page.as_html(made), encoding="utf-8")
    show_made(made.to_json() if as_json else summary.overview(made))


def count(
    file: FileArgument,
    support: Annotated[float, option("Share of the rows that makes a key frequent.", "S")],
    key: Annotated[str, option("The key column, or several: a,b.", "K")] = "key",
    epsilon: Annotated[
        float | None, option("Largest error of a counted share. [support / 10]", "E")
    ] = None,
    memory: Annotated[
        int | None, option("Largest number of keys held; chooses epsilon.", "M")
    ] = None,
    window: Annotated[
        str | None,
        option("Count the last rows only: so many, or with --time a span such as '1 hour'.", "N"),
    ] = None,
    time: Annotated[str | None, option("The time column, for a window of time.", "COL")] = None,
    as_json: AsJson = False,
) -> None:
    """Find the frequent keys of a file, with bounds on their counts."""
    from ..profile import frequent_keys
    from ..simulate.tracefiles import read_keys

    if time is not None and window is None:
        raise BadInput("time must be given with window, got time alone; add --window, a span of it")
    rows = read_keys(file, key=key, time=time)
    made = frequent_keys.count_keys(rows, Path(file).name, key, support, epsilon, memory, window)
    show_made(made if as_json else frequent_keys.table(made))


def advise(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two files to join, or one of events: CSV, Parquet or JSON.", metavar="FILE"
        ),
    ],
    on: Annotated[str, option("The key column, or several: a,b.", "COL")],
    time: Annotated[
        str | None, option("The time column, or left,right. [time, or the row]", "COL")
    ] = None,
    within: WithinOption = None,
    delay: Annotated[
        str, option("How late rows may come, for the line to paste.", "D")
    ] = "10 seconds",
    target: Annotated[float, option("The share of all results, or hits, to find.", "P")] = 0.95,
    goal: Annotated[
        str, option("Find the most results, or rows that match.", "pairs|rows")
    ] = "pairs",
    lookup: Annotated[
        bool, flag("--lookup", "One file of events that look rows up: hit ratio.")
    ] = False,
    policy: Annotated[
        list[str] | None, option("A policy to try. Repeatable. [all worth a trial]", "NAME")
    ] = None,
    seed: SeedOption = 0,
    html: Annotated[Path | None, option("Write a page with curves.", "PATH")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how much memory a join or a cache needs for a share of its results."""
    from ..advisor.advise import advise_files, advise_references
    from ..advisor.words import overview
    from ..report import advice_page, where_to_write
    from ..simulate.scenario import refuse_join_options

    page = None if html is None else where_to_write(html)
    if lookup and len(files) != 1:
        raise BadInput(f"--lookup takes one file of events, got {len(files)}")
    if lookup:
        refuse_join_options(within, goal)
    elif len(files) != 2:
        raise BadInput(
            f"a join takes two files, got {len(files)}; for a cache of one file's keys add --lookup"
        )
    with following("replaying") as progress:
        options: dict[str, Any] = {
            "target": target,
            "tried": policy or (),
            "seed": seed,
            "progress": progress,
        }
        if lookup:
            made = advise_references(files[0], on, time, **options)
        else:
            made = advise_files(files[0], files[1], on, time, within, delay, goal=goal, **options)
    if page is not None:
        page.write_text(advice_page.as_html(made), encoding="utf-8")
    if as_json:
        show_made(made.to_json())
    else:
        show_made(*overview(made))
