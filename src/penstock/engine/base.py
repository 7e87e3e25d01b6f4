"""What a join and a cache have in common: a budget, tables that grow, a policy that may change.

An engine takes a batch in chunks (`_chunks`). Before each its tables are made large enough; after
it the policy may refresh its state (`Policy.refresh`), and with `auto` another one may be put in
force. That one gets the last arrivals once more before it decides anything: a state made of the
held tuples alone would hold nothing of how often their keys came or when they last matched, and the
policy would evict the wrong ones until it had learned.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from .. import policies
from ..errors import BadInput
from ..kernel.indirect import INDIRECT, are_hooks_ready, stand_ins, through
from ..kernel.jit import PATIENCE, SLOW, is_ready, say_compiling
from ..kernel.policy import CACHING, KEEP_ALL, Configured, Policy, Setup, copied, grown
from .adapt.chooser import Chooser, make_pilot
from .adapt.pilot import Pilot
from .adapt.shadows import Columns
from .beside import Call, is_compiled_beside, shares_kernel
from .footprint import Footprint, footprint, plain_footprint
from .join_kernel import Form
from .saved import FORMAT, chosen_before, nbytes, order_of

CHUNK = 65_536  # rows between two looks at whether the tables must grow
NO_LIMIT = 2**62
FIRST, FIRST_SIZED = 1024, 64  # slots to begin with

PLAIN = 64  # rows taken as plain Python before asking again whether a kernel is there,
MOST_PLAIN = 2_048  # and in all by one engine, which then waits,
PAUSE = 0.02  # looking again after so many seconds

LARGE = 1 << 18  # slots from which on tables grow by an eighth: a half would be mostly unused

_ready: set[Any] = set()  # kernels that this process has compiled or loaded


def larger(room: int) -> int:
    """Return the room of a table that has become too small.

    >>> larger(1000), larger(800_000)
    (1500, 900000)
    """
    return room + room // (2 if room < LARGE else 8)


class Engine:
    """A bounded memory of tuples under a policy."""

    kind: ClassVar[str]  # as saved states name it
    problem: ClassVar[str]  # JOINING or CACHING
    footprint: Footprint
    _tables: Any  # of the kernel; `held`, `free` and `counts` are among them
    _pilot: Pilot
    _budgets: list[int]  # rows, or bytes for rows, of each memory
    _scales: list[int]  # rows that each memory is expected to hold
    _states: tuple[Any, ...]  # of the policy, one for each memory
    _shares: tuple[float, ...] | None = None  # of the memories; None: there is one for all
    _indirect: tuple[tuple, Any] = (), None  # what `_any_hooks` returned, and of which arrays
    _plain_rows = 0  # taken as plain Python so far,
    _slow_since: float | None = None  # from this moment on, by a clock that never goes back
    is_shadow = False  # many policies in little use: kernels are not compiled for each of them

    def __init__(
        self,
        policy: str | Policy | Configured,
        budget: int | None,
        sized: bool,
        in_bytes: bool,
        seed: int,
    ):
        if budget is not None and budget < 1:
            raise BadInput(f"budget must be at least 1, got {budget}")
        chosen = policies.choose(policy, self.problem)
        self.chosen = chosen if budget is not None else Configured(KEEP_ALL, {})
        self.budget = budget
        self.sized = sized or in_bytes
        self.in_bytes = in_bytes and budget is not None
        self.seed = seed
        self._first_budget = budget  # which samples and tables go by; `budget` may be resized
        # The arguments that make an engine of this kind again, besides policy, budget and models.
        self.options: dict[str, Any] = {
            "sized": self.sized,
            "in_bytes": self.in_bytes,
            "seed": seed,
        }

    def _divided(
        self, scale: int | None, models: tuple[Any, ...] | None, form: Form | None = None
    ) -> Footprint:
        """Return how the budget is divided, of a join of a form or of a cache."""
        if self.budget is None or not self.in_bytes:
            return plain_footprint(self.budget, self.sized, scale)
        tried = self._families() if self.chosen.policy is policies.AUTO else []
        return footprint(self.budget, self.chosen, tried, form, models, scale)

    def _start(self) -> None:
        """Begin with empty tables, when the footprint and the budgets are known."""
        first = FIRST_SIZED if self.sized else FIRST
        self._tables = self._make_tables(min(first, sum(self._budgets)))
        self._pilot = make_pilot(self)
        self._states = self._fresh_states()

    # What each kind of engine does in its own way.

    @classmethod
    @abstractmethod
    def restore(cls, saved: dict[str, np.ndarray]) -> Self:
        """Return an engine that goes on where `save` left off."""

    @abstractmethod
    def save(self, copy: bool = True) -> dict[str, np.ndarray]:
        """Return the whole state as plain arrays."""

    @property
    @abstractmethod
    def attained(self) -> int:
        """How much of its goal the engine has reached so far."""

    @property
    @abstractmethod
    def _used(self) -> int:
        """How much is used of what the budget leaves for rows."""

    @abstractmethod
    def _make_tables(self, capacity: int) -> Any:
        """Return empty tables."""

    @abstractmethod
    def _grown_tables(self, old: dict[str, Any], capacity: int) -> Any:
        """Return larger tables; nothing else may refer to the `old` ones, which are dropped."""

    @abstractmethod
    def _setup(self, capacity: int, scale: int, lane: int) -> Setup:
        """Return what the state of a memory is made of."""

    @abstractmethod
    def _families(self) -> list[list[Configured]]:
        """Return what `auto` chooses from, by policy."""

    def _tried(self) -> list[Configured]:
        """Return what `auto` chooses from."""
        return [each for family in self._families() for each in family]

    @abstractmethod
    def _shadow(self, chosen: Configured, share: float) -> "Engine":
        """Return an engine like this one, under another policy, for a share of the keys."""

    def _fit(self, shadow: "Engine", share: float) -> None:
        """Bring a shadow cache to the size that it would be made in now."""

    def _gained(self, rows: np.ndarray) -> int:
        """Return what was found in some rows of the batch; only a cache can tell."""
        raise NotImplementedError

    @abstractmethod
    def _show(self, columns: Columns) -> None:
        """Take rows that another engine has taken, and list no results."""

    @abstractmethod
    def _replay(self, columns: Columns) -> None:
        """Show the last rows and what is held to a policy in its first state."""

    # What all do alike.

    @property
    def in_force(self) -> Configured:
        """The policy in force now, with its parameters, also those found by itself."""
        return self._pilot.in_force

    @property
    def chooser(self) -> Chooser | None:
        """What chooses the policy, with `auto`."""
        return self._pilot if isinstance(self._pilot, Chooser) else None

    def explain(self) -> dict[str, object]:
        """Return what is in force, and with `auto` since when, why, and what else was tried."""
        return self._pilot.explain()

    @property
    def held(self) -> int:
        """How many tuples are held."""
        return self._capacity - int(self._tables.free[0])

    @property
    def used(self) -> int:
        """Rows held, or what the budget counts instead: sizes, or all bytes that are taken."""
        return self._used + self.footprint.fixed

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays that are kept, also for what `auto` tries beside."""
        return nbytes(self._tables, self._states) + self._pilot.nbytes

    @property
    def _capacity(self) -> int:
        """How many slots there are, by the stack of the free ones."""
        return len(self._tables.free) - 1

    def _live(self) -> np.ndarray:
        """Return the slots in use, in the order in which their tuples were kept."""
        free = self._tables.free
        used = np.ones(self._capacity, bool)
        used[free[1 : 1 + free[0]]] = False
        slots = np.flatnonzero(used)
        return slots[order_of(self._tables.held.at["born"][slots])]

    def _claim_slots(self, live: np.ndarray) -> None:
        """Leave on the stack of free slots exactly those that are not in `live`."""
        free, idle = self._tables.free, np.ones(self._capacity, bool)
        idle[live] = False
        unused = np.flatnonzero(idle)[::-1]
        free[0] = len(unused)
        free[1 : 1 + len(unused)] = unused

    def _unmarked(self) -> np.ndarray:
        """Return a False for every slot, the waiting room included."""
        return np.zeros(self._capacity + 1, bool)

    def _pick(
        self, compiled: Callable[[Policy], Any], rest: tuple
    ) -> tuple[Any, tuple[Any, ...], int]:
        """Return what takes rows, the states to call it with, and how many rows it should take.

        `compiled` returns the kernel of a policy, and `rest` are its arguments after the states.
        The policy's own kernel is the fastest. Shadow caches have one that serves all policies, and
        so has the engine while `auto` is at work and the own one is not compiled yet. Where neither
        is compiled a process beside does that, and plain Python serves meanwhile, a few rows at a
        time. All do the same to the last bit.
        """
        own, is_shadow = compiled(self._pilot.policy), self.is_shadow or shares_kernel()
        serves_all = is_shadow or self.chooser is not None
        while True:
            if not is_shadow and self._is_ready(own, self._states, rest):
                self._slow_since = None
                return own, self._states, NO_LIMIT
            is_shared_ready = serves_all and self._is_shared_ready(compiled(INDIRECT), rest)
            is_awaited = (is_shadow and is_shared_ready) or self._is_awaited()
            if is_shared_ready or (serves_all and not is_awaited):
                self._slow_since = None
                hooks, states = self._any_hooks()
                return compiled(hooks), states, NO_LIMIT
            if not is_awaited:
                return own, self._states, NO_LIMIT  # compiled here
            self._slow_since = self._slow_since or time.monotonic()
            if time.monotonic() - self._slow_since > SLOW:
                say_compiling(f"{self.kind}s under {self._pilot.policy.name}")
            if self._plain_rows < MOST_PLAIN:
                self._plain_rows += PLAIN
                return own.plain, self._states, PLAIN
            time.sleep(PAUSE)  # to wait takes no longer, and leaves the processor free

    def _is_awaited(self) -> bool:
        """Have the kernel compiled by a process beside; False: that is not to be hoped for."""
        if not policies.is_named(self._pilot.policy):
            return False
        waited = 0.0 if self._slow_since is None else time.monotonic() - self._slow_since
        call = Call(f"{__package__}.warm", "compile_for", (self._terms(),))
        return waited < PATIENCE and is_compiled_beside(call)

    def _is_ready(self, run: Any, states: tuple[Any, ...], rest: tuple) -> bool:
        """Tell whether a kernel is compiled for these arguments."""
        if run not in _ready and is_ready(run, (self._tables, self._given(states), *rest)):
            _ready.add(run)
        return run in _ready

    def _is_shared_ready(self, run: Any, rest: tuple) -> bool:
        """Tell whether the kernel that serves all policies is compiled, and the policy's hooks."""
        policy = self._pilot.policy
        if (run, policy) not in _ready:
            if self._is_ready(run, stand_ins(self._states), rest) and are_hooks_ready(
                policy, self._states, self._tables.held
            ):
                _ready.add((run, policy))
        return (run, policy) in _ready

    def __getstate__(self) -> dict[str, Any]:
        """Return what an image of the engine holds: addresses of hooks are of this process."""
        return {name: value for name, value in self.__dict__.items() if name != "_indirect"}

    def _any_hooks(self) -> tuple[Policy, tuple[Any, ...]]:
        """Return what stands for the policy in kernels that serve all policies, and its states."""
        whose = (*self._states, self._tables.held)
        if [*map(id, self._indirect[0])] != [*map(id, whose)]:
            self._indirect = whose, through(self._pilot.policy, self._states, self._tables.held)
        return self._indirect[1]

    def _given(self, states: tuple[Any, ...]) -> Any:
        """Return states as the kernel that takes rows is given them."""
        return states

    def _fresh_states(self, scales: Sequence[int] | None = None) -> tuple[Any, ...]:
        """Return empty states; `scales` are those of the memories, if nothing else is said."""
        make, capacity = self._pilot.in_force.make_state, self._capacity
        scales = self._scales if scales is None else scales
        return tuple(make(self._setup(capacity, each, n)) for n, each in enumerate(scales))

    def _chunks(
        self, shown: Columns, key: np.ndarray, steps: np.ndarray | None = None
    ) -> Iterator[tuple[int, int]]:
        """Return from where to where to take the rows of a batch, and go on when they were taken.

        `shown` is what a shadow cache has to know of the rows. Rows that are equal in `steps` stay
        together.
        """
        self._pilot.watch(shown, key)
        start, count, reserved = 0, len(key), 0
        while start < count:
            stop = self._pilot.stop(min(start + CHUNK, count, start + self._most_arrivals()))
            while steps is not None and stop < count and steps[stop] == steps[stop - 1]:
                stop += 1
            if stop > reserved or self._pilot.policy.refresh is not None:
                reserved = max(stop, min(start + CHUNK, count))  # at once, however it is cut
                self._reserve(reserved - start)
            yield start, stop
            self._refresh()
            before = self._pilot.policy
            if self._pilot.learn(shown, start, stop, self.attained, self._gained):
                self._change_over(before)
                reserved = 0
            start = stop

    def _most_arrivals(self) -> int:
        """Return how many arrivals may be taken before the policy must refresh its state."""
        pause = self._pilot.policy.pause
        return NO_LIMIT if pause is None else max(1, min(map(pause, self._states)))

    def _refresh(self) -> None:
        """Let the policy refresh its state, if that is due."""
        pause, refresh = self._pilot.policy.pause, self._pilot.policy.refresh
        if pause is not None and refresh is not None:
            self._states = tuple(
                each if pause(each) > 0 else refresh(each) for each in self._states
            )

    def _change_over(self, before: Policy) -> None:
        """Go on under another policy, or under other parameters of the policy of before."""
        retuned = self._pilot.policy.retuned
        if before is self._pilot.policy and retuned is not None:
            fresh = self._pilot.in_force.make_state(Setup(1))
            self._states = tuple(retuned(each, fresh) for each in self._states)
            return
        self._learn_anew(self._pilot.lately)

    def _learn_anew(self, lately: Columns) -> None:
        """Let the policy in force, which knows nothing, learn from the last rows."""
        self._states = self._fresh_states()
        self._reserve_states(len(lately[0]))
        self._replay(lately)
        self._refresh()

    def _fork(self, chosen: Configured, share: float) -> "Engine":
        """Return a shadow cache; one of all keys holds what this holds and goes on from there."""
        shadow = self._shadow(chosen, share)
        shadow.is_shadow = True
        lately = self._pilot.lately
        if share < 1 or not lately or not self._can_hand_on(shadow):
            return shadow
        shadow._tables, shadow._indirect = copied(self._tables), ((), None)
        if str(chosen) == str(self._pilot.in_force):
            shadow._states = tuple(map(copied, self._states))
        else:
            shadow._learn_anew(lately)
        return shadow

    def _can_hand_on(self, shadow: "Engine") -> bool:
        """Tell whether the tables of a shadow cache of all keys are like the own ones."""
        return True

    def _reserve(self, arrivals: int) -> None:
        """Make sure that the next `arrivals` rows find room in every table."""
        if not self.sized:  # bytes do not say how many slots they need: the kernel does
            capacity, most = self._capacity, sum(self._budgets)
            wanted = min(self.held + arrivals, most)
            if wanted > capacity:
                self._grow(max(wanted, min(larger(capacity), most)))
        self._reserve_states(arrivals)

    def _reserve_states(self, arrivals: int) -> None:
        reserve = self._pilot.policy.reserve
        if reserve is not None:
            self._states = tuple(reserve(each, arrivals) for each in self._states)

    def _grow_by_size(self, least: int = 1) -> None:
        """Add slots where all are taken and the budget in bytes is not: `least` at least.

        Half as many again, but hardly more than the budget will hold of rows such as these.
        """
        capacity = self._capacity
        could = sum(self._budgets) * self.held // max(1, self._used) - capacity
        self._grow(capacity + max(least, 16, capacity // 32, min(capacity // 2, could)))

    def _grow(self, capacity: int) -> None:
        old = self._tables._asdict()
        self._indirect = (), None  # it refers to what is grown
        del self._tables  # so that each part is dropped as soon as there is a larger one
        self._tables = self._grown_tables(old, capacity)
        # Only what there is for each slot grows: the rest need not be made for its scale again.
        fresh = self._fresh_states([1] * len(self._scales))
        self._states = tuple(grown(a, b) for a, b in zip(self._states, fresh, strict=True))

    def _header(self) -> dict[str, Any]:
        """Return what a saved state says of itself."""
        return {
            "format": FORMAT,
            "engine": self.kind,
            "policy": self.chosen.policy.name,
            "params": self.chosen.params,
            "budget": self.budget,
            "first_budget": self._first_budget,
            "scale": self._scales[0] if self.problem == CACHING else self.footprint.rows,
            "scales": self._scales,
            "charge": self.footprint.charge,
            "capacity": self._capacity,
            "options": self.options,
        }

    def _terms(self) -> dict[str, Any]:
        """Return all that its kernel depends on, as `warm.compile_for` takes it."""
        return {
            "engine": self.kind,
            "shadow": self.is_shadow,
            "policy": str(self._pilot.in_force),
            "sized": self.sized,
        }

    def _resume(
        self, saved: dict[str, np.ndarray], header: dict[str, Any], unlike: bool = False
    ) -> tuple[bool, bool, bool]:
        """Go on with the policy that was in force, unless the engine is `unlike` the saved one.

        Returns whether the policy is the same, with what is found of it; whether the budget is
        another; and whether what the policy remembers is kept.

        The tables of a policy keep the scale that they were made for, unless a budget that counts
        them has become smaller: then the policy begins anew.
        """
        same = str(self.chosen) == str(chosen_before(header)) and self._pilot.is_like(saved)
        same = same and not unlike
        resized = self.budget != header["first_budget"] or bool(header.get("recounted"))
        kept = same and not (self.in_bytes and header["scale"] > self.footprint.rows)
        if same:
            self._pilot.load(saved, resized)
            if kept:
                self._scales = header["scales"]
            self._states = self._fresh_states()
        return same, resized, kept
