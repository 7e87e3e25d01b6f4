"""Relations: rows by key from databases over ADBC, and from functions of the user's.

A user describes a `relation`; `sources` makes a source of it, or of a function. A `database` asks
over `sessions`, in the SQL of its `dialects`; addresses are read by `libpq`, and completed with
`secrets` where a connection is opened. `fetching` asks for many keys with `patience`.
"""

from .database import Database
from .fetching import Answer, Fetcher
from .patience import Patience
from .relation import Relation
from .sources import Called, Source, as_source

__all__ = [
    "Answer",
    "Called",
    "Database",
    "Fetcher",
    "Patience",
    "Relation",
    "Source",
    "as_source",
]
