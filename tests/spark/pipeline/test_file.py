"""What a file must say: every mistake is one sentence that names its line. Needs no Java."""

from pathlib import Path

import pytest

from penstock import BadInput
from penstock.spark.pipeline import Pipeline
from penstock.spark.pipeline.toml_file import lines_of

JOIN = """\
[source.views]
format = "parquet"
path = "views"
maxFilesPerTrigger = 1

[source.orders]
format = "kafka"
kafka.bootstrap.servers = "localhost:9092"
"subscribe" = "orders"
schema = "customer bigint, total double"
select = [
  "value.customer",
  "timestamp AS at",
]

[join]
left = "views"
right = "orders"
on = "customer"
time = "at"
within = "10 minutes"
checkpoint = "checkpoint"

[sink]
format = "parquet"
path = "matches"
trigger.processingTime = "10 seconds"
"""
LOOKUP = """\
[source.views]
format = "rate"

[lookup]
events = "views"
on = "value"
budget = 100
relation = { uri = "sqlite:///shop.db", table = "customers" }

[sink]
format = "console"
"""


def read(tmp_path, text):
    file = tmp_path / "shop.toml"
    file.write_text(text)
    return Pipeline.read(file)


def refused(tmp_path, text):
    with pytest.raises(BadInput) as found:
        read(tmp_path, text)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_options_are_those_of_spark_and_of_the_library(tmp_path):
    made = read(tmp_path, JOIN)
    assert made.sources["views"] == {"format": "parquet", "path": "views", "maxFilesPerTrigger": 1}
    assert made.sources["orders"]["kafka.bootstrap.servers"] == "localhost:9092"
    assert made.sink["trigger"] == {"processingTime": "10 seconds"}
    assert made.options["within"] == "10 minutes"
    settings = '\n[spark]\njars.packages = "a:b:1"\nui.enabled = true\n'
    assert read(tmp_path, JOIN + settings).settings == {
        "spark.jars.packages": "a:b:1",
        "spark.ui.enabled": "true",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "maxFilesPer",
            "maxFilePer",
            "line 4: unknown key 'maxFilePerTrigger' of [source.views]; did you mean 'maxFilesPer",
        ),
        (
            '"subscribe"',
            "subscibe",
            "line 9: unknown key 'subscibe' of [source.orders]; did you mean 'subscribe'?",
        ),
        ("kafka.boot", "kafk.boot", "line 8: unknown key 'kafk.bootstrap.servers' of [source.or"),
        (
            "kafka.bootstrap.servers",
            "kafka.client.id",
            "line 6: [source.orders] needs kafka.bootstrap.servers",
        ),
        ('"kafka"', '"kafak"', "line 7: unknown format 'kafak'; did you mean 'kafka'? Known: parq"),
        ('format = "kafka"\n', "", "line 6: [source.orders] needs a format"),
        ('path = "views"', "path = [1]", "line 3: path must be a text, a number, true or false"),
        ('  "timestamp', '  7, "timestamp', "line 11: select must be a list of texts"),
        ("[source.orders]", "[source.orders.more]", "line 6: [source.orders] needs a format"),
        ("within =", "withn =", "line 21: unknown key 'withn' of [join]; did you mean 'within'?"),
        (
            '= "orders"\non',
            '= "order"\non',
            "line 18: unknown source 'order'; did you mean 'orders'?",
        ),
        ('right = "orders"', 'right = "views"', "line 6: [join] does not use the source 'orders'"),
        ('left = "views"\n', "", "line 16: [join] needs left, the name of a source"),
        ('on = "customer"\n', "", "line 16: [join] needs on"),
        ('checkpoint = "checkpoint"\n', "", "line 16: [join] needs checkpoint, the folder that a"),
        (
            "processingTime",
            "processTime",
            "line 27: unknown key 'processTime' of [sink.trigger]; did you mean 'processingTime'?",
        ),
        (
            'trigger.processingTime = "10',
            'trigger = "10',
            "line 27: trigger must be one of Spark's",
        ),
        (
            'format = "parquet"\npath = "matches"',
            'format = "delta"',
            "line 25: unknown format 'delta'; known: parquet, console, kafka",
        ),
        ('path = "matches"\n', "", "line 24: [sink] needs path"),
        ("[join]", "[jion]", "line 16: unknown key 'jion'; did you mean 'join'?"),
        (
            "[sink]",
            "[thin]\nkey = 'a'\n\n[sink]",
            "line 24: a pipeline has exactly one of [join], [lookup] and [thin], got [join] and",
        ),
        ('"localhost:9092"', '"${NO_SERVERS}"', "line 8: the variable NO_SERVERS is not set in"),
    ],
)
def test_a_mistake_names_its_line(tmp_path, old, new, said):
    assert old in JOIN
    assert f"shop.toml, {said}" in refused(tmp_path, JOIN.replace(old, new, 1))


