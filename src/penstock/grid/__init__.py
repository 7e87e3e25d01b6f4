"""Many small pieces of work as one: cells in, what was found out, on all cores, resumable."""

from .cells import Given, Work, key_of, product
from .ledger import Ledger
from .pool import Pool, cores
from .run import run

__all__ = ["Given", "Ledger", "Pool", "Work", "cores", "key_of", "product", "run"]
