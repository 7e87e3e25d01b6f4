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


STEADY = {"up": "1x400", "began": "1000x400", "running": "1x400", "failed": "0x400"}


def alerts(folder: Path, minutes: dict[int, set[str]], **series: str) -> str:
    """Return what is wrong with the alerts that fire after so many minutes; nothing if all is well.

    series: values every 15 seconds, as promtool has them; `_` is a scrape that got none.
    """
    names = {
        "up": 'up{job="penstock"}',
        "began": "penstock_monitor_start_timestamp_seconds",
        "running": 'penstock_query_up{query="a"}',
        "failed": 'penstock_query_failed{query="a"}',
        "last": 'penstock_query_last_batch_timestamp_seconds{query="a"}',
    }
    given = [{"series": names[name], "values": values} for name, values in series.items()]
    expected = [
        {
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": f"{minute}m",
            "exp_samples": [{"labels": f'{{alertname="{n}"}}', "value": 1} for n in sorted(those)],
        }
        for minute, those in minutes.items()
    ]
    tests = [{"interval": "15s", "input_series": given, "promql_expr_test": expected}]
    rules = {"rule_files": [str(EXAMPLES / "alerts.yml")], "evaluation_interval": "15s"}
    (folder / "test.yml").write_text(json.dumps(rules | {"tests": tests}))
    command = ["promtool", "test", "rules", str(folder / "test.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_a_query_that_runs_and_one_that_ends_well_alert_nobody(tmp_path):
    runs = STEADY | {"last": "0+15x400"}
    assert not alerts(tmp_path, {10: set(), 90: set()}, **runs)
    ends = runs | {"running": "1x20 0x380", "last": "0+15x20 300x380"}
    assert not alerts(tmp_path, {10: set(), 50: set()}, **ends)


def test_a_query_that_fails_alerts_at_once_and_one_that_gets_stuck_later(tmp_path):
    fails = STEADY | {"running": "1x20 0x380", "failed": "0x20 1x380", "last": "0+15x20 300x380"}
    told = {4: set(), 6: {"PenstockQueryFailed"}}
    told |= {25: {"PenstockQueryFailed", "PenstockQueryStuck"}}
    assert not alerts(tmp_path, told, **fails)
    first = {"up": "1x400", "began": "1000x400", "running": "0x400", "failed": "1x400"}
    assert not alerts(tmp_path, {1: {"PenstockQueryFailed"}}, **first)
    assert not alerts(tmp_path, {25: {"PenstockQueryStuck"}}, **STEADY, last="0+15x20 300x380")


def test_a_process_that_is_started_over_and_over_alerts(tmp_path):
    """It answers two scrapes of three, and no query of it ever ends a micro-batch."""
    began = " ".join(f"{40 * each} {40 * each} _" for each in range(400))
    loop = {"up": "1 1 0 " * 400, "began": began}
    told = {5: {"PenstockRestarts"}, 20: {"PenstockRestarts", "PenstockNoQuery"}}
    assert not alerts(tmp_path, told, **loop)
    before = loop | {"last": "0+15x20 _x380"}  # it ended some for five minutes
    told = {20: {"PenstockRestarts"}, 30: {"PenstockRestarts", "PenstockQueryStuck"}}
    assert not alerts(tmp_path, told, **before)
    assert not alerts(tmp_path, {3: {"PenstockMonitorDown"}}, up="0x400", last="0x4 _x400")


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
        assert len(rules) == 10
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
