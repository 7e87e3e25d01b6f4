"""One call that shows all Penstock queries of a session: metrics for Prometheus, and a live page.

A listener of Spark takes every progress report, on classic Spark and on Spark Connect alike, and
keeps the figures of all queries over time. `report.history` stores them, `report.live` draws them,
`report.exposition` writes them for Prometheus. A worker needs none of this.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from math import inf
from pathlib import Path
from threading import Lock
from typing import Any, Self

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener

from ..advisor import Advice
from ..errors import BadInput
from ..report.exposition import exposition
from ..report.history import ENDING, QueryHistory, Sample, history_folder
from ..report.live import UNKNOWN, Watched
from ..report.server import Server, check_place
from .figures import JOIN, LOOKUP, THIN, is_join
from .observe import LOST, cause, figures_of
from .recall.estimate import SUMS, estimate

KINDS = {LOOKUP: "lookup", THIN: "thin"}
RECENT = 60.0  # seconds over which recall and arrivals are recent
GAP = 3 * RECENT  # between two runs: what was before a longer one is not recent
LONGEST = 500  # characters of an error
KEPT = 20  # queries that have ended


def monitor(
    spark: SparkSession,
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    advice: Advice | Mapping[str, Advice] | None = None,
    every: float = 1.0,
) -> "Monitor":
    """Serve the figures of all Penstock queries of a session until `stop()` is called.

    `/` is a page to watch them, `/metrics` is for Prometheus. Queries that run already are seen
    with their next micro-batch. Where the join, lookup or thin was given `checkpoint=`, the figures
    are also kept in the folder of the checkpoint, on local disks, for `penstock report`.

    Parameters:
        port: where to listen; 0 chooses a free one, and `url` of what is returned tells which.
        host: an address other than that of the loopback needs a token.
        token: what a browser must give as `?token=`, and Prometheus as its bearer token.
        advice: what `advise` returned for the streams, for all queries or by the name of the query:
            where recall falls the page then says what budget would restore it.
        every: the least number of seconds between two samples of a curve.
    """
    check_options(port, host=host, token=token, every=every)
    listener = Listener(advice, every)
    server = Server(listener.watched, exposition, port, host, token)
    try:
        spark.streams.addListener(listener)
    except BaseException:
        server.stop()
        raise
    return Monitor(spark, listener, server)


def check_options(
    port: int = 0, *, host: str = "127.0.0.1", token: str | None = None, every: float = 1.0
) -> None:
    """Refuse options that `monitor` cannot take."""
    check_place(port, host, token)
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every < inf:
        raise BadInput(f"every must be a number of seconds, 0 or more, got {every!r}")


class Monitor:
    """A listener of a session and a server of what it has heard; see `monitor`."""

    def __init__(self, spark: SparkSession, listener: "Listener", server: Server):
        self._spark, self._listener, self._server = spark, listener, server
        self._stopped = False

    @property
    def url(self) -> str:
        """The address of the page; with the token, if there is one."""
        return self._server.url

    def stop(self) -> None:
        """Stop listening and serving."""
        if not self._stopped:
            self._stopped = True
            self._server.stop()
            with suppress(*LOST):
                self._spark.streams.removeListener(self._listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class Listener(StreamingQueryListener):
    """Hears every progress report and keeps the figures of Penstock's queries."""

    def __init__(self, advice: Advice | Mapping[str, Advice] | None, every: float):
        self._advice = advice
        self._every = every
        self._lock = Lock()
        self._watched: dict[tuple[str, str], Watched] = {}  # by id of the query, and figures
        self._starting: dict[str, str] = {}  # names of queries that have not reported, by their run

    def watched(self) -> list[Watched]:
        """Return the queries, in the order of their first reports."""
        with self._lock:
            return list(self._watched.values())

    def onQueryStarted(self, event: Any) -> None:
        """Note the name of a query: only its progress tells whether it is one of Penstock's."""
        with self._lock:
            self._starting[str(event.runId)] = _name(event.name, str(event.id))

    def onQueryIdle(self, event: Any) -> None:
        """Note that no rows come any more: the rates are those of the last micro-batch else."""
        with self._lock:
            for watched in self._runs(event):
                samples = watched.history.samples
                watched.latest = _idle(watched.latest)
                watched.history.samples = [*samples[:-1], *map(_idle, samples[-1:])]

    def onQueryProgress(self, event: Any) -> None:
        """Take one report."""
        self.take(event.progress)

    def onQueryTerminated(self, event: Any) -> None:
        """Note that a query has ended, and why."""
        with self._lock:
            for watched in self._runs(event):
                history = watched.history
                history.about |= _ended(event.exception, watched.latest["at"])
                with suppress(OSError):
                    history.save()
            name = self._starting.pop(str(event.runId), None)
            if name is not None and event.exception:
                self._failed_at_once(event, name)

    def _runs(self, event: Any) -> list[Watched]:
        """Return what is watched of the run of a query that an event is about."""
        run = str(event.id), str(event.runId)
        return [
            w for (query, _), w in self._watched.items() if (query, w.history.about["run"]) == run
        ]

    def _failed_at_once(self, event: Any, name: str) -> None:
        """Show a query that failed before it reported anything, so that its kind is unknown."""
        query, at = str(event.id), time.time()
        ended = _ended(event.exception, at) | {"run": str(event.runId)}
        known = [watched for (each, _), watched in self._watched.items() if each == query]
        if not known:
            self._forget(name, UNKNOWN)
            about = {"id": query, "name": name, "kind": UNKNOWN}
            sample: Sample = {
                "at": at,
                "batch": None,
                "seconds": {},
                "rates": [0.0, 0.0],
                "figures": {},
            }
            known = [Watched(QueryHistory(about), sample)]
            self._watched[query, UNKNOWN] = known[0]
        for watched in known:
            watched.history.about |= ended
            with suppress(OSError):
                watched.history.save()

    @property
    def _jlistener(self) -> Any:
        """What classic Spark calls; see `_Reports`. Spark Connect sends reports as JSON anyway."""
        if not hasattr(self, "_jlistenerobj"):
            java: Any = SparkContext._jvm
            self._jlistenerobj = java.PythonStreamingQueryListenerWrapper(_Reports(self))
        return self._jlistenerobj

    def take(self, progress: Mapping[str, Any]) -> None:
        """Take one report."""
        self._starting.pop(str(progress["runId"]), None)
        for observed in progress.get("observedMetrics") or {}:
            kind = "join" if is_join(observed) else KINDS.get(observed)
            if kind and (figures := figures_of(progress, observed)):
                with self._lock:
                    self._take(progress, observed, kind, figures)

    def _take(
        self, progress: Mapping[str, Any], observed: str, kind: str, figures: dict[str, Any]
    ) -> None:
        place, run = (str(progress["id"]), observed), str(progress["runId"])
        sample = as_sample(progress, figures)
        watched = self._watched.get(place)
        if watched is None or watched.history.about["run"] != run:
            name, file = _name(progress["name"], place[0]), kind
            if kind == "join" and observed != JOIN:  # not the first one in the query
                which = observed.removeprefix(f"{JOIN}_")
                name, file = f"{name}, join {which}", f"{kind}_{which}"
            about: dict[str, Any] = {"id": place[0], "run": run, "name": name, "kind": kind}
            about |= {"state": "running", "error": None}
            self._forget(name, kind)
            history = _history(about, figures.get("checkpoint"), file)
            advice = self._advice.get(name) if isinstance(self._advice, Mapping) else self._advice
            watched = self._watched[place] = Watched(history, sample, advice, sample["at"])
        past = watched.history.samples
        if kind == "join":
            sample["recent"] = recently(past, sample, watched.began)
        watched.latest = sample
        if not past or not 0 <= sample["at"] - past[-1]["at"] < self._every:
            with suppress(OSError):  # a full disk must not end what serves the page
                watched.history.add(sample)

    def _forget(self, name: str, kind: str) -> None:
        """Drop queries that have ended: one whose name is taken again, and the oldest of many."""
        ended = {
            place: each.history.about
            for place, each in self._watched.items()
            if each.history.about["state"] != "running"
        }
        oldest = [*ended][: max(0, len(ended) - KEPT)]
        for place, about in ended.items():
            taken = about["name"] == name and about["kind"] in (kind, UNKNOWN)
            if place in oldest or taken:
                del self._watched[place]


