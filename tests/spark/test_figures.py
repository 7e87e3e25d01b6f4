"""What Spark works out of counters equals what plain Python makes of the same counters."""

import json
import math

import numpy as np
import pytest

from penstock.engine.adapt import census
from penstock.spark.figures import join_figures, lookup_figures, thin_figures
from penstock.spark.metrics import KINDS, Metrics, read
from penstock.spark.observe import figures_of
from penstock.spark.recall.estimate import SUMS, estimate
from penstock.spark.runtime.join_bucket import counter_names
from penstock.spark.runtime.lookup_bucket import AGES, count_ages, lookup_counters
from penstock.spark.runtime.result_rows import counters_text
from penstock.spark.runtime.thin_bucket import THIN_COUNTERS

pytestmark = pytest.mark.spark
FACTS = {"policy": "rate", "goal": "pairs", "budget": 40, "in_bytes": False, "checkpoint": "/c"}
ROW = "query int, counters string, hottest string"


def finished(spark, names, figures, queries):
    """Return the figures of several queries, each given as the reports of its buckets."""
    rows = [
        (number, None if counters is None else counters_text(counters, names), hottest)
        for number, buckets in enumerate(queries)
        for counters, hottest in buckets
    ]
    columns = [column.alias(name) for name, column in figures.items()]
    made = spark.createDataFrame(rows, ROW).groupBy("query").agg(*columns).orderBy("query")
    return [each.asDict(recursive=True) for each in made.collect()]


def joined(spark, cases, inputs=2):
    return finished(spark, counter_names(inputs), join_figures(inputs), cases)


def drawn_counters(rng, inputs):
    """Return counters of one bucket; many of the sums are 0, as they are in truth."""
    names = counter_names(inputs)
    sizes = np.where(rng.random(len(names)) < 0.4, 0.0, 10 ** rng.uniform(-1, 6, len(names)))
    counters = dict(zip(names, sizes.tolist(), strict=True))
    for name in names:
        if not (name.startswith(("watch_", "more_", "rows_"))):
            counters[name] = float(round(counters[name]))
        if "blind" in name and rng.random() < 0.7:
            counters[name] = 0.0
    lost = [each for each in names if each.startswith(("evicted", "rejected"))]
    if rng.random() < 0.3:
        counters |= dict.fromkeys(lost, 0.0)
    gone = sum(counters[each] for each in lost)
    return counters | {each: gone for each in names if "gone" in each}


def same(found, expected):
    assert (found is None) == (expected is None), (found, expected)
    assert found is None or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.parametrize("inputs", [2, 3])
def test_recall_is_what_the_formula_says_of_the_sums(spark, inputs):
    rng = np.random.default_rng(inputs)
    cases = [[(drawn_counters(rng, inputs), None) for _ in range(2)] for _ in range(30)]
    found = joined(spark, cases, inputs)
    for figures, ((one, _), (two, _)) in zip(found, cases, strict=True):
        total = {name: one[name] + two[name] for name in one}
        gone = sum(total[f"{name}_{i}"] for name in ("evicted", "rejected") for i in range(inputs))
        sums = {name: total[f"watch_{name}"] for name in SUMS}
        expected = estimate(sums, total["matched"], gone)
        for end, value in zip(("", "_low", "_high"), expected, strict=True):
            same(figures[f"recall{end}"], value)
        for stream in range(inputs):
            sums = {name: total[f"rows_{name}_{stream}"] for name in SUMS}
            expected = estimate(sums, total[f"rows_matched_{stream}"], gone)
            for end, value in zip(("", "_low", "_high"), expected, strict=True):
                same(figures[f"row_recall{end}"][stream], value)
        assert figures["evicted"] == [total[f"evicted_{i}"] for i in range(inputs)]
        assert figures["rows_held"] == total["held"]
        assert figures["recall_sums"] == pytest.approx([total[f"watch_{name}"] for name in SUMS])
        shares = sorted(int(each["share"]) for each in (one, two))
        assert figures["shares"] == shares
        assert figures["in_force"]["switches"] == total["switches"]
        in_force, tried = census.policies("joining")
        in_force = {
            name: total[f"in_force_{name}"] for name in in_force if total[f"in_force_{name}"]
        }
        assert figures["in_force"]["buckets"] == in_force
        for name in tried:
            beside = total[f"beside_{name}"]
            score = figures["in_force"]["scores"].get(name)
            same(score, round(1 + total[f"more_{name}"] / beside, 4) if beside else None)


