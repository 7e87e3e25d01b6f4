"""A real Chromium, driven by the WebDriver protocol over plain HTTP on the loopback.

The protocol is a dozen JSON calls, of which the tests need seven: hardly worth a client library and
the six packages that it brings along.
"""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic",
    "--disable-dev-shm-usage", "--hide-scrollbars",
]  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120  # seconds, on a busy machine


def missing() -> str:
    """Say what is not installed; empty if all is there."""
    if not any(map(shutil.which, BROWSERS)):
        return "no Chromium; `make programs` installs it where it may"
    if not shutil.which("chromedriver"):
        return "no chromedriver; `make programs` installs it where it may"
    return ""


class Browser:
    """One window."""

    def __init__(self, address: str, arguments: list[str]):
        self.address = address
        binary = next(filter(None, map(shutil.which, BROWSERS)))
        options = {"binary": binary, "args": arguments}
        wanted = {
            "capabilities": {
                "alwaysMatch": {
                    "goog:chromeOptions": options,
                    "goog:loggingPrefs": {"browser": "ALL"},
                }
            }
        }
        self.session = self._call("/session", wanted)["sessionId"]

    def _call(self, path: str, body: dict | None = None, method: str | None = None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def _do(self, path: str, body: dict | None = None, method: str | None = None):
        return self._call(f"/session/{self.session}{path}", body, method)

    def open(
        self, page: Path | str, width: int = 1200, height: int = 900, dark: bool = False
    ) -> None:
        """Show a page, a file or an address, in a window whose inside has this size."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme])
        self._do("/url", {"url": page if isinstance(page, str) else page.resolve().as_uri()})

    def devtools(self, command: str, **params):
        return self._do("/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script: str, *arguments):
        """Run JavaScript and return what it returns."""
        return self._do("/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector: str) -> None:
        """Click as a person does, with the pointer."""
        self._pointer(selector, 0.5, press=True)

    def hover(self, selector: str, across: float) -> None:
        self._pointer(selector, across, press=False)

    def _pointer(self, selector: str, across: float, press: bool) -> None:
        place = self.run(
            "const e = document.querySelector(arguments[0]);"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.left + arguments[1] * r.width, r.top + r.height / 2]",
            selector,
            across,
        )
        x, y = map(round, place)
        moves = [{"type": "pointerMove", "duration": 0, "x": x, "y": y, "origin": "viewport"}]
        if press:
            moves += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "actions": moves}
        self._do("/actions", {"actions": [mouse]})

    def press(self, *keys: str) -> None:
        """Press keys, whoever has the focus."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("/actions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def screenshot(self, path: Path) -> None:
        made = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(made["data"]))

    def pdf(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self._do("/print", {"background": False})))

    def complaints(self) -> list[str]:
        """Return errors of scripts and refused requests."""
        return [each["message"] for each in self._do("/se/log", {"type": "browser"})]

    def close(self) -> None:
        self._do("", method="DELETE")


@contextmanager
def browser():
    """Yield a browser with a profile of its own, and end it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = ["chromedriver", f"--port={port}", "--allowed-ips=127.0.0.1"]
        quiet = subprocess.DEVNULL
        driver = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        try:
            address = f"http://127.0.0.1:{port}"
            _wait(address)
            made = Browser(address, [*ARGUMENTS, f"--user-data-dir={folder}"])
            try:
                yield made
            finally:
                made.close()
        finally:
            driver.terminate()
            driver.wait(PATIENCE)


def _wait(address: str) -> None:
    for _ in range(10 * PATIENCE):
        try:
            with urllib.request.urlopen(address + "/status", timeout=PATIENCE) as answer:
                if json.load(answer)["value"]["ready"]:
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise TimeoutError("chromedriver did not start")
