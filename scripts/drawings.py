"""Draw the pictures of docs/architecture.md, for light pages and for dark ones."""

from pathlib import Path
from typing import NamedTuple

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images"
COLOURS = {
    "light": {"ink": "#1f2328", "quiet": "#59636e", "line": "#8c959f"}
    | {"plain": "#f6f8fa", "blue": "#ddf4ff", "green": "#dafbe1", "amber": "#fff8c5"},
    "dark": {"ink": "#f0f6fc", "quiet": "#9198a1", "line": "#6e7681"}
    | {"plain": "#212830", "blue": "#0c2d4d", "green": "#12351d", "amber": "#3b2e08"},
}


class Box(NamedTuple):
    """A box with a title and a line or two below it."""

    x: int
    y: int
    width: int
    height: int
    fill: str
    title: str
    said: tuple[str, ...] = ()


class Arrow(NamedTuple):
    """An arrow along points, with words beside its middle."""

    points: tuple[tuple[int, int], ...]
    said: str = ""
    dx: int = 8
    dy: int = -6


class Label(NamedTuple):
    """Words on their own."""

    x: int
    y: int
    said: str


def drawing(width: int, height: int, parts: list, colours: dict[str, str]) -> str:
    """Return a drawing as SVG."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" '
        f'font-size="13" fill="{colours["ink"]}">',
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{colours["line"]}"/>'
        "</marker></defs>",
    ]
    quiet = f'fill="{colours["quiet"]}" font-size="12"'
    for part in parts:
        if isinstance(part, Box):
            x, y, wide, high, fill, title, said = part
            lines.append(
                f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6" '
                f'fill="{colours[fill]}" stroke="{colours["line"]}"/>'
            )
            lines.append(f'<text x="{x + 12}" y="{y + 22}" font-weight="600">{title}</text>')
            for number, line in enumerate(said):
                lines.append(f'<text x="{x + 12}" y="{y + 41 + 17 * number}" {quiet}>{line}</text>')
        elif isinstance(part, Arrow):
            path = "M" + "L".join(f"{x} {y}" for x, y in part.points)
            lines.append(
                f'<path d="{path}" fill="none" stroke="{colours["line"]}" stroke-width="1.6" '
                'marker-end="url(#end)"/>'
            )
            (x1, y1), (x2, y2) = part.points[0], part.points[1]
            place = f'x="{(x1 + x2) // 2 + part.dx}" y="{(y1 + y2) // 2 + part.dy}"'
            lines.append(f"<text {place} {quiet}>{part.said}</text>")
        else:
            lines.append(f'<text x="{part.x}" y="{part.y}" {quiet}>{part.said}</text>')
    return "\n".join([*lines, "</svg>", ""])


DRAWINGS = {
    "join-path": (
        880,
        330,
        [
            Label(10, 20, "tasks of the sources"),
            Label(330, 20, "tasks of the buckets"),
            Label(680, 20, "tasks of the sink"),
            Box(
                10,
                32,
                220,
                92,
                "plain",
                "left rows",
                ("64 bits of the key, its bucket,", "one Arrow packet a bucket"),
            ),
            Box(
                10,
                214,
                220,
                92,
                "plain",
                "right rows",
                ("the same; late rows are those", "of Spark's own watermark"),
            ),
            Arrow(((230, 78), (330, 130)), "shuffle", -4, -16),
            Arrow(((230, 260), (330, 210)), "shuffle", -4, 28),
            Box(330, 32, 260, 274, "blue", "bucket", ()),
            Box(
                346,
                66,
                228,
                68,
                "green",
                "engine",
                ("keys, times, row numbers:", "match, keep, evict, expire"),
            ),
            Box(
                346,
                142,
                228,
                68,
                "plain",
                "payloads",
                ("Arrow segments by row number;", "equal keys are compared in truth"),
            ),
            Box(
                346,
                218,
                228,
                74,
                "plain",
                "recall",
                ("a sample of rows is watched", "for as long as it could match"),
            ),
            Arrow(((590, 110), (680, 78)), "packets", -30, -16),
            Arrow(((590, 230), (680, 260)), "", 0, 0),
            Box(
                680,
                32,
                190,
                92,
                "plain",
                "results",
                ("packets become rows again,", "while others are still found"),
            ),
            Box(
                680,
                214,
                190,
                92,
                "amber",
                "figures",
                ("counters and recall, in", "every progress report"),
            ),
        ],
    ),
    "state": (
        880,
        300,
        [
            Label(10, 20, "micro-batch n"),
            Label(340, 20, "between micro-batches"),
            Label(650, 20, "micro-batch n + 1"),
            Box(
                10,
                32,
                210,
                110,
                "blue",
                "a Python worker",
                (
                    "opens the image, takes the",
                    "rows of the batch, saves it:",
                    "2 to 3 ms, whatever is held",
                ),
            ),
            Box(
                650,
                32,
                220,
                110,
                "blue",
                "any Python worker",
                ("of the same machine: maps", "the same memory, goes on"),
            ),
            Box(
                340,
                32,
                200,
                110,
                "green",
                "image",
                (
                    "shared memory: rows, index,",
                    "policy; readable by its owner",
                    "alone, marked with a token",
                ),
            ),
            Arrow(((220, 86), (340, 86)), "save", 0, -8),
            Arrow(((540, 86), (650, 86)), "map", 0, -8),
            Box(
                340,
                190,
                200,
                92,
                "amber",
                "base and log",
                ("Spark's state store, so in the", "checkpoint; the same token"),
            ),
            Arrow(((115, 142), (115, 236), (340, 236)), "commit: what the batch brought", 8, 30),
            Arrow(
                ((540, 236), (760, 236), (760, 142)), "another machine, a crash: rebuild", -90, 18
            ),
        ],
    ),
    "rooms": (
        880,
        370,
        [
            Box(10, 10, 860, 50, "plain", "cli", ()),
            Box(
                10,
                68,
                560,
                62,
                "blue",
                "spark",
                ("frames in, frames out; the only room that knows pyspark",),
            ),
            Box(580, 68, 290, 62, "plain", "report", ("pages, the monitor, Prometheus",)),
            Box(
                10, 138, 280, 62, "plain", "advisor, simulate", ("replays: how much memory to buy",)
            ),
            Box(300, 138, 280, 62, "plain", "precision", ("interval caches, MQTT",)),
            Box(
                590,
                138,
                280,
                62,
                "plain",
                "relations, profile",
                ("rows from databases, statistics",),
            ),
            Box(
                10,
                208,
                860,
                62,
                "green",
                "engine",
                ("joins and lookups: drive a policy over a stream, save, restore, resize; auto",),
            ),
            Box(
                10,
                278,
                425,
                82,
                "plain",
                "policies, models",
                ("one file per policy;", "streams as random processes"),
            ),
            Box(
                445,
                278,
                425,
                82,
                "amber",
                "kernel",
                (
                    "NumPy and Numba only: slots, index, heaps, lists,",
                    "random numbers, the contract of a policy",
                ),
            ),
        ],
    ),
}


def main() -> None:
    for name, (width, height, parts) in DRAWINGS.items():
        for scheme, colours in COLOURS.items():
            made = drawing(width, height, parts, colours)
            (TARGET / f"{name}-{scheme}.svg").write_text(made)


if __name__ == "__main__":
    main()
