"""The stateful operator: the one place that knows how Spark keeps state.

All it does is hand a bucket its packets, and pass on packets and counters. Between micro-batches
of a stream a bucket stays on its machine as an image in memory; its durable state is a base and a
log in Spark's state store (`journal`). A batch has no state.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.util import PythonEvalType

from ...errors import PenstockError
from ..frames import arrow_schema
from ..plan import Placed
from ..session import wants_wide_groups
from .arrow import fitted
from .bucket import Bucket, MicroBatch, Packet, micro_batch
from .declared import declared
from .image import (
    VARIABLE,
    Image,
    default_base,
    image_folder,
    most_descriptors,
    owner_of,
    sweep,
)
from .journal import Journal, Version
from .kernels import Kernels
from .packets import PACKED, end_task
from .result_rows import NOTHING as NO_REPORT
from .result_rows import Report, as_pandas, counters_text, output_schema, results

MILLISECOND = 1_000  # microseconds
IMAGES = 256  # buckets that a worker knows images of
NOTHING = Packet(0, b"")
PATIENCE = 1.0  # seconds that an attempt waits for an image which another attempt has
SWEEP = 60.0  # seconds between looks for images that nothing uses any more

log = logging.getLogger(__name__)
_images: dict[str, Image] = {}  # by the name of the bucket; the one used last is the last
_warned: list[str] = []  # what this worker has said about images that cannot be used
_swept = [0.0]  # when it last looked for images that nothing uses


class Work(NamedTuple):
    """What is to be done with the packets of each bucket."""

    open_bucket: Callable[[Any, int, bytes | None], Bucket]  # by plan, its number and its state
    plan: Placed
    counters: list[str]  # the names of what every bucket reports
    event_time: bool = False  # whether Spark tells a watermark
    behind: int = 0  # microseconds by which Spark was told to keep it behind; see `JoinPlan`
    kernels: Kernels = Kernels()  # made by the driver
    rows: T.StructType | None = None  # of results that are given out as rows: see `rows_of`
    archived: bool = False  # whether there are packets of an archive beside the results

    def given_out(self, packet: Packet, report: Report = NO_REPORT) -> pa.Table:
        """Return a packet as the operator gives it out."""
        return results(packet, self.rows, report, self.archived)


def run_buckets(packets: DataFrame, work: Work) -> DataFrame:
    """Return results, with counters in the last row of each bucket: see `counters_text`."""
    grouped, schema = packets.groupBy("bucket"), output_schema(work.rows, work.archived)
    if packets.isStreaming:
        mode = "EventTime" if work.event_time else "None"
        processor = declared(Processor(work))
        return grouped.transformWithStateInPandas(processor, schema, "append", mode)
    finish = _stateless(work, arrow_schema(schema, wants_wide_groups(packets.sparkSession)))
    if hasattr(PythonEvalType, "SQL_GROUPED_MAP_ARROW_ITER_UDF"):  # since Spark 4.1
        return grouped.applyInArrow(finish, schema)
    return grouped.applyInArrow(_at_once(finish), schema)


class Processor:
    """Takes the packets of a stream, bucket by bucket."""

    def __init__(self, work: Work):
        self.work = work
        self.numbers = work.plan.numbers

    def start(self, handle: Any, pieces: Any) -> None:
        """Begin a task, with the state that `declared` has named."""
        self.work.kernels.use()
        self.handle, self.pieces = handle, pieces

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        """Take what came for one bucket."""
        packed = [row for frame in rows for row in zip(*map(frame.get, PACKED), strict=True)]
        batch = micro_batch(packed, self._watermark(timerValues))
        yield from self._advance(key[0], batch, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        """Tell a bucket how far the watermark has come in a micro-batch without rows."""
        batch = MicroBatch([], self._watermark(timerValues))
        yield from self._advance(key[0], batch, timerValues, expiredTimerInfo)

    def close(self) -> None:
        """End a task."""
        if time.monotonic() - _swept[0] > SWEEP:
            _sweep()
        end_task()

    def _watermark(self, timers: Any) -> int | None:
        """Return the watermark in microseconds, None where there is none.

        As long as Spark's is 0 it has not moved, and how far the streams have come is not known.
        """
        if not self.work.event_time:
            return None
        reached = MILLISECOND * timers.getCurrentWatermarkInMs()
        return reached + self.work.behind if reached else 0

    def _advance(
        self, label: int, batch: MicroBatch, timers: Any, fired: Any = None
    ) -> Iterator[pd.DataFrame]:
        work = self.work
        # A label that this plan does not have is of another query's state, which is refused here.
        journal = Journal(self.pieces, work.plan, self.numbers.get(label, -1))
        with _locked(journal.version.name) as image:
            bucket = self._open(journal, image)
            last = NOTHING  # goes out with the counters: one frame less
            for packet in bucket.advance(batch):
                if last.rows:
                    yield as_pandas(work.given_out(last))
                last = packet
            self._set_timer(journal.version, timers, fired)
            if bucket.is_changed(batch) or journal.is_new or not journal.is_same:
                batch = batch._replace(heard=bucket.heard())
                token = journal.commit(bucket, batch, force_base=not journal.is_same)
            else:
                token = journal.version.token
            counters = counters_text(bucket.report(journal.version.size), work.counters)
            made = work.given_out(last, Report(counters, bucket.hottest()))
            if image is not None:
                _save(image, bucket, token)
            del bucket
            yield as_pandas(made)

    def _open(self, journal: Journal, image: Image | None) -> Bucket:
        """Return the bucket as the last micro-batch left it, under the terms of this query."""
        make, plan = self.work.open_bucket, self.work.plan
        bucket = None
        if image is not None and not journal.is_new and journal.is_same:
            bucket = image.load(journal.version.token)
        if bucket is not None:
            bucket.attach(plan)
            return bucket
        if journal.is_new:
            return make(plan, journal.number, None)
        bucket = journal.rebuild(make)
        return bucket if journal.is_same else make(plan, journal.number, bucket.save())

    def _set_timer(self, version: Version, timers: Any, fired: Any) -> None:
        """Have the bucket called again once the watermark moves, whether rows come or not.

        The version says which timer there is, so that Spark need not be asked; one that has fired
        is removed by Spark.
        """
        if not self.work.event_time:
            return
        wanted = timers.getCurrentWatermarkInMs() + 1
        if version.timer == wanted:
            return
        if version.timer is not None and fired is None:
            self.handle.deleteTimer(version.timer)
        self.handle.registerTimer(wanted)
        version.timer = wanted


@contextmanager
def _locked(name: str) -> Iterator[Image | None]:
    """Return the image of a bucket while no other attempt has it, None where there can be none.

    Another attempt may have it for long: one that Spark gave up, or one so slow that Spark started
    a second one. Neither is waited for.
    """
    with ExitStack() as held:
        image = _image(name)
        try:
            if image is not None:
                held.enter_context(image.lock(PATIENCE))
        except BlockingIOError:
            image = None
        except (OSError, PenstockError) as error:  # its folder is not ours any more
            _warn(image.folder if image else default_base(), error)
            _images.pop(name, None)
            image = None
        yield image


def _image(name: str) -> Image | None:
    """Return the image of a bucket on this machine, None where there can be none now."""
    image = _images.pop(name, None)
    try:
        if image is None:
            owner = owner_of(os.getppid())  # the daemon that starts workers ends with the executor
            image = Image(image_folder(name, 0), owner)
            _sweep()
    except (OSError, PenstockError) as error:
        _warn(default_base(), error)
        return None
    _images[name] = image
    most = most_descriptors()
    while len(_images) > 1 and (
        len(_images) > IMAGES or sum(each.descriptors for each in _images.values()) > most
    ):
        del _images[next(iter(_images))]
    return image


def _sweep() -> None:
    """Remove images that nothing uses any more, and let go of those that others have removed."""
    _swept[0] = time.monotonic()
    with suppress(OSError):
        sweep()
    for name in [name for name, image in _images.items() if not image.is_there]:
        del _images[name]


def _save(image: Image, bucket: Bucket, token: str) -> None:
    """Keep a bucket as an image; if there is no room it is made anew from Spark's state."""
    try:
        image.save(bucket, token)
    except (OSError, PenstockError) as error:
        _warn(image.folder, error)