class _Reports(JStreamingQueryListener):
    """Takes a report over as one text.

    Spark's own bridge asks Java for every number of it, some hundreds of calls for each report.
    """

    def onQueryProgress(self, jevent: Any) -> None:
        self.pylistener.take(json.loads(jevent.progress().json()))  # type: ignore[attr-defined]


def _name(given: str | None, query: str) -> str:
    """Return what a query is called."""
    return given or f"query {query[:8]}"


def _history(about: dict[str, Any], checkpoint: str | None, name: str) -> QueryHistory:
    """Return the history of a query: in memory alone, where its file is none or not readable."""
    with suppress(OSError):
        return QueryHistory(about, _file(checkpoint, name))
    return QueryHistory(about)


def _file(checkpoint: str | None, name: str) -> Path | None:
    """Return the file of a history, where the checkpoint is a folder of this machine."""
    folder = None if checkpoint is None else history_folder(checkpoint)
    if folder is None or not folder.parent.is_dir():
        return None
    return folder / f"{name}{ENDING}"


def _ended(error: str | None, at: float) -> dict[str, Any]:
    text = " ".join(cause(error or "").split())
    state = "failed" if error else "ended"
    return {"state": state, "error": text[:LONGEST] or None, "ended": at}


def _idle(sample: Sample) -> Sample:
    """Return a sample of a query that waits for rows."""
    none = {"waiting": 0} if sample.get("waiting") is not None else {}
    return sample | {"rates": [0.0, 0.0]} | none


