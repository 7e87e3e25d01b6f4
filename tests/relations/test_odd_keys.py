"""Keys that a database cannot hold have no row there, and the others of the batch have theirs."""

import sqlite3

import pyarrow as pa
import pytest

from penstock.errors import BadInput
from penstock.relations import Fetcher, Patience, Relation, as_source
from penstock.relations.fetching import ask
from penstock.relations.sessions import SESSIONS
from penstock.spark.runtime.lookup_bucket import now
from tests.relations.postgres import Server, needs_postgres

pytest.importorskip("adbc_driver_sqlite", reason="no databases: pip install penstock[databases]")

ONCE = Patience(retries=0, timeout=20)
SMALL = ["smallint", "integer", "bigint"]
NUL = [("a", "1"), ("b\0c", "2"), ("b", "3"), ("\0", "4")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("postgres"))
    for kind in SMALL:
        server.run(
            f"CREATE TABLE numbers_{kind} (id {kind} PRIMARY KEY, shop varchar(3), name text)",
            f"INSERT INTO numbers_{kind} VALUES (1, 'x', 'one'), (-32768, 'y', 'least')",
        )
    server.run(
        "CREATE TABLE texts (id text PRIMARY KEY, n integer, name text)",
        "INSERT INTO texts VALUES ('a', 1, 'A'), ('b', 2, 'B'), ('', 3, 'none')",
        "CREATE TABLE ids (id uuid PRIMARY KEY, name text)",
    )
    yield server
    server.cleanup()


@pytest.fixture(autouse=True)
def password(monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_PASSWORD", "hunter2")


def fetcher(uri, table, kinds, key="id", query=None) -> Fetcher:
    relation = Relation(uri, table=None if query else table, query=query, key=key)
    source = as_source(relation, tuple(f"k{number}" for number in range(len(kinds))))
    schema = ask(lambda: source.schema(list(kinds)), ONCE, source, now).answer
    return Fetcher(source, schema, ONCE)


def names(lookup: Fetcher, *columns) -> list[str | None]:
    """Return the name that each key was given."""
    answer = lookup.fetch(pa.table({f"k{n}": column for n, column in enumerate(columns)}))
    return [answer.rows["name"][row].as_py() if row >= 0 else None for row in answer.row]


@needs_postgres
def test_a_text_with_a_nul_has_no_row(server):
    lookup = fetcher(server.uri, "texts", [pa.string()])
    asked = pa.array(["a", "a\0", "\0", "b", "x\0y", "", "\U0010ffff", "b\\0"])
    assert names(lookup, asked) == ["A", None, None, "B", None, "none", None, None]
    assert names(lookup, pa.array(["\0"])) == [None]
    assert lookup.counts["retries"] == 0


@needs_postgres
def test_a_nul_in_one_of_two_columns(server):
    lookup = fetcher(server.uri, "texts", [pa.int64(), pa.string()], key=["n", "id"])
    asked = pa.array([1, 2, 2, 2**40]), pa.array(["a", "b\0", "b", "b"])
    assert names(lookup, *asked) == ["A", None, "B", None]


@needs_postgres
@pytest.mark.parametrize("kind", SMALL)
def test_a_number_that_is_too_large_for_the_column(server, kind):
    lookup = fetcher(server.uri, f"numbers_{kind}", [pa.int64()])
    asked = pa.array([1, 70_000, 2**40, 2**63 - 1, -(2**63), -32768])
    assert names(lookup, asked) == ["one", None, None, None, None, "least"]
    lookup = fetcher(server.uri, f"numbers_{kind}", [pa.int64(), pa.string()], key=["id", "shop"])
    texts = pa.array(["x", "x", "x", "x", "y", "too long for it"])
    assert names(lookup, asked, texts) == ["one", None, None, None, None, None]


@needs_postgres
def test_a_key_that_cannot_be_compared_is_reported_before_the_start(server):
    with pytest.raises(BadInput, match="operator does not exist: uuid = text"):
        fetcher(server.uri, "ids", [pa.string()])
    cast = "SELECT id::text AS id, name FROM ids"
    assert names(fetcher(server.uri, "", [pa.string()], query=cast), pa.array(["no id"])) == [None]


@pytest.fixture(scope="module")
def latin(server):
    server.run(
        "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    )
    elsewhere = f"postgresql://postgres@/latin?host={server.folder}"
    server.run(
        "CREATE TABLE texts (id text PRIMARY KEY, name text)",
        "INSERT INTO texts VALUES ('a', 'A'), (U&'\\00e9', U&'\\00c9'), ('b', chr(192))",
        uri=elsewhere,
    )
    return elsewhere


@needs_postgres
def test_a_database_in_another_encoding(latin):
    lookup = fetcher(latin, "texts", [pa.string()])
    odd = [chr(0x4E00 + number) for number in range(300)]
    asked = pa.array(["a", "é", "€", "aé€\0", *odd, "b", "ab"])
    wanted = ["A", "É", None, None, *[None] * len(odd), "À", None]
    assert names(lookup, asked) == wanted
    session = SESSIONS.take(lookup.source.token)
    assert session.unknown == {"\0", "€", *odd}
    assert session.tried == {"a", "b", "é"}
    session.connection.close()  # what was learned is lost with it, and learned again
    assert names(lookup, asked) == wanted


@needs_postgres
def test_what_was_learned_costs_no_query(latin, monkeypatch):
    lookup = fetcher(latin, "texts", [pa.string()])
    assert names(lookup, pa.array(["€", "é"])) == [None, "É"]
    session = SESSIONS.take(lookup.source.token)
    SESSIONS.put(lookup.source.token, session)
    queries = []
    really = session.ask
    monkeypatch.setattr(session, "ask", lambda *given: queries.append(given) or really(*given))
    assert names(lookup, pa.array(["a€", "é€", "b"])) == [None, None, "À"]
    assert len(queries) == 1


@needs_postgres
def test_a_row_that_cannot_be_shown_fails_with_its_reason(server):
    query = "SELECT id, convert_from('\\xff', 'UTF8') AS name FROM texts"
    lookup = fetcher(server.uri, "", [pa.string()], query=query)
    with pytest.raises(BadInput, match="invalid byte sequence"):
        names(lookup, pa.array(["a"]))


def test_where_a_nul_can_be_held_it_is_found(tmp_path):
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE texts (id TEXT PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO texts VALUES (?, ?)", NUL)
    connection.close()
    asked = pa.array(["b\0c", "a", "b\0", "b", "\0"])
    lookup = fetcher(f"sqlite:///{tmp_path}/shop.db", "texts", [pa.string()])
    assert names(lookup, asked) == ["2", "1", None, "3", "4"]


def test_where_a_nul_can_be_held_it_is_found_in_duckdb(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install penstock[duckdb]")
    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE texts (id TEXT PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO texts VALUES (?, ?)", NUL)
    asked = pa.array(["b\0c", "a", "b\0", "b", "\0"])
    lookup = fetcher(f"duckdb:///{tmp_path}/shop.db", "texts", [pa.string()])
    assert names(lookup, asked) == ["2", "1", None, "3", "4"]
