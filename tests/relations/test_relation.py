"""What a user may say of a relation, and where secrets go: into connections and nowhere else."""

import pickle

import pytest

from penstock.errors import BadInput
from penstock.relations import Relation, as_source
from penstock.relations.dialects import dialect_of
from penstock.relations.secrets import address_of

HERE = "postgresql://app:${PW}@db:5432/shop"


def provider():
    return {"user": "app", "password": "p@ss/word"}


@pytest.mark.parametrize(
    "uri",
    [
        "postgresql://app:hunter2@db/shop",
        "postgresql://app:hunter2${PW}@db/shop",
        "postgresql://db/shop?user=app&password=hunter2",
    ],
)
def test_a_password_is_refused_without_being_repeated(uri):
    with pytest.raises(BadInput, match=r"must not hold a password.*\$\{NAME\}") as told:
        Relation(uri, table="t")
    assert "hunter2" not in str(told.value)


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
    assert address.uri == "postgresql://app:p%40ss%2Fword@db:5432/shop"
    assert address.hide("p@ss/word or p%40ss%2Fword") == "*** or ***"
    assert "p@ss" not in repr(address)


def test_the_whole_address_may_be_secret(monkeypatch):
    monkeypatch.setenv("URL", "postgresql://app:hunter2@db/shop")
    address = address_of(Relation("${URL}", table="t"))
    assert address.uri == "postgresql://app:hunter2@db/shop"
    assert address.hide("cannot reach postgresql://app:hunter2@db/shop") == "cannot reach ***"
    assert address.hide("hunter2 is wrong") == "*** is wrong"


def test_secrets_come_from_a_provider():
    relation = Relation("postgresql://db:5432/shop", table="t", credentials=provider)
    assert address_of(relation).uri == "postgresql://app:p%40ss%2Fword@db:5432/shop"
    assert "provider" not in repr(relation)


def test_what_travels_holds_no_secret(monkeypatch):
    monkeypatch.setenv("PW", "hunter2")
    source = as_source(Relation(HERE, table="t"), ("k",))
    address_of(source.relation)
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
