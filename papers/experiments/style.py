"""How all figures look: one colour and one marker for each policy, named axes, legends beside."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

INK, GREY, FAINT = "#1d1d1f", "#5f6368", "#d9dde3"
LOOK = {  # colour, marker
    "opt": (INK, "*"),
    "lfd": (INK, "*"),
    "heeb": ("#c8452f", "o"),
    "hist": ("#e59a3c", "s"),
    "flowexpect": ("#7b5ea7", "D"),
    "rand": (GREY, "x"),
    "fifo": ("#9aa0a6", "+"),
    "prob": ("#2f6fb7", "^"),
    "life": ("#53a4c8", "v"),
    "lru": ("#3c8d5a", "P"),
    "lfu": ("#2f6fb7", "^"),
    "age": ("#a45fb5", "d"),
    "printed_age": ("#7b5ea7", "D"),
    "gdj-parts": ("#e59a3c", "s"),
    "printed_lba": ("#7b5ea7", "D"),
    "gdj": ("#c8452f", "o"),
    "lba": ("#c8452f", "o"),
    "elba": ("#e59a3c", "s"),
    "clock": ("#c8452f", "o"),
}
OTHERS = ("#c8452f", "#2f6fb7", "#3c8d5a", "#e59a3c", "#7b5ea7", "#53a4c8", "#5f6368", "#1d1d1f")
MARKERS = "o^sDvPx*"
DASHES = ("-", "-", "--", "-.", ":", "-", "--", "-.")  # so that lines which coincide are seen
RULES: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
}


def look(name: str, number: int = 0) -> dict[str, Any]:
    """Return the colour and marker of a policy, or those of the so-manieth other thing."""
    known = LOOK.get(name.partition(" ")[0].partition(":")[0].lower())
    colour, marker = known or (OTHERS[number % 8], MARKERS[number % 8])
    return {"color": colour, "marker": marker}


def lines(
    axes: Any,
    curves: Mapping[str, tuple[Any, Any]],
    x: str,
    y: str,
    title: str = "",
    legend: bool = True,
    labels: Callable[[str], str] = str.upper,
    plain: bool = False,
) -> None:
    """Draw a line for each name; `plain` ones are told apart by number and not by policy."""
    for number, (name, (at, values)) in enumerate(curves.items()):
        style = (
            look("", number) | {"linestyle": DASHES[number % 8]} if plain else look(name, number)
        )
        axes.plot(at, values, label=labels(name), **style)
    name_axes(axes, x, y, title)
    if legend:
        axes.legend()


def name_axes(axes: Any, x: str, y: str, title: str = "") -> None:
    """Say what the axes are."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if title:
        axes.set_title(title, loc="left")


def logarithmic(axes: Any, ticks: Sequence[float]) -> None:
    """Make the x axis logarithmic, with plain numbers at these places."""
    axes.set_xscale("log")
    axes.set_xticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def legend_below(figure: Any, axes: Any, columns: int = 6) -> None:
    """Put one legend for all panels under them, in the order of the first panel."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(columns, len(labels)))


def bars(
    axes: Any,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    y: str,
    title: str = "",
    labels: Callable[[str], str] = str.upper,
) -> None:
    """Draw bars side by side for each group; a value of None is left out."""
    width = 0.82 / len(series)
    for number, (name, values) in enumerate(series.items()):
        places = [g + (number - (len(series) - 1) / 2) * width for g in range(len(groups))]
        shown = [(p, v) for p, v in zip(places, values, strict=True) if v is not None]
        colour = look(name, number)["color"]
        axes.bar(*zip(*shown, strict=True), width * 0.92, label=labels(name), color=colour)
    axes.set_xticks(range(len(groups)), groups)
    axes.grid(axis="x", visible=False)
    name_axes(axes, "", y, title)
