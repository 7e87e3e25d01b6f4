"""What an experiment leaves in a folder: a table, a figure and a record of its verdicts."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from .frame import Experiment, Found
from .origin import Origin
from .style import RULES

DPI = 88
COLOURS = 128  # enough for lines and letters, and a third of the bytes


def write(
    experiment: Experiment, found: Found, folder: Path, seconds: float, quick: bool, at: Origin
) -> None:
    """Write NAME.csv, NAME.png and NAME.json; `at` is what the experiment was run from."""
    write_table(found.rows, folder / f"{experiment.name}.csv")
    draw(found, folder / f"{experiment.name}.png")
    record = {
        "name": experiment.name,
        "paper": experiment.paper,
        "figure": experiment.figure,
        "what": experiment.what,
        "verdicts": [verdict._asdict() for verdict in found.verdicts],
        "notes": found.notes,
        "seconds": round(seconds, 1),
        "quick": quick,
        **at._asdict(),
    }
    (folder / f"{experiment.name}.json").write_text(json.dumps(record, indent=1) + "\n")


def write_table(rows: list[dict[str, Any]], path: Path) -> None:
    """Write rows as CSV; all columns that any of them has, numbers to six figures."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def draw(found: Found, path: Path) -> None:
    """Draw the figure, in the style of all."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from PIL import Image

    with matplotlib.rc_context(RULES):
        room = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06)  # inches about every panel
        figure = Figure(figsize=found.size, layout=room, facecolor="white")
        found.draw(figure)
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=DPI, format="png")
    picture = Image.open(drawn).convert("RGB")
    # Thin lines are few of the pixels: by the spread of the colours, not by how often they come.
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
