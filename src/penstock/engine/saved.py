"""Saved state: plain arrays under plain names, with a header that says what they are.

Nothing is pickled. The header is JSON, kept as bytes in an array like the rest, so that a saved
state is one flat dictionary that any array format can hold. Of a join what can be worked out is not
saved: deadlines that follow from the times, rows that are numbered in their order, and without a
budget the order of arrival.
"""

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import policies
from ..errors import BadState
from ..kernel.order import AFTER, FRONT, NONE
from ..kernel.policy import CACHING, JOINING, KEEP_ALL, Configured, Policy, grown
from ..kernel.slots import count_late
from . import join_upkeep
from .batch import after
from .join_kernel import BORN, BUDGET, NOW, JoinTables

if TYPE_CHECKING:
    from .join import Join

FORMAT = 5


def pack_header(header: dict[str, Any]) -> np.ndarray:
    """Return the header as an array of bytes."""
    return np.frombuffer(json.dumps(header).encode(), np.uint8).copy()


def unpack_header(saved: dict[str, np.ndarray], engine: str) -> dict[str, Any]:
    """Return the header of a saved state, or say why it cannot be used."""
    try:
        header = json.loads(saved["header"].tobytes())
        found, kind = header["format"], header["engine"]
    except (KeyError, ValueError, TypeError) as error:
        raise BadState(f"this is not a saved {engine}: its header cannot be read") from error
    if kind != engine:
        raise BadState(f"this is a saved {kind}, not a saved {engine}")
    if found != FORMAT:
        raise BadState(
            f"saved state has format {found}, this version of Penstock reads format {FORMAT}"
        )
    return header


