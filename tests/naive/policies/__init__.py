"""The policies' twins, by name."""

from functools import partial

from ..join import TWO_WAY
from .age import Age
from .clock import Clock
from .fifo import Fifo
from .gdj import Gdj
from .gdsf import Gdsf
from .heeb import HeebBeforeItKnows
from .hist import Hist
from .lba import Lba
from .lfu import Lfu
from .lhd import Lhd
from .life import Life
from .lirs import Lirs
from .lru import Lru
from .prob import Prob
from .rand import Rand
from .rate import Rate
from .s3fifo import S3Fifo
from .sieve import Sieve
from .wtinylfu import WTinyLfu

ALL = {
    "rand": Rand,
    "fifo": Fifo,
    "lru": Lru,
    "lfu": Lfu,
    "prob": Prob,
    "life": Life,
    "age": Age,
    "clock": Clock,
    "gdj": Gdj,
    "gdsf": Gdsf,
    "sieve": Sieve,
    "s3fifo": S3Fifo,
    "wtinylfu": WTinyLfu,
    "lirs": Lirs,
    "lhd": Lhd,
    "hist": Hist,
    "heeb": HeebBeforeItKnows,
    "lba": Lba,
    "elba": Lba,
    "rate": Rate,
}


def factory(name, joins=TWO_WAY, **params):
    """Return what the engines call, with (seed, budget), to make the policy of a lane."""
    return partial(ALL[name], joins=joins, **params)
