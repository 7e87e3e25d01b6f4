"""What a user may say of a relation, and where secrets go: into connections and nowhere else."""

import pickle

import pytest

from penstock.errors import BadInput
from penstock.relations import Relation, as_source
from penstock.relations.dialects import dialect_of
from penstock.relations.libpq import read
from penstock.relations.relation import address_of, hide

HERE = "postgresql://app:${PW}@db:5432/shop"


def provider():
    return {"user": "app", "password": "p@ss/word"}


def options(relation):
    """Return what the driver is told."""
    return dict(read(address_of(relation).uri))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"uri": ""}, "uri must be a text"),
        ({"uri": 7, "table": "t"}, "uri must be a text"),
        ({}, "exactly one of them"),
        ({"table": "t", "query": "select 1"}, "exactly one of them"),
        ({"table": ""}, "table must be a text"),
        ({"query": " ; "}, "query must be a text"),
        ({"table": "t", "key": []}, "key must name"),
        ({"table": "t", "key": ["a", "a"]}, "each column once"),
        ({"table": "t", "columns": [7]}, "columns must name"),
        ({"table": "t", "credentials": {"password": "x"}}, "credentials must be a function"),
    ],
)
def test_bad_relations(given, said):
    with pytest.raises(BadInput, match=said):
        Relation(**({"uri": HERE} | given))


def test_secrets_come_from_the_environment(monkeypatch):
    relation = Relation(HERE, table="t")
    monkeypatch.delenv("PW", raising=False)
    with pytest.raises(BadInput, match="names the variable PW, which is not set"):
        address_of(relation)
    monkeypatch.setenv("PW", "p@ss/word")
    address = address_of(relation)
    assert options(relation) == {
        "user": "app", "password": "p@ss/word", "host": "db", "port": "5432", "dbname": "shop",
        "client_encoding": "UTF8",
    }  # fmt: skip
    assert hide("p@ss/word or p%40ss%2Fword", address.secrets) == "*** or ***"
    assert "p@ss" not in repr(address)


def test_a_variable_cannot_change_where_to_connect(monkeypatch):
    for value in ("x@elsewhere/y?user=root#", "x&user=root", "x/y@elsewhere", "[", "%zz", "\udcff"):
        monkeypatch.setenv("PW", value)
        found = options(Relation(HERE, table="t"))
        assert (found["user"], found["host"], found["password"]) == ("app", "db", value)
        found = options(Relation("postgresql://db?password=${PW}&user=app", table="t"))
        assert (found["user"], found["host"], found["password"]) == ("app", "db", value)


def test_the_whole_address_may_be_secret(monkeypatch):
    monkeypatch.setenv("URL", "postgresql://app:hun#ter2@db/shop?sslpassword=k3y")
    relation = Relation("${URL}", table="t")
    found = options(relation)
    assert (found["host"], found["password"]) == ("db", "hun#ter2")
    secrets = address_of(relation).secrets
    said = "cannot reach postgresql://app:hun#ter2@db/shop?sslpassword=k3y"
    assert hide(said, secrets) == "cannot reach ***"
    assert hide("hun#ter2 and k3y are wrong", secrets) == "*** and *** are wrong"


@pytest.mark.parametrize(
    "url",
    ["host=db password=hunter2", "postgresql://a:hunter2/@b/c", "hunter2", "sqlite://[hunter2"],
)
def test_a_secret_address_that_cannot_be_read_is_not_shown(monkeypatch, url):
    monkeypatch.setenv("URL", url)
    with pytest.raises(BadInput, match="the uri of a relation") as told:
        address_of(Relation("${URL}", table="t"))
    assert "hunter2" not in repr(told.value)


def test_secrets_come_from_a_provider():
    relation = Relation("postgresql://db:5432/shop", table="t", credentials=provider)
    found = options(relation)
    assert (found["user"], found["password"]) == ("app", "p@ss/word")
    assert "p@ss/word" in address_of(relation).secrets
    assert "provider" not in repr(relation)


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://other:${PW}@db/shop",
        "postgresql://db/shop?user=other&password=${PW}",
        "postgresql://h1,h2/shop?user=other",
        "postgresql://other@[::1]:5432/shop",
    ],
)
def test_a_provider_counts_more_than_the_uri(monkeypatch, uri):
    monkeypatch.setenv("PW", "of the other")
    found = options(Relation(uri, table="t", credentials=lambda: {"user": "app"}))
    assert found["user"] == "app"
    assert "password" not in found
    found = options(Relation(uri, table="t", credentials=lambda: {"password": "new"}))
    assert (found.get("user", "other"), found["password"]) == ("other", "new")


@pytest.mark.parametrize(
    "given",
    [
        None,
        "hunter2",
        ("app", "hunter2"),
        {},
        {"username": "app", "password": "hunter2"},
        {"user": None, "password": "hunter2"},
        {"user": "", "password": "hunter2"},
        {"user": "app", "password": b"hunter2"},
        {"user": "app", "password": "hunter2\0"},
    ],
)
def test_a_provider_that_returns_something_else(given):
    relation = Relation("postgresql://db/shop", table="t", credentials=lambda: given)
    with pytest.raises(BadInput, match="credentials= must") as told:
        address_of(relation)
    assert "hunter2" not in repr(told.value)


def test_a_file_takes_no_credentials():
    relation = Relation("sqlite:///shop.db", table="t", credentials=provider)
    with pytest.raises(BadInput, match="a file has none"):
        address_of(relation)


def test_what_travels_holds_no_secret(monkeypatch):
    monkeypatch.setenv("PW", "hunter2")
    source = as_source(Relation(HERE, table="t"), ("k",))
    source._secrets |= address_of(source.relation).secrets
    assert b"hunter2" not in pickle.dumps(source)
    assert source.hide("no entry for hunter2") == "no entry for ***"
    assert "db:5432" not in source.identity


def test_keys_of_both_sides_are_as_many():
    with pytest.raises(BadInput, match=r"as many columns as on \(a, b\), got id"):
        as_source(Relation(HERE, table="t", key="id"), ("a", "b"))
    with pytest.raises(BadInput, match="must be a Relation, or a function"):
        as_source("postgresql://db/shop", ("a",))


def test_unknown_databases():
    with pytest.raises(BadInput, match=r"must begin with one of postgresql.*got 'mysql'"):
        dialect_of("mysql://db/shop")
    with pytest.raises(BadInput, match=r"must begin with one of postgresql.*got 'mysql'"):
        Relation("mysql://db/shop", table="t")
