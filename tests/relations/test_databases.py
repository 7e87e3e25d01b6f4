"""Real databases: SQLite, DuckDB and PostgreSQL answer the same questions."""

import sqlite3
from importlib.util import find_spec

import pyarrow as pa
import pytest

from penstock.errors import BadInput, Unreachable
from penstock.relations import Fetcher, Patience, Relation, as_source
from penstock.relations.fetching import ask
from penstock.spark.runtime.lookup_bucket import now
from tests.patience import PATIENCE
from tests.relations.postgres import Server, needs_postgres

pytest.importorskip("adbc_driver_sqlite", reason="no databases: pip install penstock[databases]")

TABLE = "CREATE TABLE customers (id BIGINT PRIMARY KEY, name TEXT, score DOUBLE PRECISION)"
ROWS = [(1, "Ada", 1.5), (2, 'Bo\'b "x" {y}, \\z', None), (3, None, 3.0), (-4, "Ünï", 2.0**60)]
ORDERS = "CREATE TABLE orders (shop TEXT, number INTEGER, total INTEGER)"
ORDER_ROWS = [("a'b", 1, 10), ("a'b", 2, 20), ("c", 1, 30)]
NUMBER = (pa.int64(),)
FAST = Patience(retries=0, timeout=PATIENCE)


def literal(value):
    if value is None:
        return "NULL"
    text = str(value).replace("'", "''")
    return f"'{text}'" if isinstance(value, str) else text


def statements():
    yield TABLE
    yield ORDERS
    for table, rows in (("customers", ROWS), ("orders", ORDER_ROWS)):
        for row in rows:
            yield f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))})"


