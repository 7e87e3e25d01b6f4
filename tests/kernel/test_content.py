"""What a kernel is made of: equal for equal code, different for whatever changes its results."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit, typeof

from penstock import policies
from penstock.kernel.content import UnknownContent, content_hash
from penstock.kernel.refs import signature_text


def built(source, **known):
    """Return the function `f` of some source, with these globals."""
    names = {"np": np, "__name__": "elsewhere", **known}
    exec(source, names)
    return names["f"]


BASE = "def f(x):\n    return x + STEP\n"


def test_docstrings_comments_and_lines_do_not_count():
    plain = content_hash(built("def f(x):\n    'One.'\n    return x + 1\n"))
    edited = "# a comment\n\n\ndef f(x):\n    'Two.'\n    # why\n    return x + 1\n"
    assert content_hash(built(edited)) == plain


@pytest.mark.parametrize(
    "other",
    [
        built("def f(x):\n    return x - STEP\n", STEP=1),
        built(BASE, STEP=2),
        built(BASE, STEP=1.0),
        built(BASE, STEP=np.int32(1)),
        built("def f(x, y=3):\n    return x + STEP\n", STEP=1),
        built("def f(x):\n    return x + STEP + 0\n", STEP=1),
    ],
)
def test_code_constants_and_globals_count(other):
    assert content_hash(other) != content_hash(built(BASE, STEP=1))


def test_a_function_that_is_called_counts_however_deep():
    def chain(inner):
        g = njit(built("def f(x):\n    return h(x)\n", h=njit(inner)))
        return content_hash(njit(built("def f(x):\n    return g(x)\n", g=g)))

    one = chain(built(BASE, STEP=1))
    assert one == chain(built(BASE, STEP=1))
    assert one != chain(built(BASE, STEP=2))


def test_arrays_and_closures_count():
    def make(table):
        def f(x):
            return table[x]

        return content_hash(f)

    assert make(np.array([1, 2])) == make(np.array([1, 2]))
    assert make(np.array([1, 2])) != make(np.array([1, 3]))
    assert make(np.array([1, 2])) != make(np.array([1, 2], np.int32))


def test_unknown_content_is_an_error_and_not_a_guess():
    with pytest.raises(UnknownContent, match="object"):
        content_hash(built(BASE, STEP=object()))
    with pytest.raises(UnknownContent, match="calls itself"):
        content_hash(built("def f(x):\n    return f(x - 1)\n"))


class Low(NamedTuple):
    a: int
    b: int


class High(NamedTuple):
    b: int
    a: int


def test_the_fields_of_a_named_tuple_are_part_of_a_signature():
    assert signature_text((typeof(Low(1, 2)),)) == signature_text((typeof(Low(3, 4)),))
    assert signature_text((typeof(Low(1, 2)),)) != signature_text((typeof(High(1, 2)),))
    nested = [signature_text((typeof(((kind(1, 2),) * 2, 5)),)) for kind in (Low, High)]
    assert nested[0] != nested[1]


@pytest.mark.parametrize("policy", policies.BUILT_IN, ids=lambda policy: policy.name)
def test_the_content_of_every_hook_is_known(policy):
    for hook in policy.hooks:
        assert len(content_hash(hook)) == 64
