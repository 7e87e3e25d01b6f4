"""The policy record: how one is asked for, and how its state grows."""

import re
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInput
from penstock.kernel.policy import (
    KEEP_ALL,
    Configured,
    Policy,
    Setup,
    check_choice,
    check_range,
    grown,
    nothing,
    reject,
)


class State(NamedTuple):
    table: np.ndarray
    rate: np.ndarray


def make_tuned(
    setup: Setup,
    rate: float = 0.5,
    size: int | None = None,
    mode: str = "quick",
    strict: bool = False,
) -> State:
    return State(np.zeros(setup.capacity), np.array([rate]))


def make_plain(setup: Setup) -> State:
    return State(np.zeros(setup.capacity), np.zeros(1))


TUNED = Policy("tuned", "has parameters of every kind", make_tuned, reject)
PLAIN = Policy("plain", "has none", make_plain, reject)


@pytest.mark.parametrize(
    ("policy", "text", "params"),
    [
        (PLAIN, "", {}),
        (TUNED, "", {}),
        (TUNED, "rate=0.25", {"rate": 0.25}),
        (TUNED, "rate=1", {"rate": 1.0}),
        (TUNED, "rate = 1e-3 , size = 7,", {"rate": 0.001, "size": 7}),
        (TUNED, "size=none", {"size": None}),
        (TUNED, "size=None", {"size": None}),
        (TUNED, "mode=none", {"mode": "none"}),
        (TUNED, "strict=yes", {"strict": True}),
        (TUNED, "strict=TRUE", {"strict": True}),
        (TUNED, "strict=1", {"strict": True}),
        (TUNED, "strict=no", {"strict": False}),
        (TUNED, "strict=false", {"strict": False}),
        (TUNED, "strict=0", {"strict": False}),
    ],
)
def test_parameters_are_read_as_the_types_that_the_policy_declares(policy, text, params):
    chosen = policy.configured(text)
    assert chosen == Configured(policy, params)
    assert {name: type(value) for name, value in chosen.params.items()} == {
        name: type(value) for name, value in params.items()
    }


@pytest.mark.parametrize(
    ("policy", "text", "sentence"),
    [
        (PLAIN, "rate=1", "unknown parameter 'rate' of policy 'plain'; it has none"),
        (
            TUNED,
            "rat=1",
            "unknown parameter 'rat' of policy 'tuned'; "
            "did you mean 'rate'? Known: rate, size, mode, strict",
        ),
        (
            TUNED,
            "setup=1",
            "unknown parameter 'setup' of policy 'tuned'; known: rate, size, mode, strict",
        ),
        (TUNED, "rate", "parameter 'rate' of policy 'tuned' must be written key=value"),
        (TUNED, "rate=", "parameter 'rate=' of policy 'tuned' must be written key=value"),
        (
            TUNED,
            "rate=fast",
            "parameter 'rate' of policy 'tuned' must be of type float, got 'fast'",
        ),
        (
            TUNED,
            "rate=none",
            "parameter 'rate' of policy 'tuned' must be of type float, got 'none'",
        ),
        (TUNED, "size=1.5", "parameter 'size' of policy 'tuned' must be of type int, got '1.5'"),
        (
            TUNED,
            "strict=maybe",
            "parameter 'strict' of policy 'tuned' must be of type bool, got 'maybe'",
        ),
    ],
)
def test_every_mistake_is_named(policy, text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        policy.configured(text)


@given(
    params=st.fixed_dictionaries(
        {},
        optional={
            "rate": st.floats(allow_nan=False, allow_infinity=False),
            "size": st.one_of(st.none(), st.integers()),
            "mode": st.sampled_from(["quick", "slow"]),
            "strict": st.booleans(),
        },
    )
)
def test_what_is_written_is_read_again(params):
    chosen = Configured(TUNED, params)
    assert TUNED.configured(str(chosen).partition(":")[2]) == chosen


def test_parameters_in_force_are_the_defaults_and_what_was_asked_for():
    chosen = TUNED.configured("size=3,rate=0.75")
    in_force = {"rate": 0.75, "size": 3, "mode": "quick", "strict": False}
    assert chosen.all_params == in_force
    assert chosen.make_state(Setup(4)).rate.tolist() == [0.75]


def test_hooks_are_those_given_and_nothing_for_the_rest():
    def mine(state, held, slot, now):
        """Stand for any hook."""

    policy = Policy("some", "", make_plain, reject, on_match=mine, on_arrival=mine)
    assert policy.hooks == (mine, nothing, mine, nothing, reject)
    assert KEEP_ALL.hooks == (nothing, nothing, nothing, nothing, reject)


class Nested(NamedTuple):
    by_slot: np.ndarray
    constant: np.ndarray
    inner: State


@given(small=st.integers(1, 6), more=st.integers(0, 6))
def test_a_grown_state_says_the_same_and_has_more_room(small, more):
    def make(capacity, fill):
        by_slot = np.full((capacity, 2), fill, np.int32)
        inner = State(np.full(capacity, fill, float), np.full(1, fill, float))
        return Nested(by_slot, np.full(3, fill), inner)

    old, large = make(small, 7), small + more
    after = grown(old, make(large, -1))
    assert type(after) is Nested
    assert type(after.inner) is State
    assert after.by_slot.tolist() == [[7, 7]] * small + [[-1, -1]] * more
    assert after.inner.table.tolist() == [7.0] * small + [-1.0] * more
    # what does not depend on the capacity is the old array itself
    assert after.constant is old.constant
    assert after.inner.rate is old.inner.rate


@pytest.mark.parametrize("value", [0, 0.5, 1])
def test_a_range_includes_its_bounds(value):
    check_range("tuned", "rate", value, 0, 1)


@pytest.mark.parametrize(
    ("value", "low", "high", "sentence"),
    [
        (-0.001, 0, 1, "parameter 'rate' of policy 'tuned' must be from 0 to 1, got -0.001"),
        (1.001, 0, 1, "parameter 'rate' of policy 'tuned' must be from 0 to 1, got 1.001"),
        (float("nan"), 0, 1, "parameter 'rate' of policy 'tuned' must be from 0 to 1, got nan"),
        (2, 3, float("inf"), "parameter 'rate' of policy 'tuned' must be at least 3, got 2"),
        (0.0, 1e-300, float("inf"), "parameter 'rate' of policy 'tuned' must be at least 1e-300"),
    ],
)
def test_what_lies_outside_a_range_is_refused(value, low, high, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}"):
        check_range("tuned", "rate", value, low, high)


def test_a_choice_is_one_of_those_offered():
    check_choice("tuned", "mode", "quick", ("quick", "slow"))
    sentence = "parameter 'mode' of policy 'tuned' must be one of quick, slow, got 'qui'"
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}$"):
        check_choice("tuned", "mode", "qui", ("quick", "slow"))
