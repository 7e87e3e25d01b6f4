"""Tuples expire in the order of (deadline, arrival): compared with sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel import slots
from penstock.kernel.jit import kernel
from penstock.kernel.slots import FOREVER, make_held
from tests.kernel.draws import runs

ENTER, LEAVE, EXPIRE = range(3)
SLOTS = 10
DIVIDER = -2

moments = st.one_of(st.integers(-3, 12), st.sampled_from([FOREVER, FOREVER - 1, -(2**62)]))
moves = runs(st.tuples(st.integers(0, SLOTS + 1), moments, st.integers(0, 1)))


@kernel
def drive(expiry, held, ops, dead):
    """Write down what expires, with a divider after each expiry; return how much was written."""
    written = 0
    for i in range(len(ops)):
        what, clock, slot, moment = ops[i, 0], ops[i, 1], ops[i, 2], ops[i, 3]
        if what == ENTER:
            held.at[slot]["deadline"] = moment
            held.at[slot]["born"] = i
            slots.queue(expiry, clock, held, slot)
            continue
        while True:
            if what == EXPIRE:
                slot = slots.next_expired(expiry, clock, held, moment)
                if slot == slots.NONE:
                    dead[written] = DIVIDER
                    written += 1
                    break
                dead[written] = slot
                written += 1
            slots.unqueue(expiry, clock, held, slot)
            if what == LEAVE:
                break
    return written


def plan(drawn, clocks, ascending):
    """Return operations, and the slots that expire by them.

    A number that is no slot expires tuples of a clock; a slot enters if it is out, and leaves if it
    is in. With `ascending` no tuple expires before one that came earlier to the same clock.
    """
    held, ops, dead = {}, [], []  # held: slot -> (clock, deadline, number of the operation)
    last = [-(2**62)] * clocks
    for slot, moment, which in drawn:
        clock = which % clocks
        if slot >= SLOTS:
            ops.append((EXPIRE, clock, 0, moment))
            due = [s for s, (c, deadline, _) in held.items() if c == clock and deadline < moment]
            for each in sorted(due, key=lambda s: held[s][1:]):
                dead.append(each)
                del held[each]
            dead.append(DIVIDER)
        elif slot in held:
            ops.append((LEAVE, held.pop(slot)[0], slot, 0))
        else:
            if ascending:
                moment = last[clock] = max(moment, last[clock])
            held[slot] = (clock, moment, len(ops))
            ops.append((ENTER, clock, slot, moment))
    return held, ops, dead


def check(drawn, clocks, ascending):
    # at the end every tuple expires that can
    ends = [(SLOTS, FOREVER, clock) for clock in range(clocks)]
    _, ops, dead = plan([*drawn, *ends], clocks, ascending)
    expiring = sum(
        deadline != FOREVER for _, deadline, _ in plan(drawn, clocks, ascending)[0].values()
    )
    expiry, held = slots.make_expiry(SLOTS, clocks), make_held(SLOTS, 1)
    out = np.zeros(len(dead) + 1, np.int64)
    ops = np.array(ops, np.int64)
    written = drive(expiry, held, ops[:-clocks], out)
    assert expiry.ends[:, slots.SIZE].sum() + expiry.late.size[0] == expiring
    written += drive(expiry, held, ops[-clocks:], out[written:])
    assert out[:written].tolist() == dead
    assert (expiry.ends == [slots.NONE, slots.NONE, 0]).all()
    assert expiry.late.size[0] == 0


@given(drawn=moves)
def test_tuples_expire_by_deadline_and_arrival(drawn):
    check(drawn, clocks=1, ascending=False)


@given(drawn=moves)
def test_every_clock_has_its_own_queue(drawn):
    check(drawn, clocks=2, ascending=True)


def test_a_late_deadline_expires_before_greater_ones_and_after_equal_ones():
    # 0 waits until 5, 1 until 7; 2 and 3, until 5, come after 7 and are late; 4 never expires
    held, expiry, dead = make_held(5, 1), slots.make_expiry(5, 1), np.zeros(9, np.int64)
    enters = [(ENTER, 0, slot, until) for slot, until in enumerate([5, 7, 5, 5, FOREVER])]
    written = drive(expiry, held, np.array([*enters, (EXPIRE, 0, 0, 5)]), dead)
    assert dead[:written].tolist() == [DIVIDER]  # 5 is the last moment, and not over yet
    assert expiry.late.size[0] == 2
    written = drive(expiry, held, np.array([(EXPIRE, 0, 0, 6), (EXPIRE, 0, 0, FOREVER)]), dead)
    assert dead[:written].tolist() == [0, 2, 3, DIVIDER, 1, DIVIDER]


@given(deadlines=st.lists(st.tuples(moments, st.integers(0, 1)), max_size=SLOTS))
def test_late_deadlines_are_counted_before_they_come(deadlines):
    deadline, clock = np.array(deadlines, np.int64).reshape(-1, 2).T
    late = slots.count_late(deadline, clock)
    expiry = slots.make_expiry(SLOTS, 2, late)  # has room for these and no more
    enters = [(ENTER, clock[i], i, deadline[i]) for i in range(len(deadline))]
    drive(
        expiry,
        make_held(SLOTS, 1),
        np.array(enters, np.int64).reshape(-1, 4),
        np.zeros(1, np.int64),
    )
    assert expiry.late.size[0] == late == len(expiry.late.node)
