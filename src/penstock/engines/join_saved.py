"""A join as plain arrays, and a join made of these that goes on as if nothing had happened.

What can be worked out is not saved: deadlines that follow from the times, rows that are numbered in
their order, and without a budget who was born when.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import policies
from ..core.gains import PAIRS
from ..core.order import AFTER, FRONT, NONE
from ..core.policy import JOINING, KEEP_ALL, Chosen, Policy, grown
from . import kernel
from .saved import expanded, flatten, pack_header, unflatten, unpack_header
from .shares import parts_of
from .tables import capacity_of, claim_slots

if TYPE_CHECKING:
    from .join import Join

FORMAT = 2
OLD_CHARGE = 120  # bytes that were counted for a row's slot before the engine knew


def save(join: "Join", copy: bool = True) -> dict[str, np.ndarray]:
    """Return the whole state as plain arrays."""
    live, tables = join._live(), join._tables
    saved = {f"held.{name}": tables.held.at[name][live] for name in _columns(join)}
    saved["held.key"] = tables.held.key[live]
    if _deadlines_follow(join, saved["held.time"], saved["held.deadline"]):
        del saved["held.deadline"]
    if (saved["held.row"] == np.arange(len(live))).all():
        del saved["held.row"]
    if join.chosen.policy is KEEP_ALL:  # nobody remembers births: the order of rows tells all
        del saved["held.born"]
    if join.form.rows:
        saved["held.standing"] = tables.held.standing[live]
        saved["spent"] = np.searchsorted(_births(join, live), _births(join, _spent(tables)))
    saved["matched"] = np.packbits(tables.held.at["matched"][live])
    saved["counts"] = tables.counts.copy()
    saved["marks"] = tables.marks.copy()
    saved["outside"] = join._outside.copy()
    saved["seen"] = tables.seen.copy()
    saved["told"] = join._told.copy()
    if join.drop:
        saved["dropped"] = join._dropped.copy()
        saved["dropping"] = join._dropping.rng.copy()
    if join.chosen.policy is not KEEP_ALL:  # only a policy's memory is bound to slot numbers
        saved["slot"] = live.astype(np.int32)
        for lane, state in enumerate(join._states):
            saved |= flatten(state, f"policy.{lane}", copy)
    saved |= join._pilot.save()
    if join.chooser is not None:
        saved["lanes"] = tables.lanes[:, kernel.BUDGET].copy()
    saved["header"] = pack_header(_header(join))
    return saved


def _columns(join: "Join") -> list[str]:
    """Return the fields of a tuple that are worth saving."""
    return ["time", "deadline", "row", "born", "stream"] + ["size"] * join.form.sized


def _births(join: "Join", slots: np.ndarray) -> np.ndarray:
    return join._tables.held.at["born"][slots]


def _spent(tables: kernel.Tables) -> np.ndarray:
    """Return the slots of the spent tuples, stream after stream, in the order of their lists."""
    slots = []
    for front in tables.spent.ends[:, FRONT].tolist():
        while front != NONE:
            slots.append(front)
            front = int(tables.spent.link[front, AFTER])
    return np.array(slots, np.int64)


def _deadlines_follow(join: "Join", times: np.ndarray, deadlines: np.ndarray) -> bool:
    """Tell whether the deadlines can be worked out from the times."""
    if join.within is None or join.form.counting:
        return False
    return bool((deadlines == times + join.within).all())


def _header(join: "Join") -> dict[str, Any]:
    return {
        "format": FORMAT,
        "engine": "join",
        "policy": join.chosen.policy.name,
        "params": join.chosen.params,
        "goal": join.goal,
        "budget": join.budget,
        "first_budget": join._first_budget,
        "budgets": join._budgets,
        "proportion": join._proportion,
        "scales": join._scales,
        "within": join.within,
        "window": "count" if join.form.counting else "time",
        "layout": join.layout,
        "asked_layout": join._asked_layout,
        "joins": join.form.shape.joins,
        "delay": join.delay,
        "clock": join.clock,
        "drop": join.drop,
        "together": join.form.together,
        "sized": join.form.sized,
        "in_bytes": join.in_bytes,
        "charge": join.footprint.charge,
        "scale": join.footprint.rows,
        "seed": join.seed,
        "capacity": capacity_of(join._tables.free),
        "next_row": join._next_row,
    }


def read_header(saved: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return what a saved join says of itself, or say why it cannot be used."""
    return unpack_header(saved, "join", FORMAT)


