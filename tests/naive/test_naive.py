"""Known answers, worked by hand, for the twins themselves."""

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .join import NaiveJoin, split_budget
from .lookup import NaiveLookup
from .members import Members
from .offline import lfd_hits, opt_join
from .policies import ALL, factory
from .policies.age import LOWER, UPPER, best_age, bin_of
from .policies.wtinylfu import Sketch
from .rng import SplitMix
from .tuples import FOREVER, Tuple


def row(stream, key, time=None, **more):
    return {"stream": stream, "keys": None if key is None else (key,), "time": time, **more}


def rows_held(join):
    return [t.row for t in join.held]


def cached(policy, keys, budget, **params):
    """Return the hits, as a string of h and ., and the resident keys."""
    lookup = NaiveLookup(factory(policy, **params), budget)
    hits = "".join("h" if hit else "." for hit in lookup.push(keys))
    return hits, set(lookup.resident)


# Parts


def test_splitmix_gives_the_published_numbers():
    assert SplitMix(0).next() == 0xE220A8397B1DCDAF
    assert SplitMix(1234567).next() == 6457827717110365317


def test_below_scales_the_high_bits():
    # 0xE220A839 / 2**32 is 0.883...
    assert SplitMix(0).below(10) == 8
    assert SplitMix(-1).state == 2**64 - 1


def test_the_last_member_fills_the_gap():
    members = Members()
    for name in "abcd":
        members.add(name)
    members.remove("b")
    assert members.tuples == ["a", "d", "c"]
    members.remove("c")
    assert members.tuples == ["a", "d"]


# The engine: windows


def test_two_way_join_within_a_time_window():
    join = NaiveJoin(factory("fifo"), None, within=2)
    results = join.push([row(0, 7, 0), row(0, 7, 1), row(1, 7, 2), row(1, 7, 3), row(1, 8, 3)])
    # partners newest first; at time 3 the tuple of time 0 has expired
    assert results == [(0, (1, 2)), (0, (0, 2)), (0, (1, 3))]
    assert join.counters["matched"] == [0, 3]
    assert join.counters["expired"] == [1, 0]


def test_rows_of_a_push_are_taken_by_time_then_stream():
    join = NaiveJoin(factory("fifo"), None)
    assert join.push([row(1, 7, 5), row(0, 7, 5), row(0, 7, 4)]) == [(0, (1, 0)), (0, (2, 0))]
    assert rows_held(join) == [2, 1, 0]


def test_a_step_back_in_time_is_an_error_without_a_delay():
    join = NaiveJoin(factory("fifo"), None)
    join.push([row(0, 7, 5)])
    with pytest.raises(ValueError, match="order of time"):
        join.push([row(1, 7, 4)])


def test_late_rows_are_dropped_and_counted():
    join = NaiveJoin(factory("fifo"), None, within=1, delay=2, clock="fastest")
    join.push([row(0, 7, 7), row(0, 7, 10)])
    # the clock stands at 10 - 2: row 0 lives until 8; row 2, though old, is in time; row 3 is not
    assert join.push([row(1, 7, 8)]) == [(0, (0, 2))]
    assert join.push([row(1, 7, 7)]) == []
    assert join.counters["late"] == [0, 1]
    assert join.counters["expired"] == [0, 0]


def test_the_slowest_stream_sets_the_clock():
    join = NaiveJoin(factory("fifo"), None, within=1, delay=2)
    join.push([row(0, 7, 7), row(0, 7, 10)])
    assert join.push([row(1, 7, 6)]) == [(0, (0, 2))]  # stream 1 has only just begun
    assert join.push([row(1, 7, 3), row(0, 7, 4)]) == []
    assert join.counters["late"] == [0, 1]


def test_a_row_in_time_may_have_expired_on_arrival():
    join = NaiveJoin(factory("fifo"), None, delay=5, clock="fastest")
    join.push([row(0, 7, 10)])
    join.push([row(1, 7, 5, end=4)])
    assert join.counters["late"] == [0, 0]
    assert join.counters["expired"] == [0, 1]
    assert rows_held(join) == [0]


