"""A window in the unit of the times: plain numbers stay, spans of time meet real times only."""

import pytest

from penstock.errors import BadInput
from penstock.simulate.comparison import compare, summarise
from penstock.simulate.scenario import Scenario, TraceFile
from penstock.simulate.workloads import Generated

TIMES = {
    "timestamps": ("2026-01-01T00:00:00", "2026-01-01T00:05:00", "2026-01-01T00:10:01"),
    "with a zone": ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:10:01Z"),
    "times of day": ("00:00:00", "00:05:00", "00:10:01"),
    "seconds with fractions": ("0.5", "300.5", "601.5"),
    "plain numbers": ("0", "300", "601"),
    "plain floats": ("0.0", "300.0", "601.0"),
}
REAL = list(TIMES)[:4]
PLAIN = list(TIMES)[4:]


@pytest.fixture
def scenario(tmp_path):
    def make(kind, within):
        file = tmp_path / "calls.csv"
        rows = zip("lrr", TIMES[kind], strict=True)
        file.write_text("key,side,time\n" + "".join(f"a,{side},{at}\n" for side, at in rows))
        return Scenario(TraceFile(str(file)), "joining", 5, within=within)

    return make


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize(
    ("within", "results"),
    [("299s", 0), ("5 minutes", 1), ("10 minutes", 1), ("601s", 2), ("1 hour", 2)],
)
def test_a_span_of_real_times(scenario, kind, within, results):
    score = summarise(compare(scenario(kind, within), ["lru"]))["policies"][0]
    assert (score["results"]["mean"], score["full"]["mean"]) == (results, results)


@pytest.mark.parametrize("kind", PLAIN)
@pytest.mark.parametrize(("within", "results"), [("299", 0), ("300", 1), (600, 1), (601, 2)])
def test_a_number_of_plain_times(scenario, kind, within, results):
    score = summarise(compare(scenario(kind, within), ["lru"]))["policies"][0]
    assert score["results"]["mean"] == results


@pytest.mark.parametrize("kind", REAL)
@pytest.mark.parametrize("within", [5, "5", 0])
def test_a_bare_number_among_real_times(scenario, kind, within):
    with pytest.raises(BadInput) as told:
        compare(scenario(kind, within), ["lru"])
    assert str(told.value) == (
        f"within must have a unit, as the times of calls.csv do, got {within}; "
        f"write --within '{within} seconds', or another unit"
    )


@pytest.mark.parametrize("kind", PLAIN)
def test_a_span_among_plain_numbers(scenario, kind):
    with pytest.raises(BadInput) as told:
        compare(scenario(kind, "10s"), ["lru"])
    assert str(told.value) == (
        "within must be a plain number, as the times of calls.csv are, got '10s'; "
        "give it in their unit"
    )


def test_rows_without_times_are_counted(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("key,side\na,l\nb,l\na,r\n")
    assert Scenario(TraceFile(str(file)), "joining", 5, within="2").window == 2
    with pytest.raises(BadInput, match="plain number"):
        _ = Scenario(TraceFile(str(file)), "joining", 5, within="2s").window


@pytest.mark.parametrize(
    ("within", "complaint"),
    [
        ("10 minutes", "within must be a plain number, as the times of tower are"),
        ("-1", "within must be at least 0, got -1"),
        ("-1s", "within must not be negative, nor a part of it, got '-1s'"),
        ("5.5", "within must be a whole number, or have a unit as in '10 seconds', got '5.5'"),
        ("", "within must be a whole number, or have a unit"),
        ("soon", "within must be a span of time such as '10 seconds'"),
    ],
)
def test_what_is_refused_before_anything_is_read(within, complaint):
    with pytest.raises(BadInput, match=complaint):
        Scenario(Generated("tower"), "joining", 1, within=within)
