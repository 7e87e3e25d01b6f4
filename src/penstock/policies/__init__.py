"""The policies: which rows to keep when the memory is full.

- `registry.py`: finds policies by name, those of other packages too; what `auto` and `advise` try.
- `baselines.py`: RAND, FIFO, LRU. `frequency.py`: PROB, LIFE, LFU. `lba.py`: LBA, ELBA.
- `age.py`, `clock.py`, `gdj.py`, `gdsf.py`, `hist.py`, `lhd.py`, `lirs.py`, `rate.py`,
  `s3fifo.py`, `sieve.py`, `wtinylfu.py`: one policy each.
- `heeb.py`: HEEB; `heeb_tables.py`: the tables it reads, made from models of the streams.
- `shared.py`: admission, and hooks that several policies have.

CONTRIBUTING.md says how to add one.
"""

from ..kernel.policy import Configured, Policy
from .registry import (
    AUTO,
    BUILT_IN,
    DEFAULT,
    choose,
    choose_on_executor,
    families,
    is_named,
    known,
    named,
    names,
    tried_by_advise,
    tried_by_auto,
)

__all__ = [
    "AUTO",
    "BUILT_IN",
    "DEFAULT",
    "Configured",
    "Policy",
    "choose",
    "choose_on_executor",
    "families",
    "is_named",
    "known",
    "named",
    "names",
    "tried_by_advise",
    "tried_by_auto",
]
