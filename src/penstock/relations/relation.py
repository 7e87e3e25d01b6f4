"""What a user says of a table in a database: where it is, which key, which columns."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from ..errors import BadInput

Provider = Callable[[], Mapping[str, str]]
PASSWORDS = ("password", "passwd", "pwd", "sslpassword")
VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class Relation:
    """A table or query of a database, reached over ADBC.

        Relation("postgresql://app:${DB_PASSWORD}@db/shop", table="customers", key="id")

    Parameters:
        uri: postgresql://..., sqlite:///path or duckdb:///path. `${NAME}` stands for a variable of
            the environment, read wherever a connection is opened. A password itself is refused.
        table, query: one of them; a table as `name` or `schema.name`.
        key: the column that holds the key, or several; by default named as in the events.
        columns: what to fetch; by default all columns but the key.
        credentials: a function that returns {"user": ..., "password": ...}, called wherever a
            connection is opened.
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
        _refuse_passwords(self.uri)
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
        """How messages call it."""
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


def _refuse_passwords(uri: str) -> None:
    """Refuse a password in plain text: it would travel with the plan."""
    plain = urlsplit(VARIABLE.sub("", uri))
    found = dict(parse_qsl(plain.query))
    if plain.password or any(found.get(name) for name in PASSWORDS):
        raise BadInput(
            "the uri of a relation must not hold a password, which would travel with the plan; "
            "write ${NAME} and set that variable of the environment, or pass credentials="
        )
