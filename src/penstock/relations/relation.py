"""A table or query of a database as a user describes it: where it is, which key, which columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import BadInput
from .dialects import dialect_of
from .libpq import VARIABLE

Provider = Callable[[], Mapping[str, str | None]]


@dataclass(frozen=True)
class Relation:
    """A table or query of a database, reached over ADBC.

        Relation("postgresql://app:${DB_PASSWORD}@db/shop", table="customers", key="id")

    Parameters:
        uri: postgresql://..., sqlite:///path or duckdb:///path. `${NAME}` stands for a variable of
            the environment, read wherever a connection is opened. A password itself is refused,
            and so is an address that cannot be read.
        table, query: one of them; a table as `name` or `schema.name`.
        key: the column that holds the key, or several; by default named as in the events.
        columns: what to fetch; by default all columns but the key.
        credentials: a function that returns {"user": ..., "password": ...}, called wherever a
            connection is opened; what it returns replaces what the uri says.
    """

    uri: str
    table: str | None = None
    query: str | None = None
    key: str | Sequence[str] | None = None
    columns: Sequence[str] | None = None
    credentials: Provider | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.uri, str) or not self.uri:
            raise BadInput(
                f"uri must be a text such as 'postgresql://...', got {type(self.uri).__name__}"
            )
        if not VARIABLE.fullmatch(self.uri):  # else it is read where that variable is
            dialect_of(self.uri).check(self.uri)
        if (self.table is None) == (self.query is None):
            raise BadInput("a relation is a table= or a query=, and exactly one of them")
        for name, value in (("table", self.table), ("query", self.query)):
            if value is not None and (not isinstance(value, str) or not value.strip(" ;\n")):
                raise BadInput(f"{name} must be a text, got {value!r}")
        if self.credentials is not None and not callable(self.credentials):
            raise BadInput(
                "credentials must be a function that returns user and password, got "
                f"{type(self.credentials).__name__}; values given here would travel with the plan"
            )
        object.__setattr__(self, "key", _names(self.key, "key"))
        object.__setattr__(self, "columns", _names(self.columns, "columns"))

    @property
    def name(self) -> str:
        """The name that messages give it."""
        return f"table {self.table!r}" if self.table else "the query's result"


def _names(given: str | Sequence[str] | None, argument: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise BadInput(f"{argument} must name a column or several, got {given!r}")
    if len(set(names)) < len(names):
        raise BadInput(f"{argument} must name each column once, got {given!r}")
    return names
