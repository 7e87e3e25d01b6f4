"""The policies: which rows to keep when the memory is full; and where they are found by name.

- `baselines.py`: RAND, FIFO, LRU. `frequency.py`: PROB, LIFE, LFU. `lba.py`: LBA, ELBA.
- `age.py`, `clock.py`, `gdj.py`, `gdsf.py`, `hist.py`, `lhd.py`, `lirs.py`, `rate.py`,
  `s3fifo.py`, `sieve.py`, `wtinylfu.py`: one policy each.
- `heeb.py`: HEEB; `heeb_tables.py`: the tables it reads, made from models of the streams.
- `shared.py`: admission, and hooks that several policies have.

This file is the registry, the one place where policies are found: the built-in ones, and those of
other packages. CONTRIBUTING.md says how to add one.

A package adds a policy with an entry point of the group `penstock.policies`, whose value loads to a
`Policy` of the same name. An entry point is loaded when its policy is asked for by name, or when
all policies are asked for (lists, `auto`, `advise`). One that cannot be used raises `BadInput` in
the first case; in the second it is left out with a warning, so that a broken package never stands
in the way of other policies.
"""

import re
import warnings
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ..errors import BadInput
from ..kernel.options import nearest
from ..kernel.policy import (
    CACHING,
    JOINING,
    KEEP_ALL,
    Configured,
    Policy,
    Trial,
    make_no_state,
    reject,
)
from .age import AGE
from .baselines import FIFO, LRU, RAND
from .clock import CLOCK
from .frequency import LFU, LIFE, PROB
from .gdj import GDJ
from .gdsf import GDSF
from .heeb import HEEB
from .hist import HIST
from .lba import ELBA, LBA
from .lhd import LHD
from .lirs import LIRS
from .rate import RATE
from .s3fifo import S3FIFO
from .sieve import SIEVE
from .wtinylfu import WTINYLFU

# A name and not a policy: an engine that is asked for it tries the `families` below in shadow
# caches (`engine.adapt.chooser`), and one of them at a time is in force.
AUTO = Policy(
    "auto",
    "tries the other policies in shadow caches while it runs, and uses the one that finds most",
    make_no_state,
    reject,
    advise={JOINING: Trial(14), CACHING: Trial(14)},
)
BUILT_IN: tuple[Policy, ...] = (
    RAND,
    FIFO,
    LRU,
    LFU,
    PROB,
    LIFE,
    AGE,
    CLOCK,
    GDJ,
    GDSF,
    SIEVE,
    S3FIFO,
    WTINYLFU,
    LIRS,
    LHD,
    HEEB,
    HIST,
    LBA,
    ELBA,
    RATE,
)
DEFAULT = AUTO.name
GROUP = "penstock.policies"
SIMULATED = ("flowexpect", "opt", "lfd")  # names that `simulate.player` adds
_OWN = {policy.name: policy for policy in (*BUILT_IN, AUTO)}
_RESERVED = {*_OWN, KEEP_ALL.name, *SIMULATED}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def known() -> tuple[Policy, ...]:
    """Return all policies: the built-in ones, and those of other packages by their names."""
    return (*BUILT_IN, *_added())


def names() -> list[str]:
    """Return every name that can be asked for, without loading other packages."""
    return [*_OWN, *_offered()]


def named(name: str) -> Policy:
    """Return the policy of this name, as a saved state has it."""
    return KEEP_ALL if name == KEEP_ALL.name else _find(name)


def is_named(policy: Policy) -> bool:
    """Tell whether another process would find this very policy by its name."""
    return policy.name in (KEEP_ALL.name, *names()) and named(policy.name) is policy


def _find(name: str) -> Policy:
    if name in _OWN:
        return _OWN[name]
    if name in _offered():
        return _load(_offered()[name])
    raise BadInput(f"unknown policy {name!r}; {nearest(name, names())}")


def _without_form(text: str) -> str:
    """Return the policy that `heeb:form=hist` means: histogram HEEB is a policy of its own.

    >>> _without_form("heeb:form=hist,buckets=12")
    'hist:buckets=12'
    """
    name, _, tail = text.strip().partition(":")
    parts = [part.strip() for part in tail.split(",") if part.strip()]
    if name != HEEB.name or "form=hist" not in parts:
        return text.strip()
    return f"{HIST.name}:" + ",".join(part for part in parts if part != "form=hist")


def choose(policy: str | Policy | Configured, problem: str | None = None) -> Configured:
    """Return the policy that is asked for, if it is defined for the problem.

    >>> str(choose("gdj:percentile=0.95"))
    'gdj:percentile=0.95'
    """
    if isinstance(policy, str):
        name, _, options = _without_form(policy).partition(":")
        chosen = _find(name).configured(options)
    elif isinstance(policy, Policy):
        chosen = Configured(policy, {})
    elif isinstance(policy, Configured):
        chosen = policy
    else:
        raise BadInput(
            f"policy must be the name of a policy, such as 'lru' or 'gdj:percentile=0.9', got "
            f"{policy!r}; `penstock policies` lists them"
        )
    if problem is not None and problem not in chosen.policy.problems:
        fit = ", ".join(each.name for each in known() if problem in each.problems)
        raise BadInput(
            f"policy {chosen.policy.name!r} is not defined for {problem}; choose one of {fit}"
        )
    return chosen