def test_a_null_key_matches_nothing_and_does_not_move_time():
    join = NaiveJoin(factory("fifo"), None, within=1)
    assert join.push([row(0, 7, 0), row(1, None, 100)]) == []
    assert join.push([row(1, 7, 1)]) == [(0, (0, 2))]
    assert join.counters["arrived"] == [1, 2]
    assert join.counters["null"] == [0, 1]


def test_count_window_moves_with_its_own_stream():
    join = NaiveJoin(factory("fifo"), None, within=2, window="count")
    join.push([row(0, 7), row(0, 7), row(1, 7), row(1, 8), row(1, 8)])
    # the third of stream 0 pushes out its first; stream 1 pushed out its own first
    assert join.push([row(0, 7), row(1, 7)]) == [(0, (5, 6)), (0, (1, 6))]
    assert join.counters["expired"] == [1, 2]
    assert join.now == 6


def test_intervals_overlap_when_each_begins_before_the_other_ends():
    join = NaiveJoin(factory("fifo"), None)
    join.push([row(0, 7, 0, end=5), row(0, 7, 1, end=9)])
    assert join.push([row(1, 7, 5, end=6)]) == [(0, (1, 2)), (0, (0, 2))]
    assert join.push([row(1, 7, 6, end=6)]) == [(0, (1, 3))]
    assert join.push([row(0, 7, 6, end=8)]) == [(0, (4, 3)), (0, (4, 2))]


# The engine: shapes


THREE_WAY = (((0, 0), (1, 0), (2, 0)),)


def test_three_way_join_varies_the_first_other_leg_slowest():
    join = NaiveJoin(factory("fifo", THREE_WAY), None, joins=THREE_WAY, streams=3)
    join.push([row(0, 7, 0), row(0, 7, 1), row(2, 7, 2), row(2, 7, 3), row(2, 8, 3)])
    assert join.push([row(1, 7, 4)]) == [
        (0, (1, 5, 3)),
        (0, (1, 5, 2)),
        (0, (0, 5, 3)),
        (0, (0, 5, 2)),
    ]


def test_three_way_partners_must_overlap_each_other_too():
    join = NaiveJoin(factory("fifo", THREE_WAY), None, joins=THREE_WAY, streams=3, delay=10)
    join.push([row(0, 7, 0, end=4), row(1, 7, 5, end=9)])
    # reaches both, but rows 0 and 1 never lived together
    assert join.push([row(2, 7, 3, end=6)]) == []


def test_two_joins_share_one_memory():
    joins = (((0, 0), (1, 0)), ((0, 1), (2, 0)))
    join = NaiveJoin(factory("fifo", joins), None, joins=joins, streams=3)
    join.push([{"stream": 0, "keys": (7, 9), "time": 0}])
    assert join.push([row(1, 7, 1), row(2, 9, 2), row(2, 7, 3)]) == [(0, (0, 1)), (1, (0, 2))]
    assert join.push([{"stream": 0, "keys": (7, 7), "time": 4}]) == [(0, (4, 1)), (1, (4, 3))]


def test_together_counts_the_pairs_of_a_step_apart():
    join = NaiveJoin(factory("fifo"), 2, together=True)
    assert join.push([row(0, 7, 0), row(1, 7, 0), row(0, 7, 0)]) == []
    assert join.together == 2
    assert rows_held(join) == [2, 1]  # kept in the order 0, 2, 1: the last pushed out the first
    # both meet what was held before the step; neither sees the other
    assert join.push([row(0, 7, 1), row(1, 7, 1)]) == [(0, (3, 1)), (0, (2, 4))]
    assert join.together == 3


def test_together_what_ends_with_its_step_is_not_kept():
    join = NaiveJoin(factory("fifo"), 2, within=1, together=True)
    assert join.push([row(0, 7, 0), row(1, 7, 1, end=1)]) == [(0, (0, 1))]
    assert join.counters["expired"] == [1, 1]
    assert join.held == []


