"""The policy contract: what a policy is, and what its hooks may rely on. Documented here once.

A policy is a `Policy` record of a state maker and compiled hooks. Its state is a `NamedTuple` of
arrays (nested ones are fine); a number that a hook changes lives in an array of length 1. Arrays
with one entry per slot have `setup.capacity` as their first dimension, and no other array may
depend on the capacity: engines grow a state by making a larger one and copying the old one into
it.

Every hook gets the state, the held tuples (`kernel.slots.Held`), a slot, and the time:

- `on_arrival(state, held, slot, now)`: a tuple arrived and is about to be matched; its columns are
  in the last slot, which is kept free for arrivals. Called for every arrival of every stream, also
  for those that will be rejected: the place to count.
- `on_match(state, held, slot, now)`: the held tuple in `slot` produced one result (a lookup: a
  hit).
- `on_insert(state, held, slot, now)`: the tuple in `slot` has just been admitted.
- `on_remove(state, held, slot, now)`: it is about to be removed, evicted or expired. Its columns
  can still be read.
- `on_gain(state, held, slot, now)`: with the goal of rows, what a partner would gain through the
  held tuple (`kernel.gains`) has changed, other than by a match or its end.
- `choose_victim(state, held, newcomer, now)`: the memory is full; return the slot to evict, or
  REJECT to reject the newcomer. `newcomer` is the slot with its columns. Expired tuples have been
  removed already.

A policy may also run Python code from time to time, for what compiled code cannot do:
`pause(state)` returns after how many more arrivals `refresh(state)` must be called, which returns
the state to continue with. Both depend on arrivals alone, so that nothing depends on how these were
cut into batches.

A parameter in `tunable` may be left to the engine, as `auto`: it tries the values in shadow caches
while it runs (`engine/adapt/chooser.py`), and `retuned(state, fresh)` returns the state under the
parameters of `fresh`, a new state made with the values to continue with.

Costs are O(1) or O(log M) per call. Nothing may depend on slot *numbers*: the same tuples may be in
other slots after a restore. Randomness comes from a generator in the state (`kernel.rng`).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadInput
from .jit import jit
from .options import own_parameters, read_options
from .shape import Shape

REJECT = -1
JOINING, CACHING = "joining", "caching"
UNKNOWN_SCALE = 65_536  # rows assumed where the budget is given in bytes, or not at all
AUTO = "auto"  # the value of a parameter that is found while it runs


class Setup(NamedTuple):
    """What the state of a policy is made from."""

    capacity: int  # slots now; may grow later
    scale: int = UNKNOWN_SCALE  # the budget in rows as far as it is known: for tables of fixed size
    seed: int = 0
    shape: Shape = Shape()
    together: bool = False  # newcomers of one time are compared all at once
    problem: str = JOINING
    models: tuple | None = None  # what is known of each stream beforehand: a `Model`, mostly


class Tunable(NamedTuple):
    """The values among which a parameter is found, and the one to begin with."""

    values: tuple[float | str | None, ...]
    start: float | str | None


class Trial(NamedTuple):
    """With which options a policy is tried for a problem, by `auto` or by `advise`.

    `auto` tries the first options from the start, the others once a policy leads. Of equal results
    the lower rank is preferred; the policy of rank 0 is what `auto` starts with.
    """

    rank: int = 100  # the lowest is tried first; those of Penstock are below 100
    options: tuple[str, ...] = ("",)  # each `key=value,...`; empty: the defaults


@jit
def nothing(state, held, slot, now):
    """Do nothing: the hook of a policy that does not need it."""


@dataclass(frozen=True)
class Policy:
    """One way to choose what to keep.

    `auto` and `advise` say for which problems these try the policy, and how: {JOINING: Trial()}.
    """

    name: str
    summary: str
    make_state: Callable
    choose_victim: Callable
    on_insert: Callable = nothing
    on_match: Callable = nothing
    on_remove: Callable = nothing
    on_arrival: Callable = nothing
    on_gain: Callable = nothing
    problems: tuple[str, ...] = (JOINING, CACHING)
    needs_window: bool = False  # meaningless without deadlines
    reserve: Callable | None = None  # room in its tables for n more arrivals
    pause: Callable[..., int] | None = None
    refresh: Callable | None = None
    plain: bool = False  # defined for one join of two streams only
    ordered: bool = False  # keys must be numbers whose order means something, not hashes
    weighs: bool = False  # made for caches whose rows differ in size, or in what a hit is worth
    cost: float = 1.0  # of an arrival, relative to simple policies, roughly
    tunable: dict[str, Tunable] = field(default_factory=dict, repr=False, compare=False)
    retuned: Callable | None = None
    auto: dict[str, Trial] = field(default_factory=dict, repr=False, compare=False)
    advise: dict[str, Trial] = field(default_factory=dict, repr=False, compare=False)
    parameters: dict[str, inspect.Parameter] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", own_parameters(self.make_state))

    def configured(self, options: str) -> "Configured":
        """Return the policy with the parameters of `key=value,...`."""
        words = dict.fromkeys(self.tunable, AUTO)
        return Configured(
            self, read_options(f"policy {self.name!r}", options, self.parameters, words)
        )

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
def reject(state, held, newcomer, now):
    """Reject every newcomer."""
    return REJECT


# For engines without a budget: nothing is ever evicted, so the policy has no state.
KEEP_ALL = Policy("keep", "keeps everything; for engines without a budget", make_no_state, reject)


@dataclass(frozen=True)
class Configured:
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
    def starting(self) -> "Configured":
        """The policy as it begins: parameters to be found have their first value."""
        return self._with({name: self.policy.tunable[name].start for name in self._found})

    @property
    def candidates(self) -> tuple["Configured", ...]:
        """The policy with every combination of values of the parameters to be found."""
        values = (self.policy.tunable[name].values for name in self._found)
        return tuple(self._with(dict(zip(self._found, each))) for each in product(*values))

    @property
    def _found(self) -> list[str]:
        """The parameters that are to be found while it runs."""
        return [name for name in self.policy.tunable if self.params.get(name) == AUTO]

    def _with(self, values: dict[str, Any]) -> "Configured":
        return Configured(self.policy, self.params | values)


def grown(old: Any, new: Any) -> Any:
    """Return the state `old` with the room of `new`, a fresh one made for a larger capacity."""
    if isinstance(old, np.ndarray):
        if all(a >= b for a, b in zip(old.shape, new.shape, strict=True)):
            return old
        new[tuple(slice(0, n) for n in old.shape)] = old
        return new
    return type(old)(*(grown(a, b) for a, b in zip(old, new, strict=True)))


def copied(old: Any) -> Any:
    """Return a copy of a state, or of other nested named tuples of arrays."""
    return old.copy() if isinstance(old, np.ndarray) else type(old)(*map(copied, old))


def check_choice(policy: str, parameter: str, value: str, choices: tuple[str, ...]) -> None:
    """Reject a value that is not one of the choices."""
    if value not in choices:
        raise BadInput(
            f"parameter {parameter!r} of policy {policy!r} must be one of {', '.join(choices)}, "
            f"got {value!r}"
        )


def check_range(
    policy: str, parameter: str, value: float, low: float, high: float = float("inf")
) -> None:
    """Reject a value outside [low, high]."""
    if not low <= value <= high:
        bound = f"at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise BadInput(f"parameter {parameter!r} of policy {policy!r} must be {bound}, got {value}")