def _warn(folder: Path, error: Exception) -> None:
    """Say once in each worker that micro-batches cost what the state costs, and why."""
    if not _warned:
        _warned.append(str(error))
        log.warning(
            "no image of a bucket can be kept in %s: %s; until then each micro-batch rebuilds its "
            "buckets from Spark's state, which takes the longer the more they hold. If it stays so "
            "set %s to a folder of this user that has room",
            folder,
            error,
            VARIABLE,
        )


def _stateless(work: Work, schema: pa.Schema) -> Callable:
    """Return the function for `applyInArrow`, which wants exactly these types."""
    numbers = work.plan.numbers

    def finish(
        key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        work.kernels.use()
        table = pa.Table.from_batches(batches)
        rows = list(zip(*(table[name].to_pylist() for name in PACKED), strict=True))
        batch = micro_batch(rows, None)  # all comes at once
        bucket = work.open_bucket(work.plan, numbers[key[0].as_py()], None)
        del table, rows
        for packet in chain(bucket.advance(batch), bucket.finish()):
            yield from fitted(results(packet, None), schema).to_batches()
        report = Report(counters_text(bucket.report(0), work.counters))
        yield from fitted(results(NOTHING, None, report), schema).to_batches()
        end_task()

    return finish


def _at_once(finish: Callable) -> Callable:
    """Return the function for a Spark that wants all rows of a group in one table."""

    def whole(key: tuple, table: pa.Table) -> pa.Table:
        return pa.Table.from_batches(finish(key, iter(table.to_batches())))

    return whole