# The engine: memory


@pytest.mark.parametrize(
    ("budget", "streams", "shares", "expected"),
    [
        (10, 3, None, [4, 3, 3]),
        (10, 2, (0.25, 0.75), [3, 7]),  # 2.5 and 7.5: the tie goes to the lower stream
        (10, 3, (0.5, 0.375, 0.125), [5, 4, 1]),  # 5, 3.75, 1.25
        (3, 2, (1.0, 0.0), [3, 1]),
        (None, 2, None, [None, None]),
    ],
)
def test_split_budget(budget, streams, shares, expected):
    assert split_budget(budget, streams, shares) == expected


def test_split_layout_evicts_within_the_stream():
    join = NaiveJoin(factory("fifo"), 3, layout="split")
    join.push([row(0, 1, 0), row(0, 2, 1), row(1, 3, 2), row(1, 4, 3), row(0, 5, 4)])
    assert rows_held(join) == [1, 3, 4]
    assert join.counters["evicted"] == [1, 1]


def test_unified_layout_evicts_from_any_stream():
    join = NaiveJoin(factory("fifo"), 3)
    join.push([row(0, 1, 0), row(0, 2, 1), row(1, 3, 2), row(1, 4, 3), row(1, 5, 4)])
    assert rows_held(join) == [2, 3, 4]
    assert join.counters["evicted"] == [2, 0]


def test_sized_tuples_may_need_several_victims():
    join = NaiveJoin(factory("fifo"), 10, sized=True)
    join.push([row(0, 1, 0, size=4), row(0, 1, 1, size=4), row(0, 1, 2, size=7)])
    assert rows_held(join) == [2]
    join.push([row(1, 2, 3, size=11), row(1, 2, 4, size=3)])
    assert rows_held(join) == [2, 4]
    assert join.counters["evicted"] == [2, 0]
    assert join.counters["rejected"] == [0, 1]


def test_expired_rows_leave_before_any_is_evicted():
    join = NaiveJoin(factory("lru"), 2, within=5)
    join.push([row(0, 1, 0), row(0, 2, 4), row(1, 3, 6)])
    assert rows_held(join) == [1, 2]
    assert join.counters["evicted"] == [0, 0]
    assert join.counters["expired"] == [1, 0]


# Policies by order


def test_fifo_ignores_hits():
    assert cached("fifo", [1, 2, 1, 3], 2) == ("..h.", {2, 3})


def test_lru_spares_the_key_just_used():
    assert cached("lru", [1, 2, 1, 3, 2], 2) == ("..h..", {2, 3})


@pytest.mark.parametrize("w0", [0.0, 1.0])
def test_clock_spares_a_hit_entry_once(w0):
    # 1 is hit, so 3 pushes out 2; the hit is now spent, so 4 pushes out 1
    assert cached("clock", [1, 2, 1, 3, 4], 2, w0=w0) == ("..h..", {3, 4})


def test_clock_newcomer_stands_behind_the_hand():
    # scores 1 1 1; two laps take 1, and 4 stands after 3 with a full score
    lookup = NaiveLookup(factory("clock", w0=1.0), 3)
    lookup.push([1, 2, 3, 4])
    assert [t.keys[0] for t in lookup.policy.queue] == [2, 3, 4]
    assert list(lookup.policy.scores.values()) == [0.0, 0.0, 1.0]


def test_clock_exp_depreciates_by_the_rate():
    # 1 has 2.0 and 2 has 1.0; in turn they fall to 1.0, 0.5, 0.5 and 0.25, below 0.3
    lookup = NaiveLookup(factory("clock", w0=1.0, rho=0.5, tau=0.3), 2)
    lookup.push([1, 2, 1, 3])
    assert lookup.resident == [1, 3]
    assert list(lookup.policy.scores.values()) == [0.5, 1.0]


