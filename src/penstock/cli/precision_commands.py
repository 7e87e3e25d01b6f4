"""`penstock precision`: width rules simulated and replayed, and intervals that travel through MQTT.

`simulate` and `replay` compare a rule with the best fixed width. `source`, `query` and `broker` are
the clients of a broker, and one for trials.
"""

import math
import threading
import time
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, FileArgument, SeedOption, flag, option, show_made
from .program import Commands

if TYPE_CHECKING:  # all take long to import
    from rich.table import Table

    from ..precision.simulator import FixedWidth, Simulated, Workload
    from ..precision.wire import CacheClient, Found

precision = typer.Typer(
    cls=Commands, help="Bounded answers from cached intervals.", no_args_is_help=True
)

RuleOption = Annotated[str, option("How widths are chosen.", "NAME[:key=value,...]")]
Rho = Annotated[float, option("The cost factor 2 C_vr / C_qr; C_qr is 2.", "R")]
Variation = Annotated[float, option("δ varies by this share of its average, 0 to 1.", "D")]
AskedFor = Annotated[str, option("What queries ask for.", "sum|avg|max", "--query")]
Asked = Annotated[int | None, option("Sources of a query. [10, or all]", "N")]
Capacity = Annotated[int | None, option("Intervals that a cache holds. [all]", "K")]
STEPS_ALLOWED = 5  # typical steps: the default δ of an answer for each of its values