def part(saved: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin so, without that beginning.

    >>> part({"held.key": np.zeros(1), "counts": np.ones(1)}, "held.")
    {'key': array([0.])}
    """
    return {
        name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)
    }


def prefixed(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return arrays under names that begin so."""
    return {prefix + name: array for name, array in arrays.items()}


def flatten(state: Any, name: str, copy: bool = True) -> dict[str, np.ndarray]:
    """Return the arrays of a (nested) NamedTuple under dotted names.

    A part with room for more than it holds says by `compact` how it is best saved; `expanded` makes
    it usable again. Without `copy` the others are the arrays of the state themselves.
    """
    if isinstance(state, np.ndarray):
        return {name: state.copy() if copy else state}
    if hasattr(state, "compact"):
        state = state.compact()
    arrays: dict[str, np.ndarray] = {}
    for field, value in zip(state._fields, state, strict=True):
        arrays |= flatten(value, f"{name}.{field}", copy)
    return arrays


def restored(state: Any, name: str, saved: dict[str, np.ndarray]) -> Any:
    """Return the saved state with the room of `state`, a fresh one."""
    # A larger budget has made larger tables; what was saved must have room for them too.
    return _expanded(grown(unflatten(state, name, saved), state))


def unflatten(like: Any, name: str, saved: dict[str, np.ndarray]) -> Any:
    """Return a state shaped like `like` with the saved arrays in it.

    A table that is empty need not have been saved: a policy may have got it since.
    """
    if isinstance(like, np.ndarray):
        if name not in saved and not like.size:
            return like.copy()
        if name not in saved:
            raise BadState(f"saved state lacks {name!r}")
        return np.array(saved[name], like.dtype, order="C")
    fields = zip(like._fields, like, strict=True)
    return type(like)(*(unflatten(value, f"{name}.{field}", saved) for field, value in fields))


def _expanded(state: Any) -> Any:
    """Return a restored state in which every part that was saved as `compact` has room again."""
    if isinstance(state, np.ndarray):
        return state
    if hasattr(state, "expand"):
        return state.expand()
    return type(state)(*map(_expanded, state))


def nbytes(*parts: Any) -> int:
    """Return the bytes of all arrays in (nested) tuples, lists and dictionaries, each counted once.

    >>> table = np.zeros(10)
    >>> nbytes((table, table[2:5]), [np.zeros(1, np.int8)])
    81
    """
    found: dict[int, int] = {}
    _collect(parts, found)
    return sum(found.values())


def _collect(part: Any, found: dict[int, int]) -> None:
    if isinstance(part, np.ndarray):
        while isinstance(part.base, np.ndarray):
            part = part.base
        found[id(part)] = part.nbytes
    elif isinstance(part, (tuple, list, dict)):
        for each in part.values() if isinstance(part, dict) else part:
            _collect(each, found)


def chosen_before(header: dict[str, Any]) -> Configured:
    """Return the policy of the engine that was saved."""
    return Configured(policies.named(header["policy"]), header["params"])


def save_join(join: "Join", copy: bool = True) -> dict[str, np.ndarray]:
    """Return the whole state as plain arrays."""
    live, tables = join._live(), join._tables
    saved = {f"held.{name}": tables.held.at[name][live] for name in _columns(join)}
    saved["held.key"] = tables.held.key[live]
    if _deadlines_follow(join, saved):
        del saved["held.deadline"]
    if (saved["held.row"] == by_stream(saved["held.stream"])).all():
        del saved["held.row"]
    if join.chosen.policy is KEEP_ALL:  # nothing depends on it but the order of rows
        del saved["held.born"]
    if join.form.rows:
        saved["held.standing"] = tables.held.standing[live]
        born = tables.held.at["born"]
        saved["spent"] = np.searchsorted(born[live], born[_spent(tables)])
    saved["matched"] = np.packbits(tables.held.at["matched"][live])
    if join.form.logs_departures:
        join._departures.read(tables.gone)
        saved["due"] = join._departures.due.copy()
    if join.tells_departures:
        saved["departures"] = join._departures.waiting.copy()
    saved |= {name: total.copy() for name, total in _totals(join).items()}
    if join.chosen.policy is not KEEP_ALL:  # only a policy's memory is bound to slot numbers
        saved["slot"] = live.astype(np.int32)
        for lane, state in enumerate(join._states):
            saved |= flatten(state, f"policy.{lane}", copy)
    saved |= join._pilot.save()
    if join.chooser is not None:
        saved["lanes"] = tables.lanes[:, BUDGET].copy()
    saved["header"] = pack_header(join._header())
    return saved


def order_of(numbers: np.ndarray) -> np.ndarray:
    """Return the order of numbers that are all different; most often there are few gaps.

    >>> order_of(np.array([7, 5, 6])).tolist(), order_of(np.array([7, 5, 10**9])).tolist()
    ([1, 2, 0], [1, 0, 2])
    """
    least = numbers.min(initial=np.iinfo(np.int64).max)
    width = 1 + int(numbers.max(initial=least)) - int(least)
    if width > 4 * len(numbers):
        return np.argsort(numbers)
    places = np.full(width, -1, np.int64)
    places[numbers - least] = np.arange(len(numbers))
    return places[places >= 0]


def by_stream(stream: np.ndarray) -> np.ndarray:
    """Return numbers for rows that are counted stream by stream.

    >>> by_stream(np.array([1, 0, 1, 0])).tolist()
    [2, 0, 3, 1]
    """
    numbers = np.empty(len(stream), np.int64)
    numbers[np.argsort(stream, kind="stable")] = np.arange(len(stream))
    return numbers


def _columns(join: "Join") -> list[str]:
    """Return the fields of a tuple that are worth saving."""
    return ["time", "deadline", "row", "born", "stream"] + ["size"] * join.form.sized


def _totals(join: "Join") -> dict[str, np.ndarray]:
    """Return the arrays in which a join counts and tells the time, by the names they have."""
    tables = join._tables
    totals = {"counts": tables.counts, "marks": tables.marks, "seen": tables.seen}
    totals |= {"outside": join._outside, "told": join._elsewhere}
    if join.form.logs_departures:
        totals["alone"] = join._departures.counts
    if join._dropping.rate:
        totals |= {"dropped": join._dropped, "dropping": join._dropping.rng}
    return totals


def _spent(tables: JoinTables) -> np.ndarray:
    """Return the slots of the spent tuples, stream after stream, in the order of their lists."""
    slots = []
    for front in tables.spent.ends[:, FRONT].tolist():
        while front != NONE:
            slots.append(front)
            front = int(tables.spent.link[front, AFTER])
    return np.array(slots, np.int64)


def _deadlines_follow(join: "Join", saved: dict[str, np.ndarray]) -> bool:
    """Tell whether the deadlines can be worked out from the times."""
    if join.reach is None or join.form.counting:
        return False
    worked_out = after(saved["held.time"], saved["held.stream"], join.reach)
    return bool((saved["held.deadline"] == worked_out).all())


def recounted(
    saved: dict[str, np.ndarray], in_bytes: bool | None, size: npt.ArrayLike | None
) -> dict[str, np.ndarray]:
    """Return a saved join whose budget counts bytes if `in_bytes`, else rows; None: as it did.

    What a policy remembers is of the other unit, and is dropped.
    """
    header = unpack_header(saved, "join")
    if in_bytes is None or in_bytes == header["options"]["in_bytes"]:
        return saved
    own = ("policy.", "ring.", "tuner.", "lanes", "slot", "held.size", "header")
    kept = {name: array for name, array in saved.items() if not name.startswith(own)}
    if in_bytes:
        kept["held.size"] = np.asarray(size, np.int64)
    options = header["options"] | {"sized": in_bytes, "in_bytes": in_bytes}
    said = {"options": options, "charge": 0, "recounted": True}
    kept["header"] = pack_header(header | said)
    return kept


def arguments(
    header: dict[str, Any], policy: str | Policy | Configured | None, budget: int | str | None
) -> dict[str, Any]:
    """Return what to make an engine with that goes on, perhaps with another policy or budget."""
    options = header["options"]
    problem = JOINING if header["engine"] == "join" else CACHING
    chosen = chosen_before(header) if policy is None else policies.choose(policy, problem)
    given = {
        "policy": policies.DEFAULT if chosen.policy is KEEP_ALL else chosen,
        "budget": header["first_budget"] if budget == "same" else budget,
        "scale": header["scale"] if options["sized"] and not options["in_bytes"] else None,
    }
    if problem == JOINING:
        given["delay"] = header["delay"]
        given["shares"] = header["proportion"] if options["layout"] == "split" else None
    return options | given


def load_join(
    join: "Join", saved: dict[str, np.ndarray], header: dict[str, Any], size: int | None = None
) -> None:
    """Put what was saved into a join that was made with the `arguments` of its header.

    `size` is the budget that it has been resized to since it was made.
    """
    unlike = bool(header.get("recounted")) or join.goal != header["options"]["goal"]
    same, resized, kept = join._resume(saved, header, unlike)
    lanes = join._tables.lanes
    if size is None and not resized:
        size = header["budget"]
    if size is not None and join.budget is not None and size != join.budget:
        join._set_budget(size)
        lanes[:, BUDGET] = join._budgets
    bound = kept and "slot" in saved  # the policy's memory speaks of slot numbers
    slots = _load_tuples(join, saved, header, bound)
    for name, total in _totals(join).items():
        total[...] = saved[name]
    if "held.born" not in saved:
        join._tables.marks[BORN] = len(slots)
    join._next_row = header["next_row"]
    if "due" in saved:
        join._departures.due = np.array(saved["due"], np.int64)
    if "departures" in saved:
        join._departures.waiting = np.array(saved["departures"], np.int64)
    _rebuild(join, saved, slots, bound)
    if bound and "lanes" in saved and not resized:
        join._tables.lanes[:, BUDGET] = saved["lanes"]
    if resized or not same:
        join._pilot.begin(join.attained)


def _load_tuples(
    join: "Join", saved: dict[str, np.ndarray], header: dict[str, Any], bound: bool
) -> np.ndarray:
    """Put the tuples into slots, the same ones if the policy is bound to them; return these."""
    count = len(saved["held.time"])
    slots = saved["slot"].astype(np.int64) if bound else np.arange(count)
    capacity = header["capacity"] if bound else count
    if capacity > join._capacity:
        join._grow(capacity)
    held = join._tables.held
    held.key[slots] = saved["held.key"]
    implied = {"row": by_stream(saved["held.stream"]), "born": np.arange(count)}
    if join.reach is not None:
        implied["deadline"] = after(saved["held.time"], saved["held.stream"], join.reach)
    for name in _columns(join):
        held.at[name][slots] = saved[f"held.{name}"] if f"held.{name}" in saved else implied[name]
    if join.in_bytes:  # another policy takes another number of bytes for each row
        held.at["size"][slots] += join.footprint.charge - header["charge"]
    held.at["matched"][slots] = np.unpackbits(saved["matched"], count=count)
    join._claim_slots(slots)
    return slots


def _reserve_late(join: "Join", slots: np.ndarray) -> None:
    """Make room for the deadlines that will be late when tuples are queued in this order."""
    held = join._tables.held.at
    clock = held["stream"][slots] if join.form.counting else np.zeros(len(slots), np.int8)
    join._reserve_late(count_late(held["deadline"][slots], clock))


def _rebuild(join: "Join", saved: dict[str, np.ndarray], slots: np.ndarray, bound: bool) -> None:
    """Keep the state of the policy, or insert the tuples anew; evict what is too much."""
    tables = join._tables
    if bound:
        join._states = tuple(
            restored(each, f"policy.{lane}", saved) for lane, each in enumerate(join._states)
        )
    known = join.form.rows and "held.standing" in saved
    spent = np.zeros(0, np.int64)
    if known:
        tables.held.standing[slots] = saved["held.standing"]
        spent = slots[saved["spent"]]
    _reserve_late(join, slots)
    tables = join._tables
    policy, states = join._any_hooks()
    rebuild = join_upkeep.compile_rebuild(policy, join.form)
    now = int(tables.marks[NOW])
    rebuild(tables, states, slots, not bound, known, spent, now)
    join._shrink()
