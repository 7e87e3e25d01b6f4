"""The monitor hears what queries report, serves it, and keeps it beside the checkpoint."""

import dataclasses
import json
import random
import re
import urllib.request

import pytest

from penstock.report.history import read_histories
from penstock.spark import join, metrics, monitor
from tests.patience import until
from tests.spark.streams import Files, at, run

pytestmark = pytest.mark.spark
SCHEMA = "k string, ts timestamp, v long"


def fetch(url, path=""):
    with urllib.request.urlopen(url + path) as answer:
        return answer.read().decode()


def value(text, name, **labels):
    """Return a sample of Prometheus' text format."""
    for line in text.splitlines():
        found = re.fullmatch(rf"{name}\{{(.*)\}} (\S+)", line)
        if found and all(f'{key}="{each}"' in found[1] for key, each in labels.items()):
            return float(found[2])
    return None


@pytest.fixture
def streams(tmp_path):
    rng = random.Random(1)
    sides = [Files(tmp_path / side, SCHEMA) for side in "ab"]
    for batch in range(3):
        for files in sides:
            keys = [f"<script>{rng.randrange(40) ** 2 // 40}" for _ in range(100)]
            files.add([(key, at(5 * batch + rng.random()), n) for n, key in enumerate(keys)])
    return sides


def test_figures_are_served_and_kept(spark, tmp_path, streams):
    checkpoint = str(tmp_path / "out-checkpoint")
    frames = [files.stream(spark) for files in streams]
    options = {"on": "k", "time": "ts", "within": "20 seconds", "delay": "10 seconds"}
    joined = join(*frames, **options, budget=60, recall_sample=0.5, checkpoint=checkpoint)
    with monitor(spark, every=0) as watching:
        assert watching.url.startswith("http://127.0.0.1:")
        query = run(joined, tmp_path)
        told = metrics(query)
        until(lambda: '"ended"' in fetch(watching.url, "data.json"), "the end of the query")
        data, text = json.loads(fetch(watching.url, "data.json")), fetch(watching.url, "metrics")
        assert "<title>Penstock" in fetch(watching.url)
    [line] = data["queries"]
    assert line["kind"] == "join"
    assert {plot["id"] for plot in data["chosen"]["plots"]} == {
        "recall",
        "held",
        "rates",
        "batches",
    }
    name = line["name"]
    assert value(text, "penstock_join_recall_ratio", query=name) == told.recall
    assert value(text, "penstock_join_recall_low_ratio", query=name) == told.recall_low
    assert value(text, "penstock_join_rows_held", query=name) == told.rows_held <= 60
    assert value(text, "penstock_join_budget_rows", query=name) == 60
    assert value(text, "penstock_join_arrived_rows_total", query=name, input=1) == told.arrived[1]
    assert value(text, "penstock_query_up", query=name, kind="join") == 0
    assert value(text, "penstock_query_batch_seconds", query=name, part="queryPlanning") > 0
    # What any listener finds in the report is what `metrics` reads, by the same names.
    observed = query.lastProgress.observedMetrics["penstock"]
    for each in dataclasses.fields(told):
        if each.name not in ("batch", "in_force", "hottest") and "owed" not in each.name:
            mine = observed[each.name]
            mine = tuple(mine) if isinstance(mine, list) else mine
            assert mine == getattr(told, each.name), each.name
    assert observed.in_force["buckets"] == told.in_force.buckets
    # A second run goes on, and so does the history.
    [history] = read_histories(checkpoint)
    count = len(history.samples)
    called = [p.observedMetrics["penstock"].rows_held is not None for p in query.recentProgress]
    assert count == sum(called)
    assert history.about["state"] == "ended"
    assert history.samples[-1]["figures"]["matches"] == told.matches
    assert history.samples[-1]["recent"]["high"] <= 1
    for files in streams:
        files.add([("z", at(20), 1)])
    with monitor(spark, every=0) as watching:
        run(joined, tmp_path)
        until(lambda: '"ended"' in fetch(watching.url, "data.json"), "the end of the query")
    [history] = read_histories(checkpoint)
    assert len(history.samples) > count
    with pytest.raises(OSError, match="refused"):
        fetch(watching.url)
