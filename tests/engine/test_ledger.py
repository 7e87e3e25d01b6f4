"""One budget over many buckets: shares follow demand, add up, and never exceed the budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.ledger import DIGEST, KEYS, Ledger, decode, digest, whole_parts
from tests.marks import long
from tests.naive.ledger import NaiveLedger
from tests.sharing import Rows, Sharing, results

TWO = (((0, 0), (1, 0)),)
THREE = (((0, 0), (1, 0), (2, 0)),)
GROUP = (((0, 0), (1, 0)), ((2, 0), (3, 0)))


def bucket_of(key, buckets):
    return key % buckets


def plain(each):
    """Return a digest as the twin takes it."""
    fields = each._asdict()
    keys, counts = fields.pop("key").tolist(), fields.pop("counts").tolist()
    return fields | {"keys": dict(zip(keys, counts, strict=True))}


def drawn(rng, streams, batch, rows, keys, sized, within=None):
    """Return the digests of one micro-batch of skewed keys, which may lag behind each other."""
    made = []
    for stream in range(streams):
        key = np.floor(keys * rng.random(rows) ** 3).astype(np.int64)
        time = batch * 50 + rng.integers(0, 50, rows) - 40 * rng.integers(0, 2)
        size = int(rng.integers(20, 200, rows).sum()) if sized else rows
        made.append(digest(stream, key, time, size, within))
    return made


@given(
    seed=st.integers(0, 2**32),
    joins=st.sampled_from([TWO, THREE, GROUP]),
    buckets=st.integers(1, 9),
    budget=st.integers(1, 3000),
    within=st.sampled_from([None, 0, 30, 200]),
    sized=st.booleans(),
    goal=st.sampled_from(["pairs", "pairs", "rows"]),
)
def test_shares_are_those_of_the_twin(seed, joins, buckets, budget, within, sized, goal):
    rng = np.random.default_rng(seed)
    streams = sum(len(join) for join in joins)
    ledger = Ledger(joins, buckets, budget, within, bucket_of, goal)
    twin = NaiveLedger(joins, buckets, budget, within, lambda key: key % buckets, goal)
    for batch in range(5):
        rows = int(rng.integers(0, 120))
        alive = within if rng.random() < 0.7 else None
        digests = drawn(rng, streams, batch, rows, int(rng.integers(1, 400)), sized, alive)
        now = ledger.take(digests)
        expected = twin.take([plain(each) for each in digests])
        # Sums in another order may round otherwise, which moves single units.
        assert np.abs(now - expected).max() <= 1 + budget // 10**9
        twin.shares = ledger.shares.tolist()
        if rng.random() < 0.3:
            saved = ledger.encode()
            ledger = Ledger(joins, buckets, budget, within, bucket_of, goal)
            ledger.load(saved)


@given(seed=st.integers(0, 2**32), buckets=st.integers(1, 40), budget=st.integers(1, 500))
def test_what_buckets_may_hold_together_never_exceeds_the_budget(seed, buckets, budget):
    rng = np.random.default_rng(seed)
    ledger = Ledger(TWO, buckets, budget, 100, bucket_of)
    allowed = np.zeros(buckets, np.int64)
    for batch in range(8):
        if rng.random() < 0.3:  # a restart
            saved, ledger = ledger.encode(), Ledger(TWO, buckets, 1, 100, bucket_of)
            ledger.load(saved)
            assert ledger.encode() == saved
        if rng.random() < 0.2:  # with another budget
            budget = int(rng.integers(1, 500))
            allowed = np.minimum(allowed, ledger.resize(budget))
            assert allowed.sum() <= budget
        now = ledger.take(drawn(rng, 2, batch, int(rng.integers(0, 90)), 30, sized=False))
        # Buckets take the micro-batch in any order: before it they hold what they were allowed.
        for bucket in rng.permutation(buckets):
            allowed[bucket] = ledger.during[bucket]
            assert allowed.sum() <= budget
            allowed[bucket] = now[bucket]
        assert (now <= ledger.during).all()
        assert ledger.shares.sum() <= budget


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=50),
    st.integers(0, 2**62),
)
def test_whole_parts_sum_to_the_budget(wanted, budget):
    parts = whole_parts(np.array(wanted), budget)
    assert sum(parts.tolist()) == budget
    assert parts.min() >= 0


def test_a_digest_survives_its_bytes_and_names_the_most_frequent_keys():
    key = np.concatenate([np.repeat(np.arange(100), 5), np.arange(100, 1000), [7] * 40])
    made = digest(1, key, np.arange(len(key)), 2 * len(key))
    assert len(made.key) == DIGEST
    assert made.key[0] == 7
    assert made.counts.tolist() == [45] + [5] * (DIGEST - 1)
    again = decode(made.encode())
    assert plain(again) == plain(made)
    assert (made.rows, made.distinct, made.earliest, made.latest) == (1440, 1000, 0, 1439)


def test_the_ledger_is_bounded_and_follows_hot_keys_that_change():
    ledger = Ledger(TWO, 4, 100, 100, bucket_of)
    for batch in range(60):
        hot = 1 if batch < 30 else 2
        key = np.concatenate([np.full(100, hot), 1000 * batch + np.arange(300)])
        time = np.full(400, batch * 50)
        ledger.take([digest(stream, key, time, 400) for stream in (0, 1)])
        assert len(ledger.encode()) <= 8 * (4 + KEYS * 4 + 4 + 9)
        if batch in (29, 35):
            assert ledger.shares.argmax() == hot
            assert ledger.shares[hot] > 90
    assert [key for _, key, _ in ledger.hottest(1)] == [2]


def test_what_one_bucket_gives_up_another_gets_in_the_next_micro_batch():
    ledger = Ledger(TWO, 2, 100, 100, bucket_of)
    shares, during = [], []
    for batch, hot in enumerate([0, 0, 1, 1, 1]):
        key, time = np.full(200, hot), np.full(200, batch * 200)
        ledger.take([digest(stream, key, time, 200, 100) for stream in (0, 1)])
        shares.append(ledger.shares.tolist())
        during.append(ledger.during.tolist())
    assert shares == [[100, 0], [100, 0], [25, 0], [6, 75], [1, 94]]
    # The bucket that gives up memory has the use of it for one more micro-batch.
    assert during == [[100, 0], [100, 0], [100, 0], [25, 75], [6, 94]]


def test_with_the_goal_of_rows_hot_keys_get_no_more_than_others():
    ledger = Ledger(TWO, 4, 100, 100, bucket_of, "rows")
    key, time = np.zeros(200, np.int64), np.arange(200)
    ledger.take([digest(stream, key, time, 200, 100) for stream in (0, 1)])
    assert ledger.shares.tolist() == [25, 25, 25, 25]


def test_a_stream_that_lags_behind_counts():
    ledger = Ledger(TWO, 2, 100, 100, bucket_of)
    for batch in range(3):
        key, time = np.zeros(200, int), batch * 50 + np.arange(200) // 4
        shares = ledger.take([digest(side, key, time + 900 * side, 200, 100) for side in (0, 1)])
    assert shares.tolist() == [100, 0]


def test_where_nothing_can_match_shares_stay_equal():
    ledger = Ledger(TWO, 4, 100, 100, bucket_of)
    alone = digest(0, np.repeat(np.arange(8), 30), np.arange(240) // 3, 240)
    assert ledger.take([alone]).tolist() == [25] * 4


def test_free_memory_is_given_at_once():
    ledger = Ledger(TWO, 2, 100, 100, bucket_of)
    rows = [digest(stream, np.zeros(200, int), np.zeros(200, int), 200) for stream in (0, 1)]
    ledger.take(rows)
    ledger.resize(150)
    assert ledger.take(rows).tolist() == [150, 0]


def test_a_key_that_only_one_side_has_gets_nothing():
    ledger = Ledger(TWO, 2, 100, 100, bucket_of)
    left = digest(0, np.full(500, 4), np.arange(500), 500)
    right = digest(1, np.arange(1, 1001, 2), np.arange(500), 500)
    ledger.take([left, right, digest(0, np.arange(1, 501, 2), np.arange(250), 250)])
    assert ledger.shares.tolist() == [50, 50]  # bucket 0 has the hot key, which matches nothing


def test_a_hot_key_counts_where_the_other_side_has_too_many_keys_to_name_it():
    ledger = Ledger(TWO, 2, 100, 1000, bucket_of)
    left = digest(0, np.full(300, 4), np.arange(300), 300)
    right = digest(1, np.append(np.arange(1, 801, 2), 4), np.arange(401), 401)
    assert 4 not in right.key
    assert ledger.take([left, right]).tolist() == [100, 0]


def test_rows_are_worth_less_the_larger_they_are():
    # Key 0 comes as rows of 1 byte on the right, where key 1 comes as rows of 10.
    joins = (((0, 0), (1, 0)), ((2, 0), (3, 0)))
    key, time = np.zeros(50, np.int64), np.arange(50)
    sizes = [(0, 50), (1, 50), (2, 500), (3, 500)]
    ledger = Ledger(joins, 2, 100, 1000, lambda keys, _: keys)
    digests = [digest(stream, key + stream // 2, time, size) for stream, size in sizes]
    assert ledger.take(digests).tolist() == [100, 0]


@long
@pytest.mark.parametrize("policy", ["rate", "fifo"])
def test_many_buckets_match_as_many_rows_as_one(policy):
    rng = np.random.default_rng(6)
    n = 20_000
    weights = 1 / np.arange(1, 2001)
    key = rng.choice(2000, n, p=weights / weights.sum())
    rows = Rows(rng.integers(0, 2, n), key, np.arange(n))
    one, many = (Sharing(policy, number, 800, 4000, goal="rows") for number in (1, 8))
    for each in (one, many):
        results(rows, 1000, each)
    assert many.rows_matched > 0.96 * one.rows_matched


@long
@pytest.mark.parametrize("buckets", [2, 8, 16])
def test_shares_keep_most_of_what_one_bucket_finds(buckets):
    rng = np.random.default_rng(5)
    n = 20_000
    weights = 1 / np.arange(1, 501) ** 1.2
    key = rng.permutation(500)[rng.choice(500, n, p=weights / weights.sum())]
    rows = Rows(rng.integers(0, 2, n), key, np.arange(n))
    one, many = (Sharing("prob", number, 200, 1000) for number in (1, buckets))
    alone, together = (results(rows, 500, each).sum() for each in (one, many))
    assert 0.94 * alone < together <= 1.01 * alone
