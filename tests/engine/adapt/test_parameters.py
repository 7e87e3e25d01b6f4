"""Parameters found while running: the twin in every shape, what is found, and what it takes.

The contract suite runs the tuned policies too; here streams are long enough, and memories small
enough beside the shadow caches, for changes and for samples.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import Join, Lookup, footprint
from penstock.engine.adapt import chooser
from penstock.engine.adapt.shadows import Shadows
from penstock.kernel.policy import Setup
from penstock.policies import choose
from tests.compare import assert_same_join, assert_same_lookup, spec
from tests.marks import long, plain, some
from tests.recount import recount

TUNED = [("gdj", {"percentile": "auto"}), ("clock", {"rho": "auto"})]
# One policy a shape: each pair is a kernel to compile, and what is tuned does not depend on it.
SHAPES = [
    ("gdj", {"within": 20, "layout": "split"}),
    ("gdj", {"within": 20, "layout": "split", "shares": [0.8, 0.2]}),
    ("clock", {"within": 20}),
    ("clock", {"within": 20, "delay": 3}),
]
# These have kernels of their own; `plain` tells why they are not compiled.
OTHER_SHAPES = [
    ("clock", {"within": 9, "window": "count"}),
    ("clock", {"within": 20, "together": True}),
    ("clock", {"within": 20, "sized": True}),
    ("clock", {"within": 15, "joins": (((0, 0), (1, 0), (2, 0)),)}),
]


@pytest.fixture
def tiny(monkeypatch):
    """Shadow caches of 8 tuples and frequent looks, so that small memories are sampled."""
    monkeypatch.setattr(footprint, "ROOM", 8)
    monkeypatch.setattr(chooser, "FIRST", 8)
    monkeypatch.setattr(chooser, "SURE", 0.25)
    monkeypatch.setattr(chooser, "SURE_JOINING", 0.25)
    monkeypatch.setattr(chooser, "FEWEST", 2)
    monkeypatch.setattr(chooser, "ROUND", 2)
    monkeypatch.setattr(chooser, "HOT", 0.5)  # there are few keys


def drawn(seed, length, streams=2, keys=8):
    """Return rows by a law that is another one in the second half: first recency, then luck."""
    random = np.random.default_rng(seed)
    rows, now, last = [], 0, 0
    for number in range(length):
        now += int(random.integers(0, 3))
        if 2 * number > length:
            last = int(min(random.zipf(1.6), keys) - 1)
        elif random.random() < 0.4:
            last = int(random.integers(0, keys))
        stream = int(random.integers(0, streams))
        rows.append({"stream": stream, "keys": (last,), "time": now, "size": 90 + number % 20})
    return rows


def halves(rows):
    """Cut rows in two, not between rows of one time."""
    middle = rows[len(rows) // 2]["time"]
    return [
        [row for row in rows if row["time"] <= middle],
        [row for row in rows if row["time"] > middle],
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    SHAPES + [pytest.param(*each, marks=plain) for each in OTHER_SHAPES],
    ids=str,
)
def test_joins_as_its_twin_in_every_shape(tiny, name, options):
    switches = 0
    for seed in range(4):
        budget = 1200 if options.get("sized") else 12
        rows = halves(drawn(seed, 260, streams=3 if "joins" in options else 2))
        params = dict(TUNED)[name]
        join = assert_same_join(
            name, rows, budget, params=params, restore=True, seed=seed, **options
        )
        switches += join.explain()["switches"]
    assert switches  # else nothing of it would have been tried


@pytest.mark.parametrize(("name", "params"), TUNED)
@given(seed=st.integers(0, 2**32), budget=st.integers(2, 12))
@settings(max_examples=6)
def test_caches_as_its_twin(name, params, seed, budget):
    keys = [row["keys"][0] for row in drawn(seed, 300)]
    assert_same_lookup(name, [keys[:111], keys[111:]], budget, params=params, restore=True)


def favourites(length, seed=1):
    """Return references of which every other is to one of 15 keys: these are what to keep."""
    random = np.random.default_rng(seed)
    rare = random.integers(15, 2000, length)
    return np.where(np.arange(length) % 2 == 0, random.integers(0, 15, length), rare)


def recent(length, seed=1):
    """Return references of which each was often made a moment ago, and never again later."""
    return 5000 + np.arange(length) // 4 - np.random.default_rng(seed).integers(0, 12, length)


@long
@pytest.mark.parametrize("policy", ["gdj:percentile=auto", "clock:rho=auto"])
@pytest.mark.parametrize("stream", [favourites, recent])
def test_finds_what_the_best_candidate_finds(policy, stream):
    found = {}
    for each in (choose(policy), *choose(policy).candidates):
        cache = Lookup(each, 20)
        cache.push(stream(8_000))
        found[str(each)] = cache.hits
    mine = found.pop(policy)
    assert min(found.values()) < 0.9 * max(found.values())  # else there would be nothing to find
    assert mine > 0.97 * max(found.values())


@long
@pytest.mark.parametrize("policy", ["clock:rho=auto"])
def test_another_stream_another_choice(policy):
    cache, choices = Lookup(policy, 20), []
    for stream in (favourites, recent):
        cache.push(stream(8_000))
        choices.append(str(cache.in_force))
    assert choices[0] != choices[1]


def test_before_anything_is_known_it_is_the_first_candidate():
    join = Join("gdj:percentile=auto", 5, within=10)
    assert str(join.chosen) == "gdj:percentile=auto"
    assert str(join.in_force) == "gdj:percentile=0.2"
    assert str(Join("gdj", 5).in_force) == "gdj"


@long
@pytest.mark.parametrize("size", some([1, 50, 777], [50]))
def test_the_cuts_do_not_matter_nor_do_restores(size):
    random = np.random.default_rng(5)
    side, time = random.integers(0, 2, 2500), np.arange(2500)
    key = np.concatenate([np.arange(1250) // 8, random.zipf(1.3, 1250) % 50])
    whole = Join("gdj:percentile=auto", 30, within=200)
    expected = whole.push(side, key, time).rows.tolist()
    pieces, found = Join("gdj:percentile=auto", 30, within=200), []
    for number, at in enumerate(range(0, 2500, size)):
        cut = slice(at, at + size)
        found += pieces.push(side[cut], key[cut], time[cut]).rows.tolist()
        if number % 40 == 0:
            pieces = Join.restore(pieces.save())
    assert found == expected
    assert whole.in_force == pieces.in_force
    assert whole.explain()["scores"] == pieces.explain()["scores"]


def test_another_budget_keeps_the_choice_and_begins_to_judge_anew():
    side, key, time = np.arange(9000) // 2 % 2, favourites(9000), np.arange(9000)
    join = Join("clock:rho=auto", 20, within=500)
    join.push(side, key, time)
    found = join.in_force
    assert found != choose("clock:rho=auto").starting
    larger = Join.restore(join.save(), budget=40)
    assert larger.in_force == found
    larger.push(side, key, time + 9000)
    recount(larger)
    miniatures = {name for name in larger.save() if name.endswith("held.time")}
    assert {len(larger.save()[name]) for name in miniatures} == {40}


@long
def test_what_it_takes_does_not_grow_with_the_memory():
    random = np.random.default_rng(3)
    keys = random.zipf(1.1, 60_000) % 50_000
    taken = []
    for budget in (1_000, 4_000, 16_000):
        cache, most = Lookup("gdj:percentile=auto", budget), 0
        for part in np.split(keys, 30):  # trials come and go
            cache.push(part)
            saved = cache.save()
            most = max(most, sum(saved[name].nbytes for name in saved if "tuner" in name))
        taken.append(most)
    assert max(taken) < 2**20
    assert taken[-1] < 1.5 * taken[0]


def test_shadow_caches_tell_what_each_challenger_finds():
    tried = [choose(name) for name in ("fifo", "lru", "gdj:percentile=0.5")]
    keys = np.random.default_rng(2).zipf(1.5, 900) % 40
    engine = Lookup("fifo", 10)
    shadows, found = Shadows(tried, engine, 1.0), np.zeros(3)
    for part in np.split(keys, 3):
        found += [shadows.show(number, (part,)) for number in range(3)]
        after = Shadows(tried, engine, 1.0)
        after.load(shadows.save())
        shadows = after
    alone = [Lookup(chosen, 10) for chosen in tried]
    for cache in alone:
        cache.push(keys)
    assert found.tolist() == [cache.hits for cache in alone]
    shadows.drop(1)
    assert shadows.numbers() == {0, 2}


@pytest.mark.parametrize(("name", "params"), TUNED)
def test_all_values_of_a_parameter_are_tried(name, params):
    chosen = choose(spec(name, params))
    parameter = next(iter(params))
    values = [each.params[parameter] for each in chosen.candidates]
    assert chosen.starting.params[parameter] in values
    assert len(set(values)) == len(values) == 8
    for each in chosen.candidates:  # all of them are allowed
        each.make_state(Setup(4))
