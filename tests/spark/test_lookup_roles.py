"""Lookups in PostgreSQL through Spark's workers, which serve one query after the other."""

import pytest

from penstock.spark import Relation, lookup, metrics
from tests.relations.postgres import ROLES, Server, needs_postgres, write_roles
from tests.spark.streams import Files, results, run

pytestmark = [pytest.mark.spark, needs_postgres]

ROUNDS = 2  # over the same workers


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("roles"))
    write_roles(server)
    server.run(
        "CREATE TABLE texts (id text PRIMARY KEY, name text)",
        "INSERT INTO texts SELECT 'k' || n, 'name ' || n FROM generate_series(0, 9) AS n",
    )
    yield server
    server.cleanup()


def whoami(server: Server, user: str) -> Relation:
    """Return the view with credentials that only differ in what their function has captured."""
    return Relation(server.place, table="whoami", key="id", credentials=lambda: {"user": user})


def test_batches_read_as_their_own_user_in_reused_workers(spark, server):
    frame = spark.range(40)
    for _ in range(ROUNDS):
        for user in ROLES:
            rows = lookup(frame, whoami(server, user), "id", budget=50, policy="lru").collect()
            assert {row.reader for row in rows} == {user}
            assert len(rows) == 40


@pytest.mark.slow
def test_streams_read_as_their_own_user_in_reused_workers(spark, server, tmp_path):
    files = Files(tmp_path / "events", "id long, v long")
    files.add([(number % 20, number) for number in range(40)])
    files.add([(number, number) for number in range(40)])
    frames = {
        user: lookup(files.stream(spark), whoami(server, user), "id", budget=20, policy="lru")
        for user in ROLES
    }
    for user, frame in frames.items():  # planned together, and then run one after the other
        assert metrics(run(frame, tmp_path, user)).found == 80
    for user in ROLES:
        assert spark.read.parquet(str(tmp_path / user)).select("reader").distinct().collect() == [
            (user,)
        ]


def test_a_restart_as_another_user_serves_nothing_that_was_cached(spark, server, tmp_path):
    files = Files(tmp_path / "events", "id long, v long")
    told = []
    for part, user in enumerate((ROLES[0], ROLES[0], ROLES[1])):
        files.add([(number, part) for number in range(20)])
        frame = lookup(files.stream(spark), whoami(server, user), "id", budget=50, policy="lru")
        told.append(metrics(run(frame, tmp_path)))
    # The same user finds the cache as it was, another one fetches anew.
    assert [(each.hits, each.rows_fetched) for each in told] == [(0, 20), (20, 20), (20, 40)]
    expected = {repr((number, part, ROLES[part == 2])) for number in range(20) for part in range(3)}
    assert set(results(spark, tmp_path)) == expected


def test_a_key_with_a_nul_stops_no_stream(spark, server, tmp_path):
    files = Files(tmp_path / "events", "k string, v long")
    keys = ["k1", "k\0", "\0", "k2", "k1\0", None, "k9"]
    files.add([(key, number) for number, key in enumerate(keys)])
    relation = Relation(server.place.replace("://", "://postgres@"), table="texts", key="id")
    query = run(
        lookup(files.stream(spark), relation, "k", budget=50, policy="lru", retries=0), tmp_path
    )
    known = {"k1": "name 1", "k2": "name 2", "k9": "name 9"}
    expected = [repr((key, number, known.get(key))) for number, key in enumerate(keys)]
    assert sorted(results(spark, tmp_path).elements()) == sorted(expected)
    told = metrics(query)
    assert (told.found, told.null_keys, told.unfound, told.retries) == (3, 1, 3, 0)
