"""Many continuations of one history, to count what a model says about them."""

import numpy as np

from papers.theory.sampling import sample


def futures(model, history, steps, runs=3000):
    """One continuation a row: [runs, steps]."""
    return np.array([sample(model, steps, seed, history) for seed in range(runs)])


def assert_frequency(seen, probability, runs):
    """Frequencies must lie within five standard errors of probabilities, and a count of two."""
    probability = np.asarray(probability)
    allowed = 5 * np.sqrt(probability * (1 - probability) / runs) + 2 / runs
    assert (np.abs(np.asarray(seen) - probability) <= allowed).all()