def test_sieve_hand_stays_where_it_took_the_last_victim():
    lookup = NaiveLookup(factory("sieve"), 3)
    lookup.push([1, 2, 3, 1, 2, 4])
    # 1 and 2 were used and are spared, 3 is evicted and was the newest: begin at the oldest again
    assert lookup.resident == [1, 2, 4]
    assert lookup.policy.hand is None
    lookup.push([5])  # their marks are spent: 1 is evicted and the hand stands at 2
    assert lookup.policy.hand.keys == (2,)
    lookup.push([2, 6])  # 2 is spared, 4 is evicted, the hand stands at 5
    assert lookup.resident == [2, 5, 6]
    assert lookup.policy.hand.keys == (5,)


def test_sieve_hand_moves_on_when_its_tuple_expires():
    policy = ALL["sieve"](0, 3, ())
    a, b, c = (Tuple(0, (key,), 0, FOREVER, key) for key in range(3))
    for t in (a, b, c):
        policy.insert(t, 0)
    policy.remove(policy.victim(None, 0), 0)
    assert policy.hand is b
    policy.remove(b, 0)
    assert policy.hand is c
    policy.remove(c, 0)
    assert policy.hand is None


def s3fifo_queues(policy):
    """Return the keys of the small queue, of the main one, and of the ghost."""
    keys = [t.keys[0] for t in policy.queue]
    return keys[: policy.border], keys[policy.border :], list(policy.ghost)


def test_s3fifo_ghost_and_main():
    lookup = NaiveLookup(factory("s3fifo", small=0.5), 4)
    # Of what fills the memory the older half is on probation: 1 was used twice there and moves to
    # the main queue; 2 is evicted and remembered.
    lookup.push([1, 2, 3, 4, 1, 1, 5])
    assert s3fifo_queues(lookup.policy) == ([5], [3, 4, 1], [2])
    # The small queue is below its half, so 3 is evicted; 2 comes back into the main queue.
    lookup.push([2])
    assert s3fifo_queues(lookup.policy) == ([5], [4, 1, 2], [])


def test_s3fifo_main_gives_used_tuples_another_round():
    lookup = NaiveLookup(factory("s3fifo", small=0.5), 4)
    # 1 and 2 move to the main queue; there 3 was used and has another round, and 4 is evicted.
    lookup.push([1, 2, 3, 4, 1, 1, 2, 2, 3, 3, 5])
    assert s3fifo_queues(lookup.policy) == ([5], [1, 2, 3], [])


# Policies by count


def test_perfect_lfu_remembers_and_in_cache_lfu_forgets():
    # 3 pushes out 1; 1 comes back with three references or, forgotten, with one
    keys = [1, 1, 2, 2, 2, 3, 1, 4]
    assert cached("lfu", keys, 2) == (".h.hh...", {1, 4})
    assert cached("lfu", keys, 2, perfect=False) == (".h.hh...", {2, 4})


def test_lfu_newcomer_may_have_to_compete():
    # 2 has one reference against two of 1, then two: a tie lets it in
    assert cached("lfu", [1, 1, 2], 1, admit="compete") == (".h.", {1})
    assert cached("lfu", [1, 1, 2, 2], 1, admit="compete") == (".h..", {2})
    assert cached("lfu", [1, 1, 2, 2], 1, admit="compete", perfect=False) == (".h..", {1})


def test_lfu_ties_go_to_the_least_recently_used():
    # both have two references; 1 was used before 2
    assert cached("lfu", [2, 1, 1, 2, 3], 2) == ("..hh.", {2, 3})
    assert cached("lfu", [2, 1, 2, 1, 3], 2) == ("..hh.", {1, 3})


def test_prob_refuses_what_never_joined():
    join = NaiveJoin(factory("prob"), 2)
    # rows 0 and 1 come before any partner: score 0; row 2 has score 1 and the older 0 is evicted
    join.push([row(0, 7, 0), row(0, 8, 1), row(1, 8, 2)])
    assert rows_held(join) == [1, 2]
    # row 1 was matched and now scores 1: a newcomer that scores 0 is refused
    join.push([row(0, 9, 3)])
    assert join.counters["rejected"] == [1, 0]
    # 8 came twice on stream 0 and once on stream 1: the newcomer 1, as row 1; the older is evicted
    join.push([row(0, 8, 4)])
    assert rows_held(join) == [2, 4]


