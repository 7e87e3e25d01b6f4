"""The README's table and picture, made from recorded runs in docs/measured.

    python scripts/pictures.py take bench/results/spark_join.json   # a run of bench/spark_join.py
    python scripts/pictures.py curve                                # recall by memory, a minute
    python scripts/pictures.py draw                                 # table and pictures, at once

`take` keeps what the README shows of a report, with its date and the commit that is checked out.
Cases that a report lacks keep their figures, so that one can be measured after the other. `draw`
writes the table and what is claimed into README.md and docs/index.md, the figures of
docs/scaling.md, and the pictures into docs/images, for light and for dark pages.
"""

import argparse
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "docs" / "measured"
JOINS, CURVE = MEASURED / "joins.json", MEASURED / "recall-by-memory.json"
NAMES = {
    "spark, in memory": "Spark, state in memory",
    "spark, RocksDB, format 4": "Spark, RocksDB, state format 4",
    "penstock, exact": "Penstock",
}
OURS, UNIT = "penstock, exact", "spark, in memory"
SHOWN = {"auto": "auto (default)", "prob": "prob", "lru": "lru", "fifo": "fifo"}
STEPS, WITHIN = 40_000, 4_000
TABLE = ("<!-- measured: scripts/pictures.py writes this table -->", "<!-- /measured -->")
CLAIM = ("<!-- claim: by scripts/pictures.py -->", "<!-- /claim -->")
SPEED = ("<!-- speed: scripts/pictures.py writes these rows -->", "<!-- /speed -->")
SIZED = ("<!-- sizes: scripts/pictures.py writes this table -->", "<!-- /sizes -->")
PARTS = ("sizes", "large window")  # of bench/spark_join.py
LONG = ("bytes", "maintenance every 60s")  # its part and case with Spark's default
BUCKETS = 2  # as bench/spark_join.py has cores
WIDTH = 440  # of a picture, as it is drawn;
WIDE = 410  # and as it is shown, so that both fit beside each other on GitHub
GROWTH = 1.5  # bytes of log for each byte of the base; see penstock/spark/runtime/journal.py

LIGHT = {"ink": "#1f2328", "quiet": "#59636e", "line": "#d1d9e0"}
LIGHT |= {"bars": ("#9aa4b2", "#c58b4b", "#2f6fde")}
LIGHT |= {"curves": ("#2f6fde", "#1a7f37", "#8250df", "#c2570c")}
DARK = {"ink": "#f0f6fc", "quiet": "#9198a1", "line": "#3d444d"}
DARK |= {"bars": ("#7d8590", "#d29922", "#58a6ff")}
DARK |= {"curves": ("#58a6ff", "#3fb950", "#bc8cff", "#f0883e")}


def take(report: Path) -> None:
    """Keep what the README shows of a report of bench/spark_join.py; what it lacks stays."""
    found = json.loads(report.read_text())
    write(JOINS, taken(json.loads(JOINS.read_text()), found, source()))


def taken(kept: dict, report: dict, commit: str) -> dict:
    """Return what is kept, with the rows of a report in the place of those of the same case."""
    rows = {(row["batch"], row["window"], row["who"]): row for row in kept["rows"]}
    long = {(row["batch"], row["window"]): row for row in kept.get("long", [])}
    for found in report["results"]:
        work, who, part = found["workload"], found["who"], found["part"]
        if work["kind"] != "numeric":
            continue
        batches = len(found["seconds"])
        window = 2_000 * (work["window"] + work.get("delay", 10))
        row = {"batch": work["rows"], "window": window}
        about = {
            "batches": batches,
            "written": found["checkpoint_bytes"] // batches,
            "date": report["when"],
            "commit": commit,
        }
        if (part, who) == LONG:
            long[row["batch"], window] = row | about
        if part not in PARTS or who not in NAMES:
            continue
        row |= {"who": who, "seconds": round(found["seconds_a_batch"], 2)}
        row["memory"] = found["image_bytes"] if who == OURS else found["state_bytes"]
        if who == OURS:
            row["durable"] = found["state_bytes"]  # base and log, in the checkpoint
        row = {name: each for name, each in (row | about).items() if each}  # 0: was not measured
        rows[row["batch"], window, who] = row
    order = list(NAMES)
    made = sorted(
        rows.values(), key=lambda row: (-row["batch"], row["window"], order.index(row["who"]))
    )
    return kept | {"rows": made, "long": [long[each] for each in sorted(long)]}


