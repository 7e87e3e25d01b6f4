"""TLS, users and passwords: through real brokers, and never shown."""

import shutil
import subprocess

import pytest

from penstock.errors import BadInput, Unreachable
from penstock.precision.wire import Broker, find_broker, link
from penstock.precision.wire.link import first_contact

from .brokers import PATIENCE, Amqtt, address, free_port, until
from .conftest import Corner

SECRET = "s3cret-0f-the-sea"
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="no openssl to make certificates with"
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Return the files of a certificate for the loopback address that signs itself, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    files = [str(folder / name) for name in ("certificate.pem", "key.pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        + ["-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
        + ["-addext", "subjectAltName=IP:127.0.0.1", "-out", files[0], "-keyout", files[1]],
        check=True,
        capture_output=True,
    )
    return files


@needs_openssl
def test_tls_and_a_password(kind, certificate, tmp_path, monkeypatch):
    if kind is Amqtt:  # does not answer a client that sends MQTT 5 and a password
        monkeypatch.setattr(link, "OLDER_AFTER", 0.3)
    running = kind(
        tmp_path, certificate=certificate[0], private_key=certificate[1], user=("me", SECRET)
    )
    file = tmp_path / "password"
    file.write_text(SECRET + "\n")
    at = f"mqtts://127.0.0.1:{running.port}"
    broker = find_broker(at, user="me", password_file=str(file), ca=certificate[0])
    corner = Corner(broker)
    source, cache = corner.source(), corner.cache()
    source.set("hall", 20.0)
    until(lambda: cache.known() == ("hall",))
    assert cache.ask("sum(hall) within 0").answer[:3] == (20.0, 20.0, True)
    corner.close()

    environment = {"PENSTOCK_MQTT_USER": "me", "PENSTOCK_MQTT_PASSWORD": SECRET[1:]}
    wrong = find_broker(at, ca=certificate[0], environment=environment)
    with pytest.raises(Unreachable, match=r"no connection .* (not authori|bad user)") as refused:
        first_contact(wrong, PATIENCE)
    assert SECRET[1:] not in str(refused.value)
    with pytest.raises(Unreachable, match="its certificate is not trusted"):
        first_contact(find_broker(at, environment={}), PATIENCE)
    running.stop()


@needs_openssl
def test_tls_where_there_is_none(running, certificate):
    broker = Broker("127.0.0.1", running.port, tls=True, ca=certificate[0])
    with pytest.raises(Unreachable, match="no connection to an MQTT broker at mqtts://127"):
        first_contact(broker, timeout=1)


def test_a_broker_that_asks_who_we_are(kind, tmp_path):
    running = kind(tmp_path, user=("me", SECRET))
    with pytest.raises(Unreachable, match="not authori"):
        first_contact(address(running), PATIENCE)
    running.stop()


def test_no_broker_there():
    port = free_port()
    with pytest.raises(Unreachable, match=f"mqtt://127.0.0.1:{port}: connection refused; check"):
        first_contact(Broker("127.0.0.1", port), PATIENCE)
    with pytest.raises(Unreachable, match="no connection to an MQTT broker at mqtt://no-such-host"):
        first_contact(Broker("no-such-host.invalid", 1883), PATIENCE)


def test_a_secret_is_not_shown():
    broker = find_broker(
        "mqtt://here", environment={"PENSTOCK_MQTT_USER": "me", "PENSTOCK_MQTT_PASSWORD": SECRET}
    )
    assert broker.password == SECRET
    assert SECRET not in repr(broker) + str(broker)


@pytest.mark.parametrize(
    ("address", "options", "complaint"),
    [
        ("http://here", {}, "must read like mqtt://localhost:1883 or mqtts://HOST, got 'http"),
        ("mqtt://here:99999", {}, "must read like"),
        ("mqtt://here:0", {}, "must read like"),
        ("mqtt://", {}, "must read like"),
        ("mqtt://here/topic", {}, "must read like"),
        ("mqtt://me:word@here", {}, "must not hold a user or a password"),
        ("here", {"ca": "x.pem"}, "certificates are for mqtts:// addresses, got here"),
        ("mqtts://here", {"private_key": "x.pem"}, "a private key needs its certificate"),
        ("here", {"password_file": "nowhere.txt"}, "nowhere.txt cannot be read: No such file"),
    ],
)
def test_refuses_bad_addresses(address, options, complaint):
    with pytest.raises(BadInput, match=complaint):
        find_broker(address, environment={}, **options)


def test_refuses_a_password_without_a_user_and_no_certificates(tmp_path):
    with pytest.raises(BadInput, match="a password needs its user; name one, or set PENSTOCK"):
        find_broker("here", environment={"PENSTOCK_MQTT_PASSWORD": SECRET})
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing")
    with pytest.raises(BadInput, match=r"the certificates in .*empty.pem cannot be read"):
        Broker("here", tls=True, ca=str(empty)).context()