def test_prob_multiplies_legs_and_adds_joins():
    joins = (((0, 0), (1, 0), (2, 0)), ((0, 1), (1, 0)))
    policy = ALL["prob"](0, None, joins)
    for stream, key, times in ((1, 7, 2), (2, 7, 3), (1, 9, 5)):
        for _ in range(times):
            policy.arrive(Tuple(stream, (key,), 0, FOREVER, 0), 0)
    assert policy.score(Tuple(0, (7, 9), 0, FOREVER, 0)) == 2 * 3 + 5
    perfect = ALL["lfu"](0, None, joins)
    perfect.counts = policy.counts
    assert perfect.score(Tuple(0, (7, 9), 0, FOREVER, 0)) == 2 + 3 + 5


def test_life_weighs_chance_by_lifetime_left():
    join = NaiveJoin(factory("life"), 2)
    join.push([row(0, 7, 0, end=11), row(0, 8, 0, end=10)])
    # stream 1 is counted, but what has ended before it begins is never kept
    join.push([row(1, 7, 1, end=0), row(1, 8, 2, end=0), row(1, 8, 3, end=0)])
    assert join.counters["expired"] == [0, 3]
    # at time 10 row 0 scores 1 x 2 and row 1 scores 2 x 1; 9 was never seen: it scores 0
    join.push([row(0, 9, 10, end=99)])
    assert join.counters["rejected"] == [1, 0]
    join.push([row(0, 7, 10, end=11)])  # scores 2 too: all tie; the older is evicted
    assert rows_held(join) == [1, 6]


def test_life_samples_a_large_memory():
    join = NaiveJoin(factory("life", admit="always"), 1025, seed=3)
    join.push([row(1, 7, 0, end=0)])
    join.push([row(0, 7, 1, end=100 + i) for i in range(1026)])
    rng = SplitMix(3)
    drawn = min(rng.below(1025) for _ in range(64))  # the lower place ends sooner
    assert drawn > 0
    assert drawn + 1 not in rows_held(join)
    assert rows_held(join)[0] == 1


def test_wtinylfu_sketch_counts_saturates_and_forgets():
    sketch = Sketch(1)
    assert sketch.width == 256  # four counters for each of 64 keys
    for _ in range(3):
        sketch.add(-5)
    assert sketch.estimate(-5) == sketch.estimate(2**64 - 5) == 3
    for _ in range(636):
        sketch.add(-5)
    assert sketch.estimate(-5) == 15
    sketch.add(-5)
    assert sketch.estimate(-5) == 7
    assert sketch.additions == 320


def test_wtinylfu_evicts_the_less_popular():
    lookup = NaiveLookup(factory("wtinylfu"), 2)
    policy = lookup.policy
    lookup.push([1, 1, 2])  # the window holds one: 1 went on to probation
    assert [t.keys[0] for t in policy.probation] == [1]
    lookup.push([3])  # 2 came once, 1 twice
    assert lookup.resident == [1, 3]
    lookup.push([3, 3, 4])  # 3 came three times: it takes the place of 1
    assert lookup.resident == [3, 4]
    lookup.push([3])
    assert [t.keys[0] for t in policy.protected] == [3]


def test_wtinylfu_protected_overflows_into_probation():
    lookup = NaiveLookup(factory("wtinylfu", protected=0.5), 5)
    lookup.push([1, 2, 3, 4, 5, 1, 2, 3])
    # of four outside the window two may be protected
    assert [t.keys[0] for t in lookup.policy.protected] == [2, 3]
    assert [t.keys[0] for t in lookup.policy.probation] == [4, 1]


# Policies by draw


