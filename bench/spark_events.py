"""What Spark's event log says about the micro-batches of a query: stages, tasks and bytes."""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

BATCH = "streaming.sql.batchId"
TIMES = (
    "Executor Run Time",
    "Executor Deserialize Time",
    "JVM GC Time",
    "Result Serialization Time",
)
AFTER, BEFORE = "after the shuffle", "before the shuffle"


class Events:
    """The event log of one application."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.settings = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": folder.as_uri(),
        }

    def read(self, batches: set[int]) -> dict:
        """Return medians over some micro-batches: milliseconds by stage, bytes that were packed.

        Times of tasks are added up over the tasks of a stage, which run beside each other.
        """
        log = max(self.folder.iterdir(), key=lambda path: path.stat().st_mtime)
        batch_of: dict[int, int] = {}
        spent: dict[tuple[int, str], Counter] = defaultdict(Counter)
        data = shuffled = 0
        for event in _events(log):
            kind = event["Event"]
            if kind == "SparkListenerJobStart":
                batch = int((event.get("Properties") or {}).get(BATCH, -1))
                batch_of |= dict.fromkeys(event["Stage IDs"], batch)
            elif kind == "SparkListenerStageCompleted":
                info = event["Stage Info"]
                batch = batch_of.get(info["Stage ID"], -1)
                if batch not in batches or "Completion Time" not in info:
                    continue
                mine = spent[batch, AFTER if info["Parent IDs"] else BEFORE]
                mine["stages"] += 1
                mine["tasks"] += info["Number of Tasks"]
                mine["wall clock"] += info["Completion Time"] - info["Submission Time"]
                for made in info["Accumulables"]:
                    name, value = str(made.get("Name")), made.get("Value")
                    if name == "data size" and not info["Parent IDs"]:
                        data += int(value)
                    elif name == "internal.metrics.shuffle.write.bytesWritten":
                        shuffled += int(value)
            elif kind == "SparkListenerTaskEnd":
                batch = batch_of.get(event["Stage ID"], -1)
                if batch in batches:
                    _add_task(spent, batch, event)
        stages: dict = {}
        for (_, which), counted in spent.items():
            for name, value in counted.items():
                stages.setdefault(which, {}).setdefault(name, []).append(value)
        return {
            "packed_bytes": data,
            "shuffle_bytes": shuffled,
            "stages": {
                which: {name: statistics.median(values) for name, values in mine.items()}
                for which, mine in stages.items()
            },
        }


def _add_task(spent: dict, batch: int, event: dict) -> None:
    """Add what one task says; whether it came after the shuffle is seen by what it read."""
    metrics = event["Task Metrics"]
    read = metrics["Shuffle Read Metrics"]
    after = read["Remote Blocks Fetched"] + read["Local Blocks Fetched"] > 0
    mine = spent[batch, AFTER if after else BEFORE]
    for name in TIMES:
        mine[f"tasks: {name.lower()}"] += metrics[name]
    for made in event["Task Info"]["Accumulables"]:
        name = str(made.get("Name"))
        if name.startswith("time ") and str(made.get("Update", "")).lstrip("-").isdigit():
            mine[f"tasks: {name}"] += int(made["Update"])


def _events(log: Path) -> Iterator[dict]:
    with log.open() as lines:
        for line in lines:
            if line.endswith("}\n"):
                yield json.loads(line)
