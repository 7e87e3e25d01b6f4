"""How long a result of a join of two topics takes, end to end: Penstock's join and Spark's own.

A producer writes two topics at a steady rate and then, for a while, at three times that rate. A
query joins them into a third topic. The latency of a result is the broker's time of the result
less the producer's time of the later of its two rows; that is the time at which the row was due,
so a producer that is held up does not make results look fast. Contenders run one after the other,
each in a process of its own, on the same broker, rows and trigger.

    python bench/kafka.py                            # Penstock's and Spark's own: 7 minutes each
    python bench/kafka.py --who spark-rocksdb        # one more contender, into the same file
    python bench/kafka.py --seconds 20 --warm 5 --json trial.json  # both, to try it

Producer, broker and Spark share the machine. The figures of a contender go to the file as soon as
it is done, beside those of others that were measured with the same rate, trigger and times; the
table shows all of them.
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

MEMORY = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
STORE = "spark.sql.streaming.stateStore.providerClass"
CONTENDERS = ("penstock", "spark", "spark-rocksdb")
SETTINGS = ("rate", "seconds", "burst", "warm", "trigger")
WITHIN, DELAY = 10, 2  # seconds
TICK = 10  # milliseconds between two sends
TIMES = 3  # as many rows in the burst
PHASES = ("steady", "burst")
SIDES = ("left", "right")
QUANTILES = (0.5, 0.95, 0.99, 1.0)
PATIENCE = 60  # seconds that a query gets to catch up at the end
PAYLOAD = b"twenty bytes of text"


class Stream:
    """The producer: rows that are due by a schedule, and when they were sent."""

    def __init__(self, who: str, servers: str, rate: int):
        from confluent_kafka import Producer

        options = {"linger.ms": 5, "queue.buffering.max.messages": 5_000_000}
        self.producer = Producer({"bootstrap.servers": servers} | options)
        self.topics = [f"{who}-{side}" for side in SIDES]
        self.rate = rate
        self.random = np.random.default_rng(1)
        self.keys = rate * WITHIN  # about one match a row
        self.sent: list[tuple[float, int]] = [(0.0, 0)]  # time, rows so far

    def send(self, begin: int, seconds: float, times: int = 1, base: int = 0) -> int:
        """Send from a time on, in ms, at a multiple of the rate; return the time of the end."""
        rows = self.rate * times * TICK // 1000
        end = begin + int(seconds * 1000) // TICK * TICK
        for due in range(begin, end, TICK):
            while time.time() < due / 1000:
                self.producer.poll(0.001)
            for number, key in enumerate(self.random.integers(self.keys, size=rows).tolist()):
                topic = self.topics[number % 2]
                self.producer.produce(topic, PAYLOAD, key=b"%d" % (base + key), timestamp=due)
            self.sent.append((time.time(), self.sent[-1][1] + rows))
        self.producer.flush()
        return end

    def backlog(self, batches: list[dict]) -> int:
        """Return the most rows that were sent and not yet joined, just before a commit."""
        times, counts = np.array(self.sent).T
        worst = 0
        for batch in batches:
            sent = counts[np.searchsorted(times, batch["end"], "right") - 1]
            worst = max(worst, int(sent) - batch["before"])
        return worst


def joined(spark, who: str, servers: str):
    """Return one contender's join, as records of the time of the later row."""
    from pyspark.sql import functions as F

    from penstock.spark import join

    left, right = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", f"{who}-{side}")
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr(
            "cast(cast(key as string) as long) as k", "timestamp as at", "cast(value as string) v"
        )
        for side in SIDES
    )
    if who == "penstock":
        options = {"within": f"{WITHIN} seconds", "delay": f"{DELAY} seconds"}
        both = join(left, right, "k", time="at", **options)
    else:
        left, right = (
            side.withWatermark("at", f"{DELAY} seconds").alias(name)
            for side, name in ((left, "l"), (right, "r"))
        )
        span = f"interval {WITHIN} seconds"
        near = F.expr(f"l.k = r.k and l.at between r.at - {span} and r.at + {span}")
        both = left.join(right, near).selectExpr(
            "l.k", "l.at at_left", "l.v v_left", "r.at at_right", "r.v v_right"
        )
    later = F.unix_millis(F.greatest("at_left", "at_right")).cast("string")
    return both.select(F.concat_ws(",", later, "k", "v_left", "v_right").alias("value"))


