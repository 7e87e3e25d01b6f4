"""Models of streams: Pr(X_{t+d} = v | history), fits, and the benefit of keeping a row.

- `model.py`: what every model offers, and what their fits share.
- `cells.py`: whole numbers, and distributions of them.
- `independent.py`: `Stationary` and `Trend`.
- `walk.py`: `Walk`. `autoregression.py`: `Ar1` and `Seasonal`.
- `choice.py`: `best` chooses the family of a stream.
- `benefit.py`: what HEEB needs, how long rows are held and tables of their benefit.
"""

from .autoregression import Ar1, Seasonal
from .cells import Discrete
from .choice import best
from .independent import Stationary, Trend
from .model import Model, Now, log_likelihood
from .walk import Walk

__all__ = [
    "Ar1",
    "Discrete",
    "Model",
    "Now",
    "Seasonal",
    "Stationary",
    "Trend",
    "Walk",
    "best",
    "log_likelihood",
]
