"""Spans of time as people write them."""

from datetime import timedelta

import pytest

from penstock.core.durations import MICROSECONDS, SHORT, microseconds
from penstock.errors import BadInput

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


def test_not_negative():
    with pytest.raises(BadInput, match="within must not be negative, got '-1s'"):
        microseconds("-1s", "within")
