"""Caching reduced to joining: the same hits, the same ECB."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .heeb import caching_gains, ecb
from .models import Stationary, Trend, Walk, uniform
from .offline import lfd_hits, opt_join
from .reduction import as_join, ecb_by_futures, supplied_score
from .steps import cache_steps, join_steps

KEYS = st.lists(st.integers(0, 4), max_size=40)


def test_the_papers_streams():
    references, supply = as_join("abaca")
    assert references == [("a", 0), ("b", 0), ("a", 1), ("c", 0), ("a", 2)]
    assert supply == [("a", 1), ("b", 1), ("a", 2), ("c", 1), ("a", 3)]


@given(keys=KEYS)
def test_neither_stream_repeats_itself(keys):
    for stream in as_join(keys):
        assert len(set(stream)) == len(stream)


@given(keys=KEYS, memory=st.integers(1, 4), worth=st.permutations(range(5)))
def test_the_same_choices_give_the_same_results(keys, memory, worth):
    references, supply = as_join(keys)

    def score(v, history):
        return worth[v] * (1 + len(history) % 2) + history.count(v) / 100 + v / 1000

    joined = join_steps(references, supply, memory, supplied_score(score), warmup=0)
    assert joined == cache_steps(keys, memory, score, warmup=0)


@settings(max_examples=25)
@given(keys=st.lists(st.integers(0, 3), max_size=6), memory=st.integers(1, 2))
def test_the_optima_are_the_same(keys, memory):
    groups = [[(0, r), (1, s)] for r, s in zip(*as_join(keys), strict=True)]
    assert opt_join(groups, memory) == lfd_hits(keys, memory)


@pytest.mark.parametrize(
    "model",
    [
        Stationary({1: 0.5, 2: 0.3, 3: 0.2}),
        Trend(1, -2, uniform(1)),
        Walk({-1: 0.5, 1: 0.25, 2: 0.25}),
    ],
)
def test_corollary_1_follows_from_lemma_1(model):
    references = [1, 2, 1, 3]
    for v in (1, 2, 3):
        expected = ecb(caching_gains(model, v, 3, 3, 5))
        assert ecb_by_futures(model, v, references, 5) == pytest.approx(expected)
