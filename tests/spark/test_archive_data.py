"""Two pairs of real streams: live results and corrections are Spark's own join."""

import os
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.csv as csv
import pytest

from tests.naive.how import HOWS
from tests.spark import archives
from tests.spark.streams import Files, at, bag
from tests.spark.test_how import own

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data")) / "twostream"
pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.exists(), reason=f"no {DATA}; set PENSTOCK_DATA"),
]
PARTS = 6
WITHIN = 60  # seconds


def stocks():
    """Orders and trades by their stock; the number of a row is its time."""
    for name in ("pecj_stock_orders_sb.csv.gz", "pecj_stock_trades_cj.csv.gz"):
        keys = csv.read_csv(DATA / name).column("key").to_pylist()
        yield [(str(key), at(number / 20), number) for number, key in enumerate(keys)]


def higgs():
    """Replies and retweets by the user that they answer, of a day in which there were many."""
    told = csv.ReadOptions(column_names=["a", "b", "time", "kind"])
    spaced = csv.ParseOptions(delimiter=" ")
    rows = csv.read_csv(DATA / "higgs-activity_time.txt.gz", told, spaced)
    rows = rows.slice(rows.num_rows // 2, 150_000)
    start = pc.min(rows["time"]).as_py()
    for kind in ("RE", "RT"):
        mine = rows.filter(pc.equal(rows["kind"], kind))
        found = zip(mine["b"].to_pylist(), mine["time"].to_pylist(), strict=True)
        yield [(str(key), at(time - start), number) for number, (key, time) in enumerate(found)]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("name", ["stocks", "higgs"])
def test_real_streams(spark, tmp_path, name, how, share):
    """With a restart, before which what is owed so far is reconciled."""
    streams = list({"stocks": stocks, "higgs": higgs}[name]())
    span = max(rows[-1][1] for rows in streams) - min(rows[0][1] for rows in streams)
    alive = sum(map(len, streams)) * 2 * WITHIN / span.total_seconds()
    sides = [Files(tmp_path / each, archives.SCHEMA) for each in "ab"]
    cuts = [at(span.total_seconds() * part / PARTS) for part in range(1, PARTS)]
    options = {"within": f"{WITHIN} seconds", "buckets": 2, "budget": max(2, int(alive * share))}
    for part, ends in enumerate(zip([at(-1), *cuts], [*cuts, at(archives.FAR)], strict=True)):
        for rows, files in zip(streams, sides, strict=True):
            files.add([row for row in rows if ends[0] <= row[1] < ends[1]])
        if part == PARTS // 2:
            archives.run(spark, tmp_path, sides, how, **options)
            archives.corrected(spark, tmp_path)
    for far in (10 * archives.FAR, 20 * archives.FAR):
        for each, files in zip("ab", sides, strict=True):
            files.add([(f"far {each}", at(far), -1)])
    archives.run(spark, tmp_path, sides, how, **options)
    archives.corrected(spark, tmp_path)
    frames = [files.batch(spark).where("v >= 0") for files in sides]
    expected = bag(own(*frames, (-WITHIN, WITHIN), how))
    found = archives.live(spark, tmp_path)
    assert 0 < sum((found & expected).values()) < sum(expected.values())
    assert archives.exact(spark, tmp_path) == expected
