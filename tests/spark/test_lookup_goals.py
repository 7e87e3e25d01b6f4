"""Lookups that are to save bytes or costs: the engine's decisions, figures, restarts, bad costs."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Lookup
from penstock.errors import BadInput
from penstock.spark.runtime import journal as journals
from penstock.spark.runtime.arrow import row_bytes
from penstock.spark.runtime.bucket import MicroBatch
from penstock.spark.runtime.journal import BASE, VERSION, Journal
from penstock.spark.runtime.lookup_bucket import BESIDE, COSTS_COUNTED, LookupBucket
from penstock.spark.runtime.store import Stored, decode, encode
from tests.compare import cut
from tests.spark.lookup_plans import Run, Shop, events, make_plan, rows_of
from tests.spark.test_journal import Store

KEYS = 12  # of which some have no row
PRICES = {0: 5, 1: 900, 2: 0, 3: None, 4: 1, 5: 70, 6: 70, 7: 3, 8: 2**31 - 1}
keys = st.lists(st.integers(0, KEYS - 1), max_size=120)


def shop_of_unlike_rows() -> Shop:
    shop = Shop(range(9), PRICES)
    shop.rows |= {key: "x" * (50 * (key % 4)) for key in range(9)}
    return shop


def numbers_of(shop) -> dict[str, np.ndarray]:
    """Return the size and the worth of the row of each key, by hand."""
    known = [key in shop.rows for key in range(KEYS)]
    names = pa.array([shop.rows.get(key) for key in range(KEYS)])
    price = [shop.prices.get(key) for key in range(KEYS)]
    size = row_bytes(pa.table({"name": names, "price": pa.array(price, pa.int32())}), KEYS)
    costs = np.array([each or 0 for each in price])
    return {"size": size, "bytes": np.where(known, size, 0), "costs": costs}


@pytest.mark.parametrize("in_bytes", [False, True])
@pytest.mark.parametrize("goal", ["bytes", "costs"])
@given(data=st.data(), drawn=keys, memory=st.integers(1, 6))
def test_decisions_and_sums_are_the_local_engine_s(goal, in_bytes, data, drawn, memory):
    shop = shop_of_unlike_rows()
    largest = make_plan(shop, policy="gdsf", budget=10**6, in_bytes=True)
    *_, charge, fixed = largest.engine(0).footprint
    budget = fixed + memory * (charge + 100) if in_bytes else memory
    options = {"budget": budget, "in_bytes": in_bytes, "policy": "gdsf"}
    run = Run(make_plan(shop, goal=goal, cost="price", **options))
    local, of = Lookup(goal="costs", **options), numbers_of(shop)
    for batch in data.draw(cut(drawn)):
        outcome, keys = run.take(events(batch)), np.array(batch, np.int64)
        given = {"size": of["size"][keys] + BESIDE} if in_bytes else {}
        local.push(keys, cost=of[goal][keys], **given)
        found = LookupBucket(run.plan, 0, run.state).cache if run.state else local
        assert found.resident.tolist() == local.resident.tolist()
        assert found.counters == local.counters
        totals = outcome.totals
        assert totals["bytes_saved" if goal == "bytes" else "cost_saved"] == local.attained
        asked = [key for some in shop.asked for key in some]
        assert totals["bytes_fetched"] == of["bytes"][asked].sum()
        assert totals["cost_fetched"] == of["costs"][asked].sum()


def test_the_column_of_costs_is_one_of_the_result():
    run = Run(make_plan(shop_of_unlike_rows(), goal="costs", cost="price", policy="gdsf"))
    assert rows_of(run.take(events([1, 3, 9]))) == [
        (1, 0, "x" * 50, 900),
        (3, 1, "x" * 150, None),
        (9, 2, None, None),
    ]


def test_what_was_saved_is_counted_under_any_goal():
    shop = shop_of_unlike_rows()
    run = Run(make_plan(shop, cost="price"))
    run.take(events([1, 1, 3, 3, 9, 9]))
    totals, of = run.take(events([1, 0])).totals, numbers_of(shop)
    assert totals["bytes_saved"] == 2 * of["bytes"][1] + of["bytes"][3]
    assert (totals["cost_saved"], totals["cost_fetched"]) == (1800, 905)
    assert totals["hits"] == 3


@pytest.mark.parametrize("text_key", [False, True])
@pytest.mark.parametrize(("price", "goal"), [(-3, "costs"), (-1, "hits")])
def test_a_negative_cost_names_column_value_and_key(text_key, price, goal):
    key = "seven" if text_key else 7
    shop = Shop([key, 1], {key: price})
    run = Run(make_plan(shop, goal=goal, cost="price", text_key=text_key))
    said = f"has {price} in the column 'price' for the key k = {key!r}, "
    with pytest.raises(BadInput, match=said):
        run.take(events([7], ["seven"] if text_key else None))


def test_a_cached_row_of_negative_cost_is_refused_when_costs_become_the_goal():
    run = Run(make_plan(Shop(range(9), {4: -8})))
    run.take(events([3, 4]))
    run.plan = replace(run.plan, goal="costs", cost="price")
    with pytest.raises(BadInput, match="has -8 in the column 'price' for the key k = 4"):
        run.take(events([3]))


def test_another_goal_keeps_what_is_cached_and_decides_by_it_at_once():
    shop = shop_of_unlike_rows()
    of, batches = numbers_of(shop), np.random.default_rng(4).integers(0, KEYS, (6, 40))
    run = Run(make_plan(shop, policy="gdsf", budget=4))
    local = Lookup("gdsf", 4)
    for goal, batch in zip(["hits", "costs", "bytes", "bytes", "costs", "hits"], batches):
        run.plan = replace(run.plan, goal=goal, cost="price")
        if goal != local_goal(local, of):
            engine = "hits" if goal == "hits" else "costs"
            told = {} if goal == "hits" else {"cost": of[goal][local.resident]}
            local = Lookup.restore(local.save(), goal=engine, **told)
            local.told = goal
        asked, cached = len(shop.asked), set(local.resident.tolist())
        outcome = run.take(events(batch.tolist()))
        assert not cached & {key for some in shop.asked[asked:] for key in some}
        local.push(batch, **({} if goal == "hits" else {"cost": of[goal][batch]}))
        found = LookupBucket(run.plan, 0, run.state).cache
        assert found.resident.tolist() == local.resident.tolist()
        assert found.attained == local.attained
        assert outcome.totals["hits"] + outcome.totals["known_missing"] == local.hits


def local_goal(local, of) -> str:
    return getattr(local, "told", "hits")


def test_costs_of_another_column_are_counted_anew():
    shop = shop_of_unlike_rows()
    run = Run(make_plan(shop, goal="costs", cost="price", policy="gdsf"))
    run.take(events([1, 5, 1]))
    plan = run.plan
    run.plan = replace(plan, columns=(("name", "name"), ("price", "paid")), cost="price")
    assert run.take(events([5])).totals["cost_saved"] == 970  # only its name in the result changed
    for other in (None, "price"):
        run.plan = replace(plan, goal="hits", cost=other)
        totals = run.take(events([1])).totals
        assert totals["cost_fetched"] == 0
        assert totals["cost_saved"] == (0 if other is None else 900)
    assert totals["bytes_saved"] > 0
    # Also where the rows mean something else, and are fetched anew.
    store = Store()
    journal = Journal(store, plan, 0)
    journal.commit(LookupBucket(plan, 0, run.state), MicroBatch([]), True)
    other = replace(plan, promised=plan.promised.append(pa.field("more", pa.int32())), cost=None)
    anew = Journal(store, other, 0).rebuild(LookupBucket)
    assert anew.cache.held == 0
    assert [anew.totals[name] for name in COSTS_COUNTED] == [0, 0]
    assert anew.totals["hits"] == totals["hits"]


@pytest.mark.parametrize("plan", [{}, {"goal": "costs", "cost": "price"}])
def test_state_of_before_there_were_goals(plan):
    """Neither terms nor base say anything of goals, and nothing saved was counted."""
    shop = shop_of_unlike_rows()
    first = make_plan(shop, policy="gdsf", budget=4)
    store, kept = Store(), LookupBucket(first, 0)
    batches = [MicroBatch([events(each)]) for each in ([1, 2, 3, 1, 5, 5], [4, 1, 2], [6, 1, 1])]
    for number, batch in enumerate(batches[:2]):
        journal = Journal(store, first, 0)
        list(kept.advance(batch))
        journal.commit(kept, batch._replace(heard=kept.heard()), force_base=number == 0)
        assert (journal.version.chunks, journal.version.pieces) == (1, number)
    forget(store, journal)
    now = replace(first, **plan)
    journal = Journal(store, now, 0)
    assert not journal.is_same  # so that no image is looked for
    fresh = LookupBucket(now, 0, journal.rebuild(LookupBucket).save())
    kept = LookupBucket(now, 0, kept.save())
    for bucket in (fresh, kept):
        list(bucket.advance(batches[2]))
    assert fresh.cache.resident.tolist() == kept.cache.resident.tolist()
    assert fresh.cache.attained == kept.cache.attained > 0
    assert fresh.totals["hits"] == kept.totals["hits"]


def forget(store, journal) -> None:
    """Write a version and a base as they were before there were goals."""
    version = journal.version
    del version.terms["goal"], version.terms["cost"]
    store.updateValue((VERSION,), (version.encode(),))
    stored = decode(journals._decompressed(store.getValue((BASE,))[0]))
    said = {name: each for name, each in stored.fingerprint.items() if name not in ("goal", "cost")}
    new = ("bytes_saved", "bytes_fetched", *COSTS_COUNTED)
    totals = {name: total for name, total in stored.totals.items() if name not in new}
    [piece] = journals._pieces(encode(Stored(said, stored.arrays, stored.payloads, totals)))
    store.updateValue((BASE,), (piece,))
