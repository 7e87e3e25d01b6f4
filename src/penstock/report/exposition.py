"""The figures of queries as Prometheus reads them. Needs `pip install penstock[monitor]`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..extras import need
from .history import Sample
from .live import SENT, Watched

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Values = Iterator[tuple[dict[str, str], float | None]]


class Metric(NamedTuple):
    """A metric of one kind of query: its values, with labels beside that of the query."""

    name: str  # ends in _total where it only grows
    help: str
    values: Callable[[Sample], Values]


def _at(path: str, label: str = "input") -> Callable[[Sample], Values]:
    """Return the values that stand in a sample: one, or several that a label tells apart."""

    def values(sample: Sample) -> Values:
        found: Any = sample
        for part in path.split("."):
            found = (found or {}).get(part)
        if isinstance(found, list):
            found = dict(enumerate(found))
        if isinstance(found, dict):
            yield from (({label: str(name)}, each) for name, each in found.items())
        else:
            yield {}, found

    return values


def _budget(in_bytes: bool) -> Callable[[Sample], Values]:
    def values(sample: Sample) -> Values:
        figures = sample["figures"]
        yield {}, figures["budget"] if figures["in_bytes"] == in_bytes else None

    return values


def _rate(place: int) -> Callable[[Sample], Values]:
    return lambda sample: iter([({}, sample["rates"][place])])


def _staleness(sample: Sample) -> Values:
    yield {"quantile": "0.5"}, sample["figures"]["staleness_p50"]
    yield {"quantile": "0.99"}, sample["figures"]["staleness_p99"]


def _sent(sample: Sample) -> Values:
    for kind in SENT:
        yield {"kind": kind}, sample["figures"][kind]


def _metrics(kind: str, *named: tuple[str, str, str]) -> tuple[Metric, ...]:
    """Return metrics, each given by its name, where its values stand, and its help."""
    return tuple(Metric(f"penstock_{kind}_{name}", said, _at(path)) for name, path, said in named)


def _held(kind: str) -> tuple[Metric, ...]:
    """Return what joins and lookups have in common."""
    start, in_force = f"penstock_{kind}_", "figures.in_force"
    scores = "What a challenger finds beside the policy in force."
    return (
        *_metrics(
            kind,
            ("rows_held", "figures.rows_held", "Rows held now."),
            ("held_bytes", "figures.bytes_held", "Bytes held now."),
            ("policy_switches_total", f"{in_force}.switches", "Changes of the policy in force."),
            ("evicted_rows_total", "figures.evicted", "Rows that left: the budget was full."),
            ("rejected_rows_total", "figures.rejected", "Rows not admitted: it was full."),
        ),
        Metric(f"{start}budget_rows", "The budget, if it counts rows.", _budget(False)),
        Metric(f"{start}budget_bytes", "The budget, if it counts bytes.", _budget(True)),
        Metric(
            f"{start}policy_buckets",
            "Buckets by the policy in force.",
            _at(f"{in_force}.buckets", "policy"),
        ),
        Metric(f"{start}policy_score_ratio", scores, _at(f"{in_force}.scores", "policy")),
    )


QUERY = (
    Metric(
        "penstock_query_batch_seconds",
        "The last micro-batch, by Spark's names of parts.",
        _at("seconds", "part"),
    ),
    Metric(
        "penstock_query_input_rows_per_second",
        "Rows that came a second before the last micro-batch.",
        _rate(0),
    ),
    Metric(
        "penstock_query_processed_rows_per_second",
        "Rows that the last micro-batch processed a second.",
        _rate(1),
    ),
    Metric(
        "penstock_query_last_batch_timestamp_seconds",
        "When the last micro-batch with figures ended.",
        _at("at"),
    ),
)
LOW, HIGH = "Lower end of its 95 % interval.", "Upper end of its 95 % interval."
JOIN = (
    *_metrics(
        "join",
        ("arrived_rows_total", "figures.arrived", "Rows that came."),
        ("late_rows_total", "figures.late", "Rows dropped: they came after the watermark."),
        ("expired_rows_total", "figures.expired", "Rows that left: nothing to come matches them."),
        ("matched_rows_total", "figures.rows_matched", "Rows that found a partner."),
        ("results_total", "figures.matches", "Results found."),
        ("recall_ratio", "figures.recall", "Share of all results found."),
        ("recall_low_ratio", "figures.recall_low", LOW),
        ("recall_high_ratio", "figures.recall_high", HIGH),
        ("recent_recall_ratio", "recent.recall", "Share of the results of the last minute."),
        ("recent_recall_low_ratio", "recent.low", LOW),
        ("recent_recall_high_ratio", "recent.high", HIGH),
        ("row_recall_ratio", "figures.row_recall", "Share of rows with a partner that found one."),
        ("row_recall_low_ratio", "figures.row_recall_low", LOW),
        ("row_recall_high_ratio", "figures.row_recall_high", HIGH),
    ),
    *_held("join"),
    *_metrics(
        "join",
        ("owed_results", "figures.owed_pairs", "Results missed and not reconciled yet."),
        ("owed_results_low", "figures.owed_pairs_low", LOW),
        ("owed_results_high", "figures.owed_pairs_high", HIGH),
        ("owed_bytes", "figures.owed_bytes", "Bytes archived and not reconciled yet."),
        ("owed_oldest_seconds", "figures.owed_seconds", "Since the oldest were archived."),
    ),
)
LOOKUP = (
    *_metrics(
        "lookup",
        ("events_total", "figures.events", "Events that came."),
        ("hits_total", "figures.hits", "Events whose row was cached."),
        ("misses_total", "figures.misses", "Events whose key was not cached."),
        ("found_total", "figures.found", "Events that were given a row."),
        ("calls_total", "figures.calls", "Queries sent to the relation."),
        ("retries_total", "figures.retries", "Queries that were sent again."),
        ("expired_rows_total", "figures.expired", "Rows that became older than ttl."),
    ),
    *_held("lookup"),
    Metric("penstock_lookup_staleness_seconds", "Age of the rows at serving.", _staleness),
)
THIN = (
    *_metrics(
        "thin",
        ("readings_total", "figures.readings", "Readings that came."),
        ("queries_total", "figures.queries", "Queries that came."),
        ("late_readings_total", "figures.late", "Readings older than the last one of their key."),
        ("keys", "figures.keys", "Keys known."),
        ("held_bytes", "figures.bytes_held", "Bytes held now."),
    ),
    Metric("penstock_thin_sent_total", "Refreshes, by their kind.", _sent),
)
METRICS = {"join": JOIN, "lookup": LOOKUP, "thin": THIN}


def exposition(watched: Sequence[Watched]) -> bytes:
    """Return the figures of some queries in Prometheus' text format."""
    client = need("prometheus_client", "the monitor")
    core = need("prometheus_client.core", "the monitor")

    class Collector(client.registry.Collector):  # type: ignore[name-defined]
        def collect(self) -> Iterator[Any]:
            yield from _families(core, watched)

    registry = client.CollectorRegistry(auto_describe=False)
    registry.register(Collector())
    return bytes(client.generate_latest(registry))


