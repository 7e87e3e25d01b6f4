"""How policies are found by name, and what `auto` and `advise` try."""

import re

import pytest

from penstock import policies
from penstock.errors import BadInput
from penstock.simulate import player


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lru", "lru"),
        ("  lru ", "lru"),
        ("lru:", "lru"),
        ("gdj: percentile = 0.5 ,", "gdj:percentile=0.5"),
        ("gdj:percentile=auto", "gdj:percentile=auto"),
        ("heeb:form=hist, buckets=12", "hist:buckets=12"),
    ],
)
def test_a_policy_is_asked_for_by_name_and_parameters(text, found):
    assert str(policies.choose(text)) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sive", "unknown policy 'sive'; did you mean 'sieve'? Known: rand, fifo"),
        ("LRU", "unknown policy 'LRU'; did you mean 'lru'?"),
        ("xyz", "unknown policy 'xyz'; known: rand, fifo"),
        ("", "unknown policy ''; known: rand"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(text, sentence):
    with pytest.raises(BadInput, match=f"^{re.escape(sentence)}"):
        policies.choose(text)


def test_auto_tries_the_same_policies_in_the_same_order_as_ever():
    assert [list(map(str, each)) for each in policies.families("joining", True, True)] == [
        ["rate"],
        ["prob"],
        ["lba"],
        ["clock:rho=0.5"],
        ["lru"],
        ["heeb"],
    ]
    assert [str(each[0]) for each in policies.families("caching", True, False)] == [
        *("s3fifo", "lru", "lfu", "wtinylfu", "lirs")
    ]
    rows_differ = policies.families("caching", True, False, weighed=True)
    assert [str(each[0]) for each in rows_differ][-2:] == ["lirs", "gdsf"]


def test_advise_tries_the_cheap_policies_first_and_auto_last():
    assert policies.tried_by_advise("joining") == [
        *("clock", "fifo", "lru", "sieve", "s3fifo", "rand", "wtinylfu", "lhd"),
        *("gdj:percentile=0.1", "prob", "life", "lba", "rate", "auto"),
    ]
    assert policies.tried_by_advise("caching") == [
        *("clock", "lru", "fifo", "sieve", "s3fifo", "wtinylfu", "lirs", "lhd", "lfu", "rand"),
        *("rate", "auto"),
    ]


def test_the_names_of_simulated_policies_are_reserved():
    assert {policy.name for policy in player.SIMULATED} == set(policies.SIMULATED)
