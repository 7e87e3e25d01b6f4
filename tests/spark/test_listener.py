"""What the monitor makes of reports, without a session: events as Spark gives them."""

import json
import math
import shutil
from types import SimpleNamespace

import pytest

from penstock.errors import BadInput
from penstock.report.attention import attention
from penstock.report.exposition import exposition
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


def begin(listener, name="7f", run="1", called="views"):
    listener.onQueryStarted(SimpleNamespace(id=name, runId=run, name=called))


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


def test_a_query_that_fails_before_its_first_report_is_shown_with_its_error():
    listener = Listener(None, every=0)
    begin(listener)
    assert not listener.watched()
    end(listener, exception="Caused by: java.io.IOException: no such topic")
    data = data_of(listener.watched(), "")
    assert (data["queries"][0]["name"], data["queries"][0]["state"]) == ("views", "failed")
    assert data["chosen"]["said"][0]["said"].endswith("IOException: no such topic")
    text = exposition(listener.watched()).decode()
    assert 'penstock_query_failed{id="7f",kind="query",query="views"} 1.0' in text
    assert "last_batch_timestamp_seconds{" not in text
    begin(listener, run="2")  # and it stays so until the query reports
    assert len(listener.watched()) == 1
    hear(listener, report(figures(), runId="2"))
    assert [each.history.about["kind"] for each in listener.watched()] == ["join"]
    assert (
        'penstock_query_failed{id="7f",kind="join",query="views"} 0.0'
        in exposition(listener.watched()).decode()
    )


def test_a_later_run_that_fails_at_once_is_the_failure_of_the_query():
    listener = Listener(None, every=0)
    begin(listener)
    hear(listener, report(figures()))
    end(listener)
    begin(listener, run="2")
    end(listener, run="2", exception="disk full")
    [watched] = listener.watched()
    assert (watched.history.about["state"], watched.history.about["error"]) == (
        "failed",
        "disk full",
    )


def test_a_query_that_ends_well_or_is_another_s_is_not_shown():
    listener = Listener(None, every=0)
    begin(listener)
    end(listener)
    begin(listener, "8", "2", None)
    hear(listener, report(figures(), id="8", runId="2", observedMetrics={}))
    end(listener, "8", "2", exception="no space")
    assert not listener.watched()


def test_a_query_that_waits_for_rows_does_not_fall_behind():
    listener = Listener(None, every=0)
    rates = {"inputRowsPerSecond": 100.0, "processedRowsPerSecond": 10.0}
    hear(listener, *(report(figures(), n, second=n, **rates) for n in range(9)))
    [watched] = listener.watched()
    assert any("falls behind" in each.sentence for each in attention(watched.history))
    listener.onQueryIdle(SimpleNamespace(id="7f", runId="1", timestamp=""))
    assert not attention(watched.history)
    assert 'input_rows_per_second{query="views"} 0.0' in exposition([watched]).decode()
    hear(listener, report(figures(), 9, second=50, **rates))
    assert 'input_rows_per_second{query="views"} 100.0' in exposition([watched]).decode()


@pytest.mark.parametrize("hours", [0, 10])
def test_what_was_before_a_long_pause_between_runs_is_not_recent(tmp_path, hours):
    def arrived(rows, batch, second):
        made = figures(arrived=[rows, rows], checkpoint=str(tmp_path))
        return report(made, batch, second=second)

    listener, pause = Listener(None, every=0), f"T{hours:02}:"
    hear(listener, arrived(0, 0, 0), arrived(50, 1, 70))
    for number, rows in enumerate((60_050, 60_100)):
        later = arrived(rows, 2 + number, 90 + 10 * number)
        later["timestamp"] = later["timestamp"].replace("T00:", pause)
        hear(listener, later | {"runId": "2"})
        recent = listener.watched()[0].latest["recent"]
        if not hours:
            assert recent["arrivals"] > 1000
        elif not number:
            assert recent is None
    if hours:
        assert recent["arrivals"] == 10  # of two inputs, 50 rows each in 10 seconds


def test_micro_batches_that_are_far_apart_are_recent_in_one_run():
    listener = Listener(None, every=0)
    hear(listener, *(report(figures(arrived=[900 * n] * 2), n, second=900 * n) for n in range(3)))
    assert listener.watched()[0].latest["recent"]["arrivals"] == 2


def test_a_history_that_cannot_be_read_does_not_hide_the_query(tmp_path, monkeypatch):
    listener = Listener(None, every=0)
    (tmp_path / "penstock" / "join.jsonl").mkdir(parents=True)
    hear(listener, *(report(figures(checkpoint=str(tmp_path)), n, second=n) for n in range(3)))
    assert len(listener.watched()[0].history.samples) == 3
    with pytest.raises(BadInput, match=r"join\.jsonl cannot be read: Is a directory"):
        read_histories(str(tmp_path))

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.is_dir", forbidden)
    hear(listener, report(figures(checkpoint=str(tmp_path)), id="8", name="orders"))
    assert len(listener.watched()) == 2


@pytest.mark.parametrize("line", ['{"about": 7, "format": 1}', '{"about": null, "format": 1}'])
def test_a_damaged_history_does_not_hide_the_query(tmp_path, line):
    path = tmp_path / "penstock" / "join.jsonl"
    path.parent.mkdir()
    path.write_text(line + "\n")
    listener = Listener(None, every=0)
    hear(listener, report(figures(checkpoint=str(tmp_path))))
    assert len(listener.watched()) == 1
    assert len(read_histories(str(tmp_path))[0].samples) == 1
