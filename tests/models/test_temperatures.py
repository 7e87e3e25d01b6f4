"""Ten years of daily temperatures, the papers' real stream."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from penstock.models import Ar1, Seasonal, best

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
MELBOURNE = DATA / "temps" / "melbourne_daily_max_temperatures.csv"

pytestmark = pytest.mark.skipif(not MELBOURNE.exists(), reason=f"no {MELBOURNE}; set PENSTOCK_DATA")


@pytest.fixture(scope="module")
def tenths():
    with MELBOURNE.open(newline="") as file:
        return np.array([round(10 * float(row["Temperature"])) for row in csv.DictReader(file)])


def test_the_papers_autoregression(tenths):
    # Section 8 of the HEEB paper prints 0.72, 5.59 and 4.22; least squares gives 4.227.
    model = Ar1.fit(tenths).model
    assert round(model.phi1, 2) == 0.72
    assert (round(model.phi0 / 10, 2), round(model.sigma / 10, 2)) == (5.59, 4.23)


def test_the_year_explains_more(tenths):
    fit = best(tenths, period=365.25)
    assert isinstance(fit.model, Seasonal)
    assert len(fit.model.cosines) == 2
    assert (round(fit.model.phi, 2), round(fit.model.sigma / 10, 2)) == (0.44, 3.87)
    assert fit.bic < Ar1.fit(tenths).bic - 500


def test_the_year_is_found(tenths):
    assert Seasonal.fit(tenths).model.period == pytest.approx(365.25, rel=0.005)
