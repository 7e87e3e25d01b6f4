"""Real brokers for the tests: amqtt in this process, and Mosquitto where it is installed."""

import os
import shutil
import socket
import subprocess

from penstock.precision.wire import Broker
from penstock.precision.wire.trial import TrialBroker
from tests.patience import PATIENCE, until

MOSQUITTO = shutil.which(
    "mosquitto", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
)
NO_MOSQUITTO = "no mosquitto on the path: run `make programs`, or install it"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Amqtt:
    """MQTT 3.1.1."""

    def __init__(self, folder, port=None, certificate=None, private_key=None, user=None):
        self.port = port or free_port()
        self.options = {}
        if certificate:
            self.options["listener"] = {"ssl": True, "certfile": certificate}
            self.options["listener"]["keyfile"] = private_key
        if user:
            file = folder / "amqtt-users"
            file.write_text(f"{user[0]}:{hashed(user[1])}\n")
            plugin = "amqtt.plugins.authentication.FileAuthPlugin"
            self.options["plugins"] = {plugin: {"password_file": str(file)}}
        self.start()

    def start(self):
        self.broker = TrialBroker(self.port, **self.options).start()

    def stop(self):
        self.broker.stop()

    crash = stop  # it closes all connections in either case


def hashed(password):
    from amqtt.plugins.authentication import FileAuthPlugin  # noqa: F401  (the same library)
    from pwdlib import PasswordHash

    return PasswordHash.recommended().hash(password)


class Mosquitto:
    """MQTT 5."""

    def __init__(self, folder, port=None, certificate=None, private_key=None, user=None):
        self.port = port or free_port()
        lines = [
            f"listener {self.port} 127.0.0.1",
            f"allow_anonymous {'false' if user else 'true'}",
        ]
        if os.getuid() == 0:
            lines.append("user root")  # else it could not read our files
        if certificate:
            lines += [f"certfile {certificate}", f"keyfile {private_key}"]
        if user:
            file = folder / "mosquitto-users"
            tool = shutil.which("mosquitto_passwd") or "/usr/bin/mosquitto_passwd"
            subprocess.run([tool, "-c", "-b", str(file), *user], check=True, capture_output=True)
            lines.append(f"password_file {file}")
        self.config = folder / f"mosquitto-{self.port}.conf"
        self.config.write_text("\n".join(lines) + "\n")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [MOSQUITTO, "-c", str(self.config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self.listens, "Mosquitto")

    def listens(self):
        assert self.process.poll() is None, "Mosquitto has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)

    def crash(self):
        self.process.kill()
        self.process.wait(PATIENCE)


KINDS = {"amqtt": Amqtt, "mosquitto": Mosquitto}


def address(running):
    return Broker("127.0.0.1", running.port)