def test_rand_draws_the_newcomer_too():
    # SplitMix(0) draws 0.883, 0.431, 0.026...: of 3 the third is the newcomer, then the second
    join = NaiveJoin(factory("rand"), 2)
    join.push([row(0, 1, 0), row(0, 2, 1), row(0, 3, 2)])
    assert rows_held(join) == [0, 1]
    assert join.counters["rejected"] == [1, 0]
    join.push([row(0, 4, 3)])
    assert rows_held(join) == [0, 3]
    # always: 0.883 of 2 is the second
    join = NaiveJoin(factory("rand", admit="always"), 2)
    join.push([row(0, 1, 0), row(0, 2, 1), row(0, 3, 2)])
    assert rows_held(join) == [0, 2]


# Policies by credit and age


def test_gdj_newcomer_starts_at_the_percentile():
    policy = ALL["gdj"](0, None, (), percentile=0.5)
    tuples = [Tuple(0, (key,), 0, FOREVER, key) for key in range(4)]
    for t, matches in zip(tuples, (2, 0, 3, 0), strict=True):
        policy.insert(t, 0)
        for _ in range(matches):
            policy.match(t, 0)
    # [] -> 0 + 2; [2] -> 2; [2, 2] -> 2 + 3; [2, 2, 5] -> the second
    assert [policy.credits[t] for t in tuples] == [2, 2, 5, 2]
    # three have 2; the first to come to it was 0
    assert policy.victim(None, 0) is tuples[0]


def test_gdj_top_percentile_is_the_largest_credit():
    policy = ALL["gdj"](0, None, (), percentile=1.0)
    first, second = (Tuple(0, (key,), 0, FOREVER, key) for key in range(2))
    policy.insert(first, 0)
    policy.match(first, 0)
    policy.insert(second, 0)
    assert policy.credits[second] == 1


def test_gdj_method_2_earns_rank_and_pays_by_arrival():
    policy = ALL["gdj"](0, None, (), method=2, percentile=0.0)
    a, b = (Tuple(0, (key,), 0, FOREVER, key) for key in range(2))
    policy.insert(a, 0)
    policy.match(a, 0)  # alone: rank 1
    policy.insert(b, 0)  # credit 1
    policy.match(b, 0)  # level with a: rank 2
    assert (policy.credits[a], policy.credits[b]) == (1, 3)
    policy.arrive(a, 1)
    assert (policy.credits[a], policy.credits[b]) == (0, 2)
    policy.match(a, 1)  # below b: rank 1
    assert policy.credits[a] == 1


@given(
    keys=st.lists(st.integers(0, 6), max_size=80),
    budget=st.integers(1, 5),
    percentile=st.sampled_from([0.0, 0.5, 0.9, 1.0]),
)
def test_gdj_methods_1_and_3_choose_alike(keys, budget, percentile):
    # the equal parts that method 3 takes never change the order; the total stays what it was
    one = cached("gdj", keys, budget, method=1, percentile=percentile)
    assert one == cached("gdj", keys, budget, method=3, percentile=percentile)


def test_age_bins_grow():
    assert LOWER[:9] == [0, 1, 1, 2, 3, 5, 7, 11, 15]
    assert [bin_of(age) for age in (-3, 0, 1, 2, 3)] == [0, 0, 2, 3, 4]
    assert bin_of(10**18) == 95
    assert UPPER[95] == 2 * LOWER[95]


def test_age_keeps_until_the_best_age():
    join = NaiveJoin(factory("age", k=3), 1)
    join.push([row(0, 1, 0), row(0, 2, 2)])
    assert rows_held(join) == [0]
    join.push([row(0, 3, 3)])
    assert rows_held(join) == [2]


