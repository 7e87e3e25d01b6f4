"""`penstock reconcile`: find what a join with an archive has missed."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, option, show_made


def reconcile(
    archive: Annotated[
        str, typer.Argument(help="The folder that join(archive=) got.", metavar="ARCHIVE")
    ],
    memory: Annotated[str, option("What Spark may take.", "SIZE")] = "2g",
    as_json: AsJson = False,
) -> None:
    """Find what a join with an archive has missed so far, each result once.

    Starts a local Spark. What is found goes to the folder `corrections` of the archive; the next
    run goes on from there. The query may run meanwhile.
    """
    from ..spark import reconcile as run
    from ..spark.quiet import SHORT, quiet_session

    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as folder,
        quiet_session(Path(folder) / "spark.log", **SHORT | {"memory": memory}) as spark,
    ):
        made = run(spark, archive)
        signs = made.corrections.groupBy("change").count().collect()
    counts = {row["change"]: row["count"] for row in signs}
    added, taken = counts.get("+", 0), counts.get("-", 0)
    until = None if made.watermark is None else made.watermark.isoformat()
    report = {"upto": made.upto, "watermark": until, "added": added, "taken": taken}
    said = f"Up to micro-batch {made.upto}: {added:,} results to add, {taken:,} to take away."
    if until is not None:
        said += f" Everything before {until} is complete."
    show_made(report if as_json else said)
