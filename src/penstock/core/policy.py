"""The policy contract: what a policy is, and what its hooks may rely on. Documented here once.

A policy is a `Policy` record of a state maker and compiled hooks. Its state is a `NamedTuple` of
arrays (nested ones are fine); a number that a hook changes lives in an array of length 1. Arrays
with one entry per slot have `setup.capacity` as their first dimension, and no other array may
depend on the capacity: engines grow a state by making a larger one and copying the old one into
it.

Every hook gets the state, the held tuples (`core.slots.Held`), a slot, and the time:

- `on_arrival(state, held, slot, now)`: a tuple arrived and is about to be matched; `slot` is the
  waiting
  room. Called for every arrival on either side, also for those that will be refused: the place to
  count.
- `on_match(state, held, slot, now)`: the held tuple in `slot` produced one result (a lookup: a
  hit).
- `on_insert(state, held, slot, now)`: the tuple in `slot` has just been taken in.
- `on_remove(state, held, slot, now)`: it is about to leave, whatever the reason: chosen as the
  victim,
  or dead of age. Its columns can still be read.
- `on_gain(state, held, slot, now)`: with the goal of rows, what a partner would gain through the
  held tuple (`core.gains`) has changed, other than by a match or its end.
- `choose_victim(state, held, newcomer, now)`: the memory is full; return the slot to free, or
  REFUSE to
  turn the newcomer away. The columns of `newcomer` are in the waiting room. Dead tuples are gone
  already.

A policy may also think in Python from time to time, where compiled code will not do: `pause(state)`
says after how many more arrivals `refresh(state)` must be called, which returns the state to go on
with. Both go by arrivals alone, so that nothing depends on how these were cut into batches.

A parameter in `tunable` may be left to the engine, as `auto`: it tries the values out in miniature
while it runs (`engines.tuning`), and `retuned(state, fresh)` returns the state under the parameters
of `fresh`, a new state made with those to go on with.

Costs are O(1) or O(log M) per call. Nothing may depend on slot *numbers*: the same tuples may sit
in other slots after a restore. Randomness comes from a generator in the state (`core.rng`).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from .jit import jit
from .options import nearest, read_options
from .shape import Shape

REFUSE = -1
JOINING, CACHING = "joining", "caching"
UNKNOWN_SCALE = 65_536  # rows assumed where the budget is given in bytes, or not at all
AUTO = "auto"  # the value of a parameter that is found while it runs


class Setup(NamedTuple):
    """What a policy is told when its state is made."""

    capacity: int  # slots now; may grow later
    scale: int = UNKNOWN_SCALE  # the budget in rows as far as it is known: for tables of fixed size
    seed: int = 0
    shape: Shape = Shape()
    together: bool = False  # several newcomers of one time are decided about at once
    problem: str = JOINING
    models: tuple[Any, ...] | None = None  # what is known of each stream beforehand


class Tunable(NamedTuple):
    """The values among which a parameter is found, and the one to begin with."""

    values: tuple[Any, ...]
    start: Any


@jit
def nothing(state, held, slot, now):
    """Do nothing: the hook of a policy that does not care."""


@dataclass(frozen=True)
class Policy:
    """One way to choose what to keep."""

    name: str
    summary: str
    make_state: Callable[..., Any]
    choose_victim: Callable
    on_insert: Callable = nothing
    on_match: Callable = nothing
    on_remove: Callable = nothing
    on_arrival: Callable = nothing
    on_gain: Callable = nothing
    problems: tuple[str, ...] = (JOINING, CACHING)
    needs_window: bool = False  # meaningless without deadlines
    reserve: Callable[[Any, int], Any] | None = None  # room in its own tables for n more arrivals
    pause: Callable[[Any], int] | None = None
    refresh: Callable[[Any], Any] | None = None
    plain: bool = False  # defined for one join of two streams only
    ordered: bool = False  # keys must be numbers whose order means something, not hashes
    tracked: Callable[[Any], int] | None = None  # how many slots its state knows of, for checks
    cost: float = 1.0  # of an arrival, beside that of simple policies, about
    tunable: dict[str, Tunable] = field(default_factory=dict, repr=False, compare=False)
    retuned: Callable[[Any, Any], Any] | None = None
    parameters: dict[str, inspect.Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        signature = inspect.signature(self.make_state, eval_str=True)
        parameters = dict(list(signature.parameters.items())[1:])  # the first one is the setup
        object.__setattr__(self, "parameters", parameters)

    @property
    def hooks(self) -> tuple[Callable, ...]:
        return self.on_arrival, self.on_insert, self.on_match, self.on_remove, self.choose_victim


class NoState(NamedTuple):
    """The state of a policy that remembers nothing."""

    nothing: np.ndarray  # int8[1]; Numba wants at least one field


def make_no_state(setup: Setup) -> NoState:
    """Return the state of a policy that remembers nothing."""
    return NoState(np.zeros(1, np.int8))


@jit
def refuse(state, held, newcomer, now):
    """Turn the newcomer away."""
    return REFUSE


# What an engine without a budget uses: there is nothing to choose, so nothing to remember.
KEEP_ALL = Policy("keep", "keeps everything; for engines without a budget", make_no_state, refuse)


@dataclass(frozen=True)
class Chosen:
    """A policy together with its parameters, as a user asked for it."""

    policy: Policy
    params: dict[str, Any]

    @property
    def all_params(self) -> dict[str, Any]:
        """Every parameter with the value in force."""
        defaults = {name: p.default for name, p in self.policy.parameters.items()}
        return defaults | self.params

    def __str__(self) -> str:
        if not self.params:
            return self.policy.name
        return f"{self.policy.name}:" + ",".join(f"{k}={v}" for k, v in self.params.items())

    def make_state(self, setup: Setup) -> Any:
        return self.policy.make_state(setup, **self.starting.params)

    @property
    def is_tuned(self) -> bool:
        """Whether some parameter is to be found while it runs."""
        return bool(self._found)

    @property
    def starting(self) -> "Chosen":
        """The policy as it begins: what is left to be found has its first value."""
        return self._with({name: self.policy.tunable[name].start for name in self._found})

    @property
    def candidates(self) -> tuple["Chosen", ...]:
        """The policy with every combination of values for what is left to be found."""
        values = (self.policy.tunable[name].values for name in self._found)
        return tuple(self._with(dict(zip(self._found, each))) for each in product(*values))

    @property
    def _found(self) -> list[str]:
        """The parameters that are to be found while it runs."""
        return [name for name in self.policy.tunable if self.params.get(name) == AUTO]

    def _with(self, values: dict[str, Any]) -> "Chosen":
        return Chosen(self.policy, self.params | values)


def parse(text: str, known: tuple[Policy, ...]) -> Chosen:
    """Read `NAME` or `NAME:key=value,...` against the policies that are known."""
    name, _, tail = text.strip().partition(":")
    policies = {policy.name: policy for policy in known}
    if name not in policies:
        raise BadInput(f"unknown policy {name!r}; {nearest(name, list(policies))}")
    policy = policies[name]
    words = dict.fromkeys(policy.tunable, AUTO)
    return Chosen(policy, read_options(f"policy {name!r}", tail, policy.parameters, words))


def grown(old: Any, new: Any) -> Any:
    """Return the state `old` with the room of `new`, a fresh one made for a larger capacity."""
    if isinstance(old, np.ndarray):
        if all(a >= b for a, b in zip(old.shape, new.shape, strict=True)):
            return old
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    return type(old)(*(grown(a, b) for a, b in zip(old, new, strict=True)))


def check_choice(policy: str, parameter: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if value not in choices:
        raise BadInput(
            f"parameter {parameter!r} of policy {policy!r} must be one of {', '.join(choices)}, "
            f"got {value!r}"
        )


def check_range(
    policy: str, parameter: str, value: float, low: float, high: float = float("inf")
) -> None:
    """Refuse a value outside [low, high]."""
    if not low <= value <= high:
        bound = f"at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise BadInput(f"parameter {parameter!r} of policy {policy!r} must be {bound}, got {value}")
