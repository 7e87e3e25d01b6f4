"""`penstock report` and `reconcile`: the history of a query, and what its join has missed."""

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from .output import AsJson, flag, option, show_made


def report(
    checkpoint: Annotated[
        str, typer.Argument(help="The folder of a query's checkpoint.", metavar="CHECKPOINT")
    ],
    html: Annotated[Path, option("Where to write the page.", "PATH")] = Path("report.html"),
) -> None:
    """Draw what the monitor has kept of a query beside its checkpoint."""
    from ..report import where_to_write
    from ..report.history import read_histories
    from ..report.live import report_page

    target = where_to_write(html)
    target.write_text(report_page(read_histories(checkpoint)), encoding="utf-8")
    print(target)


def reconcile(
    archive: Annotated[
        str,
        typer.Argument(
            help="The folder that was archive=; of the results if that was 'inputs'.",
            metavar="ARCHIVE",
        ),
    ],
    until: Annotated[
        str | None, option("Go no further than this: 2026-05-01T00:00Z.", "TIME")
    ] = None,
    append: Annotated[bool, flag("--append", "Put missed results among the others.")] = False,
    left: Annotated[
        str | None, option("Files of the left input, if these are kept.", "PATH")
    ] = None,
    right: Annotated[str | None, option("Files of the right input.", "PATH")] = None,
    form: Annotated[str, option("Of these files.", "parquet|json|csv", "--format")] = "parquet",
    memory: Annotated[str, option("What Spark may take.", "SIZE")] = "2g",
    as_json: AsJson = False,
) -> None:
    """Find what a join with an archive has missed so far, each result once.

    Starts a local Spark. What is found goes to the folder `corrections` of the archive, or with
    --append (inner and semi joins) among the results; the next run goes on from there. The query
    may run meanwhile. With archive="inputs" pass --left and --right.
    """
    from ..spark import reconcile as run
    from ..spark.archive.reconcile import Archive
    from ..spark.quiet import SHORT, quiet_session

    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as folder,
        quiet_session(Path(folder) / "spark.log", **SHORT | {"memory": memory}) as spark,
    ):
        files = {"left": left, "right": right}
        info = Archive(spark, archive).info
        frames: dict[str, Any] = {
            side: spark.read.format(form).schema(info.type[side].dataType).load(path)
            for side, path in files.items()
            if path is not None
        }
        made = run(spark, archive, **frames, until=until, append=append)
        signs = made.corrections.groupBy("change").count().collect()
    counts = {row["change"]: row["count"] for row in signs}
    added, taken = counts.get("+", 0), counts.get("-", 0)
    reached = None if made.watermark is None else made.watermark.isoformat()
    report = {"upto": made.upto, "watermark": reached, "added": added, "taken": taken}
    said = f"{added:,} results were missed, and {taken:,} are to be taken away."
    if reached is not None:
        said += f" Everything before {reached} is complete."
    show_made(report if as_json else said)