@precision.command("simulate")
def simulate_precision(
    period: Annotated[float, option("Time from query to query: T_q.", "T")],
    delta: Annotated[float, option("How wide an answer may be, on average.")],
    sources: Annotated[int, option("Random walks.", "N")] = 1,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: RuleOption = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    caches: Annotated[int, option("Caches, each with its queries.", "N")] = 1,
    steps: Annotated[int, option("Steps of each walk.", "N")] = 1_000_000,
    seed: SeedOption = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on random walks, and compare it with the best fixed width."""
    from ..precision import Workload, best_fixed, simulate

    workload = Workload(period, delta, delta_variation, rho, query, asked, capacity, caches, seed)
    found = simulate(rule, workload, sources=sources, steps=steps)
    best = best_fixed(workload, sources=sources, steps=steps)
    if as_json:
        show_made(_summarise({"sources": sources}, workload, found, best))
    else:
        title = f"{sources:,} walk{'s' * (sources != 1)}, {steps:,} steps"
        show_made(_table(title, workload, found, best))


@precision.command("replay")
def replay_precision(
    file: FileArgument,
    key: Annotated[str, option("The column that names the source.")] = "key",
    value: Annotated[str, option("The column of its readings.")] = "value",
    time: Annotated[str, option("The column of their times.")] = "time",
    period: Annotated[
        float | None, option("Time from query to query. [as from reading to reading]", "T")
    ] = None,
    delta: Annotated[float | None, option("How wide an answer may be. [5 changes a value]")] = None,
    delta_variation: Variation = 1.0,
    rho: Rho = 1.0,
    rule: RuleOption = "settling",
    query: AskedFor = "sum",
    asked: Asked = None,
    capacity: Capacity = None,
    seed: SeedOption = 0,
    as_json: AsJson = False,
) -> None:
    """Run a width rule on recorded readings, and compare it with the best fixed width."""
    from ..errors import BadInput
    from ..precision.simulator import Recorded, Workload, best_fixed, replay, typical_step
    from ..simulate.tracefiles import read_readings

    workload = Workload(
        1.0 if period is None else period, delta or 0.0, delta_variation, rho, query, asked,
        capacity, seed=seed,
    )  # fmt: skip
    read = read_readings(file, key=key, value=value, time=time)
    recorded, rows = Recorded(read.time, read.source, read.value), len(read.time)
    sources, span = recorded.sources, float(read.time[-1] - read.time[0])
    if span <= 0:
        raise BadInput(f"the readings of {file} must span some time, got all of them at once")
    values = workload.load(sources).asked if query == "sum" else 1
    if period is None:
        workload = replace(workload, period=span * sources / rows)
    if delta is None:
        workload = replace(workload, delta=STEPS_ALLOWED * typical_step(recorded) * values)
    found, best = replay(rule, workload, recorded), best_fixed(workload, recorded=recorded)
    if as_json:
        facts = {"file": read.name, "readings": rows, "gaps": read.gaps, "span": span}
        show_made(_summarise(facts | {"sources": sources}, workload, found, best))
    else:
        title = f"{read.name}: {sources:,} sources, {rows:,} readings"
        show_made(_table(title, workload, found, best))


def _summarise(
    facts: dict[str, Any], workload: "Workload", found: "Simulated", best: "FixedWidth"
) -> dict[str, Any]:
    """Return a report for JSON; an infinite width is null."""
    return facts | {
        "period": workload.period,
        "delta": workload.delta,
        "rho": workload.rho,
        "rule": found.rule,
        "cost_rate": found.cost_rate,
        "p_vr": found.p_vr,
        "p_qr": found.p_qr,
        "mean_width": _finite(found.mean_width),
        "best_fixed": {"width": _finite(best.width), "cost_rate": best.cost_rate},
    }


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) else None


def _table(title: str, workload: "Workload", found: "Simulated", best: "FixedWidth") -> "Table":
    """Return a report for people."""
    from rich.text import Text

    from ..terminal import figures_table

    caption = (
        f"a {workload.query} every {workload.period:.4g}, within"
        f" {workload.delta:.4g} ± {workload.variation:.0%}, ρ {workload.rho:g}"
    )
    made = figures_table(title, ("rule", "cost rate", "P_vr", "P_qr", "mean width"), caption)
    figures = (found.cost_rate, found.p_vr, found.p_qr, found.mean_width)
    made.add_row(Text(found.rule), *(f"{figure:.4g}" for figure in figures))
    made.add_row("best fixed", f"{best.cost_rate:.4g}", "", "", f"{best.width:.4g}", style="dim")
    if best.cost_rate > 0:
        excess = found.cost_rate / best.cost_rate - 1
        made.add_row("above the best fixed", f"{excess:+.1%}", "", "", "", style="dim")
    return made


# ------------------------------------------------------------ through a broker

NAMED = 5  # keys whose source is lost, in a sentence
TOO_WIDE = 1  # the exit code of an answer that is wider than the query asks

# Where the broker is, and how it identifies us.
BrokerOption = Annotated[
    str, option("mqtt://HOST:PORT, or mqtts:// for TLS.", "ADDRESS", "--broker")
]
User = Annotated[str | None, option("The user name. [$PENSTOCK_MQTT_USER]", "NAME")]
PasswordFile = Annotated[
    str | None, option("A file with the password. [$PENSTOCK_MQTT_PASSWORD]", "FILE")
]
Ca = Annotated[str | None, option("Certificates to trust. [the machine's]", "FILE")]
Certificate = Annotated[str | None, option("Our certificate, where one is asked for.", "FILE")]
PrivateKey = Annotated[str | None, option("The private key of our certificate.", "FILE")]
Root = Annotated[str, option("The beginning of all topics.", "TOPIC")]
Timeout = Annotated[float, option("Seconds to wait for the broker.", "S", min=0.1)]
LOCAL = "mqtt://localhost:1883"


@precision.command()
def source(
    file: Annotated[
        str | None,
        typer.Argument(help="Readings, a line each: KEY NUMBER. [standard input]", metavar="FILE"),
    ] = None,
    key: Annotated[str | None, option("The key, if lines are only numbers.", "K")] = None,
    command: Annotated[
        str | None, option("Instead of a file: run this again and again.", "CMD")
    ] = None,
    every: Annotated[
        float | None, option("Seconds between two readings, or two runs. [0, or 10]", "S")
    ] = None,
    stay: Annotated[
        bool, flag("--stay", "Keep the last readings valid after the end of the file.")
    ] = False,
    name: Annotated[str | None, option("Of this source, whenever it runs. [the key]", "N")] = None,
    rule: RuleOption = "settling",
    limit: Annotated[
        list[float] | None, option("A value that no interval straddles. Repeatable.", "X")
    ] = None,
    max_silence: Annotated[
        float, option("Seconds of silence after which caches trust no value.", "S")
    ] = 60.0,
    cost_value: Annotated[float, option("C_vr: the cost of an interval sent.", "C")] = 1.0,
    cost_query: Annotated[float, option("C_qr: the cost of an exact value asked for.", "C")] = 3.0,
    broker: BrokerOption = LOCAL,
    user: User = None,
    password_file: PasswordFile = None,
    ca: Ca = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    root: Root = "penstock",
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> None:
    """Publish readings as intervals to an MQTT broker, and answer requests for exact values."""
    from ..precision import make_costs
    from ..precision.wire import SourceClient, find_broker
    from . import readings

    if command is not None and file is not None:
        raise typer.BadParameter("readings come from a file or from a command, got both")
    if command is not None:
        lines = readings.from_command(command, key, 10.0 if every is None else every, max_silence)
    else:
        lines = readings.from_file(file, key)
        lines = lines if every is None else readings.at_pace(lines, every)
    where = find_broker(
        broker, user=user, password_file=password_file,
        ca=ca, certificate=certificate, private_key=private_key,
    )  # fmt: skip
    costs = make_costs(cost_value, cost_query)
    first = next(lines, None)  # rejects a bad first line before anything is sent
    if first is None:
        raise typer.BadParameter("there must be at least one reading, got none")
    with SourceClient(
        where, name or key or first.key, rule=rule, costs=costs, limits=limit or (),
        max_silence=max_silence, root=root, timeout=timeout,
    ) as client:  # fmt: skip
        skipped = readings.feed(client, chain([first], lines))
        client.flush(timeout)
        if stay:
            threading.Event().wait()
    counts = {"readings": client.counts["readings"], "skipped": skipped} | client.counts
    show_made({"source": client.name, **counts} if as_json else _say_counts(client.name, counts))


def _say_counts(name: str, counts: dict[str, int]) -> str:
    """Return what a source has done, as a sentence."""
    skipped = f" {counts['skipped']} skipped that were no finite numbers,"
    return (
        f"{name}: {counts['readings']} readings,{skipped if counts['skipped'] else ''}"
        f" {counts['published']} intervals sent, {counts['answered']} requests answered,"
        f" {counts['ignored']} messages ignored"
    )


@precision.command()
def query(
    text: Annotated[
        str, typer.Argument(help='Such as "avg(sensor/+/temp) within 0.5".', metavar="QUERY")
    ],
    expect: Annotated[int, option("Refuse to answer about fewer keys.", "N", min=1)] = 1,
    patience: Annotated[
        float, option("Seconds to wait for the answer of a source.", "S", min=0)
    ] = 2.0,
    watch: Annotated[
        float | None, option("Answer again every so many seconds.", "S", min=0.01)
    ] = None,
    broker: BrokerOption = LOCAL,
    user: User = None,
    password_file: PasswordFile = None,
    ca: Ca = None,
    certificate: Certificate = None,
    private_key: PrivateKey = None,
    root: Root = "penstock",
    timeout: Timeout = 5.0,
    as_json: AsJson = False,
) -> None:
    """Answer a query within the width it asks for, from cached intervals and the fewest requests.

    sum, avg, max, min, median, count(KEYS > LIMIT), quantile(KEYS, SHARE); within a number, or a
    share of the answer: within 1%. Exit code 1: wider than asked for, because sources are lost.
    """
    from ..errors import BadInput
    from ..precision import parse
    from ..precision.wire import CacheClient, find_broker

    pattern = parse(text)[1]  # rejects a bad query before anything is sent
    where = find_broker(
        broker, user=user, password_file=password_file,
        ca=ca, certificate=certificate, private_key=private_key,
    )  # fmt: skip
    with CacheClient(where, [pattern], patience=patience, root=root, timeout=timeout) as client:
        while True:
            found = client.ask(text)
            if len(found.keys) < expect:
                raise BadInput(
                    f"at least {expect} keys must be known, got {len(found.keys)}:"
                    f" {', '.join(found.keys[:10])}"
                )
            show_made(_answer_record(text, found, client) if as_json else say_answer(text, found))
            if watch is None:
                break
            time.sleep(watch)
    if not found.answer.within:
        raise typer.Exit(TOO_WIDE)


def _answer_record(text: str, found: "Found", client: "CacheClient") -> dict[str, Any]:
    """Return an answer for JSON; an infinite bound is None."""
    answer = found.answer
    return {
        "query": text,
        "low": _finite(answer.low),
        "high": _finite(answer.high),
        "within": answer.within,
        "keys": len(found.keys),
        "refreshed": list(answer.refreshed),
        "stale": list(answer.stale),
        "reason": answer.reason or None,
        "ignored": client.counts["ignored"],
    }


def say_answer(text: str, found: "Found") -> str:
    """Return an answer as a sentence.

    >>> from ..precision import Answer
    >>> from ..precision.wire import Found
    >>> say_answer("max(#) within 1", Found(Answer(3.0, 3.5, True, ("a",), ()), ("a", "b")))
    'max(#) is between 3 and 3.5: 2 values, 1 of them fetched'
    """
    answer, n = found.answer, len(found.keys)
    # Bounds are written with all their digits: with fewer the true answer could lie outside.
    low, high = (repr(end).removesuffix(".0") for end in (answer.low, answer.high))
    is_what = low if low == high else f"between {low} and {high}"
    said = f"{text.partition(' within ')[0].strip()} is {is_what}: {n} value{'s' * (n != 1)}"
    said += f", {len(answer.refreshed)} of them fetched" if answer.refreshed else ""
    if answer.stale:
        reason = answer.reason or "their sources are lost"
        more = f" and {len(answer.stale) - NAMED} more" if len(answer.stale) > NAMED else ""
        said += f"; unknown, since {reason}: {', '.join(answer.stale[:NAMED])}{more}"
    return said if answer.within else f"{said}; wider than asked for"


@precision.command()
def broker(
    port: Annotated[int, option("Where it listens.", "P", min=1, max=65535)] = 1883,
) -> None:
    """Run an MQTT broker on this machine for trials; it forgets everything when it ends."""
    from ..precision.wire.trial import HOST, TrialBroker

    with TrialBroker(port):
        print(f"a broker for trials listens at mqtt://{HOST}:{port}; Ctrl-C ends it", flush=True)
        threading.Event().wait()
