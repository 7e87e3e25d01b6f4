"""The HTTP server of the monitor: the page, its data, and the metrics for Prometheus."""

import hmac
import ipaddress
import json
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
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
            self._server = _Threads((host, port), handler)
        except OSError as error:
            raise BadInput(
                f"the monitor cannot listen on {host}:{port}: {error.strerror}; pass another port=,"
                " or port=0 for one that is free"
            ) from error
        self._host, self._token = host, token
        self._thread = Thread(target=self._server.serve_forever, name="penstock", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        asked = "" if self._token is None else "?" + urlencode({"token": self._token})
        return f"http://{host}:{self._server.server_address[1]}/{asked}"

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Threads(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False


def check_place(port: int, host: str, token: str | None) -> None:
    """Refuse what would let others read along."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 2**16:
        raise BadInput(f"port must be a whole number from 0 to 65535, got {port!r}")
    if token is not None and (not isinstance(token, str) or len(token) < SHORTEST):
        raise BadInput(
            f"token must be a text of at least {SHORTEST} characters; "
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
    timeout = 30  # seconds that a client may take to ask
    server_version, sys_version = "penstock", ""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = parse_qs(parts.query)
        if not self._may_read(asked):
            self._send(403, TEXT, b"pass the token of the monitor: ?token=... or a bearer token\n")
        elif parts.path not in self.answers:
            self._send(404, TEXT, b"there is /, /data.json and /metrics\n")
        else:
            self._send(200, *self.answers[parts.path](asked))

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
