"""Credentials: put into an address when a connection is opened, and kept out of every message.

A user writes `${NAME}` for a variable of the environment, or passes a function that returns user
and password. Neither is read before the address is used.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import BadInput
from .dialects import Dialect, dialect_of
from .libpq import VARIABLE, encoded
from .relation import Relation

HIDDEN = "***"
LOGIN = ("user", "password")


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
