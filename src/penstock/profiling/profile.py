"""Everything about one stream of keys in one record."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import BadInput
from ..numeric import Ints
from .bursts import Bursts, bursts
from .distance import Distances, distances
from .entropy import Entropy, conditional, unconditional
from .horizon import LONGEST, Horizon, horizon
from .likelihood import fit_likelihood
from .links import permuted, previous
from .locality import Weights, check_h
from .popularity import Popularity, fit_zipf
from .ranks import rank_keys
from .reuse import Reuse, reuse
from .sampled import SampledDistances, SampledReuse, Sampling
from .squares import fit_squares
from .stretches import whole

POINTS = 60  # of a curve in a report
SHORT = 4  # without an h given, at most a part of 1 / SHORT of the stream is looked back on


@dataclass(frozen=True, eq=False)
class Profile:
    """What a stream is like."""

    name: str
    popularity: Popularity
    distances: Distances | SampledDistances
    permuted: Distances | SampledDistances  # of a random permutation of the same tuples
    reuse: Reuse | SampledReuse
    horizon: Horizon
    likelihood: Weights  # the locality model for the h asked for, or the h that suffices
    squares: Weights  # the same by the paper's least squares
    permuted_b: float  # the likeliest b of the permutation; near 1, but for chance
    entropy: Entropy
    bursts: Bursts | None  # None: no times are known
    sampling: Sampling | None = None  # None: every tuple was looked at
    skipped: int = 0  # tuples that have no key or no time, and are no part of the profile

    @property
    def length(self) -> int:
        """How many tuples there are."""
        return self.reuse.total

    @property
    def keys(self) -> int:
        """How many different keys there are."""
        return self.popularity.keys

    def to_json(self) -> dict[str, Any]:
        """Return the profile as plain numbers, texts, lists and dictionaries."""
        ranks, places = spread(self.keys), spread(self.length - 1)
        sizes = spread(self.keys)
        report = {
            "name": self.name,
            "tuples": self.length,
            "keys": self.keys,
            "popularity": {
                "zipf": {
                    "exponent": self.popularity.exponent.value,
                    "error": self.popularity.exponent.error,
                    "misfit": self.popularity.misfit,
                },
                "rank": ranks.tolist(),
                "share": self.popularity.share(ranks).tolist(),
            },
            "distance": {
                "median": {"stream": self.distances.median, "permuted": self.permuted.median},
                "k": places.tolist(),
                "stream": self.distances.within(places).tolist(),
                "permuted": self.permuted.within(places).tolist(),
            },
            "lru": {
                "size": sizes.tolist(),
                "hit_ratio": self.reuse.hit_ratio(sizes).tolist(),
                "size_for_90_percent": self.reuse.size_for(0.9),
            },
            "locality": {
                "h": self.likelihood.h,
                "likelihood": {"a": self.likelihood.a.tolist(), "b": self.likelihood.b},
                "least_squares": {"a": self.squares.a.tolist(), "b": self.squares.b},
                "permuted_b": self.permuted_b,
            },
            "horizon": {
                "h": list(self.horizon.h),
                "b": self.horizon.b(),
                "b_least_squares": [each.b for each in self.horizon.squares],
                "suffices": self.horizon.advice,
                "settled": self.horizon.settled,
            },
            "entropy_bits": {
                "popularity": self.entropy.popularity,
                "stream": self.entropy.stream,
                "permuted": self.entropy.permuted,
            },
            "bursts": None if self.bursts is None else _bursts_json(self.bursts),
        }
        if self.skipped:
            report["skipped"] = self.skipped
        if self.sampling is not None:
            report["sample"] = self.sampling.to_json(
                self.distances.error(places), self.reuse.error(sizes)
            )
        return report


def profile(
    keys: ArrayLike,
    times: ArrayLike | None = None,
    *,
    h: int | None = None,
    seed: int = 0,
    name: str = "stream",
    progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Return the profile of a stream.

    keys: one for each tuple, of any kind; they are replaced by their ranks of popularity.
    times: when the tuples came, never going back: numbers or timestamps.
    h: how many tuples the locality model looks back on; None: as many as suffice.
    seed: of the permutation, and of the order among equally popular keys.
    progress: is told how many of how many fits are done; they take most of the time.

    >>> from .locality import Locality
    >>> stream = Locality([0.2, 0.2, 0.2], 0.4, np.full(50, 0.02)).sample(20_000, seed=1)
    >>> found = profile(stream)
    >>> found.keys, found.likelihood.h, round(found.likelihood.b, 1), round(found.permuted_b, 1)
    (50, 3, 0.4, 1.0)
    """
    rank, count = rank_keys(keys, seed)
    if times is not None and len(np.asarray(times)) != len(rank):
        raise BadInput(
            f"there must be as many times as keys, got {len(np.asarray(times))} and {len(rank)}"
        )
    if h is not None:
        check_h(h, len(rank))
    before = previous(rank)
    longest = max(h or 0, min(LONGEST, max(1, len(rank) // SHORT)))
    seen = horizon(rank, longest, before, progress)
    h = seen.advice if h is None else h
    mixed = permuted(rank, seed)
    mixed_before = previous(mixed)
    known = dict(zip(seen.h, seen.likelihood))
    weights = known[h] if h in known else fit_likelihood(rank, h, before)
    mixed_weights = fit_likelihood(mixed, h, mixed_before)
    return Profile(
        name=name,
        popularity=fit_zipf(count),
        distances=distances(rank, before),
        permuted=distances(mixed, mixed_before),
        reuse=reuse(rank, before),
        horizon=seen,
        likelihood=weights,
        squares=fit_squares(rank, h),
        permuted_b=mixed_weights.b,
        entropy=Entropy(
            unconditional(count),
            conditional(whole(rank, before), weights),
            conditional(whole(mixed, mixed_before), mixed_weights),
        ),
        bursts=_bursts(times),
    )


def spread(last: int, points: int = POINTS) -> Ints:
    """Return whole numbers from 1 to the last, evenly spread on a scale of logarithms.

    >>> spread(1000, points=7).tolist()
    [1, 3, 10, 32, 100, 316, 1000]
    """
    return np.unique(np.rint(np.geomspace(1, max(last, 1), points)).astype(np.int64))


def _bursts(times: ArrayLike | None) -> Bursts | None:
    """Return the bursts; a clock that never moved tells of none."""
    if times is None or np.asarray(times)[0] == np.asarray(times)[-1]:
        return None
    return bursts(times)


def _bursts_json(found: Bursts) -> dict[str, Any]:
    return {
        "span": found.span,
        "rate": found.rate,
        "scales": [scale._asdict() for scale in found.scales],
    }
