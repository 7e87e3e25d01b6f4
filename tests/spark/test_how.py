"""Outer, semi and anti joins are Spark's own: which rows, and in which micro-batch they come."""

import random
from collections import Counter
from datetime import timedelta

import pytest
from pyspark.sql import functions as F

from penstock import BadInput, BadState
from penstock.spark import join, metrics
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.join_bucket import JoinBucket
from tests.marks import some
from tests.naive.how import NaiveHow
from tests.naive.policies import factory
from tests.spark.driver import SCHEMA, read
from tests.spark.plans import make_plan, packet, rows_of_packets
from tests.spark.processes import run_and_kill
from tests.spark.streams import START, Files, arrivals, at, bag, cut, plain, results, run
from tests.spark.test_restart import write

pytestmark = pytest.mark.spark

DELAY = 10
# Right time minus left time, in seconds.
WINDOWS = {
    "symmetric": (-20, 20),
    "later": (0, 20),
    "shifted": (-5, 30),
    "low above 0": (5, 30),
    "high below 0": (-30, -5),
}
STREAMED = ("left", "right", "full", "semi", "anti")
OFTEN = {  # the others are slow: a query each
    "symmetric": ("full", "semi"),
    "later": ("left",),
    "shifted": ("anti",),
    "low above 0": ("right",),
    "high below 0": ("left",),
}
FAR = 100_000  # seconds; a row of this time lets all others expire


def span(window):
    return tuple(f"{seconds} seconds" for seconds in window)


def own(left, right, window, how, keys=(("k", "k"),)):
    """Spark's own join with our columns; an anti join of streams is what a left join has alone."""
    a, b = left.alias("a"), right.alias("b")
    low, high = window
    where = " and ".join(f"a.{one} = b.{other}" for one, other in keys)
    where += f" and b.ts >= a.ts + interval {low} seconds"
    where += f" and b.ts <= a.ts + interval {high} seconds"
    if how == "anti" and left.isStreaming:
        alone = a.join(b, F.expr(where), "left").where("b.v is null")
        return alone.select([F.col(f"a.{name}") for name in left.columns])
    out = a.join(b, F.expr(where), how)
    if how in ("semi", "anti"):
        return out
    same = [one for one, other in keys if one == other]
    rest = [[n for n in frame.columns if n not in same] for frame in (left, right)]
    first = [one for one, _ in keys if one not in same]
    rest[0].sort(key=lambda name: name not in first)  # stable: keys of other names come first
    return out.select(
        *[F.coalesce(f"a.{key}", f"b.{key}").alias(key) for key in same],
        *[F.col(f"a.{n}").alias(n + "_left" if n in rest[1] else n) for n in rest[0]],
        *[F.col(f"b.{n}").alias(n + "_right" if n in rest[0] else n) for n in rest[1]],
    )


