"""The figures of queries as Prometheus reads them. Needs `pip install penstock[monitor]`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..extras import need
from .live import Watched

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Values = Iterator[tuple[dict[str, str], float | None]]


class Metric(NamedTuple):
    """A metric of one kind of query: its values, with labels beside that of the query."""

    name: str  # ends in _total where it only grows
    help: str
    values: Callable[[dict[str, Any]], Values]  # of a sample


def _figure(name: str) -> Callable[[dict[str, Any]], Values]:
    """Return the values of a figure: one, or one per input."""

    def values(sample: dict[str, Any]) -> Values:
        value = sample["figures"].get(name)
        if isinstance(value, list):
            yield from (({"input": str(at)}, each) for at, each in enumerate(value))
        else:
            yield {}, value

    return values


def _recent(name: str) -> Callable[[dict[str, Any]], Values]:
    def values(sample: dict[str, Any]) -> Values:
        yield {}, (sample.get("recent") or {}).get(name)

    return values


def _budget(in_bytes: bool) -> Callable[[dict[str, Any]], Values]:
    def values(sample: dict[str, Any]) -> Values:
        figures = sample["figures"]
        yield {}, figures["budget"] if figures["in_bytes"] == in_bytes else None

    return values


def _ruling(part: str) -> Callable[[dict[str, Any]], Values]:
    def values(sample: dict[str, Any]) -> Values:
        found = sample["figures"]["ruling"][part]
        yield from (({"policy": name}, value) for name, value in found.items())

    return values


def _switches(sample: dict[str, Any]) -> Values:
    yield {}, sample["figures"]["ruling"]["switches"]


def _seconds(sample: dict[str, Any]) -> Values:
    yield from (({"part": part}, value) for part, value in sample["seconds"].items())


def _staleness(sample: dict[str, Any]) -> Values:
    yield {"quantile": "0.5"}, sample["figures"]["staleness_p50"]
    yield {"quantile": "0.99"}, sample["figures"]["staleness_p99"]


def _sent(sample: dict[str, Any]) -> Values:
    for kind in ("above", "below", "asked", "spoke", "first"):
        yield {"kind": kind}, sample["figures"][kind]


def _held(kind: str) -> tuple[Metric, ...]:
    """Return what joins and lookups have in common."""
    start = f"penstock_{kind}_"
    return (
        Metric(f"{start}rows_held", "Rows held now.", _figure("rows_held")),
        Metric(f"{start}held_bytes", "Bytes held now.", _figure("bytes_held")),
        Metric(f"{start}budget_rows", "The budget, if it counts rows.", _budget(False)),
        Metric(f"{start}budget_bytes", "The budget, if it counts bytes.", _budget(True)),
        Metric(f"{start}policy_buckets", "Buckets by the policy in force.", _ruling("buckets")),
        Metric(
            f"{start}policy_score_ratio",
            "What a challenger finds beside the policy in force.",
            _ruling("scores"),
        ),
        Metric(f"{start}policy_switches_total", "Changes of the policy in force.", _switches),
    )


def _counters(kind: str, *named: tuple[str, str, str]) -> tuple[Metric, ...]:
    return tuple(
        Metric(f"penstock_{kind}_{name}_total", said, _figure(figure))
        for name, figure, said in named
    )


QUERY = (
    Metric(
        "penstock_query_batch_seconds", "The last micro-batch, by Spark's names of parts.", _seconds
    ),
    Metric(
        "penstock_query_input_rows_per_second",
        "Rows that came a second before the last micro-batch.",
        lambda sample: iter([({}, sample["rates"][0])]),
    ),
    Metric(
        "penstock_query_processed_rows_per_second",
        "Rows that the last micro-batch processed a second.",
        lambda sample: iter([({}, sample["rates"][1])]),
    ),
    Metric(
        "penstock_query_last_batch_timestamp_seconds",
        "When the last micro-batch with figures ended.",
        lambda sample: iter([({}, sample["at"])]),
    ),
)
JOIN = (
    *_counters(
        "join",
        ("arrived_rows", "arrived", "Rows that came."),
        ("late_rows", "late", "Rows dropped because they came after the watermark."),
        ("expired_rows", "expired", "Rows that left because nothing to come could match them."),
        ("evicted_rows", "evicted", "Rows that left because the budget was full."),
        ("rejected_rows", "refused", "Rows not admitted because the budget was full."),
        ("matched_rows", "rows_matched", "Rows that found a partner."),
        ("results", "matches", "Results found."),
    ),
    *_held("join"),
    Metric("penstock_join_recall_ratio", "Share of all results found.", _figure("recall")),
    Metric(
        "penstock_join_recall_low_ratio", "Lower end of its 95 % interval.", _figure("recall_low")
    ),
    Metric(
        "penstock_join_recall_high_ratio", "Upper end of its 95 % interval.", _figure("recall_high")
    ),
    Metric(
        "penstock_join_recent_recall_ratio",
        "Share of the results of about the last minute.",
        _recent("recall"),
    ),
    Metric(
        "penstock_join_recent_recall_low_ratio", "Lower end of its 95 % interval.", _recent("low")
    ),
    Metric(
        "penstock_join_recent_recall_high_ratio", "Upper end of its 95 % interval.", _recent("high")
    ),
    Metric(
        "penstock_join_row_recall_ratio",
        "Share of the rows with a partner that found one.",
        _figure("row_recall"),
    ),
)
LOOKUP = (
    *_counters(
        "lookup",
        ("events", "events", "Events that came."),
        ("hits", "hits", "Events whose row was cached."),
        ("misses", "misses", "Events whose key was not cached."),
        ("found", "found", "Events that were given a row."),
        ("calls", "calls", "Queries sent to the relation."),
        ("retries", "retries", "Queries that were sent again."),
        ("evicted_rows", "evicted", "Rows that left because the budget was full."),
        ("rejected_rows", "refused", "Rows not admitted because the budget was full."),
        ("expired_rows", "expired", "Rows that became older than ttl."),
    ),
    *_held("lookup"),
    Metric("penstock_lookup_staleness_seconds", "Age of the rows at serving.", _staleness),
)
THIN = (
    *_counters(
        "thin",
        ("readings", "readings", "Readings that came."),
        ("queries", "queries", "Queries that came."),
        ("late_readings", "late", "Readings dropped: older than the last one of their key."),
    ),
    Metric("penstock_thin_sent_total", "Refreshes, by their kind.", _sent),
    Metric("penstock_thin_keys", "Keys known.", _figure("keys")),
    Metric("penstock_thin_held_bytes", "Bytes held now.", _figure("bytes_held")),
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
    for metric in QUERY:
        yield _family(core, metric, watched)


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