def test_the_figures_of_an_exact_join_are_those_of_one_that_lost_nothing(spark):
    rng = np.random.default_rng(5)
    counters = dict.fromkeys(counter_names(2), 0.0)
    counters |= {name: float(rng.integers(1, 9)) for name in ("arrived_0", "held", "matched")}
    names, cases = counter_names(2), [[(counters, None)] * 2]
    exact = finished(spark, names, join_figures(2, exact=True), cases)
    assert exact == finished(spark, names, join_figures(2), cases)


def test_what_was_lost_under_an_earlier_budget_is_reported_without_one(spark):
    rng = np.random.default_rng(6)
    cases = [[(drawn_counters(rng, 2) | {"gone": 3.0}, None)] for _ in range(20)]
    exact = finished(spark, counter_names(2), join_figures(2, exact=True), cases)
    for figures, expected in zip(exact, joined(spark, cases), strict=True):
        for end in ("", "_low", "_high"):
            same(figures[f"recall{end}"], expected[f"recall{end}"])
        assert figures["row_recall"] == [None, None]


@pytest.mark.parametrize("exact", [False, True])
def test_a_micro_batch_without_a_bucket_has_no_figures(spark, exact):
    [figures] = finished(spark, counter_names(2), join_figures(2, exact), [[(None, None)]])
    told = {name for name, value in figures.items() if value not in (None, [], [None, None])}
    assert told == {"query"}
    assert figures_of({"observedMetrics": {"penstock": figures}}, "penstock") == {}


def test_the_hottest_keys_are_those_of_all_buckets(spark):
    counters = dict.fromkeys(counter_names(2), 0.0) | {"matched": 50.0}
    keys = [{"key": f"<{number}>", "share": number / 100} for number in range(1, 9)]
    told = [
        json.dumps({"hottest": keys[:4], "pairs": [10, 5]}),
        json.dumps({"hottest": [*keys[4:], *keys[4:]], "pairs": [20]}),
    ]
    buckets = [(counters, told[0]), (counters, told[1]), (counters, None)]
    [figures] = joined(spark, [buckets])
    made = read("penstock", figures | FACTS, 7)
    assert isinstance(made, Metrics)
    assert len(made.hottest) == 10
    assert made.hottest[:3] == (("<8>", 0.08), ("<8>", 0.08), ("<7>", 0.07))
    assert made.hot_pairs == pytest.approx(35 / 150)
    assert (made.batch, made.matches, made.budget) == (7, 150, 40)


def quantile(ages, share):
    """Return the age that a share of all does not exceed, straight along its bin, by hand."""
    counts, wanted, before = count_ages(ages), share * len(ages), 0
    for number, count in enumerate(counts):
        if before + count >= wanted:
            within = (wanted - before) / count
            return within / 1000 if number == 0 else 2 ** (number - 1 + within) / 1000
        before += count


def test_staleness_is_read_off_the_counted_ages(spark):
    rng = np.random.default_rng(3)
    drawn = [10 ** rng.uniform(2, 9, rng.integers(1, 200)) for _ in range(20)]
    ages = [np.full(100, 3_000_000), np.full(10, 20), *drawn]
    counted = [dict(zip(AGES, map(float, count_ages(each)), strict=True)) for each in ages]
    nothing = dict.fromkeys(lookup_counters(), 0.0)
    cases = [[(nothing | each, None)] for each in counted] + [[(nothing | {"events": 3.0}, None)]]
    *found, empty = finished(spark, lookup_counters(), lookup_figures(), cases)
    for figures, each in zip(found, ages, strict=True):
        same(figures["staleness_p50"], quantile(each, 0.5))
        same(figures["staleness_p99"], quantile(each, 0.99))
    assert empty["staleness_p50"] is None
    assert read("penstock_lookup", empty | FACTS, 0).events == 3
    costs = [(nothing | {"cost_saved": 2.0, "bytes_saved": 7.0}, None)] * 2
    for has_costs, saved in ((True, 4), (False, None)):
        named = lookup_figures(has_costs)
        [figures] = finished(spark, lookup_counters(), named, [costs])
        assert (figures["cost_saved"], figures["bytes_saved"]) == (saved, 14)


def test_the_figures_of_a_thin_keep_their_names(spark):
    counters = {name: float(place) for place, name in enumerate(THIN_COUNTERS)}
    named = thin_figures(THIN_COUNTERS)
    [figures] = finished(spark, THIN_COUNTERS, named, [[(counters, None)]])
    made = read("penstock_thin", figures, 0)
    assert type(made) is KINDS["penstock_thin"]
    assert (made.readings, made.asked, made.bytes_held) == (0.0, 4.0, len(THIN_COUNTERS) - 1)