def choose_on_executor(policy: str, problem: str) -> Configured:
    """Return a policy that the driver has accepted; say so if its package is missing here."""
    name = policy.strip().partition(":")[0]
    if name not in _OWN and name not in _offered():
        raise BadInput(
            f"policy {name!r} is not installed on this Spark executor: install the package that "
            "provides it on every executor, as on the driver"
        )
    return choose(policy, problem)


def families(
    problem: str, plain: bool, windowed: bool, weighed: bool = False
) -> list[list[Configured]]:
    """Return what `auto` chooses from, by policy, as far as it is defined here.

    `weighed`: rows differ in size, or in what a hit is worth.

    >>> [str(each) for each in families("joining", plain=True, windowed=True)[0]]
    ['rate']
    """
    found = []
    for policy, trial in _ranked(known(), problem, "auto"):
        chosen = [policy.configured(options) for options in trial.options]
        if weighed or not policy.weighs:
            found.append([each for each in chosen if _is_defined(each, plain, windowed)])
    return [family for family in found if family]


def tried_by_auto(problem: str) -> list[str]:
    """Return the names of the policies that `auto` may choose."""
    return [policy.name for policy, _ in _ranked(known(), problem, "auto")]


def tried_by_advise(problem: str) -> list[str]:
    """Return what `advise` tries, the policies that cost least first.

    >>> tried_by_advise("caching")[-2:]
    ['rate', 'auto']
    """
    return [
        f"{policy.name}:{options}" if options else policy.name
        for policy, trial in _ranked((*known(), AUTO), problem, "advise")
        for options in trial.options
    ]


def _ranked(policies: tuple[Policy, ...], problem: str, by: str) -> list[tuple[Policy, Trial]]:
    """Return the policies with a trial for the problem, in the order of its rank."""
    trials = [(policy, getattr(policy, by).get(problem)) for policy in policies]
    return sorted((pair for pair in trials if pair[1]), key=lambda pair: pair[1].rank)


def _is_defined(chosen: Configured, plain: bool, windowed: bool) -> bool:
    if chosen.policy.plain and not plain:
        return False
    return windowed or not (chosen.policy.needs_window or chosen.params.get("remains"))


@cache
def _offered() -> dict[str, EntryPoint]:
    """Return the entry points of other packages by name; a reserved name is not theirs to take."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, _package(point))):
        if point.name in _RESERVED:
            _leave_out(point, "the name belongs to Penstock itself")
        elif point.name in found:
            _leave_out(point, f"package {_package(found[point.name])!r} has the same name")
        elif not _NAME.fullmatch(point.name):
            _leave_out(point, "a name is lower-case letters, digits and underscores")
        else:
            found[point.name] = point
    return found


@cache
def _added() -> tuple[Policy, ...]:
    """Return the policies of other packages that can be loaded."""
    found = []
    for point in _offered().values():
        try:
            found.append(_load(point))
        except BadInput as error:
            warnings.warn(f"{error}; other policies work without it", RuntimeWarning, stacklevel=3)
    return tuple(found)


@cache
def _load(point: EntryPoint) -> Policy:
    package = f"policy {point.name!r} of package {_package(point)!r}"
    try:
        policy = point.load()
    except Exception as error:  # whatever the package does when it is imported
        raise BadInput(
            f"{package} cannot be imported from {point.value!r} ({type(error).__name__}: {error}); "
            "repair or uninstall the package"
        ) from error
    if not isinstance(policy, Policy):
        raise BadInput(
            f"{package} must be a penstock.kernel.policy.Policy, got {type(policy).__name__} "
            f"from {point.value!r}; correct the entry point, or uninstall the package"
        )
    if policy.name != point.name:
        raise BadInput(
            f"{package} must have the name of its entry point, got {policy.name!r}; rename one of "
            "them, or uninstall the package"
        )
    for problem, trial in (*policy.auto.items(), *policy.advise.items()):
        _check_trial(package, policy, problem, trial)
    return policy


def _check_trial(package: str, policy: Policy, problem: str, trial: Trial) -> None:
    """Reject what would fail, or displace built-in policies, where all policies are tried."""
    if problem not in policy.problems or trial.rank < Trial().rank:
        raise BadInput(
            f"{package} must have trials for its own problems with a rank of at least "
            f"{Trial().rank}, got {problem!r} with {trial.rank}; correct it there, or uninstall "
            "the package"
        )
    try:
        for options in trial.options:
            policy.configured(options)
    except BadInput as error:
        raise BadInput(
            f"{package} has a trial that cannot be used ({error}); correct it there, or uninstall "
            "the package"
        ) from error


def _leave_out(point: EntryPoint, why: str) -> None:
    warnings.warn(
        f"policy {point.name!r} of package {_package(point)!r} is left out: {why}; rename it "
        "there, or uninstall the package",
        RuntimeWarning,
        stacklevel=4,
    )


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value
