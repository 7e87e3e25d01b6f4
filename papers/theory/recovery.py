"""Which estimator recovers known parameters better: streams drawn from the model, both fits.

python -m papers.theory.recovery
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from penstock.numeric import Ints
from penstock.profile.locality import Locality, Weights, fit_likelihood, least_squares
from penstock.profile.ranked import rank_keys, whole
from penstock.simulate.skewed import popularity


def fit_squares(rank: Ints, h: int) -> Weights:
    """Return the least-squares estimate of a and b of a whole stream; ranks start from 0.

    >>> stream = Locality([0.5], 0.5, [0.4, 0.3, 0.2, 0.1]).sample(20_000, seed=1)
    >>> round(fit_squares(stream, h=1).b, 1)
    0.5
    """
    return least_squares(whole(rank), [h])[0]


ESTIMATORS: dict[str, Callable[..., Weights]] = {
    "least squares": fit_squares,
    "likelihood": fit_likelihood,
}


@dataclass(frozen=True)
class Recovery:
    """How far an estimator was off, root mean square over the runs."""

    estimator: str
    b: float
    a: float  # the a_j taken together: the length of the difference of the vectors


def recover(model: Locality, length: int, seeds: Iterable[int]) -> list[Recovery]:
    """Draw streams from the model and say how far each estimator is from the truth.

    >>> model = Locality([0.2, 0.2], 0.6, popularity(100, alpha=1))
    >>> squares, likelihood = recover(model, 10_000, seeds=[1, 2, 3])
    >>> squares.b > likelihood.b, likelihood.b < 0.02
    (True, True)
    """
    streams = [rank_keys(model.sample(length, seed)).rank for seed in seeds]
    found = []
    for name, fit in ESTIMATORS.items():
        each = [fit(stream, len(model.a)) for stream in streams]
        b = np.mean([(weights.b - model.b) ** 2 for weights in each])
        a = np.mean([((weights.a - model.a) ** 2).sum() for weights in each])
        found.append(Recovery(name, float(np.sqrt(b)), float(np.sqrt(a))))
    return found


def main() -> None:
    """Print how far both estimators are off, for several models and lengths."""
    print(f"{'keys':>7}{'zipf':>6}{'h':>4}{'b':>6}{'tuples':>9}  estimator      error of b   of a")
    for keys, alpha, h, b in [(500, 1.0, 5, 0.4), (10_000, 1.0, 5, 0.4), (500, 0.0, 5, 0.4),
                              (500, 1.0, 20, 0.4), (500, 1.0, 5, 0.9)]:  # fmt: skip
        a = (1 - b) * popularity(h, alpha=1)
        for length in (2_000, 20_000, 200_000):
            model = Locality(a, 1 - a.sum(), popularity(keys, alpha))
            for each in recover(model, length, range(5)):
                print(
                    f"{keys:>7}{alpha:>6}{h:>4}{b:>6}{length:>9}  {each.estimator:<14}"
                    f"{each.b:>11.4f}{each.a:>9.4f}"
                )


if __name__ == "__main__":
    main()
