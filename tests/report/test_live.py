"""The monitor without Spark: histories, sentences, Prometheus' format, and access."""

import itertools
import json
import re
import socket
import struct
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.errors import BadInput
from penstock.report.attention import attention
from penstock.report.exposition import exposition
from penstock.report.history import MOST, QueryHistory, read_histories
from penstock.report.live import Watched, data_of, live_page, report_page
from penstock.report.server import Server
from tests.patience import until
from tests.report.checker import Checker
from tests.report.made import ABOUT, advice, course, lookup_sample, thin_sample
from tests.report.made import join_sample as sample_of

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKEN = "a token of some length"


def watched(**options):
    made = course(**options)
    return Watched(made, made.samples[-1])


def every_kind():
    """Return one query of each kind."""
    made = [watched(fall=5, count=10)]
    for kind, sample in {"lookup": lookup_sample, "thin": thin_sample}.items():
        history = QueryHistory(ABOUT | {"kind": kind, "name": kind, "id": kind, "error": None})
        for number in range(3):
            history.add(sample(number))
        made.append(Watched(history, history.samples[-1]))
    return made


def sentences(history, made=None):
    return [each.sentence for each in attention(history, made)]


def test_a_history_is_bounded_and_keeps_its_whole_course():
    made = course(count=5 * MOST)
    times = [each["at"] for each in made.samples]
    assert len(times) <= MOST
    assert times == sorted(times)
    assert times[0] == 1_700_000_000
    assert times[-1] == 1_700_000_000 + 15 * (5 * MOST - 1)
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert gaps[0] > 4 * gaps[-1]  # the older ones are further apart


def test_a_history_survives_a_restart_and_a_line_that_was_cut_off(tmp_path):
    path = tmp_path / "checkpoint" / "penstock" / "join.jsonl"
    path.parent.parent.mkdir()
    before = course(count=MOST + 10, path=path)
    damage = ["[]", "7", '{"figures": 1}', '{"at": "x", "figures": {}}', "\x00\x7f", '{"at": 17']
    with path.open("a") as file:
        file.write("\n".join(damage))
    [after] = read_histories(str(tmp_path / "checkpoint"))
    assert after.samples == before.samples
    assert after.about["name"] == ABOUT["name"]
    assert path.stat().st_size < 1_000_000
    # A new run begins a new line, and says at once that it runs.
    again = QueryHistory(ABOUT | {"run": "2"}, path)
    again.add(after.samples[-1] | {"at": after.samples[-1]["at"] + 1})
    [read] = read_histories(str(tmp_path / "checkpoint"))
    assert (read.about["run"], len(read.samples)) == ("2", len(after.samples) + 1)


def test_a_clock_that_was_set_back_drops_what_seems_to_come_later(tmp_path):
    path = tmp_path / "penstock" / "join.jsonl"
    made = course(count=10, path=path)
    seen, times = made.samples, [each["at"] for each in made.samples]
    made.add(made.samples[5] | {"batch": 77})
    assert [each["at"] for each in made.samples] == times[:6]
    assert len(seen) == 10  # a page that is drawn meanwhile reads on
    [read] = read_histories(str(tmp_path))
    assert read.samples == made.samples
    assert read.samples[-1]["batch"] == 77


def test_a_history_of_another_format_is_not_read(tmp_path):
    path = tmp_path / "penstock" / "join.jsonl"
    course(count=3, path=path)
    path.write_text(path.read_text().replace('"format": 1', '"format": 0'))
    with pytest.raises(BadInput, match="has no history of a query"):
        read_histories(str(tmp_path))


@pytest.mark.parametrize(
    ("checkpoint", "said"),
    [("s3a://bucket/c", "from a local disk"), ("nowhere", "nowhere has no history of a query")],
)
def test_a_history_that_cannot_be_read(checkpoint, said):
    with pytest.raises(BadInput, match=said):
        read_histories(checkpoint)


def test_a_fall_of_recall_is_shown_with_its_time_and_cause():
    assert sentences(course(fall=50)) == [
        "recall fell from 0.95 to 0.72 at 22:25: arrivals doubled"
    ]
    assert sentences(course(count=40, fall=50)) == []


def test_a_fall_on_another_day_is_shown_with_its_day():
    made = course(fall=50)
    made.samples[-1]["at"] += 86_400
    assert "at 22:25 on 2023-11-14: arrivals doubled" in sentences(made)[0]


def test_the_advisors_curve_tells_what_budget_would_restore_recall():
    made = advice()
    curve = made.best
    factor = curve.rows_for(0.95) / curve.rows_for(0.72)
    [said] = sentences(course(fall=50), made)
    assert said.endswith(f"; {factor:.1f} times the budget would restore it")


