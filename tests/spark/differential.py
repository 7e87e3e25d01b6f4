"""Run a join that was drawn, and hold it against Spark's own join of the same rows.

With memory enough both give the same rows, as often. With less, every row that comes out is one of
Spark's, no more often than there, and the figures of the query add up.
"""

import itertools
import traceback
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from penstock.spark import join, join_group, join_many, metrics
from penstock.spark.observe import figures_of
from tests.spark.drawn_joins import Case, Leg, Stream, draw_case, is_ample
from tests.spark.streams import Files, plain, run

GROUP = ("first", "second")  # what the joins of a group are called
SHOWN = 8  # rows of a difference


def check(spark: Any, name: str, folder: Path) -> None:
    """Run the case of this name; whatever goes wrong is told with the case."""
    case = draw_case(name)
    try:
        run_case(spark, case, folder)
    except Exception as error:
        said = error if isinstance(error, AssertionError) else traceback.format_exc()
        raise AssertionError(f"{describe(case)}\n\n{said}") from None


def run_case(spark: Any, case: Case, folder: Path) -> None:
    """Run a case to its end, and compare what came out of it."""
    files = [Files(folder / f"in{n}", stream.schema) for n, stream in enumerate(case.streams)]
    told = None
    for leg in case.legs:
        added = add_files(case, leg, files)
        if case.shape == "batch":
            continue
        frames = [each.stream(spark) for each in files]
        query = run(flat(joined(case, leg, frames)), folder)  # from the checkpoint, if there is one
        if added:  # else there is no micro-batch
            told = metrics(query)
            check_figures(case, leg, query, told)
    batches = [each.batch(spark) for each in files]
    found = results_of(spark, case, batches, folder)
    expected = own_results(case, batches)
    assert not found - expected, difference("rows that Spark's own join has not", found, expected)
    if case.never_short:
        assert found == expected, difference("rows that are missing", found, expected)
    if told is not None:
        assert told.matches == sum(found.values()), f"{told.matches=}, {sum(found.values())} rows"


def add_files(case: Case, leg: Leg, files: list[Files]) -> int:
    """Write the files that come before a start; return how many."""
    before = sum(each.count for each in files)
    for stream, there, mine in zip(case.streams, leg.files, files, strict=True):
        for rows in stream.files[mine.count : there]:
            mine.add(rows)
    return sum(each.count for each in files) - before


def joined(case: Case, leg: Leg, frames: list) -> Any:
    """Return the frame of the join under test."""
    options = {name: value for name, value in case.fixed.items() if name != "counts"}
    options |= leg.options

    def times(streams: tuple[int, ...]) -> str | tuple[str, ...]:
        names = tuple(case.streams[n].time for n in streams)
        return names[0] if len(set(names)) == 1 else names

    keys = [list(case.streams[streams[0]].keys) for streams in case.joins]
    if case.shape == "group":
        entries = {
            name: (*(frames[n] for n in streams), on)
            for name, streams, on in zip(GROUP, case.joins, keys, strict=True)
        }
        time = {name: times(streams) for name, streams in zip(GROUP, case.joins, strict=True)}
        return join_group(entries, time=time, **options)
    (streams,), (on,) = case.joins, keys
    if case.shape == "many":
        return join_many(frames, on, time=times(streams), **options)
    out = join(*frames, on, time=times(streams), **options)
    assert out.columns == output_names(case), f"columns {out.columns}, not {output_names(case)}"
    return out


def output_names(case: Case) -> list[str]:
    """Return the names that a join of two frames has by its documentation."""
    left, right = ([n for n, _ in s.columns if n not in s.keys] for s in case.streams)
    return [
        *case.streams[0].keys,
        *(f"{name}_left" if name in right else name for name in left),
        *(f"{name}_right" if name in left else name for name in right),
    ]


def flat(frame: Any) -> Any:
    """Give the columns plain names, which every sink takes."""
    return frame.toDF(*(f"o{place}" for place in range(len(frame.columns))))


# ---------------------------------------------------------------- rows


def results_of(spark: Any, case: Case, batches: list, folder: Path) -> Counter:
    """Return all rows that came out of the join under test."""
    if case.shape == "batch":
        frame = flat(joined(case, case.legs[-1], batches))
    elif not (folder / "out" / "_spark_metadata").exists():
        return Counter()  # there was no row at all, hence no micro-batch
    else:
        frame = spark.read.parquet(str(folder / "out"))
    if case.shape != "group":
        return bag(frame)
    parts = [bag(frame.where(f"o0 = '{n}'").select(f"o{p}.*"), n) for p, n in enumerate(GROUP, 1)]
    return parts[0] + parts[1]


def own_results(case: Case, batches: list) -> Counter:
    """Return the rows of Spark's own join of all that arrived."""
    if case.shape != "group":
        return bag(own_join(case, batches, case.joins[0]))
    parts = [bag(own_join(case, batches, s), n) for s, n in zip(case.joins, GROUP, strict=True)]
    return parts[0] + parts[1]


def own_join(case: Case, batches: list, streams: tuple[int, ...]) -> Any:
    """Return Spark's own join, with our order of columns."""
    sides = [(case.streams[n], f"s{n}_", _numbered(batches[n], f"s{n}_")) for n in streams]
    frame = sides[0][2]
    for place, (stream, prefix, side) in enumerate(sides[1:], 1):
        where = F.lit(True)
        for left, right in zip(sides[0][0].keys, stream.keys, strict=True):
            where &= F.col(_at(sides[0][0], sides[0][1], left)) == F.col(_at(stream, prefix, right))
        for other, its, _ in sides[:place]:
            where &= _near(_at(other, its, other.time), _at(stream, prefix, stream.time), case)
        frame = frame.join(side, where)
    first, prefix, _ = sides[0]
    keys = [_at(first, prefix, name) for name in first.keys]
    rest = [_at(s, p, name) for s, p, _ in sides for name, _ in s.columns if name not in s.keys]
    return frame.select(*keys, *rest)


