"""The command line: arguments in, report out."""

import json
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .errors import PenstockError

# The base of all complaints about arguments: Click's own, or that of the copy in newer Typers.
_UsageError: Any = typer.BadParameter.__mro__[2]


class _Group(TyperGroup):
    """Commands whose errors are one sentence on standard error, and exit code 2."""

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **extra | {"standalone_mode": False})
        except PenstockError as error:
            code = _say(self._with_dashes(str(error)))
        except _UsageError as error:
            code = _say(error.format_message())
        except MemoryError:
            code = _say("this takes more memory than there is; try a smaller --length or --memory")
        except (KeyboardInterrupt, typer.Abort):
            code = 130
        sys.exit(code if isinstance(code, int) else 0)

    def _with_dashes(self, sentence: str) -> str:
        """Name options as they are typed: what is `key=` in Python is `--key` here."""
        options = {name for each in self.commands.values() for p in each.params for name in p.opts}

        def typed(said: re.Match[str]) -> str:
            return f"--{said[1]}" if f"--{said[1]}" in options else said[0]

        return re.sub(r"\b(\w+)=(?=[.,; ]|$)", typed, sentence)


def _say(sentence: str) -> int:
    print("penstock:", " ".join(sentence.split()), file=sys.stderr)
    return 2


app = typer.Typer(
    cls=_Group,
    help="Stream joins and stream caches inside a hard memory budget.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the program."""
    signal.signal(signal.SIGINT, _leave)
    app()


def _leave(*_: Any) -> None:
    """End quietly on Ctrl-C."""
    if multiprocessing.active_children():  # whoever waits for them ends them
        raise KeyboardInterrupt
    # At once, because an exception could get lost in the compiler, which calls back into Python.
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), b"\r\x1b[2K\x1b[?25h")  # no bar, and the cursor is back
    os._exit(130)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from . import __version__

        print(f"penstock {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def simulate(
    memory: Annotated[int, typer.Option(help="How many tuples can be held.", metavar="K")],
    workload: Annotated[
        str | None,
        typer.Option(
            help="Generated arrivals.", metavar="tower|roof|floor|walk|zipf|gdj[:key=value,...]"
        ),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="A CSV or Parquet file of arrivals.", metavar="FILE")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Its key column, or several: a,b. [key]", metavar="COL")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="Its time column. [time, or the row number]", metavar="COL")
    ] = None,
    side: Annotated[
        str | None, typer.Option(help="The column that names the stream. [side]", metavar="COL")
    ] = None,
    problem: Annotated[
        str, typer.Option(help="What the memory is for.", metavar="joining|caching")
    ] = "joining",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, or opt or lfd: the best with hindsight. Repeatable. [all policies]",
            metavar="NAME[:key=value,...]",
        ),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(help="Times of a match differ by at most this: 5, or 10s.", metavar="W"),
    ] = None,
    layout: Annotated[
        str, typer.Option(help="One memory, or one for each side.", metavar="unified|split")
    ] = "unified",
    runs: Annotated[int, typer.Option(help="Runs, each with its own seed.", metavar="N")] = 1,
    length: Annotated[
        int | None, typer.Option(help="Steps, or rows of a trace. [5000, or all]", metavar="N")
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(help="Steps or rows not counted. [4 x memory; 0 of a trace]", metavar="N"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where randomness comes from.", metavar="S")] = 0,
    drop: Annotated[
        float, typer.Option(help="The share of arrivals dropped as they come.", metavar="P")
    ] = 0.0,
    distortion: Annotated[
        bool, typer.Option("--distortion", help="Tell how unevenly results are lost: SSE and KL.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a workload or a trace under several policies, and compare them."""
    from .simulation import Scenario, choose_source, show, summarise, sweep

    source = choose_source(workload, trace, key=key, time=time, side=side, length=length)
    scenario = Scenario(source, problem, memory, within, layout, warmup, seed, drop, distortion)
    with show.following("simulating") as progress:
        made = sweep(scenario, policy or (), runs, progress=progress)
    _print(summarise(made) if as_json else show.comparison(made))


@app.command()
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
            "--h", help="Tuples the locality model looks back on. [what suffices]", metavar="H"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Where randomness comes from.", metavar="S")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with pictures.", metavar="PATH")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say why the keys of a stream come back: popularity, locality, distances, bursts."""
    from .profiling import page, show
    from .profiling import profile as make_profile
    from .simulation.show import following
    from .workloads import read_stream

    target = None if html is None else page.where_to_write(html)
    trace, times = read_stream(file, key=key, time=time)
    with following("profiling") as progress:
        made = make_profile(trace.key, times, h=h, seed=seed, name=trace.name, progress=progress)
    if target is not None:
        page.write(made, target)
    _print(made.to_json() if as_json else show.overview(made))


@app.command()
def policies(as_json: AsJson = False) -> None:
    """List the policies, what they are for, and their parameters."""
    from .simulation import listing, show

    rows = listing.list_policies()
    _print({"policies": rows} if as_json else show.policies_table(rows))


@app.command()
def count(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    support: Annotated[
        float, typer.Option(help="The share of the rows that makes a key frequent.", metavar="S")
    ],
    key: Annotated[str, typer.Option(help="The key column, or several: a,b.", metavar="K")] = "key",
    epsilon: Annotated[
        float | None,
        typer.Option(help="Counts err by at most this share. [support / 10]", metavar="E"),
    ] = None,
    memory: Annotated[
        int | None,
        typer.Option(help="Instead: the most keys held; the error is chosen.", metavar="M"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the frequent keys of a file, with bounds on their counts."""
    from .counting import report

    made = report.count_file(file, key, support, epsilon, memory)
    _print(report.summarise(made) if as_json else report.table(made))


@app.command()
def demo(
    what: Annotated[str, typer.Argument(help="What is shown.", metavar="[join|lookup]")] = "join",
    months: Annotated[
        int, typer.Option(help="How much of the year is taken.", metavar="N", min=1, max=12)
    ] = 12,
    out: Annotated[
        Path, typer.Option(help="Where the picture goes: a folder or a file.", metavar="PATH")
    ] = Path(),
    as_json: AsJson = False,
) -> None:
    """Join two real streams live on Spark in a tenth of the memory, and compare with the truth.

    Or `lookup`: give every event its row of a table in an embedded database, through a cache.
    """
    from .spark import demo

    if what not in ("join", "lookup"):
        raise typer.BadParameter(f"the demonstration must be join or lookup, got {what!r}")
    if what == "lookup":
        with demo.telling() as doing:
            found = demo.run_lookups(doing, months)
        if as_json:
            _print(demo.summarise_lookups(found))
        else:
            _print(demo.lookups_table(found), demo.lookups_moral(found))
        return
    picture = demo.where_to_draw(out)
    with demo.watching() as watcher:
        made = demo.run_demo(watcher, months)
    demo.draw(made, picture)
    if as_json:
        _print(demo.summarise(made, picture))
    else:
        _print(demo.comparison(made), demo.moral(made), f"Picture: {picture}")


precision = typer.Typer(help="Bounded answers from cached intervals.", no_args_is_help=True)
app.add_typer(precision, name="precision")

Rule = Annotated[str, typer.Option(help="How widths are chosen.", metavar="NAME[:key=value,...]")]
Rho = Annotated[float, typer.Option(help="The cost factor 2 C_vr / C_qr; C_qr is 2.", metavar="R")]
Variation = Annotated[
    float, typer.Option(help="δ varies by this share of its average, 0 to 1.", metavar="D")
]
AskedFor = Annotated[
    str, typer.Option("--query", help="What queries ask for.", metavar="sum|avg|max")
]
Asked = Annotated[
    int | None, typer.Option(help="Sources a query is about. [10, or all]", metavar="N")
]
Capacity = Annotated[
    int | None, typer.Option(help="Intervals that a cache holds. [all]", metavar="K")
]
Seed = Annotated[int, typer.Option(help="Where randomness comes from.", metavar="S")]


@precision.command("simulate")
def simulate_precision(
    period: Annotated[float, typer.Option(help="Time from query to query: T_q.", metavar="T")],
    delta: Annotated[float, typer.Option(help="How wide an answer may be, on average.")],
    sources: Annotated[int, typer.Option(help="Random walks.", metavar="N")] = 1,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: Rule = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    caches: Annotated[int, typer.Option(help="Caches, each with its queries.", metavar="N")] = 1,
    steps: Annotated[int, typer.Option(help="Steps of each walk.", metavar="N")] = 1_000_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on random walks, and compare it with the best fixed width."""
    from .precision import Workload, report

    workload = Workload(period, delta, delta_variation, rho, query, asked, capacity, caches, seed)
    made = report.simulated(rule, workload, sources, steps)
    _print(report.summarise(made) if as_json else report.table(made))


@precision.command("replay")
def replay_precision(
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file.", metavar="FILE")],
    key: Annotated[str, typer.Option(help="The column that names the source.")] = "key",
    value: Annotated[str, typer.Option(help="The column of its readings.")] = "value",
    time: Annotated[str, typer.Option(help="The column of their times.")] = "time",
    period: Annotated[
        float | None,
        typer.Option(help="Time from query to query. [as from reading to reading]", metavar="T"),
    ] = None,
    delta: Annotated[
        float | None, typer.Option(help="How wide an answer may be. [5 changes a value]")
    ] = None,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: Rule = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on recorded readings, and compare it with the best fixed width."""
    from .precision import report

    columns = {"key": key, "value": value, "time": time}
    options = {"variation": delta_variation, "rho": rho, "query": query, "asked": asked}
    options |= {"capacity": capacity, "seed": seed}
    made = report.replayed(file, columns, rule, period, delta, options)
    _print(report.summarise(made) if as_json else report.table(made))


def _print(*parts: Any) -> None:
    """Print a report as JSON, or tables and sentences for people."""
    if isinstance(parts[0], dict):
        print(json.dumps(parts[0], allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in parts:
        console.print(part)
