"""Commands about queries on Spark: `penstock run`, `init`, `report` and `reconcile`.

A pipeline from a file, and a commented one to begin with; the history of a query, and what its join
has missed.
"""

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadInput, PenstockError
from .output import AsJson, flag, option, show_made

HEADER = 20  # lines between headers, as in vmstat


def run(
    file: Annotated[Path, typer.Argument(help="What to run, a TOML file.", metavar="FILE")],
    check: Annotated[
        bool, flag("--check", "Check it against the real schemas; start nothing.")
    ] = False,
    advise: Annotated[
        bool, flag("--advise", "Sample the sources and propose policy and budget first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a pipeline: sources, a join, lookup or thin, a sink.

    Ctrl-C ends it after the micro-batch that runs; the same command goes on from its checkpoint.
    Paths are relative to the folder of the file. `penstock init` writes an example.
    """
    from ..spark.pipeline import Pipeline

    pipeline = Pipeline.read(file)
    os.chdir(file.absolute().parent)
    with _session(pipeline) as spark:
        frames = pipeline.frames(spark)
        result, said = pipeline.result(frames)
        pipeline.writer(result)
        plan = pipeline.describe(frames, result, said)
        if not as_json:
            _show_plan(plan, on_error=not check)
        if advise:
            made = _advised(pipeline, spark, plan, as_json)
        if check or (advise and not _agreed(as_json)):
            show_made(plan if as_json else "Checked; nothing was started.")
            return
        if advise:
            result, _ = pipeline.result(frames, policy=made.answer.policy, budget=made.budget)
        final = _run(pipeline, spark, result)
    if as_json:
        show_made({} if final is None else asdict(final))


def _run(pipeline: Any, spark: Any, result: Any) -> Any:
    """Start the query, follow it, and return its last figures."""
    from ..spark import metrics, monitor
    from ..spark.pipeline import drive

    with ExitStack() as stack:
        if pipeline.monitor:
            with pipeline.placed("monitor", pipeline.monitor):
                watching = stack.enter_context(monitor(spark, **pipeline.monitor))
            address, _, token = watching.url.partition("?")  # what is told here may be in a journal
            _tell(f"Monitor: {address}" + (", which asks for ?token=" if token else ""))
        ending = stack.enter_context(_ending())
        query = pipeline.start(result)
        _tell("Running; Ctrl-C ends it after the micro-batch.")
        try:
            drive(query, ending, _lines(pipeline.name))
        except PenstockError as error:
            raise pipeline.failed(str(error)) from error
        again = pipeline.options.get("checkpoint")
        done = "Ended" if ending() else "Done: all rows that were there are in"
        _tell(f"{done}; the next run goes on from {again}." if again else f"{done}.")
        return metrics(query)


@contextmanager
def _session(pipeline: Any) -> Iterator[Any]:
    """Start Spark, whose own words go to a log that stays only if something fails."""
    from ..spark.pipeline import CONSOLE
    from ..spark.quiet import quiet_session, status_line

    number, name = tempfile.mkstemp(prefix="penstock-", suffix=".log")
    os.close(number)
    # The console sink is Java's standard output.
    streams = (2,) if pipeline.sink["format"] == CONSOLE else (1, 2)
    try:
        with ExitStack() as ending:
            with status_line() as doing:
                doing("starting Spark")
                session = quiet_session(Path(name), streams, **pipeline.settings)
                spark = ending.enter_context(session)
            yield spark
    except BadInput:
        os.unlink(name)
        raise
    except PenstockError as error:
        raise PenstockError(f"{pipeline.file.hide(str(error))}; Spark's log: {name}") from None
    os.unlink(name)


@contextmanager
def _ending() -> Iterator[Callable[[], bool]]:
    """Yield what says whether Ctrl-C or a termination came; a second one ends all at once."""
    asked = threading.Event()
    before: dict[int, Any] = {}

    def ask(number: int, _: Any) -> None:
        signal.signal(number, before[number])
        _tell("Ending after this micro-batch; once more to end at once.")
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, ask)
    try:
        yield asked.is_set
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _lines(name: str) -> Callable[[Any], None]:
    """Return what prints a line for each report: figures of the micro-batch, then of all."""
    from ..spark.pipeline import COLUMNS, cells_of
    from ..terminal import short

    widths = (6, 7, 7, 8, 8, 8, 8, 7, 12)
    printed, totals = 0, [""] * len(COLUMNS[name])

    def line(cells: Any) -> str:
        return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths)).rstrip()

    def show(progress: Any) -> None:
        nonlocal printed, totals
        if printed % HEADER == 0:
            _tell(line(("batch", "rows", "rows/s", "took", *COLUMNS[name])))
        printed += 1
        took = progress["durationMs"].get("triggerExecution", 0) / 1000
        rows = progress["numInputRows"]
        speed = short(rows / took) if took else "-"
        totals = cells_of(progress) or totals
        _tell(line((progress["batchId"], short(rows), speed, f"{took:.2f} s", *totals)))

    return show


# ------------------------------------------------------------ the plan and the advice


def _show_plan(plan: dict[str, Any], on_error: bool) -> None:
    """Print what will run: sources with their columns, the operator, its result, the sink."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, source in plan["sources"].items():
        table.add_row(name, Text(_words(source, "columns")))
        table.add_row("", Text(_columns(source["columns"]), style="dim"))
    table.add_row(plan["operator"], Text(_words(plan["options"])))
    table.add_row("", Text(_columns(plan["result"]), style="dim"))
    table.add_row("sink", Text(_words(plan["sink"])))
    for name in ("monitor", "spark"):
        if name in plan:
            table.add_row(name, Text(_words(plan[name])))
    console = Console(highlight=False, stderr=on_error)
    console.print(table)
    for each in plan["warnings"]:
        console.print(Text(f"Beware: {each}", style="yellow"))


def _words(table: dict[str, Any], *left_out: str) -> str:
    """Return a table in one line; its format first, without its name."""
    from ..spark.pipeline import flat

    given = {
        name: each for name, each in flat(table).items() if name.partition(".")[0] not in left_out
    }
    kind = given.pop("format", None)
    parts = [kind] if kind else []
    parts += [f"{name} = {_shown(each)}" for name, each in given.items()]
    return ", ".join(parts)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _columns(columns: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _advised(pipeline: Any, spark: Any, plan: dict[str, Any], as_json: bool) -> Any:
    """Print which policy and budget suit the sources, as lines of the file."""
    from ..advisor.words import overview
    from ..spark.pipeline import advised

    made = advised(pipeline, spark)
    budget = f"budget = {made.budget:_}" if made.budget is not None else "# no budget"
    plan["advice"] = made.to_json()
    if not as_json:
        show_made(*overview(made))
        print(f'\n[{pipeline.name}]\npolicy = "{made.answer.policy}"\n{budget}\n')
    return made


def _agreed(as_json: bool) -> bool:
    """Ask whether to start with what was proposed; without a terminal, do not."""
    if as_json or not sys.stdin.isatty():
        return False
    return typer.confirm("Start with these?", default=True)


# ------------------------------------------------------------ an example

NAME = "pipeline.toml"
ROWS, FILES = 10_000, 5  # of each source: rows in a file, and files
START = 1_800_000_000_000_000  # microseconds: January 2027
GAP = 10_000  # microseconds between two rows, so that a file is 100 seconds


def init(
    folder: Annotated[
        Path, typer.Argument(help="Where it is written.", metavar="[FOLDER]")
    ] = Path(),
) -> None:
    """Write a commented pipeline that runs as it is, and the files that it reads."""
    for name in (NAME, "views", "clicks"):
        if (folder / name).exists():
            raise BadInput(f"{folder / name} is there already; choose another folder")
    try:
        _write_files(folder)
        (folder / NAME).write_bytes(files(__package__).joinpath(NAME).read_bytes())
    except OSError as error:
        raise BadInput(f"{folder} cannot be written to: {error.strerror}") from None
    print(f"Wrote {folder / NAME}, and files in {folder / 'views'} and {folder / 'clicks'}.")
    print(f"Next: penstock run {folder / NAME} --check")


def _write_files(folder: Path) -> None:
    """Write views as Parquet, and clicks, a fifth as many, as JSON: a few customers make most."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(1)
    for name in ("views", "clicks"):
        (folder / name).mkdir(parents=True)
    for number in range(FILES):
        customer = (2_000 * random.random(ROWS) ** 3).astype(np.int64)
        at = START + GAP * np.arange(number * ROWS, (number + 1) * ROWS)
        times = pa.array(at, pa.timestamp("us", "UTC"))
        page = pa.array([f"/page/{each}" for each in random.integers(0, 50, ROWS)])
        table = pa.table({"customer": customer, "at": times, "page": page})
        pq.write_table(table, folder / "views" / f"{number}.parquet")
        clicking = random.permutation(customer)[: ROWS // 5].tolist()
        when = [f"{np.datetime64(int(each), 'us')}Z" for each in at[::5]]
        lines = [
            json.dumps({"customer": buyer, "at": then, "button": "buy"})
            for buyer, then in zip(clicking, when, strict=True)
        ]
        (folder / "clicks" / f"{number}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")


# ------------------------------------------------------------ what a query has left


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
    from ..spark.archive.reconcile import Archive, suit_size
    from ..spark.quiet import quiet_session

    with (
        tempfile.TemporaryDirectory(prefix="penstock-") as folder,
        quiet_session(Path(folder) / "spark.log", memory=memory) as spark,
    ):
        files, mine = {"left": left, "right": right}, Archive(spark, archive)
        reader = spark.read.format(form)
        if form == "csv":  # a line of names, which must be those of the columns
            reader = reader.options(header=True, enforceSchema=False)
        frames: dict[str, Any] = {
            side: reader.schema(mine.info.type[side].dataType).load(path)
            for side, path in files.items()
            if path is not None
        }
        suit_size(mine, *frames.values())
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
