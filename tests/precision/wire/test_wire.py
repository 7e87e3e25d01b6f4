"""Sources and caches through real brokers, and everything that can go wrong in between."""

import json
import math
import random
import time

import pytest

from penstock.errors import BadInput, PenstockError
from penstock.precision import Query

from .brokers import PATIENCE, address, until
from .conftest import Corner
from .raw import Raw, blink, interval, kill

KEYS = [f"sensor/{i}/temp" for i in range(8)]


def fill(source, values=None):
    for key, value in (values or {key: 20.0 + i for i, key in enumerate(KEYS)}).items():
        source.set(key, value)


def heard(cache, key, value):
    """Tell whether the cache has an interval around this value."""
    return key in cache.known() and cache.bounds(key) == (value - 2, value + 2)


def test_a_late_cache_receives_everything_at_once(corner):
    source, early = corner.source(), corner.cache()
    fill(source)
    until(lambda: len(early.known()) == len(KEYS))
    late = corner.cache("sensor/+/temp")
    assert late.known() == tuple(KEYS)
    assert [late.bounds(key) for key in KEYS] == [(18.0 + i, 22.0 + i) for i in range(8)]
    assert late.counts["ignored"] == 0
    assert source.counts["answered"] == 0  # no question was needed


def test_only_what_matches_is_listened_to(corner):
    source = corner.source()
    fill(source, {"sensor/1/temp": 1.0, "sensor/1/wind": 2.0, "hall": 3.0})
    all_of_it = corner.cache()
    until(lambda: len(all_of_it.known()) == 3)
    assert all_of_it.known("sensor/#") == ("sensor/1/temp", "sensor/1/wind")
    assert corner.cache("sensor/+/temp", "hall").known() == ("hall", "sensor/1/temp")


def test_a_value_is_sent_when_it_leaves_its_interval(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    source.set("hall", 21.5)
    source.set("hall", 25.0)
    until(lambda: heard(cache, "hall", 25.0))
    assert source.counts["readings"] == 3
    assert source.counts["published"] == 2


def test_a_refresh_by_request(corner):
    source, cache, other = corner.source(rule="adaptive:width=4"), corner.cache(), corner.cache()
    fill(source, {"hall": 20.0, "roof": 30.0})
    until(lambda: len(cache.known()) == len(other.known()) == 2)
    found = cache.ask("avg(*) within 2.5")
    assert found.keys == ("hall", "roof")
    assert found.answer.within
    assert found.answer.low <= 25.0 <= found.answer.high
    (asked,) = found.answer.refreshed
    until(lambda: other.bounds(asked) != (18.0, 22.0) and other.bounds(asked) != (28.0, 32.0))
    assert other.bounds(asked) == cache.bounds(asked)  # all share what one of them asked for
    assert source.counts["answered"] == 1


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("sum(sensor/#) within 3", 188.0),
        ("max(sensor/+/temp) within 0", 27.0),
        ("min(*) within 0", 20.0),
        ("count(sensor/+/temp > 23.5) within 0", 4.0),
        ("median(sensor/+/temp) within 0.5", 23.0),
        ("quantile(sensor/+/temp, 1) within 0", 27.0),
        ("avg(sensor/+/temp) within 1%", 23.5),
    ],
)
def test_every_kind_of_query(corner, text, truth):
    fill(corner.source())
    cache = corner.cache()
    until(lambda: len(cache.known()) == len(KEYS))
    answer = cache.ask(text).answer
    assert answer.within
    assert answer.low <= truth <= answer.high


def test_a_lost_source_is_not_trusted(corner):
    source, cache = corner.source(), corner.cache()
    other = corner.source("other")
    source.set("hall", 20.0)
    other.set("roof", 30.0)
    until(lambda: len(cache.known()) == 2)
    kill(source)
    until(lambda: cache.is_stale("hall"), "the last will")
    for each in (cache, corner.cache()):  # a late cache is told too
        assert each.bounds("hall") == (-math.inf, math.inf)
        answer = each.ask("sum(*) within 9").answer
        assert (answer.within, answer.stale) == (False, ("hall",))
        assert each.ask("max(roof) within 4").answer.within
    again = corner.source()  # of the same name
    again.set("hall", 50.0)
    until(lambda: heard(cache, "hall", 50.0))
    assert not cache.is_stale("hall")


