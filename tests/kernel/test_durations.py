"""Spans of time as people write them."""

from datetime import timedelta

import pytest

from penstock.errors import BadInput
from penstock.kernel.durations import LONGEST, MICROSECONDS, SHORT, in_words, microseconds

SECOND = 10**6


@pytest.mark.parametrize(
    ("span", "length"),
    [
        ("10 seconds", 10 * SECOND),
        ("10s", 10 * SECOND),
        ("250 ms", SECOND // 4),  # not minutes, though an s at the end is a plural elsewhere
        ("3us", 3),
        ("1.5 Minutes", 90 * SECOND),
        ("10m", 600 * SECOND),
        ("interval 1 hour 30 min", 5400 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("2 days", 2 * 86_400 * SECOND),
        ("1 week", 7 * 86_400 * SECOND),
        ("0s", 0),
        (timedelta(seconds=2), 2 * SECOND),
    ],
)
def test_lengths(span, length):
    assert microseconds(span, "within") == length


def test_no_short_word_is_the_plural_of_another_unit():
    assert all(word.removesuffix("s") not in MICROSECONDS for word in SHORT)
    assert set(SHORT.values()) == set(MICROSECONDS)


@pytest.mark.parametrize("span", ["", "10", "ten seconds", "10 fortnights", "5 s 3", "s", 10])
def test_what_is_no_span_of_time(span):
    with pytest.raises(BadInput, match="delay must be a span of time such as '10 seconds'"):
        microseconds(span, "delay")


@pytest.mark.parametrize("span", ["-1s", "1 second -1 second", timedelta(seconds=-1)])
def test_no_part_is_negative(span):
    with pytest.raises(BadInput, match=r"within must not be negative, nor a part of it, got .*-1"):
        microseconds(span, "within")


@pytest.mark.parametrize(
    "span", ["99999999999 days", "9" * 400 + " weeks", "3652425 days 1us", timedelta.max]
)
def test_longer_than_spark_can_tell(span):
    with pytest.raises(BadInput, match=r"within must be at most 3652425 days .*, got"):
        microseconds(span, "within")


def test_the_longest_span():
    assert microseconds("3652425 days", "within") == LONGEST


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (300 * SECOND, "5 minutes"),
        (20 * SECOND, "20 seconds"),
        (SECOND, "1 second"),
        (90_061_000_001, "1 day 1 hour 1 minute 1 second 1 microsecond"),
        (0, "0 seconds"),
    ],
)
def test_in_words(length, words):
    assert in_words(length) == words
    assert microseconds(words, "within") == length