def measure(who: str, given: argparse.Namespace) -> dict:
    """Run one contender, and return its figures."""
    from penstock.spark.session import local

    settings = {
        "spark.sql.streaming.numRecentProgressUpdates": 100_000,
        "spark.ui.showConsoleProgress": "false",
        "spark.jars": given.jars,
    }
    spark = local(memory="4g", **settings)
    spark.sparkContext.setLogLevel("ERROR")
    if who == "spark":
        spark.conf.set(STORE, MEMORY)
    kafka = {"kafka.bootstrap.servers": given.servers}
    stream = Stream(who, given.servers, given.rate)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as checkpoint:
        query = (
            joined(spark, who, given.servers)
            .writeStream.format("kafka")
            .options(topic=f"{who}-out", checkpointLocation=checkpoint, **kafka)
            .trigger(processingTime=f"{given.trigger:g} seconds")
            .start()
        )
        stream.send(now(), given.warm, base=stream.keys)  # these match nothing that follows
        drain(query, stream, 10 * PATIENCE)
        begin = now()
        middle = stream.send(begin, given.seconds)
        end = stream.send(middle, given.burst, TIMES)
        drained = drain(query, stream, PATIENCE)
        query.stop()
    done = batches(query)
    records = spark.read.format("kafka").options(subscribe=f"{who}-out", **kafka).load()
    figures = {"who": who, "drained_seconds": drained, "sent": stream.sent[-1][1]}
    for phase, first, last in zip(PHASES, (begin, middle), (middle, end)):
        mine = [b for b in done if first <= b["begin"] * 1000 < last]
        figures[phase] = latencies(records, first, last) | {
            "batch_seconds": statistics.median(b["end"] - b["begin"] for b in mine),
            "longest_batch_seconds": max(b["end"] - b["begin"] for b in mine),
            "batches": len(mine),
            "backlog": stream.backlog(mine),
        }
    spark.stop()
    return figures


def now() -> int:
    return int(time.time() * 1000)


def drain(query, stream: Stream, patience: float) -> float | None:
    """Wait until all that was sent is joined, and return the seconds; None: it was not."""
    began = time.time()
    while time.time() - began < patience:
        if query.exception():
            raise query.exception()
        progress = query.lastProgress
        if progress and end_offsets(progress) == stream.sent[-1][1]:
            return round(time.time() - began, 1)
        time.sleep(0.2)
    return None


def end_offsets(progress) -> int:
    """Return how many rows a query has read, up to a micro-batch."""
    ends = [json.loads(source["endOffset"] or "{}") for source in progress["sources"]]
    return sum(sum(topic.values()) for end in ends for topic in end.values())


def batches(query) -> list[dict]:
    """Return the micro-batches with data: begin and end, rows joined before."""
    from datetime import datetime

    found, before = [], 0
    for progress in query.recentProgress:
        begin = datetime.fromisoformat(progress["timestamp"]).timestamp()
        took = progress["durationMs"]["triggerExecution"] / 1000
        if progress["numInputRows"]:
            found.append({"begin": begin, "end": begin + took, "before": before})
            before = end_offsets(progress)
    return found


