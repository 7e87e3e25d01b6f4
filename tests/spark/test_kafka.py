"""Two topics joined into a third and into files, by a program that is killed again and again.

The program is the one of docs/kafka.md.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.marks import some
from tests.patience import until
from tests.spark.broker import Missing, broker
from tests.spark.processes import in_mid_batch, kill, start
from tests.spark.streams import at
from tests.spark.test_docs import blocks

pytestmark = pytest.mark.spark

WITHIN, DELAY = 10.0, 10.0  # seconds, as on the page
DISORDER = 4.0
CHUNK = 200  # rows that are sent together: 2 seconds of the stream
SPAN = 2.0
CUSTOMERS = 40
SINKS = ("parquet", "kafka")
# On a busy machine a query may fail before a line of Penstock runs: Spark gives the first Python of
# each query 10 seconds to start, whatever the settings. The program is started again then, as what
# supervises it would do; tasks of the other query fail while Spark ends, which is no news either.
TOO_BUSY = "Python worker failed to connect back"
RESTARTS = 3  # after other ends
OURS = re.compile(r'File ".*/penstock/')  # in a traceback


@pytest.fixture
def kafka(tmp_path):
    try:
        with broker(tmp_path / "broker") as found:
            yield found
    except Missing as missing:
        pytest.skip(str(missing))


class Shop:
    """Sends views and clicks whose times are in disorder, and remembers what it sent."""

    def __init__(self, servers: str, seed: int):
        self.producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
        self.random = random.Random(seed)
        self.clock = 0.0  # seconds
        self.sent: tuple[list, list] = ([], [])  # of each side: customer, time

    def send(self, chunks: int = 1) -> None:
        """Send chunk after chunk.

        A chunk is on the broker before the next one leaves, so that no row is later than the
        page's delay whatever part of the topics' partitions a micro-batch reads.
        """
        for _ in range(chunks):
            for _ in range(CHUNK):
                self._send_row(self.random.randrange(2))
            self.producer.flush()
            self.clock += SPAN

    def _send_row(self, side: int) -> None:
        customer = int(CUSTOMERS * self.random.random() ** 2)
        when = round(self.clock + self.random.uniform(-DISORDER, SPAN), 3)
        row = {"customer": customer, "at": at(when).isoformat()}
        row[("view", "click")[side]] = len(self.sent[side])
        self.sent[side].append((customer, when))
        self.producer.produce(("views", "clicks")[side], json.dumps(row))

    def pause(self) -> None:
        """Let the stream stand still for longer than any row is held."""
        self.clock += 4 * (WITHIN + DELAY)

    @property
    def count(self) -> int:
        return sum(map(len, self.sent))

    def pairs(self) -> Counter:
        """Return every view and click of a customer that lie within the window."""
        clicks = defaultdict(list)
        for click, (customer, when) in enumerate(self.sent[1]):
            clicks[customer].append((click, at(when)))
        window = timedelta(seconds=WITHIN)
        return Counter(
            (view, click)
            for view, (customer, when) in enumerate(self.sent[0])
            for click, other in clicks[customer]
            if abs(at(when) - other) <= window
        )


def consumed(folder: Path, sink: str) -> int:
    """Return how many rows the committed micro-batches of a query have read."""
    checkpoint = folder / f"{sink}-checkpoint"
    done = [int(path.name) for path in checkpoint.glob("commits/*") if path.name.isdigit()]
    if not done:
        return 0
    lines = (checkpoint / "offsets" / str(max(done))).read_text().splitlines()
    topics = [topic for line in lines[2:] if line != "-" for topic in json.loads(line).values()]
    return sum(sum(topic.values()) for topic in topics)


KILLS = [(1, 4), (5, 1), (5, 2), (5, 3), (5, 5)]  # and the seed of the rows


@pytest.mark.parametrize("drawn", some(KILLS, [(1, 4)]), ids=str)
def test_program_is_killed_in_the_middle_of_micro_batches(spark, kafka, tmp_path, drawn):
    kills, seed = drawn
    images, log, program = tmp_path / "images", tmp_path / "log", tmp_path / "pipeline.py"
    images.mkdir(mode=0o700)
    program.write_text("\n".join(blocks("docs/kafka.md")))
    kafka.create("views", "clicks", "joined")
    shop = Shop(kafka.servers, seed)
    restarts = 0

    def launch() -> subprocess.Popen:
        command = [sys.executable, str(program), kafka.servers, kafka.jars, str(tmp_path)]
        return start(command, log, PENSTOCK_IMAGE_DIR=str(images))

    def all_consumed() -> bool:
        nonlocal driver, restarts
        if driver.poll() is not None:
            said = log.read_text(errors="replace")
            restarts += TOO_BUSY not in said
            lines = [line for line in said.splitlines() if not line.lstrip().startswith("at ")]
            ours = bool(OURS.search(said))
            assert (ours, restarts <= RESTARTS) == (False, True), "\n".join(lines)[-20_000:]
            with contextlib.suppress(ProcessLookupError):  # what it may have left behind
                os.killpg(driver.pid, signal.SIGKILL)
            driver = launch()
        return all(consumed(tmp_path, sink) == shop.count for sink in SINKS)

    def in_the_middle() -> bool:
        if all_consumed():
            shop.send()
        return bool(in_mid_batch(images, driver.pid))

    for run in range(kills + 1):
        driver = launch()
        try:
            shop.send(20 if run == 1 else 3)  # a burst, while the program is down or starts
            until(all_consumed, f"the end of the rows of run {run}")
            if run == 2:
                shop.pause()
            shop.send(2)
            if run < kills:
                until(in_the_middle, "a micro-batch in progress", pause=0.0005)
            else:
                until(all_consumed, "the end of all rows")
        finally:
            kill(driver)

    expected = shop.pairs()
    files = spark.read.parquet(str(tmp_path / "joined")).select("view", "click").collect()
    assert Counter(map(tuple, files)) == expected  # exactly once
    values = map(json.loads, kafka.read("joined"))
    assert {(value["view"], value["click"]) for value in values} == set(expected)