def test_what_else_needs_a_person():
    before = course(count=10).samples[-1]
    late = sample_of(10, before["at"] + 15, before=before)
    late["recent"]["late"] = 0.05 * late["recent"]["arrivals"]
    made = course(count=10)
    made.add(late)
    assert "5.0% of the rows came late" in sentences(made)[0]
    slow = course(count=10)
    for each in slow.samples:
        each["rates"] = [1000.0, 800.0]
    assert "1,000 rows a second arrive and 800 are processed" in sentences(slow)[0]
    slow.samples[-5]["waiting"], slow.samples[-1]["waiting"] = 10, 2510
    assert "1,000 rows" in sentences(slow)[0]  # at times nothing waited
    for number, each in enumerate(slow.samples):
        each["waiting"] = 10_000 + 500 * number
    assert "14,500 rows wait in Kafka, 2,000 more than at 22:14: " in sentences(slow)[0]
    for each in slow.samples:
        each.update(waiting=25_000 - each["waiting"], rates=[1000.0, 1000.0])
    assert sentences(slow) == []  # a backlog that is worked off
    failed = course(count=10, state="failed", error="no space", ended=1_700_000_000.0)
    assert sentences(failed) == ["the query failed at 22:13: no space"]
    hot = course(count=10)
    hot.samples[-1]["figures"]["hot_pairs"] = 0.8
    assert "goal='rows'" in sentences(hot)[0]
    lost = every_kind()[1].history
    lost.samples[-1]["figures"]["found"] = 10
    assert "found no row in the relation" in sentences(lost)[0]


def test_a_budget_that_was_not_full_yet_is_no_fall():
    made = course(count=20, fall=10)
    for each in made.samples[:10]:
        each["recent"]["gone"] = 0.0
    assert sentences(made) == []


def test_what_prometheus_reads_has_values_and_units():
    found = list(text_string_to_metric_families(exposition(every_kind()).decode()))
    names = {each.name for each in found}
    assert len(names) == len(found)
    values = {
        (s.name, s.labels.get("query"), s.labels.get("input")): s.value
        for each in found
        for s in each.samples
    }
    latest = every_kind()[0].latest
    name = ABOUT["name"]
    assert values["penstock_join_rows_held", name, None] == latest["figures"]["rows_held"]
    assert values["penstock_join_late_rows_total", name, "1"] == latest["figures"]["late"][1]
    assert values["penstock_join_recent_recall_low_ratio", name, None] == latest["recent"]["low"]
    assert values["penstock_query_up", name, None] == 1
    assert values["penstock_lookup_hits_total", "lookup", None] > 0
    assert values["penstock_lookup_saved_bytes_total", "lookup", None] == 4000
    assert values["penstock_lookup_fetched_cost_total", "lookup", None] == 20
    assert values["penstock_thin_readings_total", "thin", None] > 0


def test_no_series_is_exposed_twice_of_a_query_that_joins_and_looks_up():
    made = every_kind()
    for each in made:
        each.history.about |= {"name": "both", "id": "7f"}
    series = [line.rpartition(" ")[0] for line in exposition(made).decode().splitlines()]
    series = [each for each in series if not each.startswith("#")]
    assert len(series) == len(set(series)) > 50


@pytest.mark.parametrize("file", ["grafana.json", "alerts.yml"])
def test_every_metric_of_the_examples_is_served(file):
    served = set()
    for each in text_string_to_metric_families(exposition(every_kind()).decode()):
        served |= {sample.name for sample in each.samples} | {each.name}
    in_bytes = {"penstock_join_budget_bytes", "penstock_lookup_budget_bytes"}  # of other budgets
    named = set(re.findall(r"\bpenstock_\w+", (EXAMPLES / file).read_text()))
    assert len(named) > 8
    assert named <= served | in_bytes


def test_pages_are_small_and_show_keys_as_text():
    made = course(count=MOST)
    html = report_page([made])
    assert len(html) < 180_000
    assert len(report_page([made, every_kind()[1].history])) < 180_000
    assert len(live_page()) < 60_000
    assert len(json.dumps(data_of([Watched(made, made.samples[-1])], ""))) < 240_000
    assert "<script>alert" not in html
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert checker.points == []


def test_one_query_is_shown_at_length_and_all_in_short():
    made = every_kind()
    first, other = data_of(made, ""), data_of(made, "thin/thin/thin")
    assert [each["kind"] for each in first["queries"]] == ["join", "lookup", "thin"]
    assert first["chosen"]["kind"] == "join"
    assert other["chosen"]["name"] == "thin"
    assert data_of([], "")["chosen"] is None


@pytest.fixture
def serve():
    running = []

    def start(found=(), **options):
        running.append(Server(lambda: list(found), exposition, **options))
        return running[-1]

    yield start
    for each in running:
        each.stop()


