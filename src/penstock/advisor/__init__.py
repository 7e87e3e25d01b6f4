"""How much memory to buy, and for which policy: curves by miniatures, and the answer."""

from .advice import Advice, Answer, Streams
from .advise import advise_join, advise_lookup
from .curves import Curve

__all__ = ["Advice", "Answer", "Curve", "Streams", "advise_join", "advise_lookup"]