def as_sample(progress: Mapping[str, Any], figures: dict[str, Any]) -> Sample:
    """Return what is kept of one report."""
    seconds = {name: each / 1000 for name, each in progress["durationMs"].items()}
    began = datetime.fromisoformat(progress["timestamp"]).timestamp()
    rates = [progress.get(f"{what}RowsPerSecond") for what in ("input", "processed")]
    return {
        "at": round(began + seconds.get("triggerExecution", 0.0), 3),
        "batch": progress["batchId"],
        "seconds": seconds,
        "rates": [rate if rate and 0 < rate < float("inf") else 0.0 for rate in rates],
        "waiting": waiting(progress),
        "figures": figures,
    }


def waiting(progress: Mapping[str, Any]) -> int | None:
    """Return how many rows the sources hold that no micro-batch has read; None if none tells.

    Sources of Kafka do: their offsets count rows, by topic and partition.
    """
    found = [
        sum(latest) - sum(read)
        for source in progress.get("sources") or ()
        if (latest := _offsets(source.get("latestOffset")))
        and (read := _offsets(source.get("endOffset")))
    ]
    return sum(found) if found else None


def _offsets(said: Any) -> list[int]:
    """Return the offsets of a source of Kafka; empty if they are of another kind."""
    if isinstance(said, str):  # Spark Connect, and PySpark's own reports
        with suppress(ValueError):
            said = json.loads(said)
    topics = list(said.values()) if isinstance(said, dict) else []
    parts = [each for topic in topics if isinstance(topic, dict) for each in topic.values()]
    return parts if all(isinstance(each, int) for each in parts) else []


def recently(past: list[Sample], sample: Sample, began: float = 0.0) -> dict[str, Any] | None:
    """Return recall with its interval over about the last minute, and what arrived a second.

    The sums of the estimate add up over time, so those of two moments can be subtracted. A row that
    is watched across the earlier one counts with more variance than it has since then: the interval
    is rather too wide. A run that `began` long after the one before is not compared with that.
    """
    far = (each for each in reversed(past) if sample["at"] - each["at"] >= RECENT)
    since = next(far, past[0] if past else None)
    if since is not None and since["at"] < began and sample["at"] - since["at"] > GAP:
        since = next((each for each in past if each["at"] >= began), None)
    if since is None or since["at"] >= sample["at"]:
        return None
    now, then = sample["figures"], since["figures"]

    def more(name: str) -> float:
        return float(sum(now[name]) - sum(then[name]))

    gone = more("evicted") + more("rejected")
    sums = {
        name: max(0.0, a - b)
        for name, a, b in zip(SUMS, now["recall_sums"], then["recall_sums"], strict=True)
    }
    found = estimate(sums, max(0.0, now["matches"] - then["matches"]), gone)
    span = sample["at"] - since["at"]
    return {
        "recall": found.value,
        "low": found.low,
        "high": found.high,
        "gone": gone,
        "arrivals": more("arrived") / span,
        "late": more("late") / span,
    }
