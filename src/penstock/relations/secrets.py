"""Put credentials into an address at the last moment, and keep them out of everything said."""

import os
from typing import NamedTuple
from urllib.parse import quote, urlsplit, urlunsplit

from ..errors import BadInput
from .relation import VARIABLE, Relation

HIDDEN = "***"


class Address(NamedTuple):
    """An address with all that it takes to connect, and what of it must never be shown."""

    uri: str
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return "Address(...)"

    def hide(self, text: str) -> str:
        """Return a text without the secrets.

        >>> Address("postgresql://u:s3cret@db/x", ("s3cret",)).hide("bad password s3cret for u")
        'bad password *** for u'
        """
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN).replace(quote(secret, safe=""), HIDDEN)
        return text


def address_of(relation: Relation) -> Address:
    """Return where to connect to, with the secrets of this machine's environment or provider."""
    found = {name: _variable(name) for name in VARIABLE.findall(relation.uri)}
    whole = VARIABLE.fullmatch(relation.uri)
    if whole:  # all of it is secret; the password in it is also said alone
        uri = found[whole.group(1)]
        secrets = [uri, urlsplit(uri).password or ""]
    else:
        uri = VARIABLE.sub(lambda match: quote(found[match.group(1)], safe=""), relation.uri)
        secrets = list(found.values())
    if relation.credentials is not None:
        given = relation.credentials()
        uri = _with_user(uri, given.get("user", ""), given.get("password", ""))
        secrets.append(given.get("password", ""))
    return Address(uri, tuple(secret for secret in secrets if secret))


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise BadInput(
            f"the uri of the relation names the variable {name}, which is not set in the "
            "environment here; set it for the driver and for the executors"
        )
    return value


def _with_user(uri: str, user: str, password: str) -> str:
    parts = urlsplit(uri)
    place = parts.netloc.rpartition("@")[2]
    who = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return urlunsplit(parts._replace(netloc=f"{who}@{place}"))