def source() -> str:
    """Return the commit that is checked out, which is taken for the one that was measured."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def curve() -> None:
    """Replay two streams whose keys are skewed and come in bursts, and keep recall by memory."""
    from penstock.advisor import advise_join
    from penstock.simulate.skewed import zipf

    trace = zipf(STEPS, 1, alpha=1.0, domain=2000)
    made = advise_join(
        trace.side, trace.key, trace.time, WITHIN, target=0.95, tried=tuple(SHOWN), work=10**9
    )
    peak = made.streams.peak
    curves = {
        each.policy: [
            [round(float(rows) / peak, 4), round(float(share), 4)]
            for rows, share in zip(each.rows, each.share, strict=True)
        ]
        for each in made.curves
    }
    answer = made.answer
    best = {"policy": answer.policy, "memory": round(answer.rows / peak, 4), "recall": made.target}
    write(CURVE, {"steps": STEPS, "within": WITHIN, "answer": best, "curves": curves})


def write(path: Path, value: dict) -> None:
    """Write JSON with one record a line."""
    lines = json.dumps(value, indent=1).replace("\n   ", " ").replace("\n  }", " }")
    path.write_text(lines.replace("\n  ]", " ]") + "\n")


def groups(joins: dict) -> dict[tuple[int, int], list[dict]]:
    """Return what was measured by (rows a batch, rows in the window)."""
    found: dict = {}
    for row in joins["rows"]:
        found.setdefault((row["batch"], row["window"]), []).append(row)
    return found


def table(joins: dict) -> str:
    """Return the README's table and its notes."""
    lines = [
        "| rows a micro-batch | rows in the window | | seconds a micro-batch "
        "| state in memory | written a micro-batch |",
        "|---|---|---|---|---|---|",
    ]
    empty, notes = False, []
    for (batch, window), rows in groups(joins).items():
        title = f"{batch:,} | {window:,}"
        total = {row["who"]: written(row, joins) for row in rows}
        best = [least(rows, lambda row, part=part: row.get(part)) for part in ("seconds", "memory")]
        same = OURS not in total or total[OURS]
        best.append(least(rows, lambda row, total=total: total[row["who"]]) if same else None)
        for row in rows:
            cells = [f"{row['seconds']:.2f}", size(row.get("memory")), size(row.get("written"))]
            if "RocksDB" in row["who"] and row.get("memory"):
                cells[1] += " and disk"
            empty = empty or "" in cells
            longer = over_long(row, joins)
            if longer or without_copy(row):
                notes.append(
                    "‡ In so few micro-batches no full copy of Penstock's state may be due, and no "
                    "snapshot of RocksDB in either join."
                )
            if longer:
                notes[-1] += (
                    f" Over {longer['batches']} micro-batches, with both, Penstock wrote "
                    f"{size(longer['written'])} a micro-batch; Spark's joins were not measured "
                    "over as many."
                )
            cells = [
                f"**{cell}**" if row is first else cell
                for cell, first in zip(cells, best, strict=True)
            ]
            if longer or without_copy(row):
                cells[2] += " ‡"
            name = NAMES[row["who"]] + (" †" if "earlier" in row else "")
            lines.append(" | ".join([f"| {title}", name, *cells]) + " |")
            title = " | "
    notes = [state(joins), *dict.fromkeys(notes)]
    if any("earlier" in row for row in joins["rows"]):
        notes.insert(1, "† An earlier run, of another layout of the state; its date was not kept.")
    return "\n\n".join(["\n".join(lines), how(joins, empty), *notes])


def how(joins: dict, empty: bool) -> str:
    """Return how the figures of the table were measured."""
    counts = sorted({row["batches"] for row in joins["rows"] if "batches" in row})
    dates = sorted({row["date"] for row in joins["rows"] if "date" in row})
    many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}" if counts else ""
    said = f"Medians of {many or 'steady'} micro-batches" + " after a warm-up" * bool(many)
    said += "; bytes written are their mean"
    said += f". Measured on {joins['machine']}" + f", {', '.join(dates)}" * bool(dates)
    if dates and not all("date" in row or "earlier" in row for row in joins["rows"]):
        said += " and on a day that was not recorded"
    return said + "." + " An empty cell was not measured." * empty


def least(rows: list[dict], figure: Callable[[dict], float | None]) -> dict | None:
    """Return the row with the smallest figure, where several have one."""
    found = [row for row in rows if figure(row)]
    return min(found, key=figure) if len(found) > 1 else None