def test_a_source_that_disconnects_announces_it(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    source.close()
    until(lambda: cache.is_stale("hall"))
    assert corner.cache().is_stale("hall")


def test_silence_is_not_trusted(corner):
    source, cache = corner.source(max_silence=1), corner.cache()
    source.set("hall", 20.0)
    until(lambda: cache.counts["received"] >= 3, "speaking without being asked")
    until(lambda: not cache.is_stale("hall"))
    source._closing = True  # connected, and struck dumb
    until(lambda: cache.is_stale("hall"))
    assert source.up


def test_an_old_retained_message_is_stale(corner):
    cache = corner.cache()
    with Raw(corner.broker, cache._client.protocol) as raw:
        topic = f"{corner.root}/interval/"
        old = time.time() - 1000  # broker and source went together, so there was no last will
        raw.send(topic + "old", interval(sent=old), retain=True, age=1000)
        raw.send(topic + "new", interval(), retain=True, age=0)
    late = corner.cache()
    assert late.known() == ("new", "old")
    assert (late.is_stale("new"), late.is_stale("old")) == (False, True)


def test_a_connection_that_breaks_comes_back(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    blink(source)
    until(lambda: not source.up)
    source.set("hall", 40.0)
    until(lambda: heard(cache, "hall", 40.0) and not cache.is_stale("hall"))
    blink(cache)
    source.set("hall", 60.0)
    until(lambda: heard(cache, "hall", 60.0))
    assert cache.ask("sum(hall) within 0").answer[:3] == (60.0, 60.0, True)


def test_a_broker_that_is_restarted(kind, tmp_path):
    running = kind(tmp_path)
    corner = Corner(address(running))
    source, cache = corner.source(), corner.cache()
    fill(source)
    until(lambda: len(cache.known()) == len(KEYS))
    running.crash()
    until(lambda: not (source.up or cache.up))
    source.set(KEYS[0], 70.0)
    answer = cache.ask(f"max({KEYS[1]}) within 4").answer
    assert answer[:3] == (-math.inf, math.inf, False)  # later messages may exist
    assert answer.stale == (KEYS[1],)
    assert answer.reason == f"there is no connection to mqtt://127.0.0.1:{running.port}"
    assert cache.is_stale(KEYS[1])
    assert cache.bounds(KEYS[1]) == (-math.inf, math.inf)
    assert not cache.ask("max(*) within 0").answer.within  # no source can be asked
    running.start()
    until(lambda: source.up and cache.up and heard(cache, KEYS[0], 70.0))
    until(lambda: not any(cache.is_stale(key) for key in KEYS))
    assert cache.ask("max(*) within 0").answer[:3] == (70.0, 70.0, True)
    assert cache.ask("max(*) within 0").answer.reason == ""
    late = corner.cache()  # what the broker forgot was said again
    until(lambda: late.known() == tuple(KEYS))
    corner.close()
    running.stop()


def test_what_a_cache_missed_while_it_was_cut_off_is_not_trusted(corner):
    """What is retained comes again; what no longer is stays in doubt, though nothing newer came."""
    cache = corner.cache()
    with Raw(corner.broker, cache._client.protocol) as raw:
        raw.send(f"{corner.root}/interval/kept", interval(), retain=True)
        raw.send(f"{corner.root}/interval/fleeting", interval())
        until(lambda: cache.known() == ("fleeting", "kept"))
        assert not cache.is_stale("kept")
        blink(cache)
        until(lambda: cache.counts["received"] == 3)
        assert cache.up
        assert heard(cache, "kept", 20.0)
        assert (cache.is_stale("kept"), cache.is_stale("fleeting")) == (False, True)
        assert cache.counts["old"] == 1
        raw.send(f"{corner.root}/interval/fleeting", interval())  # once more
        until(lambda: not cache.is_stale("fleeting"))


def test_a_query_right_after_a_reconnection_waits_for_what_is_retained(corner):
    source, cache = corner.source(), corner.cache()
    fill(source)
    until(lambda: len(cache.known()) == len(KEYS))
    blink(cache)
    until(lambda: not cache.up)
    until(lambda: cache.up)
    answer = cache.ask("sum(*) within 99").answer
    assert (answer.within, answer.refreshed, answer.reason) == (True, (), "")


HUGE = 2**53 - 1  # no run is larger


@pytest.mark.parametrize("run", [HUGE, 2**63 - 1])
@pytest.mark.parametrize("state", ["here", "gone", None])
def test_a_retained_run_beyond_all_others_does_not_keep_a_source_from_starting(corner, run, state):
    early = corner.cache()
    with Raw(corner.broker, early._client.protocol) as raw:
        if state:
            said = json.dumps({"run": run, "state": state}).encode()
            raw.send(f"{corner.root}/source/gateway", said, retain=True)
        poison = interval(99.0, run=run, number=2**60, source="gateway")
        raw.send(f"{corner.root}/interval/hall", poison, retain=True)
        until(lambda: early.counts["received" if run == HUGE else "ignored"])
    source = corner.source()
    source.set("hall", 20.0)
    until(lambda: heard(early, "hall", 20.0))
    late = corner.cache()
    until(lambda: heard(late, "hall", 20.0))
    source.set("hall", 40.0)
    until(lambda: heard(early, "hall", 40.0) and heard(late, "hall", 40.0))
    blink(source)  # begins yet another run
    source.set("hall", 60.0)
    until(lambda: heard(early, "hall", 60.0) and not early.is_stale("hall"))
    assert early.ask("sum(hall) within 0").answer[:3] == (60.0, 60.0, True)


def test_a_message_of_a_larger_run_does_not_silence_a_source_that_is_there(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    with Raw(corner.broker, cache._client.protocol) as raw:
        wrong = interval(99.0, run=HUGE, source="gateway")
        raw.send(f"{corner.root}/interval/hall", wrong, retain=True)
        until(
            lambda: heard(cache, "hall", 99.0)
        )  # a client that may write can write wrong intervals
        source.set("hall", 30.0)
        until(lambda: heard(cache, "hall", 30.0))
        older = interval(1.0, run=5, source="gateway")
        raw.send(f"{corner.root}/interval/hall", older)
        until(lambda: cache.counts["old"] == 1)
        assert heard(cache, "hall", 30.0)


def test_a_source_denies_that_it_is_gone(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    with Raw(corner.broker, cache._client.protocol) as raw:
        for run, state in ((source._run, "gone"), (HUGE, "gone"), (HUGE, "here")):
            before = source.counts["published"]
            said = json.dumps({"run": run, "state": state}).encode()
            raw.send(f"{corner.root}/source/gateway", said, retain=True)
            until(lambda: source.counts["published"] > before)  # noqa: B023
            until(lambda: not cache.is_stale("hall"))
    source.set("hall", 30.0)  # goes on
    until(lambda: heard(cache, "hall", 30.0))
    assert not corner.cache().is_stale("hall")


def test_a_key_that_another_source_claims_comes_back_when_that_is_gone(corner):
    """Two sources of one key: the later run counts, as long as its source says it is there."""
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    with Raw(corner.broker, cache._client.protocol) as raw:
        here = json.dumps({"run": HUGE, "state": "here"}).encode()
        raw.send(f"{corner.root}/source/raw", here, retain=True)
        raw.send(f"{corner.root}/interval/hall", interval(99.0, run=HUGE), retain=True)
        until(lambda: heard(cache, "hall", 99.0))
        raw.send(f"{corner.root}/source/raw", b"", retain=True)  # taken out of service
        until(lambda: "raw" not in cache._present)
        source.set("hall", 30.0)
        until(lambda: heard(cache, "hall", 30.0))


def test_duplicates_and_what_comes_in_another_order(corner):
    cache = corner.cache()
    order = [2, 1, 3, 3, 1, 5, 4, 2]
    with Raw(corner.broker, cache._client.protocol) as raw:
        for number in order:
            raw.send(f"{corner.root}/interval/hall", interval(10.0 * number, number))
        until(lambda: cache.counts["received"] == len(order))
        assert cache.bounds("hall") == (48.0, 52.0)
        assert cache.counts["old"] == 5
        raw.send(f"{corner.root}/interval/hall", interval(1.0, 1, run=8))
        until(lambda: heard(cache, "hall", 1.0))
        raw.send(f"{corner.root}/interval/hall", interval(2.0, 99, run=7))
        raw.send(f"{corner.root}/source/raw", b'{"run": 7, "state": "gone"}')  # the earlier one
        until(lambda: cache._present)
        assert not cache.is_stale("hall")
        raw.send(f"{corner.root}/source/raw", b'{"run": 8, "state": "gone"}')
        until(lambda: cache.is_stale("hall"))
        raw.send(f"{corner.root}/interval/hall", interval(3.0, 2, run=8))  # sent before it went
        until(lambda: cache.counts["received"] == len(order) + 3)
        assert cache.is_stale("hall")


def test_bad_payloads_are_counted_and_ignored(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    reply = f"{corner.root}/reply/{cache.id}"
    with Raw(corner.broker, cache._client.protocol) as raw:
        for n, topic in enumerate(["interval/hall", "source/gateway", "ask/gateway"]):
            raw.send(f"{corner.root}/{topic}", b"\xff\x00 no message")
            raw.send(f"{corner.root}/{topic}", json.dumps({"value": "warm", "run": -n}).encode())
        raw.send(reply, b"{}")
        raw.send(f"{corner.root}/interval/hall", interval(value=1.0, low=2.0))
    until(lambda: cache.counts["ignored"] == 6)  # 3 intervals, 2 presences, 1 answer
    until(lambda: source.counts["ignored"] == 4)  # 2 presences, 2 requests
    assert heard(cache, "hall", 20.0)
    assert cache.ask("sum(hall) within 0").answer.within


def test_a_source_answers_to_nowhere_but_a_cache(corner):
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    with Raw(corner.broker, cache._client.protocol) as raw:
        for reply in (f"{corner.root}/interval/roof", "elsewhere", f"{corner.root}/reply/#", ""):
            request = json.dumps({"key": "hall", "need": 1.0, "reply": reply}).encode()
            raw.send(f"{corner.root}/ask/gateway", request)
        request = json.dumps({"key": "nobody", "need": 1.0, "reply": f"{corner.root}/reply/x"})
        raw.send(f"{corner.root}/ask/gateway", request.encode())
    until(lambda: source.counts["ignored"] == 5)
    assert source.counts["answered"] == 0


def test_a_clock_that_went_back(corner):
    ahead = time.time_ns() // 1000 + 10**12
    cache = corner.cache()
    with Raw(corner.broker, cache._client.protocol) as raw:
        state = json.dumps({"run": ahead, "state": "gone"}).encode()
        raw.send(f"{corner.root}/source/gateway", state, retain=True)
        until(lambda: cache._present)
    corner.source().set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))


def test_two_sources_of_one_name(corner):
    first = corner.source()
    first.set("hall", 20.0)
    second = corner.source()
    until(lambda: first._taken_over)
    second.set("hall", 30.0)
    with pytest.raises(PenstockError, match="another source named 'gateway' has started; give"):
        first.set("hall", 99.0)


def test_a_key_that_is_wiped_out_is_forgotten(corner):
    source, cache = corner.source(), corner.cache()
    fill(source, {"hall": 20.0, "roof": 30.0})
    until(lambda: len(cache.known()) == 2)
    with Raw(corner.broker, cache._client.protocol) as raw:
        raw.send(f"{corner.root}/interval/roof", b"", retain=True)
    until(lambda: cache.known() == ("hall",))
    source.close()
    until(lambda: cache.is_stale("hall"))


def test_a_query_about_an_unknown_key_is_rejected(corner):
    cache = corner.cache()
    with pytest.raises(BadInput, match="no message was received about 'sensor/#' at mqtt://127"):
        cache.ask(Query("avg", 1.0), "sensor/#")
    source = corner.source()
    source.set("hall", 20.0)
    until(lambda: heard(cache, "hall", 20.0))
    with Raw(corner.broker, cache._client.protocol) as raw:
        raw.send(f"{corner.root}/interval/orphan", interval())
    until(lambda: "orphan" in cache.known())
    cache.patience = 0.05
    answer = cache.ask("sum(orphan) within 1").answer  # its source does not answer
    assert (answer.low, answer.high, answer.within, answer.stale) == (18.0, 22.0, False, ())


def test_answers_contain_the_truth_throughout(corner):
    """Values walk, connections break; each interval must hold what the source saw under it."""
    draw = random.Random(7)
    source = corner.source(rule="adaptive:width=2", limits=[0.0])
    cache = corner.cache(patience=0.3)  # a source just cut off does not answer
    values = dict.fromkeys(KEYS, 0.5)
    fill(source, values)
    until(lambda: len(cache.known()) == len(KEYS))
    seen = {key: {} for key in KEYS}  # by message: the last value under it

    def check():
        with cache._changed:
            for key in KEYS:
                held = cache._cache._held[key]
                truth = seen[key].get(held.order, held.value)
                assert held.interval.low <= truth <= held.interval.high

    for step in range(1200):
        key = draw.choice(KEYS)
        values[key] += draw.gauss(0, 1)
        source.set(key, values[key])
        with source._lock:
            machine = source._sources[key]
            seen[key][machine.run, machine._number] = machine.value
        check()
        if step % 200 == 100:
            cache.ask(Query("sum", draw.choice([1.0, 5.0])))
        if step % 400 == 300:
            blink(draw.choice([source, cache]))

    def settled():
        machines = source._sources
        last = cache._cache._last
        return all(last[key] == (machines[key].run, machines[key]._number) for key in KEYS)

    until(lambda: source.up and cache.up and settled())
    check()
    cache.patience = PATIENCE
    answer = cache.ask(Query("sum", 0.5)).answer
    assert answer.within
    assert answer.low <= math.fsum(values.values()) <= answer.high
