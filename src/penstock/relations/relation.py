"""A table or query of a database as a user describes it, and the address that it is reached at.

Credentials are put into an address when a connection is opened, and kept out of every message. A
user writes `${NAME}` for a variable of the environment, or passes a function that returns user and
password. Neither is read before the address is used.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..errors import BadInput
from .dialects import Dialect, dialect_of
from .libpq import VARIABLE, encoded

HIDDEN = "***"
LOGIN = ("user", "password")
Provider = Callable[[], Mapping[str, str | None]]


@dataclass(frozen=True)
class Relation:
    """A table or query of a database, reached over ADBC.

        Relation("postgresql://app:${DB_PASSWORD}@db/shop", table="customers", key="id")

    Parameters:
        uri: postgresql://..., sqlite:///path or duckdb:///path. `${NAME}` stands for a variable of
            the environment, read wherever a connection is opened. A password itself is refused,
            and so is an address that cannot be read.
        table: `name` or `schema.name`; or
        query: what takes the place of a table. Exactly one of the two is given.
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


# ------------------------------------------------------------ the address, and its secrets


class Address(NamedTuple):
    """A complete address to connect to, and the parts of it that must never be shown."""

    uri: str
    dialect: Dialect
    secrets: frozenset[str]

    def __repr__(self) -> str:
        return "Address(...)"


def address_of(relation: Relation) -> Address:
    """Return the address to connect to, with secrets of the environment here or of the provider."""
    whole = VARIABLE.fullmatch(relation.uri) is not None
    uri = filled(relation.uri, str if whole else encoded)
    dialect = dialect_of(uri)
    login = {} if relation.credentials is None else _login(relation.credentials())
    uri, secrets = dialect.complete(uri, login)
    return Address(uri, dialect, frozenset(secrets | values(relation.uri)))


def hide(text: str, secrets: set[str]) -> str:
    """Return a text without the secrets, whether they are encoded in it or not.

    >>> hide("bad password s3/cret, or s3%2Fcret, for u", {"s3/cret"})
    'bad password ***, or ***, for u'
    """
    forms = {form for secret in secrets if secret for form in (secret, encoded(secret))}
    for form in sorted(forms, key=len, reverse=True):  # a longer one may contain a shorter
        text = text.replace(form, HIDDEN)
    return text


def _login(given: Any) -> dict[str, str]:
    """Return the user and the password that a provider returned; it may leave out either."""
    if not isinstance(given, Mapping) or not given or set(given) - set(LOGIN):
        kind = "other names" if isinstance(given, Mapping) and given else type(given).__name__
        raise BadInput(
            "credentials= must be a function that returns user, password or both by these names, "
            f"as in {{'user': ..., 'password': ...}}; it returned {kind}"
        )
    login = {name: value for name, value in given.items() if value or name == "user"}
    for name, value in login.items():
        if not isinstance(value, str) or not value or "\0" in value:
            kind = "one that cannot be sent" if isinstance(value, str) else type(value).__name__
            raise BadInput(
                f"credentials= must return the {name} as a text, got {kind}; leave {name} out to "
                "connect with that of the uri"
            )
    return login


def filled(text: str, encode: Callable[[str], str]) -> str:
    """Return a text with the values of its variables in their places.

    >>> os.environ["SHOP"] = "a b"
    >>> filled("postgresql://db/${SHOP}", lambda value: value.replace(" ", "%20"))
    'postgresql://db/a%20b'
    """
    return VARIABLE.sub(lambda match: encode(_value(match.group(1))), text)


def values(text: str) -> set[str]:
    """Return the values of a text's variables, as far as they are set."""
    return {os.environ[name] for name in VARIABLE.findall(text) if name in os.environ}


def _value(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise BadInput(
            f"the uri of the relation names the variable {name}, which is not set in the "
            "environment here; set it for the driver and for the executors"
        )
    return value
