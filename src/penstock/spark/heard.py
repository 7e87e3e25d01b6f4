"""What is heard of the queries of a session: a listener of Spark, and their figures over time."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from ..advisor import Advice
from ..report.history import ENDING, History, Sample, history_folder
from ..report.live import Watched
from .figures import JOIN, LOOKUP, THIN
from .observe import figures_of
from .recall.estimate import SUMS, estimate

KINDS = {JOIN: "join", LOOKUP: "lookup", THIN: "thin"}
RECENT = 60.0  # seconds over which recall and arrivals are recent
LONGEST = 500  # characters of an error
KEPT = 20  # queries that have ended


class Heard(StreamingQueryListener):
    """What was heard of the queries."""

    def __init__(self, advice: Advice | Mapping[str, Advice] | None, every: float):
        self._advice = advice
        self._every = every
        self._lock = Lock()
        self._watched: dict[tuple[str, str], Watched] = {}  # by id of the query, and kind

    def watched(self) -> list[Watched]:
        """Return the queries, in the order in which they were first heard of."""
        with self._lock:
            return list(self._watched.values())

    def onQueryStarted(self, event: Any) -> None:
        """Do nothing: which queries are Penstock's is told by their progress."""

    def onQueryIdle(self, event: Any) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: Any) -> None:
        """Take one report."""
        progress = event.progress
        for name, kind in KINDS.items():
            figures = figures_of(progress, name)
            if figures:
                with self._lock:
                    self._take(progress, kind, figures)

    def onQueryTerminated(self, event: Any) -> None:
        """Note that a query has ended, and why."""
        with self._lock:
            for (name, _), watched in self._watched.items():
                if name == str(event.id) and watched.history.about["run"] == str(event.runId):
                    watched.history.about |= _ended(event.exception, watched.latest)
                    _quietly(watched.history.save)

    def _take(self, progress: Any, kind: str, figures: dict[str, Any]) -> None:
        place = str(progress.id), kind
        about = {
            "id": place[0],
            "run": str(progress.runId),
            "name": progress.name or f"query {place[0][:8]}",
            "kind": kind,
            "state": "running",
            "error": None,
        }
        sample = as_sample(progress, figures)
        watched = self._watched.get(place)
        if watched is None or watched.history.about["run"] != about["run"]:
            self._forget(str(about["name"]), kind)
            history = History(about, _file(figures.get("checkpoint"), kind))
            advice = self._advice
            if isinstance(advice, Mapping):
                advice = advice.get(str(about["name"]))
            watched = self._watched[place] = Watched(history, sample, advice)
        past = watched.history.samples
        if kind == "join":
            sample["recent"] = recently(past, sample)
        watched.latest = sample
        if not past or sample["at"] - past[-1]["at"] >= self._every:
            _quietly(lambda: watched.history.add(sample))

    def _forget(self, name: str, kind: str) -> None:
        """Drop queries that have ended: one whose name is taken again, and the oldest of many."""
        ended = [
            (place, each.history.about)
            for place, each in self._watched.items()
            if each.history.about["state"] != "running"
        ]
        many = max(0, len(ended) - KEPT)
        for number, (place, about) in enumerate(ended):
            if number < many or (about["name"], about["kind"]) == (name, kind):
                del self._watched[place]


def _quietly(write: Any) -> None:
    """Write to a history; a full disk must not end what serves the page."""
    try:
        write()
    except OSError:
        return


def _file(checkpoint: str | None, kind: str) -> Path | None:
    """Return the file of a history, where the checkpoint is a folder of this machine."""
    folder = None if checkpoint is None else history_folder(checkpoint)
    if folder is None or not folder.parent.is_dir():
        return None
    return folder / f"{kind}{ENDING}"


def _ended(error: str | None, latest: Sample) -> dict[str, Any]:
    text = " ".join((error or "").split())
    state = "failed" if text else "ended"
    return {"state": state, "error": text[:LONGEST] or None, "ended": latest["at"]}


def as_sample(progress: Any, figures: dict[str, Any]) -> Sample:
    """Return what is kept of one report."""
    seconds = {name: each / 1000 for name, each in progress.durationMs.items()}
    began = datetime.fromisoformat(progress.timestamp).timestamp()
    rates = progress.inputRowsPerSecond, progress.processedRowsPerSecond
    return {
        "at": round(began + seconds.get("triggerExecution", 0.0), 3),
        "batch": progress.batchId,
        "seconds": seconds,
        "rates": [rate if rate and 0 < rate < float("inf") else 0.0 for rate in rates],
        "figures": figures,
    }


def recently(past: list[Sample], sample: Sample) -> dict[str, Any] | None:
    """Return recall with its interval over about the last minute, and what arrived a second.

    The sums of the estimate add up over time, so those of two moments can be subtracted. A row that
    is watched across the earlier one counts with more variance than it has since then: the interval
    is rather too wide.
    """
    far = [each for each in past if sample["at"] - each["at"] >= RECENT]
    since = far[-1] if far else past[0] if past else None
    if since is None or since["at"] >= sample["at"]:
        return None
    now, then = sample["figures"], since["figures"]

    def more(name: str) -> float:
        return float(sum(now[name]) - sum(then[name]))

    gone = more("evicted") + more("refused")
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
