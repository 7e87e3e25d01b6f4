"""The figures of queries as Prometheus reads them. Needs `pip install penstock[monitor]`."""

from collections.abc import Iterator, Sequence
from time import time
from types import SimpleNamespace
from typing import Any, NamedTuple

from ..extras import need
from .history import Sample
from .live import SENT, UNKNOWN, Watched

BEGAN = time()  # this process, about
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metric(NamedTuple):
    """A metric of one kind of query."""

    name: str  # ends in _total where it only grows
    figure: str  # its name in `_figures`
    help: str
    label: str = "input"  # tells its values apart, if there are several


LOW, HIGH = "Lower end of its 95 % interval.", "Upper end of its 95 % interval."
BUDGETED = (  # joins and lookups
    Metric("rows_held", "rows_held", "Rows held now."),
    Metric("held_bytes", "bytes_held", "Bytes held now."),
    Metric("policy_switches_total", "policy_switches", "Changes of the policy in force."),
    Metric("evicted_rows_total", "evicted", "Rows that left: the budget was full."),
    Metric("rejected_rows_total", "rejected", "Rows not admitted: it was full."),
    Metric("budget_rows", "budget_rows", "The budget, if it counts rows."),
    Metric("budget_bytes", "budget_bytes", "The budget, if it counts bytes."),
    Metric("policy_buckets", "policy_buckets", "Buckets by the policy in force.", "policy"),
    Metric(
        "policy_score_ratio",
        "policy_scores",
        "What a challenger finds beside the policy in force.",
        "policy",
    ),
)
JOIN = (
    Metric("arrived_rows_total", "arrived", "Rows that came."),
    Metric("late_rows_total", "late", "Rows dropped: they came after the watermark."),
    Metric("expired_rows_total", "expired", "Rows that left: nothing to come matches them."),
    Metric("matched_rows_total", "rows_matched", "Rows that found a partner."),
    Metric("results_total", "matches", "Results found."),
    Metric("recall_ratio", "recall", "Share of all results found."),
    Metric("recall_low_ratio", "recall_low", LOW),
    Metric("recall_high_ratio", "recall_high", HIGH),
    Metric("recent_recall_ratio", "recent_recall", "Share of the results of the last minute."),
    Metric("recent_recall_low_ratio", "recent_low", LOW),
    Metric("recent_recall_high_ratio", "recent_high", HIGH),
    Metric("row_recall_ratio", "row_recall", "Share of rows with a partner that found one."),
    Metric("row_recall_low_ratio", "row_recall_low", LOW),
    Metric("row_recall_high_ratio", "row_recall_high", HIGH),
    *BUDGETED,
    Metric("owed_results", "owed_pairs", "Results missed and not reconciled yet."),
    Metric("owed_results_low", "owed_pairs_low", LOW),
    Metric("owed_results_high", "owed_pairs_high", HIGH),
    Metric("owed_bytes", "owed_bytes", "Bytes archived and not reconciled yet."),
    Metric("owed_oldest_seconds", "owed_seconds", "Since the oldest were archived."),
)
LOOKUP = (
    Metric("events_total", "events", "Events that came."),
    Metric("hits_total", "hits", "Events whose row was cached."),
    Metric("misses_total", "misses", "Events whose key was not cached."),
    Metric("found_total", "found", "Events that were given a row."),
    Metric("calls_total", "calls", "Queries sent to the relation."),
    Metric("retries_total", "retries", "Queries that were sent again."),
    Metric("expired_rows_total", "expired", "Rows that became older than ttl."),
    Metric("saved_bytes_total", "bytes_saved", "Bytes of the rows of hits."),
    Metric("fetched_bytes_total", "bytes_fetched", "Bytes of the rows that were fetched."),
    Metric("saved_cost_total", "cost_saved", "What it would have cost to fetch the rows of hits."),
    Metric("fetched_cost_total", "cost_fetched", "What it cost to fetch rows."),
    *BUDGETED,
    Metric("staleness_seconds", "staleness", "Age of the rows at serving.", "percentile"),
)
THIN = (
    Metric("readings_total", "readings", "Readings that came."),
    Metric("queries_total", "queries", "Queries that came."),
    Metric("late_readings_total", "late", "Readings older than the last one of their key."),
    Metric("keys", "keys", "Keys known."),
    Metric("held_bytes", "bytes_held", "Bytes held now."),
    Metric("sent_total", "sent", "Refreshes, by their kind.", "kind"),
)
QUERY = (
    Metric("batch_seconds", "seconds", "The last micro-batch, by Spark's names of parts.", "part"),
    Metric("input_rows_per_second", "came", "Rows that came a second before the last micro-batch."),
    Metric(
        "processed_rows_per_second",
        "processed",
        "Rows that the last micro-batch processed a second.",
    ),
    Metric("waiting_rows", "waiting", "Rows in Kafka that no micro-batch has read."),
    Metric("last_batch_timestamp_seconds", "at", "When the last micro-batch with figures ended."),
)
STATES = (
    ("penstock_query_up", "running", "1 while the query runs."),
    ("penstock_query_failed", "failed", "1 if the query ended with an error, until it runs again."),
)
METRICS = {"join": JOIN, "lookup": LOOKUP, "thin": THIN}