def batches_of(frame, folder, name):
    """Run a query over all that is there; return the query and the rows of each micro-batch."""
    seen = {}

    def take(rows, number):
        found = Counter(plain(tuple(row)) for row in rows.collect())
        if found:
            seen[number] = found

    query = (
        frame.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query, seen


def late_rows(rng, count, keys=9):
    """Draw micro-batches of (side, key, time): rows behind, at and after the watermark, some null.

    The third has no rows, and after the last one all others expire.
    """
    for number in range(count):
        rows = []
        for _ in range(0 if number == 2 else rng.randrange(20, 50)):
            seconds = 12 * number + rng.choice([0, 0, -5, -10, -11, -20, -40]) + rng.randrange(12)
            fine = rng.choice([0, 0, 0.0004, -0.0004, 0.001])
            key = None if rng.random() < 0.08 else rng.randrange(keys)
            rows.append((rng.randrange(2), key, START + timedelta(seconds=seconds + fine)))
        yield rows
    yield [(side, 0, at(FAR)) for side in (0, 1)]


def differ(spark, folder, window, hows, stops=(), text=False):
    """Run Spark's joins and ours over the same late rows; return our figures and rows by kind."""
    rng = random.Random(f"{window}")
    kind = "string" if text else "int"
    sides = [Files(folder / name, f"k {kind}, ts timestamp, v int") for name in "ab"]
    frames = [files.stream(spark).withWatermark("ts", f"{DELAY} seconds") for files in sides]
    expected, found, told = {}, {how: {} for how in hows}, {}
    count = 6
    value = 0
    for number, rows in enumerate(late_rows(rng, count), 1):
        drawn = [[], []]
        for side, key, time in rows:
            value += 1
            drawn[side].append((f"key {key}" if text and key is not None else key, time, value))
        for files, mine in zip(sides, drawn, strict=True):
            files.add(mine)
        if number in (*stops, count + 1):
            for how in hows:
                mine = own(*frames, WINDOWS[window], how)
                expected.setdefault(how, {}).update(batches_of(mine, folder, f"own-{how}")[1])
                ours = join(
                    *frames, on="k", time="ts", within=span(WINDOWS[window]), buckets=3, how=how
                )
                query, seen = batches_of(ours, folder, f"ours-{how}")
                found[how].update(seen)
                told[how] = metrics(query)
    return expected, found, told


def all_of(batches) -> Counter:
    return sum(batches.values(), Counter())


def keyed(batches):
    """Return the rows of each micro-batch that have a key."""
    some = {
        n: Counter({r: c for r, c in b.items() if r[0] is not None}) for n, b in batches.items()
    }
    return {number: rows for number, rows in some.items() if rows}


def keyless(batches, how) -> Counter:
    """Return the rows without a key, each for itself.

    In Spark's own full join of streams a missing key matches a missing key, other than in its batch
    join. Spark returns rows without a key when the watermark has passed them, we return them at
    once.
    """
    rows = Counter({row: n for row, n in all_of(batches).items() if row[0] is None})
    if how != "full":
        return rows
    sides = (
        {(None, *row[1:3], None, None) for row in rows},
        {(None, None, None, *row[3:]) for row in rows},
    )
    return Counter((sides[0] | sides[1]) - {(None,) * 5})


def check(spark, folder, window, hows, **options):
    expected, found, told = differ(spark, folder, window, hows, **options)
    for how in hows:
        assert keyed(found[how]) == keyed(expected[how]), how
        assert keyless(found[how], how) == keyless(expected[how], how), how
        if how == "full":
            assert all(None in (row[2], row[4]) for row in all_of(found[how]) if row[0] is None)
        assert sum(told[how].late) > 2
        assert sum(all_of(found[how]).values()) > 10
        check_figures(told[how], how, all_of(found[how]))


def check_figures(told, how, found):
    """Expect that the figures of a query add up, and that they tell of rows without a partner."""
    names = ("late", "null_keys", "expired", "evicted", "rejected", "completed")
    for side, arrived in enumerate(told.arrived):
        assert sum(getattr(told, name)[side] for name in names) <= arrived
    gone = sum(sum(getattr(told, name)) for name in names)
    assert gone + told.rows_held == sum(told.arrived)
    assert all(a <= b for a, b in zip(told.unmatched_evicted, told.unmatched, strict=True))
    rows = sum(found.values())
    if how == "anti":
        assert told.unmatched == (rows, 0)
        assert told.completed[0] > 0
    elif how == "semi":
        assert told.completed == (rows, 0)
        assert told.unmatched == (0, 0)
    else:
        assert told.matches + sum(told.unmatched) == rows
        assert (told.unmatched[0] > 0) == (how in ("left", "full"))
        assert (told.unmatched[1] > 0) == (how in ("right", "full"))


@pytest.mark.parametrize("window", some(WINDOWS, ()))
def test_the_same_rows_in_the_same_micro_batches(spark, tmp_path, window):
    check(spark, tmp_path, window, OFTEN[window], text=window == "shifted")


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
def test_every_kind_in_the_same_micro_batches(spark, tmp_path, window):
    check(spark, tmp_path, window, STREAMED, stops=(2, 4), text=window == "symmetric")


def test_the_same_rows_across_a_restart(spark, tmp_path):
    check(spark, tmp_path, "shifted", ("full",), stops=(2, 3, 5))


def test_unmatched_rows_come_in_a_micro_batch_without_rows(spark, tmp_path):
    sides = [Files(tmp_path / name, "k int, ts timestamp, v int") for name in "ab"]
    for start in (0, 100):
        sides[0].add([(k, at(start), k) for k in range(4)])
        sides[1].add([(k, at(start), k) for k in range(3, 6)])
    frames = [files.stream(spark).withWatermark("ts", "1 second") for files in sides]
    _, expected = batches_of(own(*frames, (0, 20), "full"), tmp_path, "own")
    ours = join(*frames, on="k", time="ts", within=span((0, 20)), how="FULL_outer")
    query, found = batches_of(ours, tmp_path, "ours")
    assert found == expected
    assert max(found) == 2
    assert sum(found[2].values()) == 5  # the rows of the first files without a partner
    assert metrics(query).unmatched == (3, 2)


# ---------------------------------------------------------------- batch frames


def still(spark, rng, columns, keys):
    """Return a frame in which some rows lack the key."""
    rows = [(rng.choice(keys), at(rng.randrange(90)), n) for n in range(60)]
    return spark.createDataFrame(rows, columns)


@pytest.mark.parametrize("kind", some(["int", "string"], ["int"]))
def test_batch_frames(spark, kind):
    rng = random.Random(kind)
    keys = [None, *range(25)] if kind == "int" else [None, "", "a", "ä", "b", *map(str, range(20))]
    left, right = (still(spark, rng, f"k {kind}, ts timestamp, v int", keys) for _ in range(2))
    spellings = {
        "left": ("left", "leftouter", "LEFT_OUTER"),
        "right": ("right", "rightouter", "right_outer"),
        "full": ("full", "outer", "fullouter", "full_outer"),
        "semi": ("semi", "leftsemi", "left_semi"),
        "anti": ("anti", "leftanti", "left_Anti"),
    }
    for number, (how, spelled) in enumerate(spellings.items()):
        window = list(WINDOWS.values())[number]
        expected = own(left, right, window, how)
        names = spelled if kind == "int" and how == "full" else spelled[number % 3 :][:1]
        for name in names:
            ours = join(left, right, "k", time="ts", within=span(window), how=name)
            assert ours.columns == expected.columns
            assert [f.dataType for f in ours.schema] == [f.dataType for f in expected.schema]
            assert bag(ours) == bag(expected), (name, window)


PARTS = [
    ([[1], [2]], None, 1),
    ([[1, 2]], None, 1),
    ([[1, 2], []], None, 1),
    ([[1], [2], [None]], None, 1),
    ([None, [1], [2]], None, 1),
    ([[1], [2]], 1, None),
    (None, 1, None),
    (None, None, 1),
    None,
]


def test_keys_that_differ_in_nulls_and_in_where_arrays_end(spark):
    """Spark's hash of all of these is that of what is in them, one after the other."""
    kind = "struct<a:array<array<int>>,b:int,c:int>"
    assert len({row[0] for row in hashes(spark, kind, PARTS[:4])}) == 1
    rows = [(key, at(0), number) for number, key in enumerate(PARTS)]
    left = spark.createDataFrame(rows, f"k {kind}, ts timestamp, v int")
    right = left.where("v > 2").withColumn("v", -F.col("v"))
    for how in ("full", "semi"):
        ours = join(left, right, "k", time="ts", within="1 second", how=how)
        assert bag(ours) == bag(own(left, right, (-1, 1), how))


def hashes(spark, kind, keys):
    frame = spark.createDataFrame([(key,) for key in keys], f"k {kind}")
    return frame.select(F.xxhash64("k")).collect()


def test_batch_rows_without_a_time(spark):
    left, right = (
        spark.createDataFrame(
            [(1, at(0), 1), (1, None, 2), (2, None, 3), (None, None, 4)],
            "k int, ts timestamp, v int",
        )
        for _ in range(2)
    )
    for how in ("inner", "left", "full", "semi", "anti"):
        ours = join(left, right, "k", time="ts", within=span((0, 20)), how=how)
        assert bag(ours) == bag(own(left, right, (0, 20), how)), how


def test_streamed_rows_without_a_time_appear_at_once():
    """Also where nothing else comes, or only late rows, and the watermark has moved."""
    bucket = JoinBucket(make_plan(how="left", watermark=True, delay=0), 0)

    def take(side, keys, times, values, watermark):
        batch = MicroBatch([(side, packet(keys, times, values))], watermark)
        return sorted((row[1:] for row in rows_of_packets(bucket.advance(batch))), key=repr)

    # Microseconds; the watermark is in milliseconds, and a row is held one of these longer.
    assert take(0, [1, 2], [100_000, 100_100], [10, 20], 50_000) == []
    assert take(1, [1], [100_000], [30], 90_000) == [(1, 10, 30)]
    assert take(0, [5], [None], [40], 90_000) == [(5, 40, None)]
    assert take(0, [6, 6], [None, 80_000], [50, 60], 90_000) == [(6, 50, None)]
    assert take(0, [7, None, 7], [None, 130_000, 130_000], [70, 80, 90], 120_000) == [
        (2, 20, None),
        (7, 70, None),
        (None, 80, None),
    ]  # and row 20, which the watermark has passed


def test_key_columns_of_other_names(spark):
    rng = random.Random(8)
    keys = [None, *range(12)]
    left = still(spark, rng, "k int, ts timestamp, v int", keys)
    right = still(spark, rng, "id int, ts timestamp, v int", keys)
    left = left.select("v", "k", "ts")
    for how in ("inner", "right", "full", "anti"):
        expected = own(left, right, (-5, 30), how, keys=(("k", "id"),))
        ours = join(left, right, on={"k": "id"}, time="ts", within=span((-5, 30)), how=how)
        assert ours.columns == expected.columns
        assert bag(ours) == bag(expected), how
    crossed = right.withColumn("k", F.lit(-1)), left.withColumn("id", F.lit(-2))
    ours = join(*crossed[::-1], on={"k": "id"}, time="ts", within=span((-5, 30)), how="full")
    own_keys = own(left, right, (-5, 30), "full", keys=(("k", "id"),)).select("k", "id")
    names = [name for name in ours.columns if name.startswith(("k", "id"))]
    assert sorted(names) == ["id_left", "id_right", "k", "k_right"]
    assert bag(ours.select("k", "id_right")) == bag(own_keys)
    same = right.withColumnRenamed("id", "k")
    both = join(left, same, on={"k": "k"}, time="ts", within=span((-5, 30)), how="full")
    assert bag(both) == bag(own(left, same, (-5, 30), "full"))


def test_several_key_columns_some_missing(spark):
    rng = random.Random(9)

    def frame(names):
        rows = [
            (rng.choice([None, 1, 2]), rng.choice([None, "p", "q", "r"]), at(rng.randrange(60)), n)
            for n in range(40)
        ]
        return spark.createDataFrame(
            rows, f"{names[0]} int, {names[1]} string, ts timestamp, v int"
        )

    left, right, other = frame("xy"), frame("xy"), frame("xz")
    expected = own(left, right, (0, 20), "full", keys=(("x", "x"), ("y", "y")))
    ours = join(left, right, on=("x", "y"), time="ts", within=span((0, 20)), how="full")
    assert ours.columns == expected.columns
    assert bag(ours) == bag(expected)
    expected = own(left, other, (0, 20), "left", keys=(("x", "x"), ("y", "z")))
    ours = join(left, other, on={"x": "x", "y": "z"}, time="ts", within=span((0, 20)), how="left")
    shown = ["y", "z", "ts_left", "ts_right", "v_left", "v_right"]
    assert bag(ours.select(shown)) == bag(expected.select(shown))


@pytest.mark.parametrize("match", some(["first", "one"], ["one"]))
def test_one_partner_as_the_twin_has_it(spark, tmp_path, match):
    """In a batch and in a stream the first partner is the one that comes first."""
    rng = random.Random(match)
    sides = [Files(tmp_path / s, "k int, ts timestamp, v int") for s in "ab"]
    twin = NaiveHow(
        factory("fifo"), None, how="full", match=match, within=(-5000, 20000), delay=10**6
    )
    expected, value = [], 0
    for part in [*cut(rng, arrivals(rng, 200, 120), 3), [(0, FAR), (1, FAR + 1)]]:
        rows = [(side, rng.randrange(5), time, value + n) for n, (side, time) in enumerate(part)]
        value += len(rows)  # a value is what the twin numbers the row
        for side, files in enumerate(sides):
            files.add([(k, at(t), v) for s, k, t, v in rows if s == side])
        expected += twin.push(
            [{"stream": s, "keys": (k,), "time": round(t * 1000)} for s, k, t, _ in rows]
        )
    ours = join(
        *(files.stream(spark) for files in sides),
        on="k",
        time="ts",
        within=span((-5, 20)),
        delay="10 seconds",
        how="full",
        match=match,
        buckets=3,
    )
    told = metrics(run(ours, tmp_path))
    found = [
        tuple(-1 if value is None else value for value in (row.v_left, row.v_right))
        for row in spark.read.parquet(str(tmp_path / "out")).collect()
    ]
    assert Counter(found) == Counter(expected)
    assert told.completed == tuple(twin.counters["completed"])
    assert told.unmatched == tuple(twin.counters["unmatched"])
    assert told.matches == sum(twin.counters["matched"]) > 40


# ---------------------------------------------------------------- budgets


def budgeted(spark, folder, how, budgets, **options):
    """Run a join with too little memory, each budget from a start of its own.

    Returns the rows, the figures, the exact rows and all left rows.
    """
    rng = random.Random(how)
    sides = [Files(folder / name, SCHEMA) for name in "ab"]
    settings = {"time": "ts", "within": span((-5, 20)), "delay": "10 seconds", "how": how} | options
    parts = cut(rng, arrivals(rng, 400, 200), 4)
    for number, part in enumerate(parts):
        for side, files in enumerate(sides):
            mine = [t for s, t in part if s == side]
            keys = [rng.choice([None, *"pqrstuvwxyz"]) for _ in mine]
            files.add([(k, at(t), rng.randrange(10**6)) for k, t in zip(keys, mine, strict=True)])
        if number == 3:
            for name, files in zip("ab", sides, strict=True):
                files.add([(f"far {name}", at(FAR), -1)])
        if number == 3 or len(budgets) > 1:
            frames = [files.stream(spark) for files in sides]
            budget = budgets[number % len(budgets)]
            told = metrics(run(join(*frames, on="k", budget=budget, **settings), folder))
    found = spark.read.parquet(str(folder / "out"))
    exact = own(*(files.batch(spark).where("v >= 0") for files in sides), (-5, 20), how)
    return found, told, exact, sides[0].batch(spark).where("v >= 0")


def check_left(found, told, exact, lefts):
    """Expect every left row, in pairs that are results or alone, and figures that agree."""
    assert sum(told.evicted) > 0
    assert told.unmatched_evicted[0] > 0
    assert told.unmatched_evicted[1] == 0
    assert set(bag(found.select("k", "ts_left", "v_left"))) == set(bag(lefts))
    pairs, alone = bag(found.where("v_right is not null")), found.where("v_right is null")
    assert not pairs - bag(exact)
    assert sum(pairs.values()) > 50
    assert max(bag(alone).values()) == 1
    paired = bag(found.where("v_right is not null").select("v_left"))
    assert not bag(alone.select("v_left")) & paired
    assert told.unmatched == (alone.count(), 0)
    assert told.matches == sum(pairs.values())
    check_figures(told, "left", bag(found))


@pytest.mark.parametrize("budget", some((15, "14 kB"), (15,)))
def test_no_left_row_is_lost_for_want_of_memory(spark, tmp_path, budget):
    check_left(*budgeted(spark, tmp_path, "left", [budget], policy="clock"))


@pytest.mark.slow  # four starts
def test_no_left_row_is_lost_when_the_budget_changes(spark, tmp_path):
    budgets = [None, 12, 30, "14 kB"]
    check_left(*budgeted(spark, tmp_path, "left", budgets, policy="clock", layout="split"))


@pytest.mark.slow
def test_an_anti_join_errs_towards_rows_that_it_returns(spark, tmp_path):
    found, told, exact, lefts = budgeted(spark, tmp_path, "anti", [15], policy="prob")
    assert found.columns == lefts.columns
    assert not bag(exact) - bag(found)
    assert not bag(found.where("v >= 0")) - bag(lefts)
    assert bag(exact) != bag(found.where("v >= 0"))
    assert told.unmatched_evicted[0] > 0
    check_figures(told, "anti", bag(found))


# ---------------------------------------------------------------- restarts


@pytest.mark.slow  # a Spark process of its own
def test_left_join_killed_and_started_anew(spark, tmp_path):
    for name, files in zip("ab", write(tmp_path, seed=1, files=6), strict=True):
        files.add([(f"far {name}", at(FAR), -1)])
    options = {"time": "ts", "within": ["-5 seconds", "20 seconds"], "delay": "10 seconds"}
    options["how"] = "left"
    run_and_kill(tmp_path, {"options": options})
    streams = read(spark.readStream.option("maxFilesPerTrigger", 1), tmp_path)
    query = run(join(*streams, on="k", **options), tmp_path)
    found = results(spark, tmp_path)
    still_there = [frame.where("v >= 0") for frame in read(spark.read, tmp_path)]
    assert found == bag(own(*still_there, (-5, 20), "left"))
    assert metrics(query).matches + metrics(query).unmatched[0] == sum(found.values())


@pytest.mark.slow
def test_another_kind_of_join_is_refused_by_the_checkpoint(spark, tmp_path):
    sides = write(tmp_path, seed=3, count=60, files=1)

    def go(**options):
        streams = [one.stream(spark) for one in sides]
        settings = {"time": "ts", "within": "20 seconds", "delay": "10 seconds"} | options
        return join(*streams, on="k", checkpoint=tmp_path / "out-checkpoint", **settings)

    run(go(how="left"), tmp_path)
    for wrong in ({"how": "full"}, {"how": "inner"}, {"how": "left", "match": "first"}):
        with pytest.raises(BadState, match="written by a join with"):
            go(**wrong)
    go(how="left_outer")  # the same by another name


# ---------------------------------------------------------------- wrong values


def test_wrong_values_are_refused(spark):
    left = spark.createDataFrame([], "a int, ts timestamp, v int")
    right = spark.createDataFrame([], "b int, ts timestamp, v int")
    wrong = [
        ({"how": "cross"}, "how must be"),
        ({"how": "outside"}, "how must be"),
        ({"how": None}, "how must be"),
        ({"match": "any"}, "match must be"),
        ({"within": ("1 hour", "5 minutes")}, "within"),
        ({"within": ("1 hour",)}, "within"),
        ({"within": (None, "1 hour")}, "within"),
        ({"on": ("a", "b")}, r"\{'a': 'b'\}"),
        ({"on": {"a": "c"}}, "'c'"),
        ({"on": {}}, "on"),
        ({"on": {"a": "ts"}}, "ts"),
    ]
    usual = {"on": {"a": "b"}, "time": "ts", "within": "1 hour"}
    assert join(left, right, **usual).columns == [
        "a",
        "ts_left",
        "v_left",
        "b",
        "ts_right",
        "v_right",
    ]
    for options, message in wrong:
        with pytest.raises(BadInput, match=message):
            join(left, right, **(usual | options))
