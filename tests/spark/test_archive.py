"""Live results and corrections are Spark's own join, whatever is evicted, stopped and repeated."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal

import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from penstock import BadInput, BadState
from penstock.spark import join, owed, reconcile, settled, write
from penstock.spark.archive.folders import TIMES, Folders
from penstock.spark.archive.write import WATERMARK, Debt, Info, _check, added_upto, records_type
from tests.marks import some
from tests.naive.how import HOWS
from tests.patience import PATIENCE
from tests.spark import archives
from tests.spark.processes import start_driver
from tests.spark.streams import Files, at, bag
from tests.spark.test_how import own

pytestmark = pytest.mark.spark


def truth(spark, sides, how):
    frames = [files.batch(spark).where("v >= 0") for files in sides]
    return bag(own(*frames, archives.WINDOW, how))


def check(spark, folder, how, budgets, seed=1, **options):
    """Expect the exact join after reconciling once for each budget."""
    sides = archives.draw(folder, seed)
    for budget in budgets:
        told = archives.run(spark, folder, sides, how, budget=budget, **options)
        assert sum(told.evicted) + sum(told.rejected) > 0
    expected = truth(spark, sides, how)
    assert archives.live(spark, folder) != expected
    due = owed(spark, folder / "archive", told)
    assert due.rows > 0
    assert due.pairs > 0
    archives.corrected(spark, folder)
    assert archives.exact(spark, folder) == expected
    due = owed(spark, folder / "archive", told)
    assert (due.bytes, due.rows, due.pairs, due.pairs_low, due.pairs_high) == (0, 0, 0, 0, 0)
    folders = Folders(spark, str(folder / "archive"))
    (done,) = folders.numbers("base-")
    value, low, high = added_upto(folders, done).missed  # as the query told of it meanwhile
    assert low <= value <= high
    assert not folders.has("_claim--1")


@pytest.mark.parametrize("how", some(["inner", "full", "semi", "anti"], ["full", "semi"]))
def test_live_and_corrections_are_exact(spark, tmp_path, how):
    check(spark, tmp_path, how, [12], policy="clock")


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_every_kind_and_budget_with_restarts(spark, tmp_path, how, share):
    rng = random.Random(f"{how} {share}")
    count = 400 if share > 0.01 else 2_400
    alive = count * 25 / 200
    for sides in archives.steps(tmp_path, seed=how, count=count, parts=3):
        budget = max(2, int(alive * share * rng.choice([0.5, 1, 2])))
        archives.run(spark, tmp_path, sides, how, budget=budget, buckets=2)
        if rng.random() < 0.5:
            archives.corrected(spark, tmp_path)
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, how)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_from_the_inputs_step_by_step(spark, tmp_path, how):
    """Nothing is archived; each step corrects what lies between two watermarks, once."""
    corrections = []
    for sides in archives.steps(tmp_path, seed=6, parts=2):
        archives.run(spark, tmp_path, sides, how, archive="inputs", budget=10, policy="clock")
        corrections += archives.corrected_by(spark, tmp_path, sides)
    expected = truth(spark, sides, how)
    assert archives.live(spark, tmp_path) != expected
    assert archives.exact(spark, tmp_path, "results") == expected
    assert {row.change for row in corrections} <= ({"+"} if how in ("inner", "semi") else {*"+-"})
    assert not archives.corrected_by(spark, tmp_path, sides)
    assert not (tmp_path / "archive").exists()
    rest = owed(spark, tmp_path / "results")
    assert (rest.bytes, rest.rows) == (0, 0)
    if how == "full":
        empty = [files.batch(spark).where("k is null") for files in sides]
        _forget(tmp_path / "results" / "_archive")
        with pytest.raises(BadInput, match="rows are missing"):
            reconcile(spark, tmp_path / "results", left=empty[0], right=empty[1])


@pytest.mark.slow  # a Spark process
def test_the_command_reads_csv_files_with_a_line_of_names(spark, tmp_path):
    sides = archives.draw(tmp_path, seed=6, parts=2)
    archives.run(spark, tmp_path, sides, "inner", archive="inputs", budget=10, policy="clock")
    given = []
    for side, files in zip(("left", "right"), sides, strict=True):
        files.batch(spark).write.options(header=True).csv(str(tmp_path / side))
        given += [f"--{side}", str(tmp_path / side)]
    command = [sys.executable, "-m", "penstock", "reconcile", str(tmp_path / "results"), *given]
    told = subprocess.run(
        [*command, "--format", "csv", "--json"], capture_output=True, text=True, check=True
    )
    missed = truth(spark, sides, "inner") - archives.live(spark, tmp_path)
    assert json.loads(told.stdout)["added"] >= missed.total() > 0  # and those of `far`
    assert archives.exact(spark, tmp_path, "results") == truth(spark, sides, "inner")


def _forget(archive):
    """Remove what is remembered of reconciling."""
    for path in archive.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != "_join.json":
            path.unlink()


@pytest.mark.slow
def test_appended_until_some_time_by_several_at_once(spark, tmp_path):
    sides = archives.draw(tmp_path, seed=7)
    told = archives.run(spark, tmp_path, sides, "inner", budget=10, policy="clock")
    assert told.owed_bytes > 1000
    assert 0 <= told.owed_seconds < 3600
    assert told.owed_pairs_low <= told.owed_pairs <= told.owed_pairs_high
    first = reconcile(spark, tmp_path / "archive", until=at(60), append=True)
    assert first.upto < told.batch
    assert first.watermark is None or first.watermark <= at(60)
    with ThreadPoolExecutor(3) as pool:
        tasks = [
            pool.submit(archives.corrected, spark, tmp_path, append=bool(number % 2))
            for number in range(3)
        ]
    found = max((task.result() for task in tasks), key=len)
    assert {row.change for row in found} == {"+"}
    expected = truth(spark, sides, "inner")
    assert archives.exact(spark, tmp_path) == expected
    if not any((tmp_path / "archive").glob("corrections/upto=*")):
        assert archives.live(spark, tmp_path) == expected
    assert not archives.corrected(spark, tmp_path)
    left = [path.name for path in (tmp_path / "archive").iterdir()]
    assert not [name for name in left if name.startswith("batch")]
    assert not [*(tmp_path / "archive" / ".staged").iterdir()]


@pytest.mark.slow  # six steps
def test_in_steps_each_correction_once_and_nothing_is_kept_for_long(spark, tmp_path):
    corrections = []
    for sides in archives.steps(tmp_path, seed=2):
        archives.run(spark, tmp_path, sides, "left", budget=10, policy="clock")
        corrections += archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "left")
    assert {row.change for row in corrections} == {"+", "-"}
    folders = Folders(spark, str(tmp_path / "archive"))
    added = added_upto(folders, folders.numbers("base-")[-1])
    assert added.results == sum(row.change == "+" for row in corrections)
    kept = [path.name for path in (tmp_path / "archive").iterdir() if path.name[0] not in "._"]
    assert len(kept) == 2  # the corrections and one base, in which no row is left
    rest = owed(spark, tmp_path / "archive")
    assert (rest.rows, rest.oldest) == (0, None)


@pytest.mark.slow
def test_failures_in_the_middle_of_writing(spark, tmp_path, monkeypatch):
    """Fail before results and archive are in place, going on with another budget each time."""
    sides = archives.draw(tmp_path, seed=3)
    for number, fail_at in enumerate((2, 4, 6)):
        fails(monkeypatch, "_move", fail_at)
        with pytest.raises(StreamingQueryException, match="the test fails here"):
            archives.run(spark, tmp_path, sides, "full", budget=8 + 4 * number, policy="clock")
        monkeypatch.undo()
    told = archives.run(spark, tmp_path, sides, "full", budget=9, policy="clock")
    assert sum(told.evicted) > 0
    figures = owed(spark, tmp_path / "archive", told)
    assert figures.rows > 100
    assert figures.bytes > 1000
    assert figures.oldest >= at(0)
    # A run of reconcile that ends at any of its steps is gone on with, and nothing is repeated.
    for method in ("publish_once", "_move", "claim", "remove"):
        for count in (1, 2):
            fails(monkeypatch, method, count)
            with suppress(OSError):  # the second move may not be needed any more
                archives.corrected(spark, tmp_path)
            monkeypatch.undo()
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "full")
    rest = owed(spark, tmp_path / "archive", told)
    assert rest.rows == 0
    assert rest.pairs < figures.pairs


def fails(monkeypatch, method, count):
    """Let a method of folders fail when it is called for the so manieth time."""
    whole, left = getattr(Folders, method), [count]

    def called(self, *given, **options):
        left[0] -= 1
        if left[0] == 0:
            raise OSError("the test fails here")
        return whole(self, *given, **options)

    monkeypatch.setattr(Folders, method, called)


@pytest.mark.slow  # a Spark process for each
@pytest.mark.parametrize("how", HOWS)
def test_killed_again_and_again(spark, tmp_path, how):
    """Of six kinds at least four kills each: live, and as it reconciles."""
    rng, kills = random.Random(how), 5
    sides = archives.draw(tmp_path, seed=how, count=100 * kills, parts=4 * kills, span=50 * kills)
    survived = 0
    for number in range(kills):
        options = {"budget": rng.randrange(6, 20), "policy": "clock"}
        given = {"folder": str(tmp_path), "how": how, "options": options}
        given["die_at"] = rng.randrange(2, 20)
        log = tmp_path / f"log-{number}"
        process = start_driver(given, log, "tests.spark.archive_driver")
        process.wait(PATIENCE)
        assert process.returncode in (0, -signal.SIGKILL), log.read_text(errors="replace")[-3000:]
        survived += process.returncode == 0
    assert kills - survived >= 4
    archives.run(spark, tmp_path, sides, how, budget=10, policy="clock")
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, how)


@pytest.mark.slow
def test_what_is_refused(spark, tmp_path):
    sides = archives.draw(tmp_path, seed=5, count=40, parts=1)
    streams = [files.stream(spark) for files in sides]
    batches = [files.batch(spark) for files in sides]
    usual = {"on": "k", "time": "ts", "within": "9 seconds", "delay": "1 second", "budget": 5}
    archive = tmp_path / "archive"

    def joined(frames=streams, **options):
        return join(*frames, **usual | {"archive": archive} | options)

    wrong = [
        ({"match": "first"}, "match='all'"),
        ({"within": None}, "within"),
        ({"archive": 7}, "archive"),
        ({"frames": batches}, "streams"),
    ]
    for options, message in wrong:
        with pytest.raises(BadInput, match=message):
            joined(**options)
    paths = {"results": tmp_path / "results", "checkpoint": tmp_path / "checkpoint"}
    (tmp_path / "foreign" / "of mine").mkdir(parents=True)
    plain = join(*streams, **usual)
    named = join(streams[0].withColumnRenamed("v", "Batch"), streams[1], **usual)
    mapped = join(streams[0].selectExpr("k", "ts", "map(k, v) m"), streams[1], **usual)
    variant = join(
        streams[0].selectExpr("k", "ts", "array(parse_json('1')) m"), streams[1], **usual
    )
    writes = [
        (joined().where("k is not null"), {}, "archive=|as it is"),
        (joined(), {"archive": tmp_path / "other"}, "one of them"),
        (plain, {}, "needs an archive"),
        (plain, {"archive": tmp_path / "a[b]"}, "pattern"),
        (plain, {"archive": paths["results"]}, "mixed"),
        (plain, {"archive": paths["results"] / "more"}, "mixed"),
        (plain, {"archive": tmp_path / "foreign"}, "of mine"),
        (plain, {"archive": archive, "results": tmp_path / "foreign"}, "of mine"),
        (named, {"archive": archive}, "'Batch'"),
        (mapped, {"archive": "inputs"}, "holds a map"),
        (variant, {"archive": "inputs"}, "holds a variant"),
    ]
    for frame, options, message in writes:
        with pytest.raises((BadInput, BadState), match=message):
            write(frame, **paths | options)
    with pytest.raises(BadInput, match="no archive"):
        reconcile(spark, archive)
    query = joined().writeStream.format("noop").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(tmp_path / "other")).start()
    with pytest.raises(StreamingQueryException, match=r"penstock\.spark\.write"):
        query.awaitTermination()
    write(joined(how="left"), **paths, availableNow=True).awaitTermination()
    with pytest.raises(BadState, match="another join"):
        write(joined(), **paths)
    with pytest.raises(BadState, match="elsewhere"):
        write(joined(archive=tmp_path / "late"), **paths | {"results": tmp_path / "late results"})
    with pytest.raises(BadState, match="archived=True"):
        join(*streams, **usual, how="left", checkpoint=tmp_path / "checkpoint")
    reconciles = [
        ({"append": True}, "inner and semi"),
        ({"left": batches[0], "right": batches[1]}, "leave them out"),
        ({"until": "2026-05-01"}, "zone"),
        ({"until": 7}, "zone"),
    ]
    for options, message in reconciles:
        with pytest.raises(BadInput, match=message):
            reconcile(spark, archive, **options)


@pytest.mark.slow
def test_what_is_refused_of_the_inputs(spark, tmp_path):
    sides = archives.draw(tmp_path, seed=5, count=40, parts=1)
    archives.run(spark, tmp_path, sides, "inner", archive="inputs", budget=5)
    left, right = (files.batch(spark) for files in sides)
    for options, message in [
        ({}, "left= and right="),
        ({"left": left}, "left= and right="),
        ({"left": left, "right": sides[1].stream(spark)}, "stream"),
        (
            {"left": left, "right": right.withColumn("v", F.col("v").cast("long"))},
            "'v' of type int",
        ),
        ({"left": left, "right": right.drop("v")}, "'v' of type int, got none"),
    ]:
        with pytest.raises(BadInput, match=message):
            reconcile(spark, tmp_path / "results", **options)


def claim(spark, folder, results="results", archive="archive", checkpoint="checkpoint", delay=None):
    """Claim the folders of a join, as `write` does before it starts a query."""
    places = [Folders(spark, str(folder / name)) for name in (results, archive, checkpoint)]
    kind = T.StructType.fromDDL(archives.SCHEMA)
    if delay is not None:
        kind["ts"].metadata = {"spark.watermarkDelayMs": delay}
    output = ((0, "k", "k"), (0, "v", "v"), (1, "v", "v_right"))
    info = Info(
        "inner", (-5, 20), (("k",), ("k",)), ("ts", "ts"), output, ("k",), 0,
        records_type((kind, kind)).json(), places[0].root, places[2].root, False,
    )  # fmt: skip
    _check(info, places[1], places[0], places[2])
    return places


def test_a_join_with_another_delay_is_the_same(spark, tmp_path):
    """Also where an earlier version has stored the delay with the type of the rows."""
    claim(spark, tmp_path, delay=1_000)
    claim(spark, tmp_path, delay=2_000)
    for name in ("results/_owner.json", "archive/_join.json", "checkpoint/_owner.json"):
        said = json.loads((tmp_path / name).read_text())
        kind = json.loads(said["records"])
        for field in kind["fields"]:
            if field["name"] in ("left", "right"):
                field["type"]["fields"][1]["metadata"] = {"spark.watermarkDelayMs": 3_000}
        said["records"] = json.dumps(kind)
        (tmp_path / name).with_name(f".{(tmp_path / name).name}.crc").unlink(missing_ok=True)
        (tmp_path / name).write_text(json.dumps(said))
    claim(spark, tmp_path)


def test_an_archive_of_another_format_is_refused(spark, tmp_path):
    claim(spark, tmp_path)
    for name in ("results/_owner.json", "archive/_join.json", "checkpoint/_owner.json"):
        said = json.loads((tmp_path / name).read_text())
        del said["format"]  # as it was when every row was one of Spark's
        (tmp_path / name).with_name(f".{(tmp_path / name).name}.crc").unlink(missing_ok=True)
        (tmp_path / name).write_text(json.dumps(said))
    for use in (lambda: claim(spark, tmp_path), lambda: reconcile(spark, tmp_path / "archive")):
        with pytest.raises(BadState, match="has format 1, this Penstock reads format 2"):
            use()


@pytest.mark.parametrize("scheme", ["file:", ""])  # Hadoop moves what has no scheme
def test_a_folder_is_moved_into_place_once(spark, tmp_path, monkeypatch, scheme):
    """Also if two do so at the same moment: both have seen that there is none."""
    folders = Folders(spark, str(tmp_path))
    folders.root = scheme + folders.root.removeprefix("file:")
    for number in (1, 2):
        staged = folders.stage(spark.range(number, numPartitions=1), f"upto={number}")
        monkeypatch.setattr(Folders, "has", lambda *_: False)
        if number == 1:
            folders.place_once(staged, "upto=7")
        else:  # it asks once more whether it has lost, and is told that it has not
            with pytest.raises(OSError, match="could not be moved"):
                folders.place_once(staged, "upto=7")
        monkeypatch.undo()
        assert spark.read.parquet(str(tmp_path / "upto=7")).count() == 1
        assert not [path for path in (tmp_path / "upto=7").iterdir() if path.is_dir()]
    folders.place_once(staged, "upto=7")
    with pytest.raises(OSError, match="could not be moved"):
        folders.place_once(".staged/nothing", "upto=8")


def test_a_claim_is_made_once_also_without_links(spark, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("the file system has no links")

    folders = Folders(spark, str(tmp_path))
    assert folders.claim("_linked", "mine") == "mine"
    monkeypatch.setattr(os, "link", refuse)
    assert folders.claim("_claim-1", "mine") == "mine"
    monkeypatch.setattr(Folders, "has", lambda *_: False)
    assert folders.claim("_claim-1", "another") == "mine"
    assert folders.claim("_linked", "another") == "mine"
    monkeypatch.undo()
    assert not [*(tmp_path / ".staged").iterdir()]
    folders.remove("_claim-1")
    assert folders.claim("_claim-1", "another") == "another"


@pytest.mark.parametrize("kind", ["TIMESTAMP_MILLIS", "INT96"])
def test_times_are_written_to_the_microsecond(spark, tmp_path, kind):
    spark.conf.set(TIMES, kind)
    try:
        folders = Folders(spark, str(tmp_path))
        frame = spark.sql("select timestamp_micros(1700000000123456) as ts")
        for _ in range(2):
            folders.publish(frame, "batch-1")
            assert spark.conf.get(TIMES) == kind
    finally:
        spark.conf.unset(TIMES)
    assert spark.read.parquet(str(tmp_path / "batch-1")).collect() == frame.collect()
    (path,) = (tmp_path / "batch-1").glob("*.parquet")
    assert pq.read_schema(path).field("ts").type.unit == "us"


def test_folders_belong_to_one_query(spark, tmp_path):
    """Also before it has written anything; and they tell whether a checkpoint is still theirs."""
    folder = tmp_path / "mit Leerzeichen, ümlaut %20 #1 'x'"
    claim(spark, folder)
    results, archive, _ = claim(spark, folder)  # the same join starts again
    for shared in ("results", "archive", "checkpoint"):
        others = {name: f"other {name}" for name in ("results", "archive", "checkpoint")}
        differs = "belongs to another join: its (results|checkpoint) is .*, that of this one is"
        with pytest.raises(BadState, match=differs):
            claim(spark, folder, **others | {shared: shared})
    claim(spark, folder, **others)  # nothing was claimed by those that were refused
    debt = Debt(inputs=False)
    for number in (3, 4, 4):
        rows = spark.range(10 * number)
        archive.publish(rows, f"batch-{number}", {WATERMARK: "17"})
        debt.took(archive, number)
    debt.look(archive)
    files = [
        *folder.glob("archive/batch-*/*.parquet"),
        *folder.glob(f"archive/batch-*/{WATERMARK}"),
    ]
    assert sum(size for size, _ in debt.owed.values()) == sum(p.stat().st_size for p in files)
    with pytest.raises(BadState, match=r"micro-batch 4 was written .* an older copy"):
        claim(spark, folder)
    (folder / "checkpoint" / "offsets").mkdir()
    (folder / "checkpoint" / "offsets" / "4").touch()
    claim(spark, folder)
    archive.publish(rows, "base-3")
    archive.remove("batch-3")  # it was reconciled meanwhile
    debt.look(archive)
    assert [*debt.owed] == [4]
    results.publish(rows, "batch=5")
    with pytest.raises(BadState, match="micro-batch 5 was written"):
        claim(spark, folder)
    (tmp_path / "foreign" / "_spark_metadata").mkdir(parents=True)
    with pytest.raises(BadState, match="_spark_metadata"):
        claim(spark, tmp_path, results="foreign")
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="is a file"):
        claim(spark, tmp_path, archive="file")


@pytest.mark.slow
def test_until_some_time_whose_offsets_spark_has_forgotten(spark, tmp_path):
    spark.conf.set("spark.sql.streaming.minBatchesToRetain", 2)
    try:
        sides = archives.draw(tmp_path, seed=10, parts=8)
        told = archives.run(spark, tmp_path, sides, "inner", budget=10, policy="clock")
    finally:
        spark.conf.unset("spark.sql.streaming.minBatchesToRetain")
    assert not (tmp_path / "checkpoint" / "offsets" / "3").exists()
    first = reconcile(spark, tmp_path / "archive", until=at(100))
    assert 0 <= first.upto < told.batch
    assert at(0) < first.watermark <= at(100)
    assert first.corrections.count() > 0
    again = reconcile(spark, tmp_path / "archive", until=at(100))
    assert (again.upto, again.watermark) == (first.upto, first.watermark)
    archives.corrected(spark, tmp_path)
    assert archives.exact(spark, tmp_path) == truth(spark, sides, "inner")


KINDS = """k string, ts timestamp_ntz, d decimal(38,10), n struct<a: array<int>, `b.c`: string>,
    m map<string, array<double>>, b binary, t timestamp, y date, f double,
    i interval day to second, s smallint"""


@pytest.mark.slow
def test_columns_of_every_kind(spark, tmp_path):
    """Large rows, nulls and awkward names; map columns keep settled() from comparing."""
    rng = random.Random(8)
    sides = [Files(tmp_path / name, KINDS) for name in "ab"]
    for part in range(3):
        for files in sides:
            files.add([kinds_of(rng, 10 * part + number / 2) for number in range(20)])
    for files in sides:
        files.add([kinds_of(rng, archives.FAR)])
    frames = [files.stream(spark).withColumnRenamed("d", "d.e `x`") for files in sides]
    archives.start(spark, tmp_path, frames, "inner", budget=6).awaitTermination()
    archives.corrected(spark, tmp_path)
    frames = [files.batch(spark).withColumnRenamed("d", "d.e `x`") for files in sides]
    within = tuple(f"{seconds} seconds" for seconds in archives.WINDOW)
    expected = join(*frames, on="k", time="ts", within=within)
    found = settled(spark, tmp_path / "archive")
    assert found.columns == expected.columns
    rows = [sorted(map(str, frame.collect())) for frame in (found, expected)]
    assert rows[0] == rows[1]
    assert len(rows[0]) > spark.read.parquet(str(tmp_path / "results")).count() > 0


def kinds_of(rng, second):
    """Draw a row of every kind, in which anything but the time may be null; some are large."""
    row = {
        "k": rng.choice("abc"),
        "d": Decimal(rng.randrange(10**9)) / 1000,
        "n": {"a": [1, None, rng.randrange(9)], "b.c": rng.choice([None, "x"])},
        "m": [(rng.choice("xy"), [0.5, None])],
        "b": rng.randbytes(rng.choice([0, 3, 200_000])),
        "t": at(rng.randrange(99)),
        "y": date(1969, 1, rng.randrange(1, 9)),
        "f": rng.choice([float("nan"), -0.0, 1.5]),
        "i": timedelta(microseconds=rng.randrange(-9, 9)),
        "s": rng.randrange(-9, 9),
    }
    row = {name: None if rng.random() < 0.1 else value for name, value in row.items()}
    when = at(second).replace(tzinfo=None)
    return (row.pop("k"), when, *row.values())
