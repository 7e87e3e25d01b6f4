"""Models of streams: Pr(X_{t+d} = v | history), sampling, fitting, and the benefit of keeping."""

from .ar1 import Ar1
from .base import Model
from .benefit import caching, joining
from .fit import Candidate, Choice, best
from .history import Now
from .known import Known
from .noise import Discrete
from .record import Estimate, Fit, log_likelihood
from .seasonal import Seasonal
from .stationary import Stationary
from .support import support
from .trend import Trend
from .walk import Walk

__all__ = [
    "Ar1",
    "Candidate",
    "Choice",
    "Discrete",
    "Estimate",
    "Fit",
    "Known",
    "Model",
    "Now",
    "Seasonal",
    "Stationary",
    "Trend",
    "Walk",
    "best",
    "caching",
    "joining",
    "log_likelihood",
    "support",
]