def without_copy(row: dict) -> bool:
    """Tell whether no full copy of our state can have been written while it was measured.

    The state of a bucket is its last copy and at most GROWTH times as much of log, so a copy has at
    least this share of it.
    """
    if not row.get("durable") or not row.get("written"):
        return False
    return row["written"] * row["batches"] < row["durable"] / BUCKETS / (1 + GROWTH)


def over_long(row: dict, joins: dict) -> dict | None:
    """Return what our join wrote over many micro-batches, if more, with about as large a window."""
    for each in joins.get("long", []):
        alike = each["batch"] == row["batch"] and 0.9 < each["window"] / row["window"] < 1.1
        if alike and row["who"] == OURS and each["written"] > row.get("written", 0):
            return each
    return None


def written(row: dict, joins: dict) -> float | None:
    """Return the bytes that are written a micro-batch where they may be compared with Spark's."""
    alone = over_long(row, joins) or without_copy(row)
    return None if alone else row.get("written")


def claim(joins: dict) -> str:
    """Return what the front page says of speed: no more than what was measured."""
    faster, slower = [], []
    for (batch, _), rows in groups(joins).items():
        ours, theirs = both(rows)
        if ours and theirs:
            beats = ours["seconds"] < min(row["seconds"] for row in theirs)
            (faster if beats else slower).append(batch)
    said = "It was faster than each of Spark's own joins in "
    if not faster:
        return f"{said}no case of the table below."
    if not slower:
        return f"{said}every case of the table below."
    few = " and ".join(f"{batch:,}" for batch in dict.fromkeys(slower))
    return (
        f"{said}{len(faster)} of the {len(faster) + len(slower)} cases of the table below "
        f"(not in all with {few} rows a micro-batch)."
    )


def both(rows: list[dict]) -> tuple[dict | None, list[dict]]:
    """Return what was measured of our join in one case, and of Spark's own."""
    ours = next((row for row in rows if row["who"] == OURS), None)
    return ours, [row for row in rows if row["who"] != OURS]


def state(joins: dict) -> str:
    """Return what the note below the table says of the bytes written and held."""
    shares: dict[int, float] = {}
    for (batch, _), rows in groups(joins).items():
        ours, theirs = both(rows)
        beside = [row["written"] for row in theirs if row.get("written")]
        mine = ours and written(ours, joins)
        if mine and beside:
            shares[batch] = max(mine / min(beside), shares.get(batch, 0))
    if not shares:
        return in_memory(joins)
    most = max(shares.values())
    much = f"{math.ceil(100 * most)} %" if most < 1 else f"{most:.1f} times"
    said = f"Penstock wrote at most {much} as much to the checkpoint as the join of Spark that "
    said += "wrote least"
    if {*shares} < {batch for batch, _ in groups(joins)}:
        said += " (with " + " and ".join(f"{batch:,}" for batch in sorted(shares))
        said += " rows a micro-batch)"
    return f"{said}. {in_memory(joins)}"


def in_memory(joins: dict) -> str:
    """Return where rows are held, and how that compares with either store of Spark."""
    beside: dict[str, list[float]] = {"spark, in memory": [], "spark, RocksDB, format 4": []}
    for rows in groups(joins).values():
        held = {row["who"]: row.get("memory") for row in rows}
        for who, ratios in beside.items():
            if held.get(OURS) and held.get(who):
                ratios.append(held[OURS] / held[who])
    own, rocks = beside.values()
    said = []
    if own and max(own) < 1:
        said.append("less memory than Spark's in-memory store takes")
    if rocks and min(rocks) > 1:
        said.append("more than RocksDB takes, which keeps the rest on disk")
    if not said:
        return "It holds its rows in memory."
    return f"It holds its rows in memory: {', and '.join(said)}."


def size(number: float | None) -> str:
    """Return bytes for people; nothing where they were not measured."""
    if not number:
        return ""
    return f"{number / 1e6:,.0f} MB" if number >= 1e7 else f"{number / 1e6:.2f} MB"


def draw() -> None:
    """Write the tables, what is said of them, and the pictures."""
    joins, curve = json.loads(JOINS.read_text()), json.loads(CURVE.read_text())
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        page.write_text(filled(filled(page.read_text(), TABLE, table(joins)), CLAIM, claim(joins)))
    page = ROOT / "docs" / "scaling.md"
    text = page.read_text()
    for marks, made in zip((SPEED, SIZED), scaled(joins), strict=True):
        text = filled(text, marks, made)
    page.write_text(text)
    for name, made in pictures(joins, curve).items():
        (ROOT / "docs" / "images" / name).write_text(made)


