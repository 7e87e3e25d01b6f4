"""Put credentials into an address at the last moment, and keep them out of everything said."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import BadInput
from .dialects import Dialect, dialect_of
from .libpq import encoded
from .relation import Relation
from .variables import VARIABLE, filled, values

HIDDEN = "***"
LOGIN = ("user", "password")


class Address(NamedTuple):
    """An address with all that it takes to connect, and what of it must never be shown."""

    uri: str
    dialect: Dialect
    secrets: frozenset[str]

    def __repr__(self) -> str:
        return "Address(...)"


def address_of(relation: Relation) -> Address:
    """Return where to connect to, with the secrets of this machine's environment or provider."""
    whole = VARIABLE.fullmatch(relation.uri) is not None
    uri = filled(relation.uri, str if whole else encoded)
    dialect = dialect_of(uri)
    login = {} if relation.credentials is None else _login(relation.credentials())
    uri, secrets = dialect.complete(uri, login)
    return Address(uri, dialect, frozenset(secrets | values(relation.uri)))


def hide(text: str, secrets: set[str]) -> str:
    """Return a text without the secrets, in whatever form they are in it.

    >>> hide("bad password s3/cret, or s3%2Fcret, for u", {"s3/cret"})
    'bad password ***, or ***, for u'
    """
    forms = {form for secret in secrets if secret for form in (secret, encoded(secret))}
    for form in sorted(forms, key=len, reverse=True):  # a longer one may contain a shorter
        text = text.replace(form, HIDDEN)
    return text


def _login(given: Any) -> dict[str, str]:
    """Return the user and the password that a provider gave, as far as it did."""
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
