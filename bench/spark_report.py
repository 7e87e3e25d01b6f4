"""Tables and a figure of what `spark_join.py` measured."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

COLUMNS = ("s a batch", "rows/s", "x first", "state MB", "JVM MB", "Python MB", "recall")
COLOURS = {
    "spark, in memory": "#9aa0a6",
    "spark, RocksDB, format 2": "#c58b4b",
    "spark, RocksDB, format 4": "#8c5a2b",
    "penstock, exact": "#1f5fbf",
    "penstock, 10 %": "#5b9bd5",
    "penstock, 1 %": "#a8cdf0",
}


def show(report: dict, console: Console) -> None:
    """Print a table per workload, with ratios to the first contender, mostly Spark's own join."""
    for (part, name), rows in _groups(report).items():
        table = Table(title=f"{part}: {name}", title_justify="left")
        table.add_column("who", no_wrap=True)
        for column in COLUMNS:
            table.add_column(column, justify="right")
        base = rows[0]["rows_per_second"]
        for row in rows:
            table.add_row(
                row["who"],
                f"{row['seconds_a_batch']:.2f}",
                f"{row['rows_per_second']:,.0f}",
                f"{row['rows_per_second'] / base:.1f}",
                f"{row['state_bytes'] / 1e6:.1f}",
                f"{row['peak_jvm_bytes'] / 1e6:,.0f}",
                f"{row['peak_python_bytes'] / 1e6:,.0f}",
                "" if row["recall"] is None else f"{row['recall']:.1%}",
            )
        console.print(table)


def judge(report: dict, console: Console) -> None:
    """Print a line for each figure that has a target, with the target."""
    groups: dict[str, list[dict]] = {}
    for row in report["results"]:
        groups.setdefault(row["part"], []).append(row)
    for part, rows in groups.items():
        for line in JUDGES.get(part, lambda _: [])(rows):
            console.print(f"{part}: {line}", highlight=False, soft_wrap=True)


def _beside_spark(least_memory: float, least_rocks: float) -> Callable[[list[dict]], Iterator[str]]:
    def lines(rows: list[dict]) -> Iterator[str]:
        for mine in _by_workload(rows):
            took = {row["who"]: row["seconds_a_batch"] for row in mine}
            for who in ("penstock, exact", "penstock, 10 %"):
                if who in took:
                    parts = [
                        f"{name} {took[name]:.3f} s "
                        f"({took[name] / took[who]:.2f} x, target {least})"
                        for name, least in (
                            ("spark, in memory", least_memory),
                            ("spark, RocksDB, format 4", least_rocks),
                            ("penstock before, exact", 1.0),
                        )
                        if name in took
                    ]
                    where = mine[0]["workload"]["name"]
                    yield f"{where}: {who} {took[who]:.3f} s; {', '.join(parts)}"

    return lines


def _by_workload(rows: list[dict]) -> list[list[dict]]:
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["workload"]["name"], []).append(row)
    return list(groups.values())


def _flat(rows: list[dict]) -> Iterator[str]:
    for row in rows:
        seconds = row["seconds_a_batch"]
        yield f"{row['state_rows']:,} rows held: {seconds:.3f} s, {row['state_bytes'] / 1e6:.0f} MB"
    taken = [row["seconds_a_batch"] for row in rows]
    yield f"longest by shortest {max(taken) / min(taken):.2f} x, target at most 1.3"


def _bytes(rows: list[dict]) -> Iterator[str]:
    for row in rows:
        written, packed = row["checkpoint_bytes"], row["packed_bytes"]
        yield (
            f"{row['workload']['name']}, {row['who']}: {written / 1e6:.1f} MB written in "
            f"{len(row['seconds'])} batches, {packed / 1e6:.1f} MB packed, "
            f"{row['shuffle_bytes'] / 1e6:.1f} MB as compressed for the shuffle: "
            f"{written / packed:.2f} x, target at most 3"
        )


def _rebuild(rows: list[dict]) -> Iterator[str]:
    tiny = rows[0]
    for row in rows[1:]:
        more = row["first_seconds"] - tiny["first_seconds"]
        held = (row["state_rows"] - tiny["state_rows"]) / 1e6
        yield (
            f"{row['state_rows']:,} rows held: first batch {row['first_seconds']:.2f} s, with "
            f"{tiny['state_rows']:,} rows {tiny['first_seconds']:.2f} s: {more / held:.2f} s a "
            "million rows, target at most 2"
        )