def test_a_lookup_needs_a_relation_that_is_a_table(tmp_path):
    read(tmp_path, LOOKUP)
    for old, new, said in (
        ("uri =", "url =", "line 8: unknown key 'url' of [lookup.relation]; did you mean 'uri'?"),
        ('{ uri = "sqlite:///shop.db", table = "customers" }', '"a"', "line 8: relation must be a"),
        ('uri = "sqlite:///shop.db", ', "", "line 8: [lookup.relation] needs uri"),
        ("budget = 100\n", "", "line 4: [lookup] needs budget"),
        ("table =", "credentials = 1, table =", "unknown key 'credentials'"),
    ):
        assert said in refused(tmp_path, LOOKUP.replace(old, new))


def test_a_file_that_is_no_toml_or_not_there(tmp_path):
    assert "shop.toml is no TOML: " in refused(tmp_path, "[join]\non = \n")
    assert "line 2" in refused(tmp_path, "[join]\non = \n")
    assert refused(tmp_path, "") == (
        "shop.toml: a pipeline has exactly one of [join], [lookup] and [thin], got none of them"
    )
    with pytest.raises(BadInput, match=r"none\.toml cannot be read: No such file"):
        Pipeline.read(tmp_path / "none.toml")


def test_lines_of_texts_and_arrays_that_go_on(tmp_path):
    text = (
        'a = """\n[b]\nc = 1\n"""\n\n# [d]\n[[e]]\nf = 1\n[[e]]\ng = [\n"[h]",\n]\n["i.j"]\nk.l = 2'
    )
    found = lines_of(text)
    assert found == {
        "a": 1, "e": 7, "e.f": 8, "e.g": 10, "i.j": 13, "i.j.k": 14, "i.j.k.l": 14,
    }  # fmt: skip


def test_keys_are_named_as_in_the_file(tmp_path):
    error = read(tmp_path, JOIN).file.error("how='left' needs within=, or how=", "join.within")
    assert str(error) == "shop.toml, line 21: how='left' needs within, or how"


def test_the_example_of_the_guide(tmp_path):
    page = (Path(__file__).parents[3] / "docs/pipelines.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    assert read(tmp_path, text).name == "join"


def test_the_monitor_is_given_its_own_arguments(tmp_path):
    assert read(tmp_path, JOIN + "\n[monitor]\nport = 0\n").monitor == {"port": 0}
    said = refused(tmp_path, JOIN + "\n[monitor]\nprt = 0\n")
    assert "line 30: unknown key 'prt' of [monitor]; did you mean 'port'?" in said
    for value, why in (
        ('host = "0.0.0.0"', "host='0.0.0.0' lets others on the network read"),
        ("host = 7", "host must be a name or an address"),
        ('port = "a"', "port must be a whole number from 0 to 65535, got 'a'"),
        ("every = nan", "every must be a number of seconds, 0 or more, got nan"),
    ):
        assert f"line 30: {why}" in refused(tmp_path, JOIN + f"\n[monitor]\n{value}\n")


@pytest.mark.parametrize("value", ["[]", "{a = 1}", "7", "nan"])
def test_the_name_of_a_source_is_a_text(tmp_path, value):
    said = refused(tmp_path, JOIN.replace('left = "views"', f"left = {value}"))
    assert "line 17: unknown source" in said


def test_an_option_that_spark_refuses_when_the_query_begins_names_its_line(tmp_path):
    made = read(tmp_path, JOIN)
    error = made.failed("the query failed: Invalid value 'x' for option 'maxFilesPerTrigger'")
    assert str(error).startswith("shop.toml, line 4: the query failed: Invalid value")
    assert str(made.failed("the query failed: disk full")) == "the query failed: disk full"


@pytest.mark.parametrize(
    "text", ["a" + ".a" * 3000 + " = 1", "a = " + "[" * 3000 + "]" * 3000, "a = " + "9" * 5000]
)
def test_a_file_made_to_be_too_much(tmp_path, text):
    assert "shop.toml is no TOML: " in refused(tmp_path, text)


def test_a_file_as_editors_of_windows_write_it(tmp_path):
    text = "\ufeff" + JOIN.replace("\n", "\r\n")
    assert read(tmp_path, text).sources["views"]["path"] == "views"


def test_values_of_variables_stay_out_of_messages(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_SERVERS", "s3cret:9092")
    made = read(tmp_path, JOIN.replace("localhost:9092", "${SHOP_SERVERS}"))
    assert made.sources["orders"]["kafka.bootstrap.servers"] == "s3cret:9092"
    assert str(made.file.error("no broker at s3cret:9092", "sink")).endswith(
        "line 24: no broker at ***"
    )