def recounted(
    saved: dict[str, np.ndarray], in_bytes: bool | None, size: npt.ArrayLike | None
) -> dict[str, np.ndarray]:
    """Return a saved join whose budget counts bytes if `in_bytes`, else rows; None: as it did.

    What a policy remembers is of the other unit, and does not come along.
    """
    header = read_header(saved)
    if in_bytes is None or in_bytes == _is_in_bytes(header):
        return saved
    own = ("policy.", "ring.", "tuner.", "lanes", "slot", "held.size", "header")
    kept = {name: array for name, array in saved.items() if not name.startswith(own)}
    if in_bytes:
        kept["held.size"] = np.asarray(size, np.int64)
    said = {"sized": in_bytes, "in_bytes": in_bytes, "charge": 0, "recounted": True}
    kept["header"] = pack_header(header | said)
    return kept


def arguments(
    header: dict[str, Any],
    policy: str | Policy | Chosen | None,
    budget: int | str | None,
    goal: str | None = None,
) -> dict[str, Any]:
    """Return what to make a join with that goes on, perhaps with another policy, budget or goal."""
    layout = header.get("asked_layout", header["layout"])  # states saved before there was one
    shares = None
    if header["budget"] is not None and layout == "split":
        shares = header.get("proportion")
        if shares is None:  # states saved before there was one
            shares = [part / sum(header["budgets"]) for part in header["budgets"]]
    after = _before(header) if policy is None else policies.choose(policy, JOINING)
    return {
        "policy": after if after.policy is not KEEP_ALL else policies.DEFAULT,
        "budget": _first_budget(header) if budget == "same" else budget,
        "goal": _goal(header) if goal is None else goal,
        "within": header["within"],
        "window": header["window"],
        "joins": tuple(tuple(tuple(leg) for leg in join) for join in header["joins"]),
        "layout": layout,
        "shares": shares,
        "delay": header["delay"],
        "clock": header["clock"],
        "drop": header.get("drop", 0.0),  # states saved before there was one
        "together": header["together"],
        "sized": header["sized"],
        "in_bytes": _is_in_bytes(header),
        "scale": header.get("scale") if header["sized"] and not _is_in_bytes(header) else None,
        "seed": header["seed"],
    }


def _is_in_bytes(header: dict[str, Any]) -> bool:
    return header.get("in_bytes", header["sized"])  # states saved before there was one


def _first_budget(header: dict[str, Any]) -> int | None:
    """Return the budget that a join was made with; it may have been resized since."""
    return header.get("first_budget", header["budget"])  # states saved before there was one


def _goal(header: dict[str, Any]) -> str:
    return header.get("goal", PAIRS)  # states saved before there was one


def _before(header: dict[str, Any]) -> Chosen:
    """Return the policy of the join that was saved."""
    return Chosen(policies.named(header["policy"]), header["params"])


def load(
    join: "Join", saved: dict[str, np.ndarray], header: dict[str, Any], size: int | None = None
) -> None:
    """Put what was saved into a join that was made with the `arguments` of its header.

    `size` is the budget that it has been resized to since it was made.
    """
    same = str(join.chosen) == str(_before(header)) and join._pilot.is_like(saved)
    same = same and not header.get("recounted") and join.goal == _goal(header)
    resized = join.budget != _first_budget(header) or bool(header.get("recounted"))
    # A policy's tables keep the scale that they were made for, unless a budget that counts them
    # has become smaller: then it begins anew.
    kept = same and not (join.in_bytes and header.get("scale", 0) > join.footprint.rows)
    if same:
        join._pilot.load(saved, resized)
        if join.chooser is not None:
            join._lay_out(join._pilot.candidate)
            if not resized:  # on their way to their sizes memories may hold more than these
                join._tables.lanes[:, kernel.BUDGET] = sum(join._budgets)
        if kept:
            join._scales = header["scales"]
        join._states = join._fresh_states()
    _keep_size(join, header["budget"] if size is None and not resized else size)
    bound = kept and "slot" in saved  # the policy's memory speaks of slot numbers
    slots = _load_tuples(join, saved, header, bound)
    _load_totals(join, saved, header)
    _settle(join, saved, slots, bound)
    if bound and "lanes" in saved and not resized:
        join._tables.lanes[:, kernel.BUDGET] = saved["lanes"]
    if resized or not same:
        join._pilot.begin(join.attained)