def _workers(rows: list[dict]) -> Iterator[str]:
    tiny_ones = {row["who"]: row for row in _by_workload(rows)[0]}
    for row in rows[len(tiny_ones) :]:
        tiny, image = tiny_ones[row["who"]], row["image_bytes"]
        more = row["workers_pss_bytes"] - tiny["workers_pss_bytes"]
        yield (
            f"{row['who']}, {row['workers']} processes: {row['workers_pss_bytes'] / 1e6:.0f} MB "
            f"with {row['state_rows']:,} rows, {tiny['workers_pss_bytes'] / 1e6:.0f} MB with "
            f"{tiny['state_rows']:,} ({tiny['workers']} processes); image "
            f"{image / 1e6:.0f} MB: {more / image:.2f} x, target at most 1.3"
        )


def _profile(rows: list[dict]) -> Iterator[str]:
    for row in rows:
        yield f"{row['who']}: {row['seconds_a_batch'] * 1000:.0f} ms a batch, medians in ms:"
        yield "    " + ", ".join(
            f"{name} {spent:.0f}" for name, spent in row["milliseconds"].items()
        )
        for stage, spent in row["stages"].items():
            found = ", ".join(f"{name} {value:.0f}" for name, value in spent.items() if value)
            yield f"    {stage}: {found}"


JUDGES: dict[str, Callable[[list[dict]], Iterable[str]]] = {
    "large window": _beside_spark(3.5, 1.5),
    "small batches": _beside_spark(1.0, 1.0),
    "sizes": _beside_spark(1.0, 1.0),
    "how": _beside_spark(1.0, 1.0),
    "flat": _flat,
    "bytes": _bytes,
    "rebuild": _rebuild,
    "workers": _workers,
    "profile": _profile,
}


def _groups(report: dict) -> dict[tuple[str, str], list[dict]]:
    groups: dict = {}
    for row in report["results"]:
        groups.setdefault((row["part"], row["workload"]["name"]), []).append(row)
    return groups


def draw(report: dict, path: Path) -> None:
    """Draw what was measured: throughput by size, memory, buckets, and a long stream."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    parts = {row["part"] for row in report["results"]}
    panels = []
    if "sizes" in parts:
        panels += [_throughput("numeric"), _throughput("strings"), _state]
    if "buckets" in parts:
        panels.append(_buckets)
    if "long" in parts:
        panels.append(_long)
    if not panels:
        return
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.6 * len(panels), 4.2), layout="constrained", squeeze=False
    )
    for draw_panel, axis in zip(panels, axes[0], strict=True):
        draw_panel(report["results"], axis)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def _throughput(kind: str):
    def panel(results: list[dict], axis) -> None:
        for who, colour in COLOURS.items():
            mine = [r for r in results if _is(r, "sizes", who) and r["workload"]["kind"] == kind]
            mine.sort(key=lambda row: row["workload"]["rows"])
            style = "--" if who.startswith("spark") else "-"
            rows = [row["workload"]["rows"] for row in mine]
            speed = [row["rows_per_second"] for row in mine]
            axis.loglog(rows, speed, style, marker="o", color=colour, label=who)
        axis.set(title=f"Rows a second, {kind} payload", xlabel="rows a micro-batch")

    return panel


def _is(row: dict, part: str, who: str) -> bool:
    return (row["part"], row["who"]) == (part, who)


def _state(results: list[dict], axis) -> None:
    for place, (who, colour) in enumerate(COLOURS.items()):
        mine = [r for r in results if _is(r, "sizes", who) and r["workload"]["kind"] == "numeric"]
        largest = max(mine, key=lambda row: row["workload"]["rows"], default=None)
        if largest is not None and largest["state_bytes"]:
            size = largest["state_bytes"] / 1e6
            axis.barh(place, size, color=colour)
            axis.annotate(f" {size:,.1f}", (size, place), va="center")
    axis.set(title="State after a large batch, MB", xscale="log", yticks=[])
    axis.margins(x=0.25)
    axis.invert_yaxis()


def _buckets(results: list[dict], axis) -> None:
    mine = [row for row in results if row["part"] == "buckets"]
    for size in sorted({row["workload"]["rows"] for row in mine}):
        rows = [row for row in mine if row["workload"]["rows"] == size]
        counts = [int(row["who"].split()[0]) for row in rows]
        axis.plot(counts, [row["seconds_a_batch"] for row in rows], "o-", label=f"{size:,} rows")
    axis.set(title="Seconds a batch, by buckets", xlabel="buckets", xscale="log", yscale="log")
    axis.set_xticks(counts, counts)
    axis.legend(frameon=False)


def _long(results: list[dict], axis) -> None:
    for row in results:
        if row["part"] == "long":
            axis.plot(row["seconds"], color=COLOURS[row["who"]], label=row["who"], lw=1)
    axis.set(title="A long stream: seconds a batch", xlabel="micro-batch", ylim=(0, None))
