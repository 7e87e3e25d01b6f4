import numpy as np
import pytest
import statsmodels.api as sm

from penstock.models.model import regress


def test_the_same_as_statsmodels():
    random = np.random.default_rng(1)
    x = np.column_stack([np.ones(200), np.arange(200) * 1e5, random.normal(size=200)])
    y = x @ [3, 1e-4, -2] + random.normal(size=200)
    ours, theirs = regress(y, *x.T), sm.OLS(y, x).fit()
    assert ours.coefficient == pytest.approx(theirs.params, rel=1e-6)
    assert ours.error == pytest.approx(theirs.bse, rel=1e-6)
    assert ours.variance == pytest.approx(theirs.ssr / 200)