def scaled(joins: dict) -> tuple[str, str]:
    """Return the tables of the page on scaling: what was measured, and what it works out to."""
    ours = [row for row in joins["rows"] if row["who"] == OURS]
    large = max(ours, key=lambda row: row["batch"])
    held = max((row for row in ours if row.get("memory")), key=lambda row: row["window"])
    speed = round(large["batch"] / large["seconds"] / 2, -3)  # rows a second and core
    memory, durable = (held.get(name, 0) / held["window"] for name in ("memory", "durable"))
    page = "[the table on the front page](index.md)"
    run = f"{page}, an earlier run" if "earlier" in large else page
    measured = [
        "| | figure | from |",
        "|---|---|---|",
        f"| rows through an exact join, large micro-batches | {large['batch']:,} in "
        f"{large['seconds']:.2f} s on 2 cores: {speed:,.0f} a second and core | {run} |",
        f"| a micro-batch of {held['batch']:,} rows, {held['window']:,} in the window | "
        f"{held['seconds']:.2f} s on 2 cores, nearly all of it fixed | {page} |",
        f"| a row in memory | {memory:.0f} bytes, with one number as payload | the same run: "
        f"{size(held['memory'])} |",
    ]
    if durable:
        measured.append(
            f"| a row in the checkpoint | {durable:.0f} bytes, with one number as payload | "
            f"the same run: {size(held['durable'])}, base and log |"
        )
    for each in joins.get("long", []):
        measured.append(
            f"| written for a row, {each['window']:,} rows in the window | "
            f"{each['written'] / each['batch']:.0f} bytes: log, full copies, RocksDB's snapshots | "
            f"{each['batches']} micro-batches of {each['batch']:,} rows |"
        )
    rows, cores, payload = 600_000_000, 200, 100
    whole = rows * (memory - 8 + payload)
    worked = [
        "| | works out to | a core |",
        "|---|---|---|",
        "| rows a micro-batch | 5,000,000 | 25,000 |",
        f"| time to process them, at {speed:,.0f} a second and core | {1e6 / speed:.1f} cores busy "
        f"| {25_000 / speed:.2f} s of 5 s |",
        "| fixed cost of a micro-batch (planning, tasks, commits) | about 1 s of 5 s "
        "| the same for all |",
        f"| the most that one key may bring | {speed / 1e4:.0f} % of all rows | {speed:,.0f} rows "
        "a second |",
        f"| rows held | {rows:,} | {rows // cores:,} |",
        f"| memory, exact | {whole / 1e9:.0f} GB | {whole / cores / 1e9:.1f} GB |",
        f"| memory with a budget of 20 % | {whole / 5e9:.0f} GB | {whole / cores / 5e9:.1f} GB |",
        "| shuffle | 125 MB/s (rows of about 125 bytes) | 0.6 MB/s |",
        "| written to the checkpoint | 250 to 500 MB/s | 1.3 to 2.5 MB/s |",
        "| files of the state store | 200 partitions, one changelog file each, every 5 s | "
        "40 a second in all |",
        "",
        f"The arithmetic: memory is rows × ({memory:.0f} - 8 + {payload}) bytes; the checkpoint "
        "gets each row twice, in the log and in a base, and at most about as often again in the "
        "snapshots of RocksDB, with its payload, key and time.",
    ]
    return "\n".join(measured), "\n".join(worked)


def filled(page: str, marks: tuple[str, str], made: str) -> str:
    """Return a page with another text between two marks."""
    before, start, rest = page.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not end:
        raise SystemExit(f"a page lacks {marks[0]} or {marks[1]}")
    gap = "\n\n" if "\n" in made else ""
    return f"{before}{start}{gap}{made}{gap}{end}{after}"


def pictures(joins: dict, curve: dict) -> dict[str, str]:
    """Return the pictures by their names; two stand side by side, on a phone below each other."""
    made = {}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        drawn, bottom = bars(joins, colours)
        height = max(320, math.ceil(bottom) + 14)
        made[f"front-time-{name}.svg"] = svg(drawn, height, colours)
        made[f"front-recall-{name}.svg"] = svg(curves(curve, colours, height), height, colours)
    return made


