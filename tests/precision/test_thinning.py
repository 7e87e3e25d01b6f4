"""Many sources at once: as their twin, as one `Source` for each key, whatever the cuts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput, BadState
from penstock.precision import Cache, Costs, Query, Source
from penstock.precision.thinning import KINDS, Thinner
from tests.naive.rng import mix
from tests.naive.thinning import Naive

RULES = [
    ("static", {"width": 3.0}),
    ("static", {"width": 0.0}),
    ("adaptive", {}),
    ("adaptive", {"alpha": 0.1, "tau_0": 1.0, "tau_inf": 6.0}),
    ("settling", {}),
    ("settling", {"memory": 5, "pace": 3}),
    ("uncentred", {"alpha": 0.3}),
    ("majority", {"r": 3}),
]
KEYS = (-(2**62), 0, 3, 2**62)
READ, ASK = "read", "ask"
ROWS = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.sampled_from(KEYS),
        st.sampled_from((READ, READ, ASK)),
        st.integers(-8, 8),
    ),
    max_size=60,
)


def text(rule, params):
    parts = ",".join(f"{name}={value}" for name, value in params.items())
    return f"{rule}:{parts}" if parts else rule


def numbered(rows):
    """Number the rows as `push` does, readings first; a query wants a width, which is positive."""
    reads = [(t, k, w, float(v)) for t, k, w, v in rows if w == READ]
    asks = [(t, k, w, abs(v) / 2) for t, k, w, v in rows if w == ASK]
    return [(number, *row) for number, row in enumerate(reads + asks)]


def push(thinner, rows):
    reads = [row for row in rows if row[3] == READ]
    asks = [row for row in rows if row[3] == ASK]
    found = thinner.push(
        *([row[place] for row in reads] for place in (2, 1, 4)),
        **{
            name: [row[place] for row in asks]
            for name, place in (("asked", 2), ("asked_time", 1), ("delta", 4))
        },
    )
    columns = (found.row, found.time, found.low, found.high)
    kinds = [KINDS[why] for why in found.why]
    return sorted(zip(*(column.tolist() for column in columns), kinds, strict=True))


def assert_same(found, expected):
    def events(refreshes):
        return [(row, time, why) for row, time, _, _, why in refreshes]

    assert events(found) == events(expected)
    ends = [[refresh[2:4] for refresh in refreshes] for refreshes in (found, expected)]
    assert np.allclose(*ends, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("rule", "params"), RULES, ids=[text(*rule) for rule in RULES])
@given(
    rows=ROWS,
    cuts=st.lists(st.integers(0, 60), max_size=3),
    silence=st.sampled_from([None, 5]),
    costs=st.sampled_from([Costs(), Costs(4, 2), Costs(1, 4)]),
    seed=st.integers(0, 99),
)
def test_as_its_twin_whatever_the_cuts_and_restores(rule, params, rows, cuts, silence, costs, seed):
    options = {"costs": costs, "max_silence": silence, "seed": seed}
    thinner = Thinner(text(rule, params), **options)
    naive = Naive(rule, params, *costs, silence, seed)
    ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    for number, (first, last) in enumerate(pairwise(ends)):
        part = numbered(rows[first:last])
        assert_same(push(thinner, part), naive.push(part))
        if number % 2:
            saved = thinner.save()
            thinner = Thinner(text(rule, params), **options)
            thinner.restore(saved)
    assert thinner.counters == naive.counts
    assert len(thinner) == len(naive.lines)


@given(
    rule=st.sampled_from([text(*rule) for rule in RULES]),
    rows=ROWS,
    limits=st.sampled_from([(), (0.0, 2.5)]),
)
def test_as_one_source_for_each_key(rule, rows, limits):
    """The same rules drive a `Source`; a cache that listens to it asks the same queries."""
    costs, silence = Costs(4, 2), 7
    thinner = Thinner(rule, costs=costs, limits=limits, max_silence=silence, seed=3)
    part = numbered(rows)
    found = push(thinner, part)
    expected, sources, cache = [], {}, Cache()
    for number, time, key, what, amount in sorted(part, key=lambda r: (r[1], r[3] == ASK, r[0])):
        name = str(key)
        if what == READ and key not in sources:
            seed = mix((key & (2**64 - 1)) ^ 3)
            options = {"costs": costs, "limits": limits, "max_silence": silence, "seed": seed}
            sources[key] = Source(name, amount, rule=rule, **options)
            sent = sources[key].subscribe("here", time)
            expected.append((number, time, *sent.interval[:2], "first"))
            cache.receive(sent)
            continue
        sent = None
        if what == READ:
            sent = sources[key].update(amount, time).get("here")
        elif key in sources and cache.ask(Query("sum", amount), time, [name]).wanted:
            sent = sources[key].ask("here", time, need=amount)
        if sent:
            cache.receive(sent)
            expected.append((number, time, *sent.interval[:2], KINDS[sent.why]))
    assert_same(found, sorted(expected))


def test_a_case_by_hand():
    thinner = Thinner("adaptive:width=4", max_silence=10)
    found = push(
        thinner,
        [
            (0, 0, 7, READ, 20.0),  # the first one: 18 to 22
            (1, 1, 7, READ, 22.0),  # inside
            (2, 2, 7, READ, 22.5),  # above: twice as wide
            (3, 12, 7, READ, 23.0),  # inside, but 10 after the last refresh
            (4, 13, 7, ASK, 8.0),  # narrow enough
            (5, 13, 7, ASK, 7.0),  # not so
            (6, 14, 8, ASK, 7.0),  # unknown
        ],
    )
    assert found == [
        (0, 0, 18.0, 22.0, "first"),
        (2, 2, 18.5, 26.5, "above"),
        (3, 12, 19.0, 27.0, "spoke"),
        (5, 13, 21.0, 25.0, "asked"),
    ]
    assert thinner.counters == {"late": 0, "late_queries": 0, "unknown": 1}


def test_no_refresh_goes_back_in_time():
    thinner = Thinner("static:width=2")
    push(thinner, [(0, 50, 7, READ, 0.0), (1, 90, 7, ASK, 1.0)])
    rows = [
        (0, 40, 7, READ, 9.0),  # older than the last reading: late
        (1, 80, 7, READ, 9.0),  # news, though a query of a later time was served: taken at 90
        (2, 49, 7, ASK, 0.0),  # about a time that is over
    ]
    assert push(thinner, rows) == [(1, 90, 8.0, 10.0, "above")]
    assert thinner.counters == {"late": 1, "late_queries": 1, "unknown": 0}


def test_many_keys_find_room():
    keys = np.arange(5000)
    thinner = Thinner("static:width=1")
    assert len(thinner.push(keys, keys, keys).row) == 5000
    again = Thinner("static:width=1")
    again.restore(thinner.save())
    assert len(again.push(keys, keys + 5000, keys).row) == 0
    assert len(again.push(keys + 2500, keys + 9999, keys + 2500).row) == 2500


def test_what_is_refused():
    for rule, said in [("growing", "move with time"), ("exact", "counts reads"), ("nope", "unkn")]:
        with pytest.raises(BadInput, match=said):
            Thinner(rule)
    with pytest.raises(BadInput, match="max_silence must be a whole number of at least 1, got 0"):
        Thinner("static", max_silence=0)
    with pytest.raises(BadState, match="15 numbers for each of 0 keys under rule 'settling'"):
        Thinner("settling").restore(Thinner("static").save())
