"""How much of a source the advice reads, without Spark."""

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from penstock.spark.pipeline import advising


@pytest.mark.parametrize(("window", "seconds"), [(None, 3600), (60_000_000, 300)])
def test_of_a_topic_only_what_came_lately_is_read(monkeypatch, window, seconds):
    """Without a time Spark would read the whole topic, and refuse the option of a stream."""
    read = {}
    frame = SimpleNamespace(persist=lambda: "some")
    monkeypatch.setattr(
        advising.connectors, "read", lambda _, given, batch: read.update(given) or frame
    )
    source = {"format": "kafka", "startingOffsets": "latest"}
    pipeline = SimpleNamespace(sources={"events": source}, reading=lambda _: nullcontext())
    assert advising._sample(pipeline, None, "events", window) == "some"
    assert 0 <= time.time() - seconds - read["startingTimestamp"] / 1000 < 60
    assert "startingTimestamp" not in source
