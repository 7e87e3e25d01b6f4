"""The examples run, on small data, and find what they say they find."""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from tests.relations.postgres import needs_postgres

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    """Import an example by its name."""
    spec = spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.spark
def test_clicks_and_impressions(spark, tmp_path):
    rows = 12_000
    exact, few = load("clicks_and_impressions").main(tmp_path, rows)
    assert exact.recall == 1.0
    assert few.rows_held <= rows // 30
    assert 0 < few.rows_matched[1] < exact.rows_matched[1]


@pytest.mark.slow
@pytest.mark.spark
def test_the_notebook_of_clicks_and_impressions(spark, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    notebook = json.loads((EXAMPLES / "clicks_and_impressions.ipynb").read_text())
    names: dict = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            text = "".join(cell["source"]).replace("30_000", "9_000")
            exec(compile(text, "clicks_and_impressions.ipynb", "exec"), names)
    assert names["few"].rows_matched[1] <= names["exact"].rows_matched[1]


@pytest.mark.spark
def test_orders_and_payments(spark, tmp_path):
    rows = 4_000
    told = load("orders_and_payments").main(tmp_path, rows)
    assert told.completed[0] == rows * 9 // 10  # one in ten is not paid
    assert told.arrived[0] == rows


@pytest.mark.spark
@needs_postgres
def test_customers_from_postgresql(spark, tmp_path):
    told = load("customers_from_postgresql").main(tmp_path, rows=5_000)
    assert told.events == 5_000
    assert 0 < told.unfound < 500
    assert told.rows_fetched < told.events


def test_sensors_over_mqtt():
    pytest.importorskip("amqtt")
    day = load("sensors_over_mqtt").main(minutes=180)
    assert day.within == day.asked == 3
    assert day.intervals + day.fetched < day.readings / 2