def status(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_only_with_the_token_is_the_page_read(serve):
    server = serve(token=TOKEN)
    bare = server.url.partition("?")[0]
    assert status(server.url) == 200
    for path in ("", "metrics", "data.json", "?token=wrong", "nothing"):
        assert status(bare + path) == 403
    assert status(bare + "metrics", Authorization=f"Bearer {TOKEN}") == 200
    assert status(bare + "metrics", Authorization="Bearer wrong") == 403


def test_a_page_of_another_site_may_not_read(serve):
    server = serve(every_kind())
    assert status(server.url + "data.json") == 200
    assert status(server.url + "data.json", Host="evil.example") == 403
    assert status(server.url + "nothing") == 404


def say(server, *lines):
    """Send lines as they are, and return the first line of the answer."""
    place = urllib.parse.urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port)) as client:
        client.sendall("".join(f"{line}\r\n" for line in (*lines, "")).encode("latin-1"))
        return client.makefile().readline()


def test_a_client_that_says_nonsense_or_goes_away_is_no_news(serve, capfd):
    server = serve(every_kind())
    local = "Host: 127.0.0.1"
    assert "400" in say(server, "GET http://[/ HTTP/1.1", local)
    assert "400" in say(server, "GET / HTTP/1.1", "Host: [")
    assert "403" in say(server, "GET / HTTP/1.1")
    assert "200" in say(server, "GET /data.json?query=%ff%00 HTTP/1.1", local)
    place = urllib.parse.urlsplit(server.url)
    for _ in range(3):
        client = socket.create_connection((place.hostname, place.port))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(b"GET /data.json HTTP/1.1\r\n")
        client.close()  # with a reset
    assert "200" in say(server, "GET / HTTP/1.1", local)
    assert capfd.readouterr() == ("", "")


def connected(server):
    place = urllib.parse.urlsplit(server.url)
    return socket.create_connection((place.hostname, place.port))


def test_clients_that_only_wait_are_hung_up_on(serve, monkeypatch):
    monkeypatch.setattr("penstock.report.server.LONGEST", 0.0)
    with connected(serve()) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.")
        assert client.recv(1) == b""


def test_more_clients_than_a_few_are_refused_until_others_have_gone(serve, monkeypatch):
    monkeypatch.setattr("penstock.report.server.MOST", 2)
    server = serve()
    waiting = [connected(server) for _ in range(2)]
    with connected(server) as third:
        assert third.recv(1) == b""
    for each in waiting:
        each.close()

    def answers():
        with suppress(OSError):
            return status(server.url) == 200

    until(answers, "a place for another client")


def test_what_fails_while_it_answers_is_reported(serve, capfd):
    server = serve([None])
    assert status(server.url + "data.json") == 500
    assert status(server.url) == 200
    until(lambda: "AttributeError" in capfd.readouterr().err, "the traceback")


def test_the_other_loopback(serve):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = serve(host="::1")
    assert server.url.startswith("http://[::1]:")
    assert status(server.url) == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"host": 7}, "host must be a name or an address of this machine, got 7"),
        ({"host": ""}, "host must be a name"),
        ({"host": "nowhere.invalid", "token": TOKEN}, "cannot listen on nowhere.invalid:0: "),
        ({"host": "ä" * 64, "token": TOKEN}, "cannot listen on .*: no such host"),
        ({"host": "0.0.0.0"}, "host='0.0.0.0' lets others .* needs token="),
        ({"host": "0.0.0.0", "token": ""}, "token must be a text of at least 16 ASCII characters"),
        ({"token": "schlüssel-für-alle-fälle"}, "ASCII"),  # no header could hold it
        ({"token": "a token with\na second line"}, "ASCII"),
        ({"port": 70_000}, "port must be a whole number from 0 to 65535, got 70000"),
    ],
)
def test_a_place_that_is_refused(serve, options, said):
    with pytest.raises(BadInput, match=said):
        serve(**options)


def test_a_port_that_is_taken(serve):
    port = int(serve().url.rpartition(":")[2].strip("/"))
    with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1:{port}"):
        serve(port=port)


def test_what_an_archive_owes_is_shown():
    pairs = {"owed_pairs": 1234.0, "owed_pairs_low": 1000.0, "owed_pairs_high": 1500.0}
    history = QueryHistory(ABOUT | {"error": None})
    history.add(sample_of(0, 10.0, owed_bytes=2_500_000, owed_seconds=7200.0, **pairs))
    one = Watched(history, history.samples[-1])
    told = exposition([one]).decode()
    for name, value in {
        "results": "1234.0",
        "bytes": "2.5e+06",
        "oldest_seconds": "7200.0",
    }.items():
        assert re.search(rf"^penstock_join_owed_{name}{{.*}} {re.escape(value)}$", told, re.M)
    assert "about 1,234 results, for 2.0 hours" in json.dumps(data_of([one], ""))
    assert "penstock_join_owed_bytes{" not in exposition([watched(count=2)]).decode()
