"""Tables of H against the sum that defines it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.theory.heeb import direct
from penstock.errors import BadInput
from penstock.kernel.gains import LEVEL, LOW, PERIOD, SLOPE, STATIONARY, STEP, X_LOW, X_STEP
from penstock.models import Ar1, Discrete, Now, Seasonal, Stationary, Trend, Walk
from penstock.models.benefit import Lasting, tabulate
from tests.models.known import Known

EXP = [Lasting("exp", alpha) for alpha in (1.0, 7.5, 40.0)]
ENDLESS = [Lasting("inf"), Lasting("inv")]
FIXED = [Lasting("fixed", 1), Lasting("fixed", 9)]


def on_curve(table, layer, offset):
    """Read a curve at a distance from the line or the last value."""
    place = round((offset - table.numbers[LOW]) / table.numbers[STEP])
    worth = table.worth[layer, 0, 0]
    return worth[place] if 0 <= place < len(worth) else 0.0


@pytest.mark.parametrize("caching", [False, True])
@pytest.mark.parametrize("slope", [1, -2, 3])
def test_a_line_of_whole_numbers(slope, caching):
    model = Trend(slope, 5, Discrete.normal(2, 6))
    time = 17
    for lastings in (EXP, EXP + FIXED):  # neighbour by neighbour, and step by step
        check_line(model, tabulate(model, lastings, caching), lastings, time, caching)


def check_line(model, table, lastings, time, caching):
    values = np.arange(-40, 120)
    for layer, lasting in enumerate(lastings):
        expected = direct(model, values, Now(time), lasting, caching=caching)
        line = table.numbers[LEVEL] + table.numbers[SLOPE] * time
        found = [on_curve(table, layer, value - line) for value in values]
        assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("caching", [False, True])
def test_a_line_between_whole_numbers(caching):
    model = Trend(0.37, 2.25, Discrete.normal(3, 9))
    table = tabulate(model, EXP, caching)
    for time in (0, 5, 100):
        line = table.numbers[LEVEL] + table.numbers[SLOPE] * time
        values = np.arange(int(line) - 12, int(line) + 40)
        for layer, lasting in enumerate(EXP):
            expected = direct(model, values, Now(time), lasting, caching=caching)
            found = [on_curve(table, layer, value - line) for value in values]
            # A line is known to an eighth of a cell, so a step may round to the next one.
            assert found == pytest.approx(expected, abs=0.02 * max(expected))


def test_no_slope_is_a_stationary_stream():
    table = tabulate(Trend(0, 3, Discrete.uniform(1)), FIXED)
    assert table.form == STATIONARY
    assert table.keys.tolist() == [2, 3, 4]
    assert table.worth[1, 0, 0] == pytest.approx([3, 3, 3])


@pytest.mark.parametrize("caching", [False, True])
def test_a_walk(caching):
    model = Walk.normal(drift=0.4, sd=1.5)
    lastings = EXP[:2] + FIXED
    values = np.arange(-15, 30)
    for group in (lastings[:2], lastings):  # all exponential, and not
        table = tabulate(model, group, caching)
        for layer, lasting in enumerate(group):
            expected = direct(model, values, Now(3, 4), lasting, caching=caching)
            found = [on_curve(table, layer, value - 4) for value in values]
            assert found == pytest.approx(expected, abs=1e-7)


def test_left_and_right_of_a_symmetric_walk_tie_exactly():
    worth = tabulate(Walk.normal(drift=0, sd=1), EXP).worth[:, 0, 0]
    assert (worth == worth[:, ::-1]).all()
    right = worth[:, worth.shape[1] // 2 :]
    assert (np.diff(right) <= 0).all()


@pytest.mark.parametrize("caching", [False, True])
def test_a_surface(caching):
    model = Ar1(phi0=55.9, phi1=0.72, sigma=42.3)
    lastings = EXP if not caching else [*EXP, Lasting("fixed", 9)]
    table = tabulate(model, lastings, caching)
    x = table.numbers[X_LOW] + table.numbers[X_STEP] * np.arange(table.worth.shape[2])
    v = table.numbers[LOW] + table.numbers[STEP] * np.arange(table.worth.shape[3])
    for layer, lasting in enumerate(lastings):
        for row in (25, 40, 60):
            cells = np.rint(v[100:300:7])
            expected = direct(model, cells, Now(0, x[row]), lasting, caching=caching)
            found = np.interp(cells, v, table.worth[layer, 0, row])
            assert found == pytest.approx(expected, abs=0.005 * max(expected))


def test_a_season():
    model = Seasonal(52, mean=40, cosines=[12], sines=[4], phi=0.5, sigma=6)
    lastings = EXP[1:]
    table = tabulate(model, lastings)
    phases = table.worth.shape[1]
    assert (phases, table.numbers[PERIOD]) == (52, 52)
    v = table.numbers[LOW] + table.numbers[STEP] * np.arange(table.worth.shape[3])
    for layer, lasting in enumerate(lastings):
        for phase in (0, 13, 40):
            off = table.numbers[X_LOW] + table.numbers[X_STEP] * 8
            here = model.season(phase) + off
            cells = np.rint(v[20:110:5])
            expected = direct(model, cells, Now(phase, here), lasting)
            found = np.interp(cells, v, table.worth[layer, phase, 8])
            assert found == pytest.approx(expected, abs=0.01 * max(expected))


def test_a_season_of_references_is_near_to_first_visits():
    model = Seasonal(52, mean=40, cosines=[12], sines=[4], phi=0.5, sigma=6)
    lasting = Lasting("exp", 15)
    table = tabulate(model, [lasting], caching=True)
    v = table.numbers[LOW] + table.numbers[STEP] * np.arange(table.worth.shape[3])
    cells = np.rint(v[30:100:10])
    off = table.numbers[X_LOW] + table.numbers[X_STEP] * 6
    expected = direct(
        model, cells, Now(10, model.season(10) + off), lasting, caching=True, horizon=150
    )
    found = np.interp(cells, v, table.worth[0, 10, 6])
    # Visits are taken as independent of each other, which they nearly are: a cell is narrow.
    assert found == pytest.approx(expected, abs=0.05 * max(expected))


@given(st.lists(st.integers(1, 9), min_size=2, max_size=6), st.floats(0.5, 50))
def test_a_stationary_stream(weights, alpha):
    p = np.array(weights) / sum(weights)
    model = Stationary(np.arange(len(p)) * 3, p)
    lastings = [Lasting("exp", alpha), Lasting("fixed", 7), *ENDLESS]
    caching = tabulate(model, lastings, caching=True).worth[:, 0, 0]
    z = np.exp(-1 / alpha)
    assert caching[0] == pytest.approx(p * z / (1 - (1 - p) * z))
    assert caching[1] == pytest.approx(1 - (1 - p) ** 7)
    assert caching[2] == pytest.approx(np.ones(len(p)), abs=1e-6)
    assert caching[3] == pytest.approx(-p * np.log(p) / (1 - p), abs=1e-6)
    joining = tabulate(model, lastings[:2]).worth[:, 0, 0]
    assert joining[0] == pytest.approx(p * z / (1 - z), rel=1e-6)
    assert joining[1] == pytest.approx(7 * p)


def test_what_has_no_table():
    with pytest.raises(BadInput, match="L must be exp or fixed for joining"):
        tabulate(Stationary([1, 2], [0.5, 0.5]), ENDLESS)
    with pytest.raises(BadInput, match=r"needs a model of kind Stationary, .* got Known"):
        tabulate(Known([1, 2, 3]), EXP)