def _figures(sample: Sample) -> dict[str, Any]:
    """Return what the metrics are made of, by name: the totals, and what stands beside them."""
    totals, recent = sample["figures"], sample.get("recent") or {}
    in_force, budget = totals.get("in_force") or {}, totals.get("budget")
    came, processed = sample["rates"]
    return {
        **totals,
        **{f"recent_{name}": value for name, value in recent.items()},
        "budget_bytes" if totals.get("in_bytes") else "budget_rows": budget,
        "policy_switches": in_force.get("switches"),
        "policy_buckets": in_force.get("buckets"),
        "policy_scores": in_force.get("scores"),
        "staleness": {
            "50": totals.get("staleness_p50"),
            "99": totals.get("staleness_p99"),
        },
        "sent": {kind: totals.get(kind) for kind in SENT},
        "seconds": sample["seconds"],
        "at": sample["at"],
        "came": came,
        "processed": processed,
        "waiting": sample.get("waiting"),
    }


def exposition(watched: Sequence[Watched]) -> bytes:
    """Return the figures of some queries in Prometheus' text format."""
    core = need("prometheus_client.core", "the monitor")
    registry = SimpleNamespace(collect=lambda: _families(core, watched))
    return bytes(need("prometheus_client", "the monitor").generate_latest(registry))


def _families(core: Any, watched: Sequence[Watched]) -> Iterator[Any]:
    began = "When the process of the monitor began."
    yield core.GaugeMetricFamily("penstock_monitor_start_timestamp_seconds", began, value=BEGAN)
    for name, state, help in STATES:
        family = core.GaugeMetricFamily(name, help, labels=["query", "id", "kind"])
        for each in watched:
            about = each.history.about
            labels = [about["name"], about["id"], about["kind"]]
            family.add_metric(labels, float(about["state"] == state))
        yield family
    for kind, own in METRICS.items():
        those = [each for each in watched if each.history.about["kind"] == kind]
        for metric in own:
            yield _family(core, kind, metric, those)
    reported = (each for each in watched if each.history.about["kind"] != UNKNOWN)
    queries = {each.history.about["name"]: each for each in reported}  # one may join and look up
    for metric in QUERY:
        yield _family(core, "query", metric, list(queries.values()))


def _family(core: Any, kind: str, metric: Metric, watched: Sequence[Watched]) -> Any:
    """Return a metric of several queries; what is not known is left out."""
    grows = metric.name.endswith("_total")
    make = core.CounterMetricFamily if grows else core.GaugeMetricFamily
    found = []
    for each in watched:
        values = _figures(each.latest).get(metric.figure)
        if isinstance(values, list):
            values = dict(enumerate(values))
        labelled = values if isinstance(values, dict) else {None: values}
        for label, value in labelled.items():
            if value is not None:
                names = {} if label is None else {metric.label: str(label)}
                found.append(({"query": each.history.about["name"]} | names, float(value)))
    family = make(
        f"penstock_{kind}_{metric.name}", metric.help, labels=list(found[0][0]) if found else None
    )
    for labels, value in found:
        family.add_metric(list(labels.values()), value)
    return family