def test_age_best_age_weighs_results_by_time():
    # four tuples left at age 3 (bin 4) and gave 4 results at age 1 (bin 2): C / age is 1 / 2 at
    # the end of bin 2; with 6 results at age 3 it is again 2.5 / 5 at the end of bin 4
    assert (UPPER[2], UPPER[4]) == (2, 5)
    lives = Counter({4: 4})
    assert best_age(Counter({2: 4, 4: 6}), lives) == 2  # the first of equals
    assert best_age(Counter({2: 4, 4: 7}), lives) == 5
    assert best_age(Counter(), lives) is None
    assert best_age(Counter({2: 4}), Counter()) is None


def test_age_learns_at_every_1024th_arrival():
    policy = ALL["age"](0, None, ())
    t = Tuple(0, (7,), 0, FOREVER, 0)
    policy.insert(t, 0)
    policy.match(t, 3)
    policy.remove(t, 3)
    held = Tuple(0, (8,), 10, FOREVER, 1)
    policy.insert(held, 10)
    for _ in range(1023):
        policy.arrive(t, 10)
    assert policy.victim(t, 10) is held  # nothing learned yet: FIFO
    policy.arrive(t, 10)
    assert policy.victim(t, 10 + UPPER[4] - 1) is None
    assert policy.victim(t, 10 + UPPER[4]) is held


def test_lhd_learns_matches_per_time():
    policy = ALL["lhd"](0, 8, ())  # the first four bins are of one arrival
    policy.hits[0][1] = 2.0
    policy.gone[0][3] = 2.0
    policy._learn(0)
    # events still to come: 4 4 2 2 at ages 0 to 3, so time left 12 8 4 2
    assert policy.density[0][:5] == [2 / 12, 2 / 8, 0.0, 0.0, 0.0]
    assert policy.hits[0][1] == policy.gone[0][3] == 1.8
    policy._learn(1)
    assert policy.density[1][1] == 2 / (1 + 1 / 8)  # nothing seen: as it was


def test_lhd_a_quick_match_changes_class():
    lookup = NaiveLookup(factory("lhd"), 8)
    lookup.push([1, 2, 1])
    classes = [lookup.policy._class(t) for t in lookup.held]
    assert classes == [6, 0]  # matched at age 2, of bit length 2; never matched
    assert lookup.policy.hits[0][2] == 1


def test_lhd_draws_from_a_large_memory():
    # Two insertions draw for explorers; then one of the two is looked at, and evicted.
    rng = SplitMix(0)
    rng.below(32), rng.below(32)
    gone = rng.below(2)
    join = NaiveJoin(factory("lhd", scan=1, sample=1), 2)
    join.push([row(0, 1, 0), row(0, 2, 1), row(0, 3, 2)])
    assert rows_held(join) == [1 - gone, 2]


# Hindsight


def test_lfd_may_bypass():
    # 3 never comes again: it is not kept, and both others are hit
    assert lfd_hits([1, 2, 3, 1, 2], 2) == 2
    # 2 comes back later than 1, so 1 stays: hits at 1, 1
    assert lfd_hits([1, 2, 1, 1, 2], 1) == 2
    assert lfd_hits([], 1) == 0


def best_hits(keys, budget, held=frozenset()):
    """Return the most hits of any choice, by trying all."""
    if not keys:
        return 0
    key, *rest = keys
    if key in held:
        return 1 + best_hits(rest, budget, held)
    choices = [held]
    if len(held) < budget:
        choices.append(held | {key})
    choices += [held - {victim} | {key} for victim in held]
    return max(best_hits(rest, budget, choice) for choice in choices)


@given(keys=st.lists(st.integers(0, 3), max_size=8), budget=st.integers(1, 3))
def test_lfd_is_the_best_of_all_choices(keys, budget):
    assert lfd_hits(keys, budget) == best_hits(keys, budget)


def test_opt_join_keeps_what_will_be_needed():
    # one place: R7 is asked for at steps 1 and 2, S9 only at step 3
    groups = [[(0, 7), (1, 9)], [(0, 5), (1, 7)], [(0, 4), (1, 7)], [(0, 9), (1, 3)]]
    assert opt_join(groups, 1) == 2
    assert opt_join(groups, 2) == 3
    assert opt_join(groups, 0) == 0


