"""Models of streams: Pr(X_{t+d} = v | history), samples, fits, and the benefit of keeping a row.

`model.py` says what every model offers. The families are `Stationary`, `Trend`, `Walk`, `Ar1` and
`Seasonal`; `Known` is the certain future; `best` chooses the family of a stream. `benefit.py` and
`curves.py` compute what HEEB needs: the benefit of keeping a row, and tables of it.
"""

from .ar1 import Ar1
from .benefit import caching
from .choice import best
from .fitting import log_likelihood
from .known import Known
from .model import Model, Now
from .noise import Discrete
from .seasonal import Seasonal
from .stationary import Stationary
from .support import support
from .trend import Trend
from .walk import Walk

__all__ = [
    "Ar1",
    "Discrete",
    "Known",
    "Model",
    "Now",
    "Seasonal",
    "Stationary",
    "Trend",
    "Walk",
    "best",
    "caching",
    "log_likelihood",
    "support",
]
