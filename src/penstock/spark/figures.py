"""The figures of a query, worked out by Spark from the counters of its buckets.

Each is an observed metric of its own, under the name that `metrics` gives it, so that any listener
can alert on it. Spark works the plan of a query out anew in every micro-batch, and takes longer the
more expressions there are: so counters are taken in runs, and formulas are short.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..engine.adapt import census
from ..kernel.policy import CACHING, JOINING
from .plan import JoinPlan, LookupPlan
from .recall.estimate import SUMS, Counts, high, low, value
from .runtime.join_bucket import COUNTED, ESTIMATED, counter_names
from .runtime.lookup_bucket import AGES, COSTS_COUNTED, LOOKUP_COUNTED, lookup_counters
from .runtime.result_rows import WIDTH
from .runtime.sharing import NAMED

JOIN, LOOKUP, THIN = "penstock", "penstock_lookup", "penstock_thin"
# What buckets call otherwise.
RENAMED = {"null": "null_keys", "asked": "keys_asked", "fetched": "rows_fetched"}
RENAMED_THIN = {"null_key": "null_keys", "null_time": "null_times", "bytes": "bytes_held"}
RECALL = {"recall": value, "recall_low": low, "recall_high": high}
HOTTEST = "hottest array<struct<share: double, key: string>>, pairs array<double>"
IN_FORCE = "struct<buckets: map<string, bigint>, scores: map<string, double>, switches: bigint>"
TINY = 1e-300
QUANTILES = {"staleness_p50": 0.5, "staleness_p99": 0.99}

Figures = dict[str, Column]


def bind(work: Callable[..., Column], *values: Column) -> Column:
    """Return what is worked out of columns, each of which is worked out once.

    A column that is used twice is otherwise twice in the plan.
    """
    if len(values) == 1:
        return F.transform(F.array(*values), work)[0]
    named = F.struct(*(each.alias(f"v{place}") for place, each in enumerate(values)))
    places = range(len(values))
    made = F.transform(F.array(named), lambda each: work(*(each[f"v{place}"] for place in places)))
    return made[0]


class ColumnMath:
    """Arithmetic on columns, for formulas written once; see `recall.estimate.FloatMath`."""

    exp, sqrt, bind = F.exp, F.sqrt, staticmethod(bind)

    @staticmethod
    def ratio(above: Column | float, below: Column) -> Column:
        return F.lit(above) / F.greatest(below, F.lit(TINY))  # what it is by 0 is never used

    @staticmethod
    def where(test: Column, then: Any, otherwise: Any) -> Column:
        return F.when(test, then).otherwise(otherwise)


class Counted:
    """Sums of the counters of all buckets; null where no bucket was called."""

    def __init__(self, names: list[str]):
        self.names = names

    def counter(self, name: str) -> Column:
        """Return a counter of one bucket."""
        return F.substring("counters", self._place(name), WIDTH - 1).cast("double")

    def _place(self, name: str) -> int:
        """Return where a counter is in the text of them; the first character is 1."""
        return 1 + WIDTH * self.names.index(name)

    def whole(self, name: str) -> Column:
        """Return the sum of a counter as a whole number."""
        return F.sum(self.counter(name)).cast("bigint")

    def run(self, first: str, count: int, work: Callable[[Column], Column]) -> Column:
        """Return what is worked out of the sums of counters that follow each other."""

        def added(each: Column) -> Column:
            others = F.slice(each, F.lit(2), F.size(each))
            return F.aggregate(others, each[0], lambda a, b: F.zip_with(a, b, lambda x, y: x + y))

        text = F.substring("counters", self._place(first), WIDTH * count - 1)
        parts = F.collect_list(F.split(text, ",").cast("array<double>"))
        called = F.filter(F.array(parts), lambda each: F.size(each) > 0)
        return F.get(F.transform(F.transform(called, added), work), F.lit(0))


def _facts(plan: JoinPlan | LookupPlan) -> Figures:
    """Return under which terms the query runs."""
    return {
        "policy": F.lit(plan.policy),
        "goal": F.lit(plan.goal),
        "budget": F.lit(plan.budget).cast("bigint"),
        "in_bytes": F.lit(plan.in_bytes),
        "checkpoint": F.lit(plan.checkpoint).cast("string"),
    }


def _observed(packets: DataFrame, name: str, figures: Figures) -> DataFrame:
    """Let the progress of a query carry figures."""
    return packets.observe(name, *(column.alias(name) for name, column in figures.items()))


def join_name(number: int) -> str:
    """Return under which name the figures of a join are observed, counted along its query.

    >>> join_name(1), join_name(2)
    ('penstock', 'penstock_2')
    """
    return JOIN if number == 1 else f"{JOIN}_{number}"


def is_join(name: str) -> bool:
    """Tell whether observed figures are those of a join.

    >>> [is_join(name) for name in ("penstock", "penstock_2", "penstock_lookup")]
    [True, True, False]
    """
    return name == JOIN or name.removeprefix(f"{JOIN}_").isdecimal()


def observed_join(packets: DataFrame, plan: JoinPlan) -> DataFrame:
    """Let the progress of a query carry the figures of a join."""
    figures = join_figures(len(plan.inputs), plan.budget is None) | _facts(plan)
    return _observed(packets, join_name(plan.place), figures)


def join_figures(inputs: int, exact: bool = False) -> Figures:
    """Return the figures of a join; an array holds one number per input.

    Those of an `exact` join, which has no budget, are simple: nothing is evicted, and there is no
    policy. If an earlier run had a budget, the recall of rows is not known any more.
    """
    counted = Counted(counter_names(inputs))

    def each_input(name: str) -> Column:
        return F.array(*(counted.whole(f"{name}_{stream}") for stream in range(inputs)))

    share = counted.counter("share").cast("bigint")
    return {
        **{RENAMED.get(name, name): each_input(name) for name in (*COUNTED, "rows_matched")},
        "null_times": counted.whole("no_time"),
        "matches": counted.whole("matched"),
        **_held(counted),
        "shares": F.array(F.min(share), F.max(share)),
        **(_exact(counted, inputs) if exact else _bounded(counted, inputs)),
    }


def _exact(counted: Counted, inputs: int) -> Figures:
    """Return the figures of an exact join; null where no bucket was called.

    Every sum that stands in the plan costs a micro-batch about a millisecond, also if it is there
    twice: so each figure has one aggregate.
    """

    def of_gone(made: Callable[[Column], Column], kind: str) -> Column:
        gone = F.sum(counted.counter("gone"))
        return bind(lambda lost: F.when(lost.isNotNull(), made(lost)).cast(kind), gone)

    def whole(lost: Column) -> Column:
        return F.array(*[F.when(lost <= 0.0, 1.0)] * inputs)

    def estimated(part: Callable[..., Column]) -> Column:
        return counted.run("matched", len(ESTIMATED), partial(_estimated, part))

    return {
        **{name: estimated(part) for name, part in RECALL.items()},
        **{f"row_{name}": of_gone(whole, "array<double>") for name in RECALL},
        "in_force": of_gone(lambda _: F.struct(F.create_map(), F.create_map(), F.lit(0)), IN_FORCE),
        "hottest": F.array().cast("array<struct<share: double, key: string>>"),
        "hot_pairs": F.lit(None).cast("double"),
        "recall_sums": of_gone(lambda _: F.array(*[F.lit(0.0)] * len(SUMS)), "array<double>"),
    }


def _bounded(counted: Counted, inputs: int) -> Figures:
    """Return the figures of a join under a budget."""
    keys = F.collect_list(F.from_json("hottest", HOTTEST))
    return {
        **_recalls(counted, inputs),
        "in_force": _in_force(JOINING, counted),
        "hottest": F.slice(F.sort_array(F.flatten(keys["hottest"]), asc=False), 1, NAMED),
        "hot_pairs": F.try_divide(_most(keys["pairs"]), F.sum(counted.counter("matched"))),
        # They add up over time.
        "recall_sums": counted.run("watch_drawn", len(SUMS), lambda sums: sums),
    }


def _held(counted: Counted) -> Figures:
    return {"rows_held": counted.whole("held"), "bytes_held": counted.whole("bytes")}


def _recalls(counted: Counted, inputs: int) -> Figures:
    """Return recall with its interval, of results and of the rows of each input."""
    long = len(ESTIMATED)

    def of_rows(part: Callable[..., Column], sums: Column) -> Column:
        pieces = [F.slice(sums, 1 + long * stream, long) for stream in range(inputs)]
        return F.transform(F.array(*pieces), partial(_estimated, part))

    made = {}
    for name, part in RECALL.items():
        made[name] = counted.run("matched", long, partial(_estimated, part))
        rows = partial(of_rows, part)
        made[f"row_{name}"] = counted.run("rows_matched_0", inputs * long, rows)
    return made


def _estimated(part: Callable[..., Column], sums: Column) -> Column:
    """Return a part of the estimate that is made of sums."""
    return part(ColumnMath, Counts(*(sums[place] for place in range(len(ESTIMATED)))))


def _most(pairs: Column) -> Column:
    """Return how many results the keys with most of them have; null where none is known."""
    counts = F.slice(F.sort_array(F.flatten(pairs), asc=False), 1, NAMED)
    return F.aggregate(
        counts, F.lit(0.0), lambda a, b: a + b, lambda total: F.when(total > 0, total)
    )


def _in_force(problem: str, counted: Counted) -> Column:
    """Return in how many buckets each policy is in force, and what the challengers score."""
    in_force, tried = census.policies(problem)
    first, last = len(in_force), len(in_force) + 2 * len(tried)

    def made(sums: Column) -> Column:
        buckets = F.map_from_arrays(_names(in_force), F.slice(sums, 1, first).cast("array<bigint>"))
        scores = F.transform(
            F.sequence(F.lit(first), F.lit(last - 2), F.lit(2)),
            lambda at: F.round(1 + F.try_divide(sums[at], sums[at + 1]), 4),
        )
        scores = F.map_from_arrays(_names(tried), scores)
        return F.struct(
            F.map_filter(buckets, lambda _, count: count > 0).alias("buckets"),
            F.map_filter(scores, lambda _, score: score.isNotNull()).alias("scores"),
            sums[last].cast("bigint").alias("switches"),
        )

    return counted.run(f"in_force_{in_force[0]}", last + 1, made)


def _names(names: list[str]) -> Column:
    """Return names as an array, which is a smaller expression than a literal for each."""
    return F.split(F.lit(" ".join(names)), " ")


def observed_lookup(packets: DataFrame, plan: LookupPlan) -> DataFrame:
    """Let the progress of a query carry the figures of a lookup."""
    return _observed(packets, LOOKUP, lookup_figures(plan.cost is not None) | _facts(plan))


def lookup_figures(has_costs: bool = True) -> Figures:
    """Return the figures of a lookup; those of costs are null where none are told."""
    counted = Counted(lookup_counters())
    made = {RENAMED.get(name, name): counted.whole(name) for name in LOOKUP_COUNTED}
    if not has_costs:
        made |= {name: F.lit(None).cast("bigint") for name in COSTS_COUNTED}
    for name, share in QUANTILES.items():
        made[name] = counted.run(AGES[0], len(AGES), partial(_quantile, share))
    return made | _held(counted) | {"in_force": _in_force(CACHING, counted)}


def _quantile(share: float, counts: Column) -> Column:
    """Return the age in seconds that a share of all rows did not exceed, to within its bin.

    Below 1 ms is the first bin, and each of the others reaches to twice the one before.
    """
    bins = F.sequence(F.lit(0), F.lit(len(AGES) - 1))
    start = F.struct(F.lit(0.0).alias("before"), F.lit(None).cast("double").alias("age"))

    def age(wanted: Column) -> Column:
        def reach(state: Column, number: Column) -> Column:
            def place(before: Column, count: Column) -> Column:
                within = F.try_divide(wanted - before, count)
                longer = F.pow(F.lit(2.0), number - 1 + within) / 1000
                here = F.when(number == 0, within / 1000).otherwise(longer)
                is_here = state["age"].isNull() & (wanted > 0) & (before + count >= wanted)
                found = F.when(is_here, here).otherwise(state["age"])
                return F.struct((before + count).alias("before"), found.alias("age"))

            return bind(place, state["before"], counts[number])

        return F.aggregate(bins, start, reach, lambda state: state["age"])

    return bind(age, share * F.aggregate(counts, F.lit(0.0), lambda a, b: a + b))


def observed_thin(packets: DataFrame, names: list[str], checkpoint: str | None) -> DataFrame:
    """Let the progress of a query carry the figures of a thinning, whose counters have `names`."""
    facts = {"checkpoint": F.lit(checkpoint).cast("string")}
    return _observed(packets, THIN, thin_figures(names) | facts)


def thin_figures(names: list[str]) -> Figures:
    """Return the figures of a thinning."""
    counted = Counted(names)
    return {RENAMED_THIN.get(name, name): counted.whole(name) for name in names}