def write_sqlite(path):
    with sqlite3.connect(path) as connection:
        for statement in statements():
            connection.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def sqlite_uri(tmp_path_factory):
    path = tmp_path_factory.mktemp("sqlite") / "shop.db"
    write_sqlite(path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def duckdb_uri(tmp_path_factory):
    duckdb = pytest.importorskip("duckdb", reason="no DuckDB: pip install penstock[duckdb]")
    path = tmp_path_factory.mktemp("duckdb") / "shop.db"
    with duckdb.connect(str(path)) as connection:
        for statement in statements():
            connection.execute(statement)
    return f"duckdb:///{path}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("postgres"))
    server.run(*statements())
    yield server
    server.cleanup()


@pytest.fixture(autouse=True)
def password(monkeypatch):
    monkeypatch.setenv("PENSTOCK_TEST_PASSWORD", "hunter2")


@pytest.fixture(params=["sqlite", "duckdb", pytest.param("postgres", marks=needs_postgres)])
def uri(request):
    if request.param == "postgres":
        return request.getfixturevalue("server").uri
    return request.getfixturevalue(f"{request.param}_uri")


def fetcher(relation, on=("k",), kinds=NUMBER, patience=FAST):
    source = as_source(relation, on)
    schema = ask(lambda: source.schema(list(kinds)), patience, source, now).answer
    return Fetcher(source, schema, patience)


def test_rows_by_number(uri):
    found = fetcher(Relation(uri, table="customers", key="id"))
    assert found.promised == pa.schema(
        [("id", pa.int64()), ("name", pa.string()), ("score", pa.float64())]
    )
    answer = found.fetch(pa.table({"k": [3, 99, 1, 2, -4]}))
    rows = [answer.rows.slice(row, 1).to_pylist()[0] if row >= 0 else None for row in answer.row]
    assert [row and tuple(row.values()) for row in rows] == [
        ROWS[2], None, ROWS[0], ROWS[1], ROWS[3],
    ]  # fmt: skip
    assert found.counts["calls"] == 1


def test_rows_by_text_through_a_query(uri):
    query = "SELECT id + 10 AS number, name FROM customers WHERE id > 0;"
    found = fetcher(Relation(uri, query=query, key="name"), kinds=[pa.string()])
    wanted = ["Ada", 'Bo\'b "x" {y}, \\z', "Ünï", "'; DROP TABLE customers; --"]
    answer = found.fetch(pa.table({"k": wanted}))
    numbers = [answer.rows["number"][row].as_py() if row >= 0 else None for row in answer.row]
    assert numbers == [11, 12, None, None]


def test_rows_by_two_columns(uri):
    relation = Relation(uri, table="orders", key=["shop", "number"], columns=["total"])
    found = fetcher(relation, ("s", "n"), [pa.string(), pa.int32()])
    asked = {"s": ["a'b", "c", "c"], "n": pa.array([2, 2, 1], pa.int32())}
    answer = found.fetch(pa.table(asked))
    totals = [answer.rows["total"][row].as_py() if row >= 0 else None for row in answer.row]
    assert totals == [20, None, 30]


def test_two_rows_for_a_key(uri):
    found = fetcher(Relation(uri, table="orders", key="shop"), kinds=[pa.string()])
    with pytest.raises(BadInput, match="""has 2 rows for the key shop = "a'b";"""):
        found.fetch(pa.table({"k": ["a'b", "c"]}))


def test_no_such_table_or_column(uri):
    with pytest.raises((BadInput, Unreachable), match="nowhere"):
        fetcher(Relation(uri, table="nowhere", key="id"))
    with pytest.raises(BadInput, match="has no column 'nam'; it has id, name, score"):
        fetcher(Relation(uri, table="customers", key="id", columns=["nam"]))
    with pytest.raises(BadInput, match="has no column 'k'"):
        fetcher(Relation(uri, table="customers"))


def test_an_empty_table_says_so(uri):
    some = as_source(Relation(uri, table="customers", key="id"), ("k",))
    none = as_source(Relation(uri, query="SELECT * FROM customers WHERE id = 99", key="id"), ("k",))
    assert (some.is_empty(), none.is_empty()) == (False, True)


def test_keys_that_no_parameter_can_hold(uri):
    with pytest.raises(BadInput, match="must be whole numbers or texts, got double"):
        fetcher(Relation(uri, table="customers", key="score"), kinds=[pa.float64()])


@pytest.mark.parametrize("form", ["{}:///{}/nothing.db", "{}:nothing.db"])
def test_a_file_that_is_not_there_is_named_in_full(tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    for scheme in ("sqlite", "duckdb") if find_spec("duckdb") else ("sqlite",):
        relation = Relation(form.format(scheme, tmp_path), table="t", key="id")
        with pytest.raises(BadInput, match=f"there is no file {tmp_path}/nothing.db;"):
            fetcher(relation)
        assert not list(tmp_path.iterdir())


def test_a_file_whose_name_has_a_space(tmp_path):
    write_sqlite(tmp_path / "the shop.db")
    relation = Relation(f"sqlite:///{tmp_path}/the%20shop.db", table="customers", key="id")
    assert fetcher(relation)


def test_types_of_sqlite_columns_without_rows(tmp_path):
    path = tmp_path / "empty.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, name VARCHAR(9), r REAL, b BLOB, d DATE)")
        connection.execute("CREATE TABLE loose (id INTEGER, n)")
        connection.execute("INSERT INTO loose VALUES (1, 7)")
    connection.close()
    relation = Relation(f"sqlite:///{path}", query="SELECT * FROM t", key="id")
    kinds = [field.type for field in fetcher(relation).promised]
    assert kinds == [pa.int64(), pa.string(), pa.float64(), pa.binary(), pa.string()]
    loose = Relation(f"sqlite:///{path}", table="loose", key="id")
    assert fetcher(loose).promised.field("n").type == pa.int64()


def test_a_column_of_nulls_keeps_its_type(tmp_path):
    path = tmp_path / "nulls.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
        rows = [(number, "last" if number == 2999 else None) for number in range(3000)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    found = fetcher(Relation(f"sqlite:///{path}", table="t", key="id"))
    answer = found.fetch(pa.table({"k": list(range(3000))}))
    assert answer.rows["name"].drop_null().to_pylist() == ["last"]


@needs_postgres
def test_a_query_that_takes_too_long_is_cancelled(server):
    query = "SELECT id, name, pg_sleep(600)::text AS nap FROM customers"
    slow = fetcher(Relation(server.uri, query=query, key="id"))
    slow.patience = Patience(timeout=0.2, retries=0)
    with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
        slow.fetch(pa.table({"k": [1, 2]}))
    quick = fetcher(Relation(server.uri, table="customers", key="id"))
    assert quick.fetch(pa.table({"k": [1]})).row.tolist() == [0]


@needs_postgres
def test_a_server_that_comes_back(server):
    found = fetcher(Relation(server.uri, table="customers", key="id"), patience=Patience())
    assert found.fetch(pa.table({"k": [1]})).row.tolist() == [0]
    server.stop()
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            server.start()

    found.sleep = pause
    assert found.fetch(pa.table({"k": [2]})).row.tolist() == [0]
    assert found.counts["retries"] >= 2


@needs_postgres
def test_an_unreachable_server_tells_no_secret():
    uri = "postgresql://app:${PENSTOCK_TEST_PASSWORD}@127.0.0.1:1/shop"
    with pytest.raises(Unreachable, match=r"was asked once and did not answer.*refused") as told:
        fetcher(Relation(uri, table="t", key="id"))
    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None
