"""The figures of a query, worked out by Spark from the counters of its buckets.

They are one struct in every progress report, so that listeners, `metrics` and the monitor read the
same finished numbers. All of them come from one aggregate: Spark works the plan of a query out anew
in every micro-batch, and an aggregate for each figure would take it long. Only those of a join that
alerts go by stand beside the struct too.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..engine.adapt import census
from ..kernel.policy import CACHING, JOINING
from .plan import JoinPlan, LookupPlan
from .recall.estimate import SUMS, estimate_by
from .runtime.join_bucket import COUNTED, counter_names
from .runtime.lookup_bucket import AGES, LOOKUP_COUNTED, lookup_counters
from .runtime.sharing import TOLD

FIGURES = "figures"
JOIN, LOOKUP, THIN = "penstock", "penstock_lookup", "penstock_thin"
# What buckets call otherwise.
RENAMED = {"null": "null_keys", "asked": "keys_asked", "fetched": "rows_fetched"}
RENAMED_THIN = {"null_key": "null_keys", "null_time": "null_times", "bytes": "bytes_held"}
HELD = {"held": "rows_held", "bytes": "bytes_held"}
PARTS = {"": "value", "_low": "low", "_high": "high"}  # of an estimate
HOTTEST = "hottest array<struct<key: string, share: double>>, pairs array<double>"
QUANTILES = {"staleness_p50": 0.5, "staleness_p99": 0.99}

Figures = dict[str, Column]


def bind(work: Callable[..., Column], *values: Column) -> Column:
    """Return what is worked out of columns, each of which is worked out once.

    A column that is used twice is otherwise twice in the plan.
    """
    named = F.struct(*(value.alias(f"v{place}") for place, value in enumerate(values)))
    places = range(len(values))
    made = F.transform(F.array(named), lambda each: work(*(each[f"v{place}"] for place in places)))
    return made[0]


def struct(named: Figures) -> Column:
    """Return columns as one, with their names."""
    return F.struct(*(column.alias(name) for name, column in named.items()))


class Columns:
    """Arithmetic on columns, for formulas that are written once; see `recall.estimate.Floats`."""

    none = None
    exp, sqrt, bind = F.exp, F.sqrt, staticmethod(bind)

    @staticmethod
    def ratio(above: Column | float, below: Column) -> Column:
        return F.try_divide(F.lit(above), below)

    @staticmethod
    def where(test: Column, then: Any, otherwise: Any) -> Column:
        return F.when(test, then).otherwise(otherwise)

    @staticmethod
    def record(value: Column, low: Column, high: Column) -> Column:
        return F.struct(value.alias("value"), low.alias("low"), high.alias("high"))


class Counted:
    """The counters of all buckets, added up."""

    def __init__(self, names: list[str], buckets: Column, sums: Column):
        self.names = names
        self.buckets = buckets  # array of struct: counters and hottest of each
        self.sums = sums

    def whole(self, name: str) -> Column:
        """Return one counter as a whole number."""
        return self.sums[self.names.index(name)].cast("bigint")

    def run(self, first: str, count: int) -> Column:
        """Return counters that follow each other."""
        return F.slice(self.sums, self.names.index(first) + 1, count)

    def wholes(self, first: str, count: int) -> Column:
        """Return them as whole numbers."""
        return self.run(first, count).cast("array<bigint>")


def observed(
    packets: DataFrame,
    name: str,
    names: list[str],
    work: Callable[[Counted], Column],
    beside: Callable[[Column], Figures] | None = None,
) -> DataFrame:
    """Let the progress of a query carry its figures; null where no bucket was called.

    `beside` are those that stand beside the struct, too.
    """
    row = F.struct("counters", "hottest")
    reports = F.collect_list(F.when(F.col("counters").isNotNull(), row))
    made = {FIGURES: worked_out(reports, names, work)} | (beside(reports) if beside else {})
    return packets.observe(name, *(column.alias(mine) for mine, column in made.items()))


def worked_out(reports: Column, names: list[str], work: Callable[[Counted], Column]) -> Column:
    """Return the struct of figures, given an array with the reports of the buckets."""

    def figures(buckets: Column, sums: Column) -> Column:
        return work(Counted(names, buckets, sums))

    def added(buckets: Column) -> Column:
        nothing = F.array_repeat(F.lit(0.0), len(names))
        both = partial(F.zip_with, f=lambda x, y: x + y)
        sums = F.aggregate(buckets["counters"], nothing, lambda a, b: both(a, b))
        return bind(figures, buckets, sums)

    there = F.filter(F.array(reports), lambda buckets: F.size(buckets) > 0)
    return F.get(F.transform(there, added), F.lit(0))


def _facts(plan: JoinPlan | LookupPlan) -> Figures:
    """Return under which terms the query runs."""
    return {
        "policy": F.lit(plan.policy),
        "budget": F.lit(plan.budget).cast("bigint"),
        "in_bytes": F.lit(plan.in_bytes),
        "checkpoint": F.lit(plan.checkpoint).cast("string"),
    }


def observed_join(packets: DataFrame, plan: JoinPlan) -> DataFrame:
    """Let the progress of a query carry the figures of a join."""
    facts = {"goal": F.lit(plan.goal)} | _facts(plan)
    inputs = len(plan.inputs)
    work = partial(join_figures, inputs, facts)
    return observed(packets, JOIN, counter_names(inputs), work, partial(_for_alerts, inputs))


def _for_alerts(inputs: int, reports: Column) -> Figures:
    """Return the figures that alerts go by, each worked out by itself."""
    names = counter_names(inputs)

    def total(name: str) -> Column:
        return F.sum(F.col("counters")[names.index(name)]).cast("bigint")

    def recall(part: str, counted: Counted) -> Column:
        return _recalls(inputs, counted)[0][part]

    made = {
        f"recall{end}": worked_out(reports, names, partial(recall, part))
        for end, part in PARTS.items()
    }
    for name in ("late", "evicted", "refused"):
        made[name] = F.array(*(total(f"{name}_{stream}") for stream in range(inputs)))
    return made | {new: total(name) for name, new in HELD.items()}


def join_figures(inputs: int, facts: Figures, counted: Counted) -> Column:
    """Return the figures of a join; an array holds one number per input."""
    made = {RENAMED.get(name, name): counted.wholes(f"{name}_0", inputs) for name in COUNTED}
    made |= {"null_times": counted.whole("no_time"), "matches": counted.whole("matched")}
    made |= {new: counted.whole(name) for name, new in HELD.items()}
    matched = [counted.whole(f"rows_matched_{stream}") for stream in range(inputs)]
    made["rows_matched"] = F.array(*matched)
    shares = counted.buckets["counters"]
    shares = F.transform(shares, lambda each: each[counted.names.index("share")].cast("bigint"))
    made["shares"] = F.array(F.array_min(shares), F.array_max(shares))
    made["ruling"] = _ruling(JOINING, counted)
    made["recall_sums"] = counted.run("shadow_drawn", len(SUMS))  # they add up over time

    def finished(found: Column, told: Column) -> Column:
        rows = F.slice(found, 2, inputs)
        more = {f"recall{end}": found[0][part] for end, part in PARTS.items()}
        more |= {f"row_recall{end}": rows[part] for end, part in PARTS.items()}
        more["hottest"] = _hottest(told)
        more["hot_pairs"] = _hot_pairs(told, made["matches"])
        return struct(made | more | facts)

    told = F.filter(counted.buckets["hottest"], lambda each: each.isNotNull())
    told = F.transform(told, lambda each: F.from_json(each, HOTTEST))
    return bind(finished, _recalls(inputs, counted), told)


def _recalls(inputs: int, counted: Counted) -> Column:
    """Return recall with its interval, of results and then of the rows of each input."""
    gone = F.aggregate(counted.run("evicted_0", 2 * inputs), F.lit(0.0), lambda a, b: a + b)
    first, long = counted.names.index("matched"), 1 + len(SUMS)
    places = F.sequence(F.lit(first), F.lit(first + inputs * long), F.lit(long))

    def recall(gone: Column, sums: Column) -> Column:
        found, *others = (sums[place] for place in range(long))
        return estimate_by(Columns, others, found, gone)

    def each(gone: Column) -> Column:
        pieces = F.transform(places, lambda place: F.slice(counted.sums, place + 1, long))
        return F.transform(pieces, partial(recall, gone))

    return bind(each, gone)


def _hottest(told: Column) -> Column:
    """Return the most frequent keys of all buckets, each of which tells of its own."""
    keys = F.transform(
        F.flatten(told["hottest"]), lambda each: F.struct(-each["share"], each["key"].alias("key"))
    )
    first = F.slice(F.array_sort(keys), 1, TOLD)
    return F.transform(first, lambda e: F.struct(e["key"], (-e["col1"]).alias("share")))


def _hot_pairs(told: Column, matches: Column) -> Column:
    """Return the share of the results that the keys with most of them have."""
    counts = F.slice(F.sort_array(F.flatten(told["pairs"]), asc=False), 1, TOLD)
    most = F.aggregate(counts, F.lit(0.0), lambda a, b: a + b)
    return F.when(F.size(told) > 0, F.least(F.lit(1.0), F.try_divide(most, matches)))


def _ruling(problem: str, counted: Counted) -> Column:
    """Return in how many buckets each policy is in force, and what the challengers score."""
    ruling, tried = census.policies(problem)
    buckets = F.map_from_arrays(_names(ruling), counted.wholes(f"rules_{ruling[0]}", len(ruling)))
    first, last = counted.names.index(f"more_{tried[0]}"), 2 * (len(tried) - 1)
    places = F.sequence(F.lit(first), F.lit(first + last), F.lit(2))
    scores = F.transform(
        places, lambda at: F.round(1 + F.try_divide(counted.sums[at], counted.sums[at + 1]), 4)
    )
    scores = F.map_from_arrays(_names(tried), scores)
    return F.struct(
        F.map_filter(buckets, lambda _, count: count > 0).alias("buckets"),
        F.map_filter(scores, lambda _, score: score.isNotNull()).alias("scores"),
        counted.whole("switches").alias("switches"),
    )


def _names(names: list[str]) -> Column:
    """Return names as an array, which is a smaller expression than a literal for each."""
    return F.split(F.lit(" ".join(names)), " ")


def observed_lookup(packets: DataFrame, plan: LookupPlan) -> DataFrame:
    """Let the progress of a query carry the figures of a lookup."""
    return observed(packets, LOOKUP, lookup_counters(), partial(lookup_figures, _facts(plan)))


def lookup_figures(facts: Figures, counted: Counted) -> Column:
    """Return the figures of a lookup."""
    made = {RENAMED.get(name, name): counted.whole(name) for name in LOOKUP_COUNTED}
    made |= {new: counted.whole(name) for name, new in HELD.items()}
    made["ruling"] = _ruling(CACHING, counted)

    def finished(ages: Column) -> Column:
        return struct(made | facts | {name: ages[at] for at, name in enumerate(QUANTILES)})

    return bind(finished, _quantiles(counted.run(AGES[0], len(AGES))))


def _quantiles(counts: Column) -> Column:
    """Return the ages in seconds that shares of all rows did not exceed, to within their bins.

    Below 1 ms is the first bin, and each of the others reaches to twice the one before.
    """
    bins = F.sequence(F.lit(0), F.lit(len(AGES) - 1))

    def age(share: Column, total: Column) -> Column:
        def reach(state: Column, number: Column) -> Column:
            def place(before: Column, count: Column) -> Column:
                within = F.try_divide(share * total - before, count)
                longer = F.pow(F.lit(2.0), number - 1 + within) / 1000
                here = F.when(number == 0, within / 1000).otherwise(longer)
                is_here = state["age"].isNull() & (before + count >= share * total)
                found = F.when(is_here, here).otherwise(state["age"])
                return F.struct((before + count).alias("before"), found.alias("age"))

            return bind(place, state["before"], counts[number])

        start = F.struct(F.lit(0.0).alias("before"), F.lit(None).cast("double").alias("age"))
        return F.aggregate(bins, start, reach, lambda state: state["age"])

    def both(total: Column) -> Column:
        ages = F.transform(F.array(*map(F.lit, QUANTILES.values())), lambda q: age(q, total))
        return F.when(total > 0, ages)

    return bind(both, F.aggregate(counts, F.lit(0.0), lambda a, b: a + b))


def observed_thin(packets: DataFrame, names: list[str], checkpoint: str | None) -> DataFrame:
    """Let the progress of a query carry the figures of a thinning, whose counters have `names`."""
    return observed(packets, THIN, names, partial(thin_figures, checkpoint))


def thin_figures(checkpoint: str | None, counted: Counted) -> Column:
    """Return the figures of a thinning."""
    made = {RENAMED_THIN.get(name, name): counted.whole(name) for name in counted.names}
    return struct(made | {"checkpoint": F.lit(checkpoint).cast("string")})
