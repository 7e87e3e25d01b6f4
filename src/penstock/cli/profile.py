"""`penstock profile`: why keys are repeated in a stream."""

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, following, show_made


def profile(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    key: Annotated[
        str, typer.Option(help="Its key column, or several: a,b.", metavar="COL")
    ] = "key",
    time: Annotated[
        str | None, typer.Option(help="Its time column. [time, or none]", metavar="COL")
    ] = None,
    h: Annotated[
        int | None,
        typer.Option(
            "--h", help="Preceding rows in the locality model. [as many as needed]", metavar="H"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random order.", metavar="S")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write an HTML page with plots.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show why keys are repeated in a stream: popularity, locality, distances, bursts."""
    from ..extras import need
    from ..profile import summary
    from ..profile.stream_profile import profile as make_profile
    from ..report import profile as page
    from ..report import where_to_write
    from ..simulate import read_stream

    target = None
    if html is not None:
        target = where_to_write(html)
        need("matplotlib", "the page of a profile")  # before the work, not after it
    trace, times = read_stream(file, key=key, time=time)
    with following("profiling") as progress:
        made = make_profile(trace.key, times, h=h, seed=seed, name=trace.name, progress=progress)
    if target is not None:
        target.write_text(page.as_html(made), encoding="utf-8")
    show_made(made.to_json() if as_json else summary.overview(made))
