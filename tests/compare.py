"""Run an engine and its naive twin on the same rows, and expect the same of both, step by step."""

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from penstock.engine import Join, Lookup, footprint, lookup_kernel
from penstock.engine.adapt import chooser, shadows
from penstock.engine.join import Matches
from tests.naive.choosing import RULES, ChoosingJoin, ChoosingLookup
from tests.naive.join import TWO_WAY, NaiveJoin
from tests.naive.lookup import NaiveLookup
from tests.naive.policies import factory
from tests.recount import recount


def spec(name: str, params: dict) -> str:
    """Return the policy as a user would write it."""
    tail = ",".join(f"{key}={value}" for key, value in params.items())
    return f"{name}:{tail}" if tail else name


@st.composite
def streams(draw, *, count=2, attributes=1, keys=6, most=120, gap=3, ends=False, nulls=False):
    """Draw rows in order of time: dictionaries as the naive engine takes them."""
    rows, now = [], 0
    for _ in range(draw(st.integers(0, most))):
        now += draw(st.integers(0, gap))
        row = {
            "stream": draw(st.integers(0, count - 1)),
            "keys": tuple(draw(st.integers(0, keys - 1)) for _ in range(attributes)),
            "time": now,
            "size": draw(st.integers(1, 5)),
        }
        if ends:
            row["end"] = now + draw(st.integers(0, 20))
        if nulls and draw(st.integers(0, 9)) == 0:
            row["keys"] = None
        rows.append(row)
    return rows


@st.composite
def cut(draw, rows):
    """Cut rows into batches anywhere."""
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    return [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def push_rows(join: Join, rows: list[dict], attributes: int = 1, most: int | None = None):
    """Push rows as dictionaries into the real engine; with `most` in parts of that many results."""
    null = np.array([row["keys"] is None for row in rows], bool)
    blank = (0,) * attributes
    options = {}
    if all("end" in row for row in rows) and not join.form.counting:
        options["end"] = [row["end"] for row in rows]
    if null.any():
        options["null"] = null
    if join.form.sized:
        options["size"] = np.array([row["size"] for row in rows], np.int64)
    columns = (
        np.array([row["stream"] for row in rows], np.int64),
        np.array([row["keys"] or blank for row in rows], np.int64).reshape(len(rows), attributes),
        np.array([row["time"] for row in rows], np.int64),
    )
    if most is None:
        return join.push(*columns, **options)
    return whole(join, list(join.push_parts(*columns, most=most, **options)), most)


def whole(join: Join, parts: list[Matches], most: int) -> Matches:
    """Put parts together again, and expect that none but the last is small."""
    assert all(len(part.join) >= most for part in parts[:-1])
    assert all(len(part.join) for part in parts)
    nothing = Matches(np.empty((0, join.form.shape.sides), np.int64), np.empty(0, np.int64))
    return Matches(*(np.concatenate(each) for each in zip(nothing, *parts, strict=True)))


def listed(matches) -> list[tuple[int, tuple[int, ...]]]:
    """Return results as the naive engine lists them."""
    return [
        (join, tuple(row for row in rows if row >= 0))
        for join, rows in zip(matches.join.tolist(), matches.rows.tolist(), strict=True)
    ]


def set_rules() -> None:
    """Hand the constants of the package, as they are now, over to the twin of `auto`."""
    for module in (shadows, chooser):
        constants = {name: value for name, value in vars(module).items() if name.isupper()}
        vars(RULES).update(constants)
    RULES.ROOM, RULES.MOST_USES = footprint.ROOM, lookup_kernel.MOST_USES


def chosen_from(engine: Join | Lookup) -> tuple | None:
    """Return what an engine chooses from, what each costs, and the first, as its twin wants it."""
    set_rules()
    pilot = engine._pilot
    if engine.chooser is not None:
        tried = engine.chooser.candidates
    elif str(pilot.asked) == "auto":
        tried = (pilot.in_force,)
    else:
        return None
    named = [(each.policy.name, each.params) for each in tried]
    scale = chooser.CACHED if isinstance(engine, Lookup) else 1
    return named, [scale * each.policy.cost for each in tried], tried.index(pilot.in_force)


def assert_same_join(
    name: str,
    batches: Iterable[list[dict]],
    budget: int | None,
    *,
    params: dict | None = None,
    restore: bool = False,
    attributes: int = 1,
    joins=TWO_WAY,
    seed: int = 0,
    told: list[list[int]] | None = None,
    most: int | None = None,
    **options,
) -> Join:
    """Push batches into both engines; with `restore` save and restore between any two of them.

    `told` says after each batch how far the streams have come elsewhere. With `most` the real one
    returns its results in parts.
    """
    params = params or {}
    real = Join(spec(name, params), budget, joins=joins, seed=seed, **options)
    streams_count = 1 + max(stream for join in joins for stream, _ in join)
    settings = {"joins": joins, "streams": streams_count, "seed": seed} | options
    if chosen_from(real):
        twin = ChoosingJoin(*chosen_from(real), budget, **settings)
    else:
        twin = NaiveJoin(factory(name, joins=joins, **params), budget, **settings)
    for number, batch in enumerate(batches):
        expected = twin.push(batch)
        if restore:
            real = Join.restore(real.save())
        assert listed(push_rows(real, batch, attributes, most)) == expected
        recount(real)
        assert real.held_rows.tolist() == [t.row for t in twin.held]
        counted = {key: value.tolist() for key, value in real.counters.items()}
        assert counted == twin.counters
        assert real.together == twin.together
        if told is not None:
            twin.advance(told[number])
            real.advance(told[number])
    return real


def assert_same_lookup(
    name: str,
    batches: Iterable[list[int]],
    budget: int,
    *,
    params: dict | None = None,
    restore: bool = False,
    seed: int = 0,
) -> Lookup:
    """Push references into both engines; with `restore` save and restore between batches."""
    params = params or {}
    real = Lookup(spec(name, params), budget, seed=seed)
    if chosen_from(real):
        twin = ChoosingLookup(*chosen_from(real), budget, seed=seed)
    else:
        twin = NaiveLookup(factory(name, **params), budget, seed=seed)
    for batch in batches:
        expected = twin.push(batch)
        if restore:
            real = Lookup.restore(real.save())
        assert real.push(np.array(batch, np.int64)).hit.tolist() == expected
        recount(real)
        assert real.resident.tolist() == list(twin.resident)
    return real
