"""Kernels made by the driver, so that each is compiled once for all workers.

The driver takes a few rows through all that a query does to them, a rehearsal. On one machine a
process beside does that while the query starts, and the workers find the kernels in the cache
folder. To other machines they travel with the query, by name and hash; a worker unpickles none
whose hash is another, and none from a folder that others can write (`kernel.jit`). On a processor
of another kind they are of no use, and the worker compiles its own and says so.
"""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...engine import Lookup, beside
from ...engine.base import Engine
from ...engine.beside import Call, beside_this, compiled_here, is_compiled_beside, is_made
from ...engine.warm import calls_for, prepare
from ...kernel.jit import cache_folder, packed, used_kernels
from ...kernel.shape import TWO_WAY
from ..frames import KEY, Input
from ..plan import JoinPlan, LookupPlan
from .bucket import micro_batch
from .join_bucket import JoinBucket, make_join
from .kernels import Kernels, is_local
from .packets import PACKED, Packing, Shared, make_packer

ROWS, KEYS = 2_000, 97  # of each stream in a micro-batch of a rehearsal
BATCHES, SPAN = 4, 1_000
BYTES = 4 << 20  # of a bucket with a budget in bytes
CLOCK = "slowest"
BANDS = {int: "bigint", float: "double"}
BARE = Input(("k",), "t", ("k", "t"), ("bigint", "timestamp"), exact=True)


def join_kernels(plan: JoinPlan, session: Any) -> Kernels:
    """Have all kernels compiled that a join needs."""
    return _kernels(make_join(plan, 0), _call(plan), session)


def lookup_kernels(plan: LookupPlan, session: Any) -> Kernels:
    """Have all kernels compiled that a lookup needs."""
    given = plan.policy, BYTES if plan.in_bytes else ROWS, plan.in_bytes, plan.engine_goal
    return _kernels(plan.engine(0), Call(__name__, "rehearse_lookup", given), session)


def _kernels(engine: Engine, rehearsal: Call, session: Any) -> Kernels:
    own, *others = calls_for(engine)  # rows wait for their own kernel first
    if cache_folder() is None:
        return Kernels()  # each process compiles for itself
    if is_local(session):
        what = repr(rehearsal)
        note = Call(beside.__name__, "note_made", (what,))
        if not is_made(what) and is_compiled_beside(own, rehearsal, *others, note):
            return Kernels(awaited=beside_this())
        return Kernels()
    _rehearse(rehearsal)
    return Kernels(sent=packed(used_kernels()))


@functools.cache
def _rehearse(call: Call) -> None:
    """Rehearse here, once."""
    globals()[call.function](*call.arguments)


def rehearse_join(plan: JoinPlan) -> None:
    """Take a few rows through a bucket of a join, and through its engine."""
    step = max(1, 2 * (plan.lifetime or 0) // (ROWS * BATCHES))
    with compiled_here():
        bucket = JoinBucket(plan, 0)
        for number in range(BATCHES):
            first = number * ROWS * step
            watermark = max(0, first - 1 - plan.delay) if plan.watermark else None
            for _ in bucket.advance(micro_batch(_packed(plan, first, step), watermark)):
                pass
            bucket.report(0)
            bucket.hottest()
        list(JoinBucket(plan, 0, bucket.save()).finish())
    prepare(make_join(plan, 0))


def rehearse_lookup(policy: str, budget: int, in_bytes: bool, goal: str) -> None:
    """Do to a few keys what a lookup does, without asking a relation for them."""
    packing = Packing(0, (0,), (KEY,), None)
    list(make_packer(packing)(iter([pa.record_batch({KEY: pa.array([1, 2])})])))
    prepare(Lookup(policy, budget, in_bytes=in_bytes, goal=goal))


def rehearse_all(policy: str, goal: str) -> None:
    """Rehearse all joins of two streams under a policy: by rows, by bytes, and without a budget."""
    for budget, in_bytes in ((1, False), (1, True), (None, False)):
        plan = JoinPlan(
            inputs=(BARE, BARE),
            joins=TWO_WAY,
            within=1,
            delay=0,
            clock=CLOCK,
            watermark=True,
            budget=budget,
            in_bytes=in_bytes,
            policy=policy,
            goal=goal,
            layout="unified",
            seed=0,
            sample=1.0,
            output=(),
            buckets=2,
            labels=(0, 1),
            partitions=1,
        )
        rehearse_join(rehearsed(plan))
        beside.note_made(repr(_call(plan)))


def rehearsed(plan: JoinPlan) -> JoinPlan:
    """Return a plan that needs the same kernels, for rows of a key and a time.

    Plans that differ in other things than their kernels become the same.
    """
    buckets, budget = min(2, plan.buckets), plan.budget
    if budget is not None:
        budget = buckets * (BYTES if plan.in_bytes else ROWS // 4)
    bare, named, near = BARE, "k", plan.near
    if near is not None:
        near, named = type(near)(1), "v"
        bare = Input((), "t", ("t", "v"), ("timestamp", BANDS[type(near)]), near="v")
    return replace(
        plan,
        inputs=(bare,) * len(plan.inputs),
        near=near,
        said_near=None,
        output=tuple(((join[0][0], named, named),) for join in plan.joins),
        within=SPAN if isinstance(plan.within, int) else plan.within,
        delay=0,
        behind=0,
        clock=CLOCK,
        budget=budget,
        buckets=buckets,
        labels=tuple(range(buckets)),
        partitions=1,
        sample=float(bool(plan.sample)),
        checkpoint=None,
        seed=0,
    )


def _call(plan: JoinPlan) -> Call:
    return Call(__name__, "rehearse_join", (rehearsed(plan),))


def _packed(plan: JoinPlan, first: int, step: int) -> list[tuple]:
    """Return rows of every stream as the first bucket gets them, from a time on."""
    found = []
    shared = None
    if plan.is_shared:
        shared = Shared(plan.in_bytes, make_join(plan, 0).footprint.charge, plan.lifetime)
    key, time = np.arange(ROWS) ** 2 % KEYS, first + step * np.arange(ROWS)
    columns = [pa.array(key), pa.array(time).view(pa.timestamp("us", "UTC"))]
    if plan.near is not None:
        columns.append(pa.array(key.astype(type(plan.near))))
    for stream, source in enumerate(plan.inputs):
        packing = Packing(stream, plan.labels, source.packed, source.time, shared)
        rows = pa.record_batch(columns, names=list(source.packed))
        for packets in make_packer(packing)(iter([rows])):
            found.append(tuple(packets.column(name)[0].as_py() for name in PACKED))
    return found
