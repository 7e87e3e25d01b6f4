"""Read the addresses of PostgreSQL by the rules of libpq, which is what opens a connection.

Python's own parser of addresses follows other rules: to it `#` and `?` end a password, to libpq
they are part of it. An address is therefore read here once, option by option, and libpq is given
those options (`written`), not the text that they were read from.

No message of this module repeats any part of an address: what cannot be read may be a password.

Source: "Connection Strings" in the chapter on libpq of the manual of PostgreSQL 18.
Departures: stricter where a misplaced password would otherwise be taken for something else. A
second `@`, a port that is no number, white space and an unknown option are all refused.
"""

import re
from typing import NoReturn
from urllib.parse import quote, unquote_to_bytes

from ..errors import BadInput

VARIABLE = re.compile(r"\$\{(\w+)\}")  # of the environment, read where a connection is opened
SCHEMES = ("postgresql://", "postgres://")
SECRET = frozenset(
    ("password", "passfile", "sslpassword")
    + ("scram_client_key", "scram_server_key", "oauth_client_secret")
)
OPTIONS = SECRET | frozenset(
    ("application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname")
    + ("fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr")
    + ("keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname")
    + ("load_balance_hosts", "max_protocol_version", "min_protocol_version", "oauth_client_id")
    + ("oauth_issuer", "oauth_scope", "options", "port", "require_auth", "requirepeer", "service")
    + ("ssl_max_protocol_version", "ssl_min_protocol_version", "sslcert")
    + ("sslcertmode", "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslmode")
    + ("sslnegotiation", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout")
    + ("user",)
)
USER = re.compile(r"([^@/:]*)(?::([^@/]*))?@")  # libpq: up to the first @ that is before any /
PLACE = re.compile(r"(?:\[([^\]]+)\]|(?!\[)([^:/?,]*))(?::([^/?,]*))?(?=[/?,]|$)")
PORT = re.compile(rf"[0-9]{{0,5}}|{VARIABLE.pattern}")
SPACE = re.compile(r"[\x00-\x20\x7f]")
BROKEN = re.compile(r"%(?![0-9a-fA-F]{2})|%00")


def read(uri: str) -> list[tuple[str, str]]:
    """Return the options of an address in their order; a later one counts more than an earlier.

    >>> read("postgresql://app@h1:5433,h2/shop?sslmode=require")[:3]
    [('user', 'app'), ('host', 'h1,h2'), ('port', '5433,')]
    """
    scheme = next((scheme for scheme in SCHEMES if uri.startswith(scheme)), None)
    if scheme is None:
        _refuse("it does not begin with postgresql://")
    if SPACE.search(uri):
        _refuse("white space must be written %20")
    rest = uri[len(scheme) :]
    found = USER.match(rest)
    user, password = found.groups() if found else (None, None)
    rest = rest[found.end() :] if found else rest
    if "@" in rest:
        _refuse("an @ that is not the one behind the user must be written %40, a / there %2F")
    hosts, ports, rest = _places(rest)
    place, _, query = rest.partition("?")
    plain = [("user", user), ("password", password), ("host", hosts), ("port", ports)]
    plain.append(("dbname", place[1:]))
    options = [(name, _decoded(value)) for name, value in plain if value] + _query(query)
    for name, value in options:
        if name == "port" and not all(PORT.fullmatch(port) for port in value.split(",")):
            _refuse("a port is not a number")
    return options


def _places(rest: str) -> tuple[str, str, str]:
    """Return the hosts, their ports, and what follows; both may be lists with commas."""
    hosts, ports = [], []
    while True:
        found = PLACE.match(rest)
        if found is None:
            _refuse("a host cannot be read")
        bracketed, plain, port = found.groups()
        hosts.append(bracketed or plain)
        ports.append(port or "")
        rest = rest[found.end() :]
        if not rest.startswith(","):
            break
        rest = rest[1:]
    return ",".join(hosts), ",".join(ports) if any(ports) else "", rest


def _query(query: str) -> list[tuple[str, str]]:
    options = []
    for part in query.removesuffix("&").split("&") if query else ():
        name, equals, value = part.partition("=")
        if not equals or "=" in value:
            _refuse("behind the ? must be name=value, with & between, and = in a value as %3D")
        name, value = _decoded(name), _decoded(value)
        if (name, value) == ("ssl", "true"):  # as JDBC has it; libpq takes that too
            name, value = "sslmode", "require"
        if name not in OPTIONS:
            _refuse("behind the ? is an option that PostgreSQL's driver does not have")
        options.append((name, value))
    return options


def _decoded(text: str) -> str:
    if BROKEN.search(text):
        _refuse("a % is not followed by two hexadecimal digits, or stands for no character")
    return unquote_to_bytes(text.encode(errors="surrogateescape")).decode(errors="surrogateescape")


def _refuse(reason: str) -> NoReturn:
    raise BadInput(
        f"the uri of a relation cannot be read: {reason}; it is not shown here, since it may hold "
        "a password; write postgresql://user:${NAME}@host:port/database?option=value"
    )


def refuse_passwords(uri: str) -> None:
    """Refuse an address that holds a password in plain text: it would travel with the plan."""
    for name, value in read(uri):
        # `app%3Asecret@db` is a user to libpq, but was meant to be a user and a password.
        if (name in SECRET and VARIABLE.sub("", value)) or (name == "user" and ":" in value):
            raise BadInput(
                f"the uri of a relation must not hold a password (here in its {name}), which would "
                "travel with the plan; write ${NAME} and set that variable of the environment, or "
                "pass credentials="
            )


def written(options: dict[str, str]) -> str:
    """Return the address that has these options, each by its name.

    >>> written({"user": "app", "host": "::1", "password": "a/b"})
    'postgresql://?user=app&host=%3A%3A1&password=a%2Fb'
    """
    parts = (f"{name}={encoded(value)}" for name, value in options.items())
    return f"{SCHEMES[0]}?{'&'.join(parts)}"


def encoded(text: str) -> str:
    """Return a text as one part of an address, whatever it contains."""
    return quote(text, safe="", errors="surrogateescape")
