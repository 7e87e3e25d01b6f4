"""Parameters as text: what the policy's tests do not show."""

import re
from collections.abc import Sequence

import pytest

from penstock.errors import BadInput
from penstock.kernel.options import read_options, written_parameters


def rain(
    length: int,
    *,
    drops: int = 3,
    wind: float | None = 0.5,
    wet: bool = True,
    kind: str = "fine",
    names: Sequence[str] | None = None,
) -> None:
    """Stand for any generator."""


KNOWN = written_parameters(rain)


def test_what_can_be_written():
    assert list(KNOWN) == ["drops", "wind", "wet", "kind"]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", {}),
        ("drops=5", {"drops": 5}),
        ("wind=none,wet=no", {"wind": None, "wet": False}),
        (" kind = heavy , wind = 2 ", {"kind": "heavy", "wind": 2.0}),
    ],
)
def test_options_have_the_declared_types(text, options):
    read = read_options("workload 'rain'", text, KNOWN)
    assert read == options
    assert [type(value) for value in read.values()] == [type(v) for v in options.values()]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "length=5",
            "unknown parameter 'length' of workload 'rain'; known: drops, wind, wet, kind",
        ),
        ("drop=5", "unknown parameter 'drop' of workload 'rain'; did you mean 'drops'?"),
        ("drops=half", "parameter 'drops' of workload 'rain' must be of type int, got 'half'"),
        ("drops", "parameter 'drops' of workload 'rain' must be written key=value"),
    ],
)
def test_every_mistake_is_named(text, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        read_options("workload 'rain'", text, KNOWN)
