"""How much memory to buy, and for which policy: curves from replayed samples, and the answer.

- `draw` plans which keys and stretches of time a sample holds; `sample` draws it from arrays and
  says what an exact join finds in it. `penstock.spark.advise` draws the same sample from frames.
- `replay` replays a sample under a policy, `curves` does so with several memories, `compiling`
  has kernels compiled meanwhile.
- `advise` goes from arrays or files to the `advice`, and `words` says it in sentences and tables.
"""

from .advice import Advice, Answer, Streams
from .advise import advise_join, advise_lookup
from .curves import Curve

__all__ = ["Advice", "Answer", "Curve", "Streams", "advise_join", "advise_lookup"]
