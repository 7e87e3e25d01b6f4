"""One small experiment of each paper, and that what they rest on is what it says."""

import numpy as np
import pytest

from papers import experiments
from papers.experiments import Lab, Rows, output
from papers.experiments.gdj_03 import _check_tuned
from papers.experiments.heeb_flowexpect import flow_expect, gain
from papers.experiments.origin import Origin
from papers.experiments.precision_02 import _cheapest, _crossing, _power
from papers.experiments.recordings import averaged, levels, traffic, updates, walks
from papers.experiments.streams import at_hand, replay_streams
from papers.experiments.validity import Query, arrivals, exact, results
from tests.marks import long, some


@long
@pytest.mark.parametrize(
    "name",
    some(
        [
            "heeb-flowexpect",
            "heeb-16",
            "gdj-6",
            "locality-4",
            "locality-table-1",
            "precision-14-15",
        ],
        ["heeb-16", "locality-4", "locality-table-1"],
    ),
)
def test_a_small_experiment_of_each_paper(name, tmp_path):
    (experiment,) = experiments.choose(name)
    found = experiment.run(Lab(quick=True))
    assert found.rows
    assert found.verdicts
    output.write(experiment, found, tmp_path, 1.0, quick=True, at=Origin("abc", True))
    assert (tmp_path / f"{name}.png").stat().st_size > 1000


def test_the_example_of_flowexpect():
    assert flow_expect() == pytest.approx(1.6)
    assert gain("2", "if 3") == pytest.approx(1.75)


def brute_results(query):
    """Count each row's results by looking at all rows before it."""
    found = []
    for row in range(len(query.key)):
        found.append(
            sum(
                query.side[old] != query.side[row]
                and query.key[old] == query.key[row]
                and query.end[old] >= query.time[row]
                and not (query.together and query.time[old] == query.time[row])
                and (query.who[old] < 0 or query.who[old] != query.who[row])
                for old in range(row)
            )
        )
    return found


def test_viewers_match_the_programmes_they_overlap_with():
    whole = arrivals("tv", 300)
    part = np.flatnonzero(whole.key < 4)
    query = Query(*(column[part] for column in whole[:5]), hour=3600, together=False)
    assert results(query, "fifo", None).tolist() == brute_results(query)


def test_sensors_do_not_match_themselves():
    # two sensors read 50 in the same hour, and sensor 0 once more an hour later
    step, sensor = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 0, 0])
    side = np.array([0, 1] * 3, np.int8)
    query = Query(side, np.full(6, 50), step, np.full(6, 2), sensor, hour=2, together=True)
    assert results(query, "fifo", None).tolist() == brute_results(query) == [0, 0, 1, 1, 1, 1]


def test_the_memory_that_an_exact_join_needs():
    query, need = arrivals("tv", 300), exact("tv", 300)
    for hour in (5, 20, 40):
        over = (hour + 1) * 3600 - 1
        assert need.held[hour] == ((query.time <= over) & (query.end >= over)).sum()


def test_a_full_memory_finds_everything():
    cell = {"streams": "synthetic", "length": 300, "within": 20, "share": 1.0, "policy": "rand"}
    assert replay_streams(cell)["recall"] == 1


def test_traffic_is_the_mean_of_the_last_minute(tmp_path):
    import gzip

    log = tmp_path / "log.gz"
    with gzip.open(log, "wt") as file:
        file.write("#comment\n")
        for second, host in ((100, "a"), (100.5, "a"), (130, "b"), (190, "a")):
            file.write(f"{second}\tid\t{host}\n")
    found = traffic([log], 2)
    assert found.shape == (91, 2)
    assert (found[[0, 59, 60, 90], 0] * 60).round().tolist() == [2, 2, 0, 1]
    assert (found[[29, 30], 1] * 60).round().tolist() == [0, 1]


def test_walks_pause():
    still = (np.diff(walks(500, 4, pauses=True), axis=0) == 0).mean()
    assert 0.3 < still < 0.95
    assert (np.diff(walks(500, 4), axis=0) != 0).all()


def test_an_update_is_a_second_in_which_the_value_changed():
    values, seconds = walks(200, pauses=True), 200
    made = updates("pauses", seconds)
    for source in (0, 7, 49):
        mine = made.source == source
        moved = np.flatnonzero(np.diff(values[:, source])) + 2  # seconds count from 1
        assert made.time[mine].tolist() == [1, *moved]
        assert made.value[mine].tolist() == list(range(1, len(moved) + 2))


@pytest.mark.skipif(not at_hand("network"), reason="no netflow data; set PENSTOCK_DATA")
def test_the_highest_level_is_the_papers():
    assert levels().max() == pytest.approx(5200)


def test_costs_are_means_over_the_seeds_of_the_queries():
    def work(cell):
        return {"cost": 10 * cell["x"] + cell["seed"]}

    class Here(Lab):
        def sweep(self, work, cells):
            return Rows(cell | work(cell) for cell in cells)

    found = averaged(Here(), work, [{"x": 1}, {"x": 2}])
    assert found == [{"x": 1, "cost": 11}, {"x": 2, "cost": 21}]


def test_widths_are_read_off_between_those_measured():
    """P_vr = 1 / W^2 and P_qr = W / 200 cross, and cost least, at the cube root of 200."""
    widths = np.geomspace(2, 16, 25)
    rows = Rows(
        {"fixed": w, "p_vr": w**-2, "p_qr": w / 200, "cost": w**-2 + w / 100} for w in widths
    )
    assert _power(rows, "p_vr", (4, 10)) == pytest.approx(-2)
    assert _power(rows, "p_qr", (4, 10)) == pytest.approx(1)
    assert _crossing(rows) == pytest.approx(200 ** (1 / 3), rel=1e-6)
    assert _cheapest(rows) == pytest.approx(200 ** (1 / 3), rel=0.02)


def test_a_percentile_that_is_not_the_best_stops_the_experiment():
    curves = {("synthetic", 1): {0.05: 0.997, 0.5: 1.0}}
    _check_tuned(["synthetic"], curves)
    with pytest.raises(ValueError, match=r"TUNED has 0\.05 for synthetic"):
        _check_tuned(["synthetic"], {("synthetic", 1): {0.05: 0.9, 0.5: 1.0}})
