"""The HTTP server of the monitor: the page, its data, and the metrics for Prometheus."""

import hmac
import ipaddress
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6, SHUT_RDWR
from socketserver import TCPServer
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from ..errors import BadInput
from ..extras import need
from .exposition import CONTENT_TYPE
from .live import Watched, data_of, live_page

HEADERS = {
    # A page may run its own script and ask this server; nothing else.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",  # the address may hold the token
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
SHORTEST = 16  # characters of a token
MOST, LONGEST = 64, 30.0  # clients at a time, and seconds that one may take
JSON, HTML, TEXT = "application/json", "text/html; charset=utf-8", "text/plain; charset=utf-8"


class Server:
    """Serves what `watched` returns from a thread of its own until it is stopped."""

    def __init__(
        self,
        watched: Callable[[], list[Watched]],
        exposition: Callable[[Sequence[Watched]], bytes],
        port: int = 0,
        host: str = "127.0.0.1",
        token: str | None = None,
    ):
        check_place(port, host, token)
        need("prometheus_client", "the monitor")
        answers: dict[str, Callable[[dict[str, list[str]]], tuple[str, bytes]]] = {
            "/": lambda _: (HTML, live_page().encode()),
            "/data.json": lambda asked: (JSON, _data(watched(), asked)),
            "/metrics": lambda _: (CONTENT_TYPE, exposition(watched())),
        }
        handler = type("Handler", (_Handler,), {"answers": answers, "token": token})
        try:
            self._server = _Threads(host, port, handler)
        except (OSError, TypeError) as error:  # TypeError: no text that could be a name
            why = getattr(error, "strerror", None) or "no such host"
            raise BadInput(
                f"the monitor cannot listen on {host}:{port}: {why}; host= is an address of this "
                "machine, and port=0 chooses a free port"
            ) from error
        self._host, self._token = host, token
        self._thread = Thread(target=self._server.serve_forever, name="penstock", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        host = f"[{self._host.strip('[]')}]" if ":" in self._host else self._host
        asked = "" if self._token is None else "?" + urlencode({"token": self._token})
        return f"http://{host}:{self._server.server_address[1]}/{asked}"

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Threads(ThreadingHTTPServer):
    """A thread for each client, of which few may be there at a time, and none for long."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_port = False  # the port of another monitor is taken

    def __init__(self, host: str, port: int, handler: type[BaseHTTPRequestHandler]):
        self._clients: dict[Any, float] = {}  # until when each may stay
        self.address_family = AF_INET6 if ":" in host else AF_INET
        super().__init__((host.strip("[]"), port), handler)

    def server_bind(self) -> None:
        """Listen; the base class would also ask the name service what this machine is called."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._clients) < MOST:
            self._clients[request] = monotonic() + LONGEST
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        self._clients.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Hang up on clients that take too long; called twice a second."""
        for request, end in self._clients.copy().items():
            if monotonic() > end:
                with suppress(OSError):
                    request.shutdown(SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone; the terminal is the program's."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def check_place(port: int, host: str, token: str | None) -> None:
    """Refuse what is no place, or would let others read along."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
        raise BadInput(f"port must be a whole number from 0 to 65535, got {port!r}")
    if not isinstance(host, str) or not host:
        raise BadInput(f"host must be a name or an address of this machine, got {host!r}")
    if token is not None and not (
        isinstance(token, str)
        and len(token) >= SHORTEST
        and token.isascii()
        and token.isprintable()
    ):
        raise BadInput(
            f"token must be a text of at least {SHORTEST} ASCII characters; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one"
        )
    if token is None and not _is_loopback(host):
        raise BadInput(
            f"host={host!r} lets others on the network read keys and figures, so it needs token=; "
            "pass one, or leave host at 127.0.0.1"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _data(watched: list[Watched], asked: dict[str, list[str]]) -> bytes:
    return json.dumps(data_of(watched, asked.get("query", [""])[0]), allow_nan=False).encode()


class _Handler(BaseHTTPRequestHandler):
    answers: dict[str, Callable[[dict[str, list[str]]], tuple[str, bytes]]]
    token: str | None
    server_version, sys_version = "penstock", ""

    def do_GET(self) -> None:
        try:
            parts = urlsplit(self.path)
            asked = parse_qs(parts.query)
            may_read = self._may_read(asked)
        except ValueError:  # an address or a host that is none
            self._send(400, TEXT, b"this is no address\n")
            return
        if not may_read:
            self._send(403, TEXT, b"pass the token of the monitor: ?token=... or a bearer token\n")
        elif parts.path not in self.answers:
            self._send(404, TEXT, b"there is /, /data.json and /metrics\n")
        else:
            try:
                kind, body = self.answers[parts.path](asked)
            except Exception as error:
                self._send(500, TEXT, f"the monitor failed: {error!r}\n".encode())
                raise  # what happened is on the terminal
            self._send(200, kind, body)

    do_HEAD = do_GET

    def _may_read(self, asked: dict[str, list[str]]) -> bool:
        """Tell whether the token is right; without one, whether this server was meant.

        A page of another site may have its own name point to this machine: it is refused.
        """
        if self.token is None:
            name = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            return _is_loopback(name)
        given = asked.get("token", [""])[0]
        header = self.headers.get("Authorization", "")
        if header.startswith("Bearer "):
            given = header.removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the program that runs the monitor owns the terminal."""