def svg(drawn: list[str], height: int, colours: dict) -> str:
    """Return a picture of the size that both have."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDE}" '
        f'height="{height * WIDE / WIDTH:.0f}" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'font-size="13" fill="{colours["ink"]}">',
        *drawn,
        "</svg>",
        "",
    ]
    return "\n".join(parts)


def text(x: float, y: float, said: str, extra: str = "") -> str:
    """Return one line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{said}</text>'


def bars(joins: dict, colours: dict) -> tuple[list[str], float]:
    """Return how long a micro-batch takes, and where the drawing ends.

    Bars have one scale: the time of Spark with its state in memory on the same rows is 1.
    """
    quiet = f'fill="{colours["quiet"]}"'
    made = [
        text(5, 22, "Exact join: seconds per micro-batch", 'font-weight="600" font-size="15"'),
        text(5, 42, "bars: relative to Spark with its state in memory", quiet),
    ]
    units = {
        group: next((row["seconds"] for row in rows if row["who"] == UNIT), None)
        for group, rows in groups(joins).items()
    }
    found = {group: rows for group, rows in groups(joins).items() if units[group]}
    longest = max(row["seconds"] / units[group] for group, rows in found.items() for row in rows)
    left, room, height, y = 130.0, 250.0, 14.0, 70.0
    for (batch, window), rows in found.items():
        made.append(text(5, y, f"{batch:,} rows a micro-batch, {window:,} in the window", quiet))
        y += 8
        for row in rows:
            length = max(2.0, room * row["seconds"] / units[batch, window] / longest)
            label = NAMES[row["who"]].replace(", state format 4", "").replace("state in ", "in ")
            weight = 'font-weight="600"' if row["who"] == OURS else ""
            made.append(text(5, y + height - 3, label, f'font-size="12" {weight}'))
            shape = f'x="{left:.0f}" y="{y:.1f}" width="{length:.1f}" height="{height:.1f}" rx="2"'
            colour = colours["bars"][list(NAMES).index(row["who"])]
            made.append(f'<rect {shape} fill="{colour}"/>')
            said = f"{row['seconds']:.2f}"
            place = left + 6 + length
            made.append(text(place, y + height - 3, said, f'font-size="12" {weight}'))
            y += height + 3
        y += 18
    return made, y - 18


def curves(curve: dict, colours: dict, bottom: float) -> list[str]:
    """Return recall by memory."""
    left, top, width = 50.0, 62.0, 370.0
    height = bottom - 58 - top
    quiet = f'fill="{colours["quiet"]}"'
    least = 0.03
    made = [text(5, 22, "With a budget: recall by memory", 'font-weight="600" font-size="15"')]
    made.append(text(5, 42, "share of all results that is found", quiet))

    def place(memory: float, recall: float) -> tuple[float, float]:
        across = 1 - math.log(max(memory, least)) / math.log(least)
        return left + width * across, top + height * (1 - recall)

    for share in (0, 0.25, 0.5, 0.75, 1):
        y = place(1, share)[1]
        made.append(f'<path d="M{left} {y:.1f}H{left + width}" stroke="{colours["line"]}"/>')
        made.append(text(left - 8, y + 4, f"{share:.0%}", f'text-anchor="end" {quiet}'))
    for memory in (0.03, 0.1, 0.3, 1):
        x = place(memory, 0)[0]
        made.append(text(x, top + height + 18, f"{memory:.0%}", f'text-anchor="middle" {quiet}'))
    under = 'text-anchor="middle" ' + quiet
    made.append(
        text(left + width / 2, top + height + 40, "memory, of what an exact join holds", under)
    )
    ends = []
    for name, colour in zip(SHOWN, colours["curves"], strict=True):
        points = [place(*point) for point in curve["curves"][name] if least <= point[0] <= 1]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        made.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.2"/>')
        middle = min(points, key=lambda point: abs(point[0] - place(0.1, 0)[0]))
        ends.append((middle[1], name, colour))
    ends.sort()
    for number, (_, name, colour) in enumerate(ends):
        x, y = left + 12 + 130 * (number // 2), top + 20 + 18 * (number % 2)  # between two lines
        made.append(f'<path d="M{x} {y - 4}h22" stroke="{colour}" stroke-width="2.2"/>')
        made.append(text(x + 28, y, SHOWN[name], f'fill="{colour}"'))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("take", "curve", "draw"))
    parser.add_argument("report", nargs="?", type=Path, help="for `take`")
    given = parser.parse_args()
    if given.what == "take":
        take(given.report)
    elif given.what == "curve":
        curve()
    draw()


if __name__ == "__main__":
    main()
