"""The examples of alerts, loaded and evaluated by a real Prometheus that scrapes the monitor."""

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from penstock.report.exposition import exposition
from penstock.report.server import Server
from tests.patience import until
from tests.report.test_live import EXAMPLES, every_kind

PROGRAMS = ("prometheus", "promtool")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)), reason="no Prometheus; `make programs` installs it"
)
TOKEN = "a token of some length"


def test_the_rules_are_sound():
    command = ["promtool", "check", "rules", str(EXAMPLES / "alerts.yml")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_names_and_units_are_those_of_the_conventions():
    found = every_kind()
    found[1].latest["figures"]["staleness_p99"] = 2.5
    command = ["promtool", "check", "metrics"]
    done = subprocess.run(command, input=exposition(found), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def config(target: str) -> str:
    rules = EXAMPLES / "alerts.yml"
    return f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: penstock
    authorization: {{credentials: "{TOKEN}"}}
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """A Prometheus of its own on the loopback."""

    def __init__(self, folder: Path, target: str):
        (folder / "prometheus.yml").write_text(config(target))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        command = ["prometheus", f"--config.file={folder / 'prometheus.yml'}"]
        command += [f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address={self.address}"]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def ask(self, path: str):
        try:
            with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}") as answer:
                return json.load(answer)["data"]
        except OSError:
            return None

    def value(self, expression: str):
        found = self.ask("query?" + urllib.parse.urlencode({"query": expression}))
        return None if not found or not found["result"] else float(found["result"][0]["value"][1])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def test_a_real_prometheus_scrapes_the_monitor_and_alerts(tmp_path):
    found = every_kind()
    server = Server(lambda: found, exposition, token=TOKEN)
    prometheus = Prometheus(tmp_path, server.url.removeprefix("http://").partition("/")[0])
    try:
        held = found[0].latest["figures"]["rows_held"]
        until(lambda: prometheus.value("penstock_join_rows_held") == held, "the first scrape")
        until(
            lambda: "PenstockQueryStuck" in json.dumps(prometheus.ask("alerts")),
            "the alert of queries whose last micro-batch was in 2023",
        )
        groups = prometheus.ask("rules")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        assert len(rules) == 8
        until(
            lambda: (
                {
                    rule["health"]
                    for group in prometheus.ask("rules")["groups"]
                    for rule in group["rules"]
                }
                == {"ok"}
            ),
            "an evaluation of every rule",
        )
        for panel in json.loads((EXAMPLES / "grafana.json").read_text())["panels"]:
            for target in panel["targets"]:
                text = target["expr"].replace("$__rate_interval", "1m").replace("$query", ".*")
                assert prometheus.ask("query?" + urllib.parse.urlencode({"query": text})), text
    finally:
        prometheus.stop()
        server.stop()
