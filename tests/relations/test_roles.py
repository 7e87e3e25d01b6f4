"""A lookup reads as the user of its own credentials, whatever ran in the process before."""

import functools

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from penstock.errors import BadInput, Unreachable
from penstock.relations import Fetcher, Patience, Relation, as_source
from penstock.relations.sessions import KEPT, SESSIONS
from tests.relations.postgres import ROLES, Server, needs_postgres, write_roles

pytestmark = needs_postgres

ONCE = Patience(retries=0, timeout=300)
KEYS = pa.table({"k": pa.array([1], pa.int64())})
role = "postgres"  # what `by_global` returns


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("roles"))
    write_roles(server)
    yield server
    server.cleanup()


@pytest.fixture(autouse=True)
def fresh():
    yield
    SESSIONS.close_all()


def planned(server, credentials, uri=None) -> Fetcher:
    """Return a lookup as a worker has it: planned here, then pickled."""
    relation = Relation(uri or server.place, table="whoami", key="id", credentials=credentials)
    source = as_source(relation, ("k",))
    schema = source.schema([pa.int64()])
    return Fetcher(cloudpickle.loads(cloudpickle.dumps(source)), schema, ONCE)


def reader(lookup: Fetcher) -> str:
    return lookup.fetch(KEYS).rows["reader"][0].as_py()


def in_another_task(lookup: Fetcher) -> Fetcher:
    """Return the same lookup as the next task of a reused worker has it."""
    source = cloudpickle.loads(cloudpickle.dumps(lookup.source))
    return Fetcher(source, lookup.promised, lookup.patience)


def closure(user):
    def provider():
        return {"user": user}

    return provider


def spoken(user):
    return {"user": user}


def by_global():
    return {"user": role}


class Provider:
    """A callable object, and one with a method."""

    def __init__(self, user):
        self.user = user

    def __call__(self):
        return {"user": self.user}

    def login(self):
        return {"user": self.user}


MADE = {
    "closure": closure,
    "lambda": lambda user: lambda: {"user": user},
    "default": lambda user: lambda who=user: {"user": who},
    "partial": lambda user: functools.partial(spoken, user),
    "object": Provider,
    "method": lambda user: Provider(user).login,
}


@pytest.mark.parametrize("made", MADE)
def test_two_lookups_never_share_a_connection(server, made):
    lookups = [planned(server, MADE[made](user)) for user in ROLES]
    for _ in range(2):  # the second time their connections are there already
        assert [reader(in_another_task(lookup)) for lookup in lookups] == list(ROLES)


def test_a_provider_that_depends_on_a_global_or_the_environment(server, monkeypatch):
    read = []
    for user in ROLES:
        monkeypatch.setitem(globals(), "role", user)
        monkeypatch.setenv("PENSTOCK_TEST_ROLE", user)
        first = planned(server, by_global)
        second = planned(server, None, server.place.replace("://", "://${PENSTOCK_TEST_ROLE}@"))
        read.append((reader(first), reader(second)))
    assert read == [(user, user) for user in ROLES]


def test_a_lookup_keeps_its_connection_from_task_to_task(server):
    calls = []
    relation = Relation(
        server.place, query="SELECT id, pg_backend_pid() AS pid FROM things", key="id",
        credentials=lambda: calls.append(1) or {"user": ROLES[0]},
    )  # fmt: skip
    source = as_source(relation, ("k",))
    lookup = Fetcher(source, source.schema([pa.int64()]), ONCE)
    opened = len(calls)
    pids = set()
    for _ in range(3):
        state = source.__getstate__()  # the provider counts, so it must not be copied
        source.__setstate__(state)
        pids.add(lookup.fetch(KEYS).rows["pid"][0].as_py())
    assert len(pids) == 1
    assert len(calls) == opened + 1


def test_a_provider_is_asked_again_when_a_connection_breaks(server):
    users = iter([*ROLES, *ROLES])
    source = as_source(
        Relation(
            server.place, query="SELECT id, current_user::text AS reader FROM things", key="id",
            credentials=lambda: {"user": next(users)},
        ),
        ("k",),
    )  # fmt: skip
    schema = source.schema([pa.int64()])  # opens the first
    lookup = Fetcher(source, schema, Patience(retries=3, pause=0.0))
    assert reader(lookup) == ROLES[1]
    assert reader(lookup) == ROLES[1]
    server.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        f"WHERE usename IN ('{ROLES[0]}', '{ROLES[1]}')"
    )
    assert reader(lookup) == ROLES[0]


def test_a_process_keeps_few_connections(server):
    lookups = [planned(server, closure(ROLES[n % 2])) for n in range(KEPT + 3)]
    assert [reader(lookup) for lookup in lookups] == [ROLES[n % 2] for n in range(KEPT + 3)]
    assert len(SESSIONS) == KEPT
    assert [reader(lookup) for lookup in lookups] == [ROLES[n % 2] for n in range(KEPT + 3)]
    assert len(SESSIONS) == KEPT


def test_rows_cached_for_one_user_are_not_those_of_another(server):
    lookups = [planned(server, closure(user)) for user in (*ROLES, ROLES[0])]
    identities = [lookup.source.identity for lookup in lookups]
    assert identities[0] == identities[2] != identities[1]
    assert not any(user in identity for user in ROLES for identity in identities)


def test_an_old_password_is_hidden_after_the_provider_returned_a_new_one(server):
    passwords = iter(["hunter1", "hunter2", "hunter3"])

    def rotating():
        password = next(passwords)
        return {"user": f"nobody-{password}", "password": password}

    relation = Relation(server.place, table="whoami", key="id", credentials=rotating)
    lookup = Fetcher(as_source(relation, ("k",)), None, Patience(retries=1, pause=0.0))
    with pytest.raises((BadInput, Unreachable), match=r"nobody-\*\*\*") as told:
        lookup.fetch(KEYS)
    assert "hunter" not in str(told.value)