def latencies(records, begin: int, end: int) -> dict:
    """Return how many results the rows of a span have, and quantiles of their latency, in ms."""
    wanted = ", ".join(map(str, QUANTILES))
    row = (
        records.selectExpr(
            "cast(substring_index(cast(value as string), ',', 1) as long) as sent",
            "unix_millis(timestamp) as came",
        )
        .where(f"sent >= {begin} and sent < {end}")
        .selectExpr("count(*)", f"percentile(came - sent, array({wanted}))")
        .first()
    )
    return {"results": row[0], "latency_ms": row[1]}


def run(given: argparse.Namespace) -> dict:
    """Measure all contenders on one broker."""
    from tests.spark.broker import broker
    from tests.spark.processes import figures, kill, start

    report: dict = {name: getattr(given, name) for name in SETTINGS}
    known = json.loads(given.json.read_text()) if given.json.exists() else {}
    is_same = report.items() <= known.items()
    done = {each["who"]: each for each in known["results"]} if is_same else {}
    with (
        tempfile.TemporaryDirectory(prefix="penstock-kafka-") as folder,
        broker(Path(folder) / "broker", memory="1g") as kafka,
    ):
        for who in given.who:
            kafka.create(*(f"{who}-{side}" for side in SIDES))
            kafka.create(f"{who}-out", **{"message.timestamp.type": "LogAppendTime"})
            command = [sys.executable, __file__, "--one", who, "--servers", kafka.servers]
            command += ["--jars", kafka.jars]
            for name in SETTINGS:
                command += [f"--{name}", str(getattr(given, name))]
            log = Path(folder) / f"{who}.log"
            process = start(command, log)
            try:
                done[who] = figures(process, log) | {"when": time.strftime("%Y-%m-%d")}
            finally:
                kill(process)
            report["results"] = [done[each] for each in CONTENDERS if each in done]
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(report, indent=1) + "\n")
            Console(stderr=True).print_json(data=done[who], indent=None)
    return report


def show(report: dict, console: Console) -> None:
    title = f"{report['rate']:,} rows a second, trigger of {report['trigger']:g} s"
    table = Table("", "p50 s", "p95 s", "p99 s", "max s", "batch s", "backlog", "results")
    table.title = title
    for phase in PHASES:
        for each in report["results"]:
            mine = each[phase]
            cells = [f"{ms / 1000:.2f}" for ms in mine["latency_ms"]]
            cells += [
                f"{mine['batch_seconds']:.2f}",
                f"{mine['backlog']:,}",
                f"{mine['results']:,}",
            ]
            table.add_row(f"{phase}: {each['who']}", *cells)
    console.print(table)
    for each in report["results"]:
        if any(
            each[phase]["results"] != report["results"][0][phase]["results"] for phase in PHASES
        ):
            console.print(f"{each['who']} has another number of results than the first")
        if each["drained_seconds"] is None:
            console.print(f"{each['who']} did not catch up: take a smaller --rate")
    p99 = {
        (each["who"], phase): each[phase]["latency_ms"][2] / 1000
        for each in report["results"]
        for phase in PHASES
    }
    for phase in PHASES:
        ours, own = (p99.get((who, phase)) for who in CONTENDERS[:2])
        if ours is not None and own is not None:
            said = "reached" if ours <= own else "MISSED"
            console.print(f"{said}: {phase} p99 {ours:.2f} s, Spark's own join {own:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("bench/results/kafka.json"))
    parser.add_argument("--rate", type=int, default=20_000, help="rows a second, of both topics")
    parser.add_argument("--seconds", type=float, default=300, help="at a steady rate")
    parser.add_argument("--burst", type=float, default=10, help=f"seconds at {TIMES} times that")
    parser.add_argument("--warm", type=float, default=15, help="seconds before, not counted")
    parser.add_argument("--trigger", type=float, default=1, help="seconds")
    parser.add_argument("--who", nargs="+", choices=CONTENDERS, default=CONTENDERS[:2])
    for hidden in ("--one", "--servers", "--jars"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given)))
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the broker ends too
    show(run(given), Console())


if __name__ == "__main__":
    main()
