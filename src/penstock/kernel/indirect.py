"""One kernel for every policy: it calls the hooks through their address.

A kernel that closes over the hooks of a policy is the fastest, and each takes a second or more to
compile. Where speed matters little, in shadow caches, or something is done seldom, between batches,
a kernel is compiled once for the policy `INDIRECT`, which stands for all others: its hooks call
those of the real policy, which are compiled by themselves in a fraction of the time. What happens
is the same, to the last bit.

The state of the real policy is handed on as it lies in memory for compiled code: for each array of
a tuple the words that Numba's own arrays have.
"""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import config, int64, typeof, types
from numba.core import cgutils
from numba.core.extending import intrinsic
from numba.np.arrayobj import make_array

from .jit import address_of, is_signature_ready, jit, specialise_hooks
from .policy import Policy, make_no_state
from .refs import Ref, member

ARRIVAL, INSERT, MATCH, REMOVE, GAIN, VICTIM = range(6)


_addresses: dict[tuple[Any, ...], int] = {}  # of compiled hooks, by policy and what they are given


class Indirect(NamedTuple):
    """The hooks of a policy and its state, by address."""

    hooks: np.ndarray  # int64[1]: where the compiled hooks are
    state: np.ndarray  # int64[words]: the state as compiled code has it


def through(policy: Policy, states: tuple[Any, ...], held: Any) -> tuple[Policy, tuple[Any, ...]]:
    """Return the policy to compile a kernel for and the states to run it with, in place of these.

    The states must live as long as the kernel runs. Without the JIT they are what they were.
    """
    if config.DISABLE_JIT:
        return policy, states
    known = policy, *_layout(states[0]), *_layout(held)
    if known not in _addresses:  # Numba takes a millisecond or two to tell the types of a state
        _addresses[known] = address_of(_compile_hooks(policy), _given(states, held))
    hooks = np.array([_addresses[known]])
    return INDIRECT, tuple(Indirect(hooks, np.array(_words(each))) for each in states)


def are_hooks_ready(policy: Policy, states: tuple[Any, ...], held: Any) -> bool:
    """Tell whether the hooks of a policy can be called by address without being compiled first."""
    return config.DISABLE_JIT or is_signature_ready(_compile_hooks(policy), _given(states, held))


def stand_ins(states: tuple[Any, ...]) -> tuple[Indirect, ...]:
    """Return states such as `through` returns, to ask what kernels they need."""
    nothing = np.zeros(1, np.int64)
    return tuple(Indirect(nothing, nothing) for _ in states)


def _given(states: tuple[Any, ...], held: Any) -> tuple[Any, ...]:
    """Return the types that compiled hooks are called with."""
    return int64, Ref(typeof(states[0])), Ref(typeof(held)), int64, int64


def _layout(state: Any) -> Iterator[Any]:
    """Return all that the types of arrays depend on."""
    if isinstance(state, np.ndarray):
        flags = state.flags
        yield state.dtype, state.ndim, flags.c_contiguous, flags.aligned, flags.writeable
    else:
        yield type(state)
        for each in state:
            yield from _layout(each)


def _words(state: Any) -> list[int]:
    """Return arrays as Numba lays them out: owner, parent, items, item size, data, shape, strides.

    >>> _words((np.zeros((2, 3)),))[2:4], _words((np.zeros((2, 3)),))[5:]
    ([6, 8], [2, 3, 24, 8])
    """
    if isinstance(state, np.ndarray):
        place = state.__array_interface__["data"][0]
        return [0, 0, state.size, state.itemsize, place, *state.shape, *state.strides]
    return [word for each in state for word in _words(each)]


@functools.cache
def _compile_hooks(policy: Policy) -> Any:
    """Return `call(which, state, held, slot, now)`, compiled to be called by address only."""
    on_arrival, on_insert, on_match = policy.on_arrival, policy.on_insert, policy.on_match
    on_remove, on_gain, choose_victim = policy.on_remove, policy.on_gain, policy.choose_victim

    def call(which, state, held, slot, now):
        if which == ARRIVAL:
            on_arrival(state, held, slot, now)
        elif which == INSERT:
            on_insert(state, held, slot, now)
        elif which == MATCH:
            on_match(state, held, slot, now)
        elif which == REMOVE:
            on_remove(state, held, slot, now)
        elif which == GAIN:
            on_gain(state, held, slot, now)
        else:
            return np.int64(choose_victim(state, held, slot, now))
        return np.int64(0)

    return specialise_hooks(call, f"the hooks of {policy.name}")


@intrinsic
def _call(typing_context, which, state, held, slot, now):
    """Call the hooks of the policy that `state` stands for."""

    def codegen(context, builder, sig, args):
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        kind = sig.args[1].kind
        hooks, memory = (
            make_array(kind[n])(context, builder, member(context, builder, sig.args[1], args[1], n))
            for n in range(2)
        )
        where = builder.load(hooks.data)
        numbers = [context.cast(builder, args[n], sig.args[n], types.int64) for n in (0, 3, 4)]
        result = cgutils.alloca_once(builder, word)
        error = cgutils.alloca_once(builder, byte)
        state_given = builder.bitcast(memory.data, byte)
        given = [result, error, numbers[0], state_given, args[2], *numbers[1:]]
        shape = ir.FunctionType(ir.IntType(32), [each.type for each in given])
        builder.call(builder.inttoptr(where, shape.as_pointer()), given)
        return builder.load(result)

    if not isinstance(state, Ref) or not isinstance(held, Ref):
        return None
    return types.int64(which, state, held, slot, now), codegen


def _hook(which: int) -> Any:
    call: Any = _call

    @jit
    def hook(state, held, slot, now):
        return call(which, state, held, slot, now)

    return hook


INDIRECT = Policy(
    "indirect",
    "calls the hooks of another policy",
    make_no_state,
    _hook(VICTIM),
    on_insert=_hook(INSERT),
    on_match=_hook(MATCH),
    on_remove=_hook(REMOVE),
    on_arrival=_hook(ARRIVAL),
    on_gain=_hook(GAIN),
)
