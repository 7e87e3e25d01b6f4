"""The experiments of the five papers, one file for each; `ALL` is the only registry."""

from ..simulation.words import check_word
from .frame import Experiment, Found, Verdict, judge
from .gdj_03 import GDJ_3
from .gdj_04 import GDJ_4
from .gdj_05 import GDJ_5
from .gdj_06 import GDJ_6
from .gdj_07 import GDJ_7
from .gdj_08 import GDJ_8
from .gdj_09 import GDJ_9
from .heeb_06 import HEEB_6
from .heeb_08 import HEEB_8
from .heeb_09 import HEEB_9
from .heeb_13 import HEEB_13
from .heeb_15 import HEEB_15
from .heeb_16 import HEEB_16
from .heeb_flowexpect import HEEB_FLOWEXPECT
from .lab import Lab, Rows
from .runner import Outcome, reproduce

__all__ = [
    "ALL",
    "Experiment",
    "Found",
    "Lab",
    "Outcome",
    "Rows",
    "Verdict",
    "choose",
    "judge",
    "reproduce",
]

ALL: tuple[Experiment, ...] = (
    HEEB_FLOWEXPECT,
    HEEB_6,
    HEEB_8,
    HEEB_9,
    HEEB_13,
    HEEB_15,
    HEEB_16,
    GDJ_3,
    GDJ_4,
    GDJ_5,
    GDJ_6,
    GDJ_7,
    GDJ_8,
    GDJ_9,
)


def choose(name: str) -> tuple[Experiment, ...]:
    """Return the experiment of that name, all of a paper, or `all` of them.

    >>> [each.figure for each in choose("heeb-8")], len(choose("all")) == len(ALL)
    (['figure 8'], True)
    """
    if name == "all":
        return ALL
    papers = {each.paper.lower(): each.paper for each in ALL}
    if name.lower() in papers:
        return tuple(each for each in ALL if each.paper.lower() == name.lower())
    check_word("experiment", name, [*(each.name for each in ALL), *papers, "all"])
    return tuple(each for each in ALL if each.name == name)
