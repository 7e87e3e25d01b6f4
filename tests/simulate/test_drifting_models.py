"""The models of the generated workloads are those that the generators follow."""

import numpy as np
import pytest

from papers.theory.sampling import sample
from penstock.models import Discrete, Now, Walk, log_likelihood
from penstock.simulate.drifting import drift, drift_models
from penstock.simulate.workloads import GENERATED, Generated
from tests.models.futures import assert_frequency
from tests.naive import models as naive

LENGTH = 4000


MODELLED = ("tower", "roof", "floor", "walk")


def models_of(name):
    return GENERATED[name].models()


def test_the_models_of_four_workloads_are_known():
    known = [name for name, workload in GENERATED.items() if workload.models is not None]
    assert known == list(MODELLED)
    assert len(Generated("tower").models) == 2
    assert Generated("zipf").models is None


@pytest.mark.parametrize("name", ["tower", "roof", "floor"])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("t", [0, 1, 50])
def test_the_chances_are_the_twins(name, side, t):
    law = naive.DRIFTS[name][side].law(t, None)
    values = np.arange(t - 30, t + 31)
    got = models_of(name)[side].prob(values, 1, Now(t - 1))
    assert got == pytest.approx([law.get(v, 0.0) for v in values], abs=1e-12)


@pytest.mark.parametrize("name", MODELLED)
@pytest.mark.parametrize("side", [0, 1])
def test_the_generators_follow_them(name, side):
    # how far each value is from where it was expected, counted and foretold
    model = models_of(name)[side]
    values = GENERATED[name].join(LENGTH, seed=5).key[side::2]
    time = np.arange(LENGTH)
    centre = np.append(0, values[:-1]) if isinstance(model, Walk) else time - (side == 0)
    for off in (-3, -1, 0, 1, 2):
        seen = (values - centre == off)[1:].mean()
        assert_frequency(seen, model.prob(off + centre[1], 1, Now(0, values[0])), LENGTH)
    assert np.isfinite(log_likelihood(model, values))  # nothing comes that could not


def test_a_walk_starts_at_zero():
    assert sample(models_of("walk")[1], 1, seed=3).tolist() == [0]


@pytest.mark.parametrize("lag", [0, 4, -2])
def test_every_drift_has_its_models(lag):
    options = {"noise_r": Discrete.uniform(2), "noise_s": Discrete.normal(2.5, bound=6)}
    trace = drift(300, seed=2, lag=lag, **options)
    for side, model in enumerate(drift_models(lag=lag, **options)):
        values = trace.key[side::2]
        assert np.isfinite(log_likelihood(model, values))
        assert (values - model.centre(np.arange(300))).mean() == pytest.approx(0, abs=0.5)
