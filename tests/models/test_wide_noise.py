"""Lines in wide noise: the coarse table against the exact one."""

import numpy as np
import pytest

from penstock.kernel.gains import LOW, STEP
from penstock.models import Discrete, Trend, benefit
from penstock.models.benefit import Lasting, tabulate

LASTINGS = [Lasting("exp", 7.5), Lasting("exp", 300.0), Lasting("fixed", 100)]
NOISE = Discrete.normal(200, 600)


def read(table, layer, offset):
    place = np.floor((offset - table.numbers[LOW]) / table.numbers[STEP] + 0.5).astype(int)
    worth = table.worth[layer, 0, 0]
    inside = (place >= 0) & (place < len(worth))
    return np.where(inside, worth[np.clip(place, 0, len(worth) - 1)], 0.0)


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("slope", [0.37, -0.37, 2.0, -3.3, 15.5])
def test_coarse_as_exact(slope, caching, monkeypatch):
    model = Trend(slope, 2.25, NOISE)
    coarse = tabulate(model, LASTINGS, caching)
    monkeypatch.setattr(benefit, "WIDE_POINTS", len(NOISE.mass))
    exact = tabulate(model, LASTINGS, caching)
    assert len(exact.worth[0, 0, 0]) != len(coarse.worth[0, 0, 0])
    offsets = np.arange(-700, 700)
    for layer in range(len(LASTINGS)):
        expected = read(exact, layer, offsets)
        found = read(coarse, layer, offsets)
        assert found == pytest.approx(expected, abs=0.005 * expected.max())


def test_it_looks_ahead_until_the_line_has_passed():
    # Every value ahead of the noise is passed: 1 / slope steps a cell, each value once a step.
    noise = Discrete.uniform(5_000)
    table = tabulate(Trend(0.01, 0, noise), [Lasting("exp", 1e9)])
    ahead = read(table, 0, np.array([5_500, 8_000]))
    assert ahead == pytest.approx(100, rel=0.01)
    assert read(table, 0, np.array([0]))[0] == pytest.approx(50, rel=0.01)  # half has passed
    assert read(table, 0, np.array([-5_500]))[0] == 0


def test_a_table_does_not_grow_with_the_noise():
    sizes = {
        benefit.tabulate(Trend(0.1, 0, Discrete.uniform(bound)), LASTINGS).worth.size
        for bound in (100_000, 1_000_000)
    }
    assert max(sizes) <= 3 * (3 * benefit.WIDE_POINTS + 1)


@pytest.mark.parametrize(
    "lasting",
    [*LASTINGS, Lasting("inf"), Lasting("inv"), Lasting("fixed", 3)],
    ids=str,
)
def test_a_sum_over_steps(lasting):
    for first, last in ((0, 1), (0, 50), (3, 120), (99, 101)):
        expected = lasting.of(np.arange(first + 1, last + 1)).sum()
        assert lasting.between(first, last) == pytest.approx(expected, abs=1e-12)