def test_opt_join_does_not_count_pairs_of_one_step():
    assert opt_join([[(0, 7), (1, 7)]], 2) == 0
    assert opt_join([[(0, 7), (1, 7)], [(0, 7), (1, 7)]], 2) == 2


# Every policy

KEYS = st.lists(st.integers(0, 5), max_size=60)
ARRIVALS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(0, 2)), max_size=60)


def timed(arrivals):
    """Turn (stream, key, pause) into rows in order of time."""
    time, rows = 0, []
    for stream, key, pause in arrivals:
        time += pause
        rows.append(row(stream, key, time))
    return rows


@pytest.mark.parametrize("name", ALL)
@given(keys=KEYS, budget=st.integers(1, 5))
def test_no_policy_beats_hindsight(name, keys, budget):
    lookup = NaiveLookup(factory(name), budget)
    hits = lookup.push(keys)
    assert len(lookup.held) <= budget
    assert sum(hits) <= lfd_hits(keys, budget)
    assert len(lookup.resident) == len(set(lookup.resident))


@pytest.mark.parametrize("name", ALL)
@given(arrivals=ARRIVALS, budget=st.integers(1, 6), cut=st.integers(0, 60))
def test_every_policy_keeps_the_budget_and_loses_nothing_uncounted(name, arrivals, budget, cut):
    rows = timed(arrivals)
    rows.sort(key=lambda r: (r["time"], r["stream"]))  # so that the cut changes nothing
    whole = NaiveJoin(factory(name), budget, within=4)
    parts = NaiveJoin(factory(name), budget, within=4)
    assert whole.push(rows) == parts.push(rows[:cut]) + parts.push(rows[cut:])
    assert rows_held(whole) == rows_held(parts)
    assert len(whole.held) <= budget
    left = sum(sum(whole.counters[name]) for name in ("expired", "evicted", "rejected"))
    assert left + len(whole.held) == len(rows)


@pytest.mark.parametrize("name", ALL)
@given(
    steps=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5),
    budget=st.integers(1, 3),
)
def test_no_policy_beats_the_best_join(name, steps, budget):
    join = NaiveJoin(factory(name), budget, together=True)
    rows = [row(side, keys[side], time) for time, keys in enumerate(steps) for side in (0, 1)]
    groups = [[(0, r), (1, s)] for r, s in steps]
    assert len(join.push(rows)) <= opt_join(groups, budget)
    assert join.together == sum(r == s for r, s in steps)


@given(
    arrivals=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))),
    within=st.integers(0, 5),
)
def test_without_a_budget_the_join_is_exact(arrivals, within):
    rows = timed(arrivals)
    join = NaiveJoin(factory("rand", THREE_WAY), None, within=within, joins=THREE_WAY, streams=3)
    sides = [[i for i, r in enumerate(rows) if r["stream"] == side] for side in range(3)]
    expected = [
        (0, result)
        for result in product(*sides)
        if len({rows[i]["keys"] for i in result}) == 1
        and max(rows[i]["time"] for i in result) - min(rows[i]["time"] for i in result) <= within
    ]
    assert sorted(join.push(rows)) == sorted(expected)


@given(arrivals=ARRIVALS, within=st.integers(1, 4))
def test_a_count_window_holds_the_newest_of_each_stream(arrivals, within):
    join = NaiveJoin(factory("lru"), None, within=within, window="count")
    join.push(timed(arrivals))
    for side in range(2):
        newest = [i for i, (stream, _, _) in enumerate(arrivals) if stream == side][-within:]
        assert [t.row for t in join.held if t.stream == side] == newest


def test_a_deadline_never_passes_the_end_of_time():
    join = NaiveJoin(factory("life"), 1, within=FOREVER)
    join.push([row(0, 7, 5), row(0, 8, 6)])
    assert [t.deadline for t in join.held] == [FOREVER]
    assert math.isfinite(join.lanes[0].policy.score(join.held[0], 6))
