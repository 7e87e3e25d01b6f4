"""What the monitor makes of reports, without a session: events as Spark gives them."""

import json
import math
import shutil
from types import SimpleNamespace

import pytest

from penstock.report.history import read_histories
from penstock.report.live import data_of
from penstock.spark.listener import KEPT, Listener, recently, waiting
from penstock.spark.recall.estimate import SUMS, estimate
from tests.report.made import advice, join_sample


def report(figures, batch=0, second=0, **more):
    """Return a report of a query, as Spark gives it."""
    observed = {"penstock": figures, "another": {}}
    made = {"id": "7f", "runId": "1", "name": "views", "batchId": batch}
    made |= {"timestamp": f"2024-03-01T00:{second // 60:02}:{second % 60:02}.000Z"}
    made |= {"durationMs": {"triggerExecution": 500}, "observedMetrics": observed}
    return made | {"inputRowsPerSecond": math.nan, "processedRowsPerSecond": 10.0} | more


def figures(number=0, sums=(), **more):
    made = join_sample(number, 0)["figures"]
    return made | {"recall_sums": [0.0] * len(SUMS), "checkpoint": None} | more


def hear(listener, *reports):
    for each in reports:
        listener.onQueryProgress(SimpleNamespace(progress=each))


def end(listener, name="7f", run="1", exception=None):
    listener.onQueryTerminated(SimpleNamespace(id=name, runId=run, exception=exception))


def test_recall_of_the_last_minute_is_the_estimate_of_what_came_in_it():
    first = [500.0, 5.0, 0.0, 100.0, 9900.0, 400.0, 39_600.0, 0.0]
    second = [900.0, 9.0, 0.0, 300.0, 29_700.0, 700.0, 69_300.0, 0.0]
    then = {"at": 0.0, "figures": figures(recall_sums=first, matches=100)}
    more = {"evicted": [900, 900], "late": [3, 1], "arrived": [2200, 2200]}
    now = {"at": 80.0, "figures": figures(recall_sums=second, matches=250, **more)}
    middle = {"at": 40.0, "figures": figures()}
    found = recently([then, middle], now)
    difference = {n: b - a for n, a, b in zip(SUMS, first, second, strict=True)}
    gone = sum(sum(now["figures"][n]) - sum(then["figures"][n]) for n in ("evicted", "rejected"))
    expected = estimate(difference, 150, gone)
    assert (found["recall"], found["low"], found["high"]) == expected
    assert 0 < expected.low < expected.value < expected.high < 1
    assert found["arrivals"] == 2400 / 80
    assert recently([], now) is None


def test_samples_are_kept_apart_and_the_latest_is_always_known():
    listener = Listener(None, every=10)
    hear(listener, *(report(figures(), batch, second=2 * batch) for batch in range(12)))
    [watched] = listener.watched()
    assert [each["batch"] for each in watched.history.samples] == [0, 5, 10]
    assert watched.latest["batch"] == 11
    assert watched.latest["rates"] == [0.0, 10.0]
    assert watched.latest["seconds"] == {"triggerExecution": 0.5}


def test_two_reports_of_one_time_are_one_sample():
    listener = Listener(None, every=0)
    hear(listener, *(report(figures(), batch, second=5) for batch in range(3)))
    hear(listener, report(figures(), 3, second=2))  # the clock was set back
    [watched] = listener.watched()
    assert [each["batch"] for each in watched.history.samples] == [3]
    assert data_of([watched], "")["chosen"]["batch"] == 3


def test_a_micro_batch_without_figures_changes_nothing():
    listener = Listener(None, every=0)
    hear(listener, report(figures()), report({}, 1, second=5))
    assert listener.watched()[0].latest["batch"] == 0


def test_the_end_of_a_query_is_that_of_its_last_run():
    listener = Listener(None, every=0)
    hear(listener, report(figures()))
    end(listener, run="0")
    assert listener.watched()[0].history.about["state"] == "running"
    end(listener, exception="no space\n\tat java.lang.Object")
    about = listener.watched()[0].history.about
    assert (about["state"], about["error"]) == ("failed", "no space")
    hear(listener, report(figures(), runId="2", second=9))
    assert listener.watched()[0].history.about["state"] == "running"


def test_a_query_that_takes_the_name_of_an_ended_one_replaces_it():
    listener = Listener(None, every=0)
    hear(listener, report(figures()))
    end(listener)
    hear(listener, report(figures(), id="8"))
    assert [each.history.about["id"] for each in listener.watched()] == ["8"]
    for number in range(2 * KEPT):
        hear(listener, report(figures(), id=str(100 + number), name=None))
        end(listener, str(100 + number))
    assert len(listener.watched()) <= KEPT + 2


def test_advice_is_found_by_the_name_of_the_query():
    made = advice()
    listener = Listener({"views": made}, every=0)
    hear(listener, report(figures()), report(figures(), id="8", name="orders"))
    assert [each.advice for each in listener.watched()] == [made, None]


def test_a_history_is_written_where_the_checkpoint_is_a_folder_here(tmp_path):
    listener = Listener(None, every=0)
    there, gone = tmp_path / "there", tmp_path / "gone"
    there.mkdir()
    hear(
        listener,
        report(figures(checkpoint=there.as_uri())),
        report(figures(checkpoint=str(gone)), id="8", name="b"),
        report(figures(checkpoint="s3a://bucket/c"), id="9", name="c"),
    )
    assert len(listener.watched()) == 3
    assert len(read_histories(str(there))[0].samples) == 1
    assert not gone.exists()


def test_a_full_disk_does_not_end_the_monitor(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("penstock.report.history.os.replace", full)
    listener = Listener(None, every=0)
    hear(listener, *(report(figures(checkpoint=str(tmp_path)), n, second=n) for n in range(3)))
    assert listener.watched()[0].latest["batch"] == 2


def test_a_checkpoint_that_was_removed_is_not_made_again(tmp_path):
    listener, checkpoint = Listener(None, every=0), tmp_path / "checkpoint"
    checkpoint.mkdir()
    hear(listener, report(figures(checkpoint=str(checkpoint))))
    shutil.rmtree(checkpoint)
    hear(listener, report(figures(checkpoint=str(checkpoint)), 1, second=5))
    end(listener)
    assert not checkpoint.exists()
    assert listener.watched()[0].history.about["state"] == "ended"


@pytest.mark.parametrize("form", [lambda each: each, json.dumps], ids=["values", "text"])
def test_rows_that_wait_in_kafka_are_counted(form):
    def source(read, latest):
        return {"endOffset": form(read), "latestOffset": form(latest)}

    views = source({"views": {"0": 10, "1": 20}}, {"views": {"0": 15, "1": 20, "2": 4}})
    clicks = source({"clicks": {"0": 7}}, {"clicks": {"0": 10}})
    files = {"endOffset": form({"logOffset": 3}), "latestOffset": None}
    rate = source(7, 9)
    assert waiting({"sources": [views, clicks, files, rate]}) == 12
    assert waiting({"sources": [files, rate]}) is None
    assert waiting({}) is None


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_a_rate_that_is_no_number_is_none(value):
    listener = Listener(None, every=0)
    hear(listener, report(figures(), inputRowsPerSecond=value))
    assert listener.watched()[0].latest["rates"][0] == 0.0
