"""Relations that rows are fetched from by key: databases over ADBC, and functions of the user's."""

from .called import Called
from .database import Database
from .fetching import Answer, Fetcher
from .patience import Patience
from .relation import Relation
from .source import Source, as_source

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
