"""The address of a broker, and the credentials for it."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ...errors import BadInput

PORTS = {"mqtt": 1883, "mqtts": 8883}
USER, PASSWORD = "PENSTOCK_MQTT_USER", "PENSTOCK_MQTT_PASSWORD"


@dataclass(frozen=True)
class Broker:
    """The address of a broker, and credentials that are never shown.

    ca: a file with the certificates to trust, instead of those that the machine trusts.
    certificate, private_key: files that prove our identity, where the broker asks for that.
    """

    host: str = "localhost"
    port: int = 1883
    tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca: str | None = None
    certificate: str | None = None
    private_key: str | None = None

    def __str__(self) -> str:
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    def context(self) -> ssl.SSLContext:
        """Return the settings of TLS: the broker's certificate is always checked."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.private_key)
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(filter(None, (self.ca, self.certificate, self.private_key)))
            raise BadInput(f"the certificates in {files} cannot be read: {error}") from None
        return context


def find_broker(
    address: str,
    *,
    user: str | None = None,
    password_file: str | None = None,
    ca: str | None = None,
    certificate: str | None = None,
    private_key: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> Broker:
    """Return the broker at an address; secrets come from the environment or from a file.

    >>> find_broker("mqtts://broker.example", user="me", environment={})
    Broker(host='broker.example', port=8883, tls=True, user='me', ...)
    """
    environment = os.environ if environment is None else environment
    host, port, tls = _parse(address)
    if not tls and (ca or certificate or private_key):
        raise BadInput(f"certificates are for mqtts:// addresses, got {address}")
    if private_key and not certificate:
        raise BadInput("a private key needs its certificate; name that too")
    user = user or environment.get(USER)
    password = _read(password_file) if password_file else environment.get(PASSWORD)
    if password and not user:
        raise BadInput(f"a password needs its user; name one, or set {USER}")
    return Broker(host, port, tls, user, password, ca, certificate, private_key)


def _parse(address: str) -> tuple[str, int, bool]:
    """Split an address.

    >>> _parse("localhost:1884")
    ('localhost', 1884, False)
    """
    parts = urlsplit(address if "://" in address else f"mqtt://{address}")
    if parts.username or parts.password:
        raise BadInput(
            "the address of a broker must not hold a user or a password, which others could see;"
            f" set {USER} and {PASSWORD}, or name a file"
        )
    try:
        port = parts.port
    except ValueError:
        port = 0
    rest = parts.path.strip("/") + parts.query + parts.fragment
    if parts.scheme not in PORTS or not parts.hostname or port == 0 or rest:
        raise BadInput(
            "the address of a broker must read like mqtt://localhost:1883 or mqtts://HOST,"
            f" got {address!r}"
        )
    return parts.hostname, port or PORTS[parts.scheme], parts.scheme == "mqtts"


def _read(file: str) -> str:
    try:
        return Path(file).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"the password file {file} cannot be read: {said}") from None
