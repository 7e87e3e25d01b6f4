"""The README's table and picture, made from recorded runs in docs/measured.

    python scripts/pictures.py take bench/results/spark_join.json   # a run of bench/spark_join.py
    python scripts/pictures.py curve                                # recall by memory, a minute
    python scripts/pictures.py draw                                 # table and pictures, at once

`take` keeps what the README shows of a report, `draw` writes the table into README.md and
docs/index.md and the pictures into docs/images, for light and for dark pages.
"""

import argparse
import json
import math
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "docs" / "measured"
JOINS, CURVE = MEASURED / "joins.json", MEASURED / "recall-by-memory.json"
NAMES = {
    "spark, in memory": "Spark, state in memory",
    "spark, RocksDB, format 4": "Spark, RocksDB, state format 4",
    "penstock, exact": "Penstock",
}
OURS = "penstock, exact"
SHOWN = {"auto": "auto (default)", "prob": "prob", "lru": "lru", "fifo": "fifo"}
STEPS, WITHIN = 40_000, 4_000
START, END = "<!-- measured: scripts/pictures.py writes this table -->", "<!-- /measured -->"

LIGHT = {"ink": "#1f2328", "quiet": "#59636e", "line": "#d1d9e0"}
LIGHT |= {"bars": ("#9aa4b2", "#c58b4b", "#2f6fde")}
LIGHT |= {"curves": ("#2f6fde", "#1a7f37", "#8250df", "#c2570c")}
DARK = {"ink": "#f0f6fc", "quiet": "#9198a1", "line": "#3d444d"}
DARK |= {"bars": ("#7d8590", "#d29922", "#58a6ff")}
DARK |= {"curves": ("#58a6ff", "#3fb950", "#bc8cff", "#f0883e")}


def take(report: Path) -> None:
    """Keep what the README shows of a report of bench/spark_join.py; what it lacks stays."""
    kept = json.loads(JOINS.read_text())
    rows = {(row["batch"], row["window"], row["who"]): row for row in kept["rows"]}
    for found in json.loads(report.read_text())["results"]:
        work, who = found["workload"], found["who"]
        if work["kind"] != "numeric" or who not in NAMES:
            continue
        if found["part"] not in ("sizes", "large window"):
            continue
        window = 2_000 * (work["window"] + work.get("delay", 10))
        row = {"batch": work["rows"], "window": window, "who": who}
        row["seconds"] = round(found["seconds_a_batch"], 2)
        row["memory"] = found["image_bytes"] if who == OURS else found["state_bytes"]
        row["written"] = found["checkpoint_bytes"] // len(found["seconds"])
        rows[row["batch"], window, who] = row
    order = list(NAMES)
    kept["rows"] = sorted(
        rows.values(), key=lambda row: (-row["batch"], row["window"], order.index(row["who"]))
    )
    write(JOINS, kept)


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
    """Return the README's table."""
    lines = [
        "| rows a micro-batch | rows in the window | | seconds a micro-batch "
        "| state in memory | written a micro-batch |",
        "|---|---|---|---|---|---|",
    ]
    for (batch, window), rows in groups(joins).items():
        title = f"{batch:,}{' †' if 'earlier' in rows[0] else ''} | {window:,}"
        for row in rows:
            cells = [f"{row['seconds']:.2f}", size(row.get("memory")), size(row.get("written"))]
            if "RocksDB" in row["who"] and row.get("memory"):
                cells[1] += " and disk"
            if row["who"] == OURS:
                cells = [f"**{cell}**" if cell else "" for cell in cells]
            lines.append(" | ".join([f"| {title}", NAMES[row["who"]], *cells]) + " |")
            title = " | "
    if any("earlier" in row for row in joins["rows"]):
        lines += ["", "† An earlier run, of another layout of the state."]
    return "\n".join(lines)


def size(number: int | None) -> str:
    """Return bytes for people; nothing where they were not measured."""
    if number is None:
        return ""
    return f"{number / 1e6:,.0f} MB" if number >= 1e7 else f"{number / 1e6:.2f} MB"


def draw() -> None:
    """Write the table and the pictures."""
    joins, curve = json.loads(JOINS.read_text()), json.loads(CURVE.read_text())
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = page.read_text()
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        page.write_text(f"{before}{START}\n\n{table(joins)}\n\n{END}{after}")
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        made = picture(joins, curve, colours)
        (ROOT / "docs" / "images" / f"front-{name}.svg").write_text(made)


def picture(joins: dict, curve: dict, colours: dict) -> str:
    """Return the README's picture: seconds a micro-batch, and recall by memory."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 330" width="900" height="330" '
        'font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" '
        f'fill="{colours["ink"]}">'
    ]
    parts += bars(joins, colours)
    parts += curves(curve, colours)
    return "\n".join([*parts, "</svg>", ""])


def text(x: float, y: float, said: str, extra: str = "") -> str:
    """Return one line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{said}</text>'


def bars(joins: dict, colours: dict) -> list[str]:
    """Return the left half: how long a micro-batch takes."""
    made = [text(10, 22, "Exact: the same rows, sooner", 'font-weight="600" font-size="15"')]
    quiet = f'fill="{colours["quiet"]}"'
    made.append(text(10, 42, "seconds a micro-batch, 2 cores", quiet))
    y, room = 68.0, 225.0
    found = groups(joins)
    height = min(15.0, (250 - 24 * len(found)) / len(joins["rows"]) - 3)
    for (batch, window), rows in found.items():
        longest = max(row["seconds"] for row in rows)  # each group has a scale of its own
        made.append(text(10, y, f"{batch:,} rows a micro-batch, {window:,} in the window", quiet))
        y += 8
        for row, colour in zip(rows, colours["bars"], strict=False):
            length = max(2.0, room * row["seconds"] / longest)
            label = NAMES[row["who"]].replace(", state format 4", "").replace("state in ", "in ")
            weight = 'font-weight="600"' if row["who"] == OURS else ""
            made.append(text(10, y + height - 3, label, f'font-size="12" {weight}'))
            shape = f'x="130" y="{y:.1f}" width="{length:.1f}" height="{height:.1f}" rx="2"'
            made.append(f'<rect {shape} fill="{colour}"/>')
            said = f"{row['seconds']:.2f}"
            made.append(text(136 + length, y + height - 3, said, f'font-size="12" {weight}'))
            y += height + 3
        y += 16
    return made


def curves(curve: dict, colours: dict) -> list[str]:
    """Return the right half: recall by memory."""
    left, top, width, height = 505.0, 62.0, 285.0, 205.0
    quiet = f'fill="{colours["quiet"]}"'
    least = 0.03
    made = [text(460, 22, "Below the window: recall by memory", 'font-weight="600" font-size="15"')]
    made.append(text(460, 42, "share of all results that is found", quiet))

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
        y = top + 14 + 19 * number
        made.append(f'<path d="M{left + 12} {y - 4}h22" stroke="{colour}" stroke-width="2.2"/>')
        made.append(text(left + 40, y, SHOWN[name], f'fill="{colour}"'))
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
