"""Connections wait for their own lookup alone, and not too many of them."""

import pickle

import pytest

from penstock.relations import Relation, as_source
from penstock.relations.sessions import SESSIONS, Session, Sessions


class Connection:
    """A connection that can be closed."""

    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True
        raise OSError("broken")  # which closing must survive


def session():
    return Session(Connection(), address=None, unknown=set())


def test_a_session_is_found_by_its_token_and_taken_once():
    sessions, mine = Sessions(), session()
    sessions.put("a", mine)
    assert sessions.take("b") is None
    assert sessions.take("a") is mine
    assert sessions.take("a") is None


def test_the_session_that_waited_longest_is_closed():
    sessions, several = Sessions(kept=2), [session() for _ in range(4)]
    sessions.put("a", several[0])
    sessions.put("b", several[1])
    sessions.put("a", sessions.take("a"))
    sessions.put("c", several[2])
    assert [each.connection.closed for each in several[:3]] == [False, True, False]
    sessions.put("c", several[3])  # one for each token
    assert [each.connection.closed for each in several] == [False, True, True, False]
    assert len(sessions) == 2
    sessions.close("a")
    sessions.close_all()
    assert all(each.connection.closed for each in several)
    assert len(sessions) == 0


def test_every_lookup_has_a_token_that_travels():
    relation = Relation("sqlite:///shop.db", table="t")
    sources = [as_source(relation, ("k",)) for _ in range(2)]
    assert sources[0].token != sources[1].token
    assert pickle.loads(pickle.dumps(sources[0])).token == sources[0].token
    assert sources[0].identity == sources[1].identity  # a cache may outlive a restart


def test_a_planned_lookup_leaves_no_connection_behind(tmp_path):
    sqlite3 = pytest.importorskip("sqlite3")
    pytest.importorskip("adbc_driver_sqlite", reason="no databases")
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE t (k INTEGER, v TEXT)")
    connection.close()
    import pyarrow as pa

    source = as_source(Relation(f"sqlite:///{tmp_path}/shop.db", table="t"), ("k",))
    source.schema([pa.int64()])
    assert source.is_empty()
    assert SESSIONS.take(source.token) is None
    with pytest.raises(Exception, match="no such table"):
        as_source(Relation(f"sqlite:///{tmp_path}/shop.db", table="u"), ("k",)).schema([pa.int64()])
    source.fetch(pa.table({"k": [1]}))
    assert SESSIONS.take(source.token) is not None