def _near(one: str, other: str, case: Case) -> Any:
    if case.within is None:
        return F.col(one).isNotNull() & F.col(other).isNotNull()
    span = f"make_dt_interval(0, 0, 0, {case.within / 10**6:.6f}BD)"
    return F.expr(f"{one} >= {other} - {span} AND {one} <= {other} + {span}")


def _numbered(frame: Any, prefix: str) -> Any:
    return frame.toDF(*(f"{prefix}{place}" for place in range(len(frame.columns))))


def _at(stream: Stream, prefix: str, name: str) -> str:
    return f"{prefix}{[known for known, _ in stream.columns].index(name)}"


def bag(frame: Any, mark: str = "") -> Counter:
    """Return rows as a multiset; by Arrow, since a Row cannot hold every timestamp."""
    table = frame.toArrow()
    columns = [table.column(place).to_pylist() for place in range(table.num_columns)]
    return Counter(mark + repr(plain(row)) for row in zip(*columns, strict=True))


# ---------------------------------------------------------------- figures


def check_figures(case: Case, leg: Leg, query: Any, told: Any) -> None:
    """Check what the query tells: budgets hold after every micro-batch, and rows add up."""
    budget = leg.options["budget"]
    for progress in query.recentProgress:
        figures = figures_of(progress, "penstock")
        if not figures or budget is None:
            continue
        if case.fixed["counts"] == "bytes":
            most = 1024 * int(budget.split(" ")[0])
            assert figures["bytes_held"] <= most, f"{figures['bytes_held']} bytes held of {budget}"
        else:
            assert figures["rows_held"] <= budget, f"{figures['rows_held']} rows held of {budget}"
    given = sum(
        len(rows)
        for stream, there in zip(case.streams, leg.files, strict=True)
        for rows in stream.files[:there]
    )
    if told is None:
        assert given == 0, f"{given} rows and no figures"
        return
    nulls = (sum_of_nulls(stream, there) for stream, there in zip(case.streams, leg.files))
    no_key, no_time = zip(*nulls, strict=True)
    assert told.late == (0,) * len(case.streams), f"{told.late=}"
    assert told.null_keys == no_key, f"{told.null_keys=}, given were {no_key}"
    assert told.null_times == sum(no_time), f"{told.null_times=}, given were {no_time}"
    assert sum(told.arrived) + told.null_times == given, f"{given} rows: {asdict(told)}"
    left = sum(map(sum, (told.late, told.null_keys, told.expired, told.evicted, told.rejected)))
    assert sum(told.arrived) == left + told.rows_held, f"rows do not add up: {asdict(told)}"
    if told.recall is not None:
        assert 0 <= told.recall_low <= told.recall <= told.recall_high <= 1, str(told)
    if all(each.options["budget"] is None for each in case.legs):
        assert told.recall == 1.0, f"{told.recall=} without a budget"
    if case.never_short:
        assert sum(told.evicted) + sum(told.rejected) == 0, f"evicted with memory enough: {told}"


def sum_of_nulls(stream: Stream, files: int) -> tuple[int, int]:
    """Return how many rows lack a key, and how many a time; what lacks a time is not looked at."""
    names = [name for name, _ in stream.columns]
    time, keys = names.index(stream.time), [names.index(name) for name in stream.keys]
    rows = list(itertools.chain(*stream.files[:files]))
    timely = [row for row in rows if row[time] is not None]
    return sum(any(row[k] is None for k in keys) for row in timely), len(rows) - len(timely)


# ---------------------------------------------------------------- words


def describe(case: Case) -> str:
    """Say in few lines what was run, and how to run it again."""
    lines = [
        f"case {case.name}; to repeat it:",
        f"  PENSTOCK_DIFFERENTIAL={case.name} .venv/bin/python -m pytest "
        "tests/spark/test_differential.py",
        f"joins of the streams {case.joins} with "
        + ", ".join(f"{name}={value}" for name, value in case.fixed.items()),
    ]
    for number, stream in enumerate(case.streams):
        lines.append(f"stream {number}: {stream.schema}")
        sizes = ", ".join(str(len(rows)) for rows in stream.files)
        lines.append(f"  on {list(stream.keys)}, time {stream.time!r}; rows by file: {sizes}")
    for number, leg in enumerate(case.legs):
        said = ", ".join(f"{name}={value}" for name, value in leg.options.items())
        ample = " (ample)" if is_ample(leg.options["budget"]) else ""
        lines.append(f"start {number}: {leg.files} files, {said}{ample}")
    return "\n".join(lines)


def difference(what: str, found: Counter, expected: Counter) -> str:
    """Return a small table of the rows that two multisets have unequally often."""
    rows = [row for row in found | expected if found[row] != expected[row]]
    lines = [
        f"{what}: {len(rows)} kinds of rows differ "
        f"({sum(found.values())} rows found, {sum(expected.values())} expected)",
        "found  expected  row",
    ]
    lines += [f"{found[row]:5}  {expected[row]:8}  {_short(row)}" for row in sorted(rows)[:SHOWN]]
    return "\n".join(lines + ["..."] * (len(rows) > SHOWN))


def _short(row: str) -> str:
    return row if len(row) <= 300 else row[:300] + "..."
