"""`penstock profile` and `penstock count`: why keys are repeated, and which are frequent."""

from pathlib import Path
from typing import Annotated

from ..errors import BadInput
from .output import AsJson, FileArgument, following, option, show_made


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
