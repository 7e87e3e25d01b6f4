"""Tables and a figure of what `spark_join.py` measured."""

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
