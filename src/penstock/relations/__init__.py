"""Relations: rows by key from databases over ADBC, and from functions of the user's.

A user describes a `relation`; `sources` makes a source of it, a database, or of a function. A
database is asked over `sessions`, in the SQL of its `dialects`; addresses are read by `libpq`.
`fetching` asks for many keys, with timeouts and retries.
"""

from .fetching import Fetcher, Patience
from .relation import Relation
from .sources import Called, Database, RowSource, as_source

__all__ = ["Called", "Database", "Fetcher", "Patience", "Relation", "RowSource", "as_source"]
