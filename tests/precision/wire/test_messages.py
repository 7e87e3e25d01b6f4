"""Names, and the content of messages: what is written can be read, and nothing else can."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.precision import Interval, Refresh
from penstock.precision.wire.messages import (
    BadPayload,
    Presence,
    ReceivedRefresh,
    Request,
    check_name,
    check_pattern,
    is_name,
    matches,
    read_presence,
    read_refresh,
    read_request,
    write_presence,
    write_refresh,
    write_request,
)
from tests.precision.wire.raw import interval

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
WIDTHS = st.floats(0, math.inf)


@given(
    value=NUMBERS,
    below=WIDTHS,
    above=WIDTHS,
    rank=WIDTHS,
    why=st.integers(0, 3),
    run=st.integers(0, 2**53 - 1),
    number=st.integers(1, 2**60),
    sent=st.floats(0, 1e10),
    mark=st.text(max_size=9),
    rounded=st.booleans(),
)
def test_a_refresh_survives_the_wire(
    value, below, above, rank, why, run, number, sent, mark, rounded
):
    held = Interval(value - below, value + above, sent)
    refresh = Refresh("hall", value, held, rank, why, run, number, sent, 60.0, rounded)
    payload = write_refresh(refresh, "gateway", 60.0, sent, mark)
    assert read_refresh("hall", payload) == ReceivedRefresh(refresh, "gateway", mark)


def test_whole_numbers_that_no_float_equals_are_rounded_outward():
    number = 2**53 + 1
    record = json.loads(interval()) | {"value": number, "low": number, "high": number}
    told = read_refresh("hall", json.dumps(record).encode()).refresh
    assert told.interval[:2] == (2.0**53, 2.0**53 + 2)
    assert told.rounded


def test_requests_and_presences_survive_the_wire():
    for request in (Request("hall", 0.5), Request("hall", 0.0, "penstock/reply/x", "7")):
        assert read_request(write_request(request)) == request
    for presence in (Presence(7, True), Presence(8, False)):
        assert read_presence(write_presence(presence)) == presence
    with pytest.raises(BadPayload):  # beyond every time of day
        read_presence(write_presence(Presence(2**53, True)))


GOOD = json.loads(interval())
BAD = [{name: bad} for name in GOOD for bad in (True, "a//b", [], {})]
BAD += [{"value": None}, {"value": 10**400}, {"low": 99.0}, {"high": -99.0}, {"width": -1.0}]
BAD += [{"run": -1}, {"run": 2**53}, {"run": 1.5}, {"number": None}, {"silence": -1}]
BAD += [{"number": 2**63}, {"rounded": 1}, {"rounded": None}]
BAD += [{"silence": None}, {"why": "bored"}, {"source": "a/+"}, {"source": ""}, {"mark": 7}]


@pytest.mark.parametrize("change", BAD, ids=str)
def test_refuses_a_refresh_that_makes_no_sense(change):
    assert read_refresh("hall", json.dumps(GOOD).encode())
    with pytest.raises(BadPayload):
        read_refresh("hall", json.dumps(GOOD | change).encode())


@pytest.mark.parametrize("name", list(GOOD))
def test_refuses_a_refresh_with_something_missing(name):
    with pytest.raises(BadPayload):
        read_refresh("hall", json.dumps({k: v for k, v in GOOD.items() if k != name}).encode())


NONSENSE = [b"", b"null", b"[]", b"7", b"{", b"\xff", b"\x00" * 9, b"[" * 4000, b"{}" * 9999]
NONSENSE += [interval().replace(b"20.0", b"NaN"), interval().replace(b"22.0", b"Infinity")]
NONSENSE += [interval().replace(b"20.0", b"1e999"), interval().replace(b"20.0", b"9" * 4000)]


@pytest.mark.parametrize("payload", NONSENSE, ids=range(len(NONSENSE)))
@pytest.mark.parametrize("read", [lambda p: read_refresh("hall", p), read_request, read_presence])
def test_refuses_what_is_no_message(read, payload):
    with pytest.raises(BadPayload):
        read(payload)


@given(st.binary(max_size=60))
def test_no_payload_does_harm(payload):
    for read in (lambda p: read_refresh("hall", p), read_request, read_presence):
        with pytest.raises(BadPayload):
            read(payload)


@pytest.mark.parametrize("need", [-1, "NaN", None, "much"])
def test_refuses_a_request_that_makes_no_sense(need):
    with pytest.raises(BadPayload):
        read_request(json.dumps({"key": "hall", "need": need}).encode())


@given(
    pattern=st.lists(st.sampled_from(["a", "b", "+"]), min_size=1, max_size=3), more=st.booleans()
)
def test_matches_as_mqtt_does(pattern, more):
    """Beside all keys of up to four parts, each of which either is spelt out or is not."""
    text = "/".join([*pattern, "#"] if more else pattern)
    for n in range(1, 5):
        for key in itertools.product("ab", repeat=n):
            begins = n >= len(pattern) and all(w in ("+", k) for w, k in zip(pattern, key))
            assert matches(text, "/".join(key)) == (begins and (more or n == len(pattern)))


@pytest.mark.parametrize(
    "name",
    ["", "/a", "a/", "a//b", "a/+", "#", "$SYS", "a\x00b", "a\nb", "a,b", "a(b)", "a>b", " a"],
)
def test_refuses_bad_names(name):
    assert not is_name(name)
    with pytest.raises(BadInput, match="a key must be a name such as sensor/3/temp"):
        check_name("a key", name)
    if name not in ("a/+", "#"):
        with pytest.raises(BadInput, match="a pattern of keys must be a key"):
            check_pattern(name)


def test_patterns():
    assert check_pattern("Living Room/+/#") == "Living Room/+/#"
    for bad in ("a/#/b", "a+", "a/b#"):
        with pytest.raises(BadInput, match="a pattern of keys"):
            check_pattern(bad)
