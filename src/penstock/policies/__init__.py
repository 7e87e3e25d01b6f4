"""The policies: one file each, and `ALL` as the only registry.

To add one, write its file, its test, and its line here (CONTRIBUTING tells how).
"""

from ..core.policy import KEEP_ALL, Chosen, Policy, parse
from ..errors import BadInput
from .age import AGE
from .auto import AUTO, FAMILIES
from .clock import CLOCK
from .elba import ELBA
from .fifo import FIFO
from .gdj import GDJ
from .heeb import HEEB
from .hist import HIST
from .lba import LBA
from .lfu import LFU
from .lhd import LHD
from .life import LIFE
from .lru import LRU
from .prob import PROB
from .rand import RAND
from .rate import RATE
from .s3fifo import S3FIFO
from .sieve import SIEVE
from .wtinylfu import WTINYLFU

ALL: tuple[Policy, ...] = (
    RAND,
    FIFO,
    LRU,
    LFU,
    PROB,
    LIFE,
    AGE,
    CLOCK,
    GDJ,
    SIEVE,
    S3FIFO,
    WTINYLFU,
    LHD,
    HEEB,
    HIST,
    LBA,
    ELBA,
    RATE,
)
DEFAULT = "auto"

__all__ = ["ALL", "AUTO", "DEFAULT", "FAMILIES", "Chosen", "Policy", "choose", "families", "named"]


def choose(policy: str | Policy | Chosen, problem: str | None = None) -> Chosen:
    """Return the policy that is asked for, if it is defined for the problem.

    >>> str(choose("gdj:percentile=0.95"))
    'gdj:percentile=0.95'
    """
    if isinstance(policy, str):
        chosen = parse(_by_form(policy), (*ALL, AUTO))
    elif isinstance(policy, Policy):
        chosen = Chosen(policy, {})
    elif isinstance(policy, Chosen):
        chosen = policy
    else:
        raise BadInput(
            f"policy must be the name of a policy, such as 'lru' or 'gdj:percentile=0.9', got "
            f"{policy!r}; `penstock policies` lists them"
        )
    if problem is not None and problem not in chosen.policy.problems:
        fit = ", ".join(each.name for each in ALL if problem in each.problems)
        raise BadInput(
            f"policy {chosen.policy.name!r} is not defined for {problem}; choose of {fit}"
        )
    return chosen


def _by_form(text: str) -> str:
    """Return the policy behind `heeb:form=hist`: HEEB's histograms are a policy of their own.

    >>> _by_form("heeb:form=hist,buckets=12")
    'hist:buckets=12'
    """
    name, _, tail = text.strip().partition(":")
    parts = [part.strip() for part in tail.split(",") if part.strip()]
    if name != "heeb" or "form=hist" not in parts:
        return text
    return "hist:" + ",".join(part for part in parts if part != "form=hist")


def named(name: str) -> Policy:
    """Return the policy of this name."""
    return KEEP_ALL if name == KEEP_ALL.name else parse(name, (*ALL, AUTO)).policy


def families(problem: str, plain: bool, windowed: bool) -> list[list[Chosen]]:
    """Return what `auto` chooses from, by families, as far as it is defined here.

    >>> [str(each) for each in families("joining", plain=True, windowed=True)[0]]
    ['rate', 'rate:remains=True']
    """
    found = []
    for family in FAMILIES[problem]:
        chosen = [choose(each, problem) for each in family]
        found.append([each for each in chosen if _is_defined(each, plain, windowed)])
    return [family for family in found if family]


def _is_defined(chosen: Chosen, plain: bool, windowed: bool) -> bool:
    if chosen.policy.plain and not plain:
        return False
    return windowed or not (chosen.policy.needs_window or chosen.params.get("remains"))