def _families(core: Any, watched: Sequence[Watched]) -> Iterator[Any]:
    up = core.GaugeMetricFamily(
        "penstock_query_up", "1 while the query runs.", labels=["query", "id", "kind"]
    )
    for each in watched:
        about = each.history.about
        labels = [about["name"], about["id"], about["kind"]]
        up.add_metric(labels, float(about["state"] == "running"))
    yield up
    for kind, own in METRICS.items():
        those = [each for each in watched if each.history.about["kind"] == kind]
        for metric in own:
            yield _family(core, metric, those)
    queries = {each.history.about["name"]: each for each in watched}  # one may join and look up
    for metric in QUERY:
        yield _family(core, metric, list(queries.values()))


def _family(core: Any, metric: Metric, watched: Sequence[Watched]) -> Any:
    """Return a metric of several queries; what is not known is left out."""
    grows = metric.name.endswith("_total")
    kind = core.CounterMetricFamily if grows else core.GaugeMetricFamily
    found = [
        ({"query": each.history.about["name"]} | labels, value)
        for each in watched
        for labels, value in metric.values(each.latest)
        if value is not None
    ]
    names = list(found[0][0]) if found else ["query"]
    family = kind(metric.name, metric.help, labels=names)
    for labels, value in found:
        family.add_metric([labels[name] for name in names], float(value))
    return family