def _keep_size(join: "Join", budget: int | None) -> None:
    """Give a join the budget that it had been resized to."""
    if budget is None or join.budget is None or budget == join.budget:
        return
    join.budget = budget
    join._budgets = parts_of(join._for_rows(budget), join.form.lanes, join._shares)
    join._tables.lanes[:, kernel.BUDGET] = (
        join._budgets if join.chooser is None else sum(join._budgets)
    )


def _load_tuples(
    join: "Join", saved: dict[str, np.ndarray], header: dict[str, Any], bound: bool
) -> np.ndarray:
    """Put the tuples into slots, the same ones if somebody is bound to these; return the slots."""
    count = len(saved["held.time"])
    slots = saved["slot"].astype(np.int64) if bound else np.arange(count)
    capacity = header["capacity"] if bound else count
    if capacity > capacity_of(join._tables.free):
        join._grow(capacity)
    held = join._tables.held
    held.key[slots] = saved["held.key"]
    for name in _columns(join):
        if f"held.{name}" in saved:
            held.at[name][slots] = saved[f"held.{name}"]
    if join.in_bytes:  # another policy takes another number of bytes for each row
        held.at["size"][slots] += join.footprint.charge - header.get("charge", OLD_CHARGE)
    if "held.deadline" not in saved:
        held.at["deadline"][slots] = saved["held.time"] + join.within
    if "held.row" not in saved:
        held.at["row"][slots] = np.arange(count)
    if "held.born" not in saved:
        held.at["born"][slots] = np.arange(count)
    if "matched" in saved:  # states saved before it was noted lack it
        held.at["matched"][slots] = np.unpackbits(saved["matched"], count=count)
    claim_slots(join._tables.free, slots)
    return slots


def _load_totals(join: "Join", saved: dict[str, np.ndarray], header: dict[str, Any]) -> None:
    """Go on counting, and telling the time, where it was left off."""
    tables = join._tables
    tables.counts[:, : saved["counts"].shape[1]] = saved["counts"]
    tables.marks[:] = saved["marks"]
    if "held.born" not in saved:
        tables.marks[kernel.BORN] = len(saved["held.time"])
    tables.seen[:] = saved["seen"]
    join._outside[:] = saved["outside"]
    join._told[:] = saved["told"]
    if join.drop:
        join._dropped[:] = saved["dropped"]
        join._dropping.rng[:] = saved["dropping"]
    join._next_row = header["next_row"]


def _settle(join: "Join", saved: dict[str, np.ndarray], slots: np.ndarray, bound: bool) -> None:
    """Let the policy remember, or meet the tuples anew, and give up what is too much."""
    tables = join._tables
    if bound:
        # A larger budget has made larger tables; what was saved must have room for them too.
        join._states = tuple(
            expanded(grown(unflatten(state, f"policy.{lane}", saved), state))
            for lane, state in enumerate(join._states)
        )
    known = join.form.rows and "held.standing" in saved
    spent = np.zeros(0, np.int64)
    if known:
        tables.held.standing[slots] = saved["held.standing"]
        spent = slots[saved["spent"]]
    rebuild = kernel.compile_rebuild(join._pilot.policy, join.form)
    now = int(tables.marks[kernel.NOW])
    rebuild(tables, join._states, slots, not bound, known, spent, now)
    join._shrink()
