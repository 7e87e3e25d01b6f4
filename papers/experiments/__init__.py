"""The experiments of the five papers, one file for each; `ALL` is the only registry."""

from penstock.kernel.options import check_word

from .clock_02 import CLOCK_2
from .clock_03 import CLOCK_3
from .clock_05 import CLOCK_5
from .frame import Experiment, Found, Verdict, judge
from .gdj_02 import GDJ_2
from .gdj_03 import GDJ_3
from .gdj_04 import GDJ_4
from .gdj_05 import GDJ_5
from .gdj_06 import GDJ_6
from .gdj_07 import GDJ_7
from .gdj_08 import GDJ_8
from .gdj_09 import GDJ_9
from .heeb_06 import HEEB_6
from .heeb_07 import HEEB_7
from .heeb_08 import HEEB_8
from .heeb_09 import HEEB_9
from .heeb_13 import HEEB_13
from .heeb_15 import HEEB_15
from .heeb_16 import HEEB_16
from .heeb_flowexpect import HEEB_FLOWEXPECT
from .lab import Lab, Rows
from .locality_01 import LOCALITY_1
from .locality_02 import LOCALITY_2
from .locality_03 import LOCALITY_3
from .locality_04 import LOCALITY_4
from .locality_05 import LOCALITY_5
from .locality_tables import TABLE_1, TABLE_2
from .precision_02 import PRECISION_2
from .precision_04 import PRECISION_4
from .precision_06 import PRECISION_6
from .precision_07 import PRECISION_7
from .precision_10 import PRECISION_10
from .precision_14 import PRECISION_14
from .precision_45 import PRECISION_45
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
    HEEB_7,
    HEEB_8,
    HEEB_9,
    HEEB_13,
    HEEB_15,
    HEEB_16,
    GDJ_2,
    GDJ_3,
    GDJ_4,
    GDJ_5,
    GDJ_6,
    GDJ_7,
    GDJ_8,
    GDJ_9,
    LOCALITY_1,
    LOCALITY_2,
    LOCALITY_3,
    LOCALITY_4,
    LOCALITY_5,
    TABLE_1,
    TABLE_2,
    CLOCK_2,
    CLOCK_3,
    CLOCK_5,
    PRECISION_2,
    PRECISION_4,
    PRECISION_6,
    PRECISION_7,
    PRECISION_45,
    PRECISION_10,
    PRECISION_14,
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
