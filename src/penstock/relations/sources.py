"""Sources of rows by key: a database, or a function of the user's, behind one interface.

A database answers one batched query at a time. Every process keeps one connection for a lookup and
opens a new one when it breaks. What travels to the workers is what the user wrote; the address with
its secrets exists in a connection alone.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

import pyarrow as pa

from ..errors import BadInput
from .dialects import quoted
from .relation import Relation, address_of, hide, values
from .sessions import SESSIONS, Session

Fetch = Callable[[pa.Array], pa.Table]  # a user's function: the rows of some keys


class RowSource:
    """A source that has one row, or none, for a key."""

    name: str
    keys: tuple[str, ...]  # the columns of its answers that hold the key

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the columns of its answers, asked for no key; `kinds` are the keys' types."""
        raise NotImplementedError

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Return the rows of some keys, in any order."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Cancel the query that runs, where that can be done; from another thread."""

    def hide(self, text: str) -> str:
        """Return a message without the secrets that are known here."""
        return text

    @property
    def identity(self) -> str:
        """A name that no other source has, and that does not show where it is."""
        return self.name

    def is_empty(self) -> bool:
        """Return whether there is no row at all; False where that cannot be known."""
        return False


class Database(RowSource):
    """Fetches rows of one relation."""

    def __init__(self, relation: Relation, keys: tuple[str, ...]):
        self.relation = relation
        self.keys = keys
        self.name = relation.name
        self.selected: dict[str, pa.DataType] = {}  # the columns to fetch, by `schema`
        self.reader = ""  # the user who asked for the columns, by `schema`
        self.token = token_hex(16)  # of this lookup, which alone uses the connections made for it
        self._begin()

    def _begin(self) -> None:
        self._running: set[Session] = set()
        self._secrets: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels to the workers: neither connections nor secrets."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the key columns and the wanted ones as the database has them."""
        try:
            with self._session() as session:
                found = session.dialect.columns(session.ask, self._from())
                self.reader = session.dialect.reader(session.ask)
            self._select(found)
            self._refuse_odd_keys(kinds)
            # A key that cannot be compared fails now and not in the first micro-batch.
            self.fetch(pa.schema(list(zip(self.keys, kinds, strict=True))).empty_table())
        finally:
            SESSIONS.close(self.token)
        return pa.schema(list(self.selected.items()))

    def _select(self, found: pa.Schema) -> None:
        for name in (*self.keys, *(self.relation.columns or ())):
            if name not in found.names:
                raise BadInput(
                    f"{self.name} of the relation has no column {name!r}; it has "
                    f"{', '.join(found.names)}"
                )
        rest = self.relation.columns or [name for name in found.names if name not in self.keys]
        names = [*self.keys, *(name for name in rest if name not in self.keys)]
        self.selected = {name: _storage(found.field(name).type) for name in names}

    def _refuse_odd_keys(self, kinds: list[pa.DataType]) -> None:
        for name, kind in zip(self.keys, kinds, strict=True):
            if not pa.types.is_integer(kind) and not pa.types.is_string(kind):
                raise BadInput(
                    f"the key of a database relation must be whole numbers or texts, got {kind} "
                    f"for {name!r}; cast it to string in the frame and in query="
                )

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Return the rows of some keys, by one query; a key that it cannot hold has no row."""
        keys = _widened(keys)
        with self._session() as session:
            dialect, sql = session.dialect, self._sql(session, keys)
            try:
                return session.ask(sql, dialect.bind(session.askable(keys)))
            except Exception as error:
                if not session.learn(keys, error):
                    raise
            return session.ask(sql, dialect.bind(session.askable(keys)))

    def _sql(self, session: Session, keys: pa.Table) -> str:
        dialect = session.dialect
        columns = ", ".join(
            f"{dialect.select(quoted(name), kind)} AS {quoted(name)}"
            for name, kind in self.selected.items()
        )
        names = [quoted(name) for name in self.keys]
        kinds = [column.type for column in keys.columns]
        return f"SELECT {columns} FROM {self._from()} AS r WHERE {dialect.among(names, kinds)}"

    @property
    def identity(self) -> str:
        """Return a digest of the address, the query and the user: checkpoints hold no address."""
        asked = (self.relation.uri, self.relation.table, self.relation.query, self.keys)
        return hashlib.sha256(repr((*asked, self.reader)).encode()).hexdigest()[:16]

    def is_empty(self) -> bool:
        """Return whether there is no row at all."""
        sql = f"SELECT 1 AS one FROM {self._from()} AS r LIMIT 1"
        try:
            with self._session() as session:
                return session.ask(sql).num_rows == 0
        finally:
            SESSIONS.close(self.token)

    def _from(self) -> str:
        if self.relation.table is not None:
            return ".".join(quoted(part) for part in self.relation.table.split("."))
        return f"({str(self.relation.query).strip().rstrip(';')})"

    @contextmanager
    def _session(self) -> Iterator[Session]:
        """Yield a session for one caller; after an error or a cancellation the next one is new."""
        session = SESSIONS.take(self.token) or self._open()
        self._secrets |= session.address.secrets
        self._running.add(session)
        try:
            yield session
        except BaseException:
            self._running.discard(session)
            session.close()
            raise
        if session in self._running:
            self._running.discard(session)
            SESSIONS.put(self.token, session)
        else:  # a cancellation on its way could reach the next query
            session.close()

    def _open(self) -> Session:
        address = address_of(self.relation)
        self._secrets |= address.secrets  # even if it cannot be opened: the error may show them
        dialect = address.dialect
        return Session(dialect.connect(address.uri), address, set(dialect.unknown))

    def cancel(self) -> None:
        """Cancel the query that runs."""
        while self._running:
            self._running.pop().cancel()

    def hide(self, text: str) -> str:
        """Return a message without the secrets of all addresses that were used."""
        return hide(text, self._secrets | values(self.relation.uri))


def _storage(kind: pa.DataType) -> pa.DataType:
    """Return how values of a database's own types come: mostly as texts."""
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _widened(keys: pa.Table) -> pa.Table:
    """Return whole numbers with 64 bits: databases compare numbers of any width."""
    columns = [
        column.cast(pa.int64()) if pa.types.is_integer(column.type) else column
        for column in keys.columns
    ]
    return pa.Table.from_arrays(columns, names=keys.column_names)


class Called(RowSource):
    """A function `fetch(keys)`, such as a client of an HTTP service or of Redis.

    It returns a table that holds the key under the names it has in the events. Several key columns
    are passed as one array of structs. Asked for no keys, the function must return an empty table:
    its columns are needed before the query starts. It cannot be stopped from outside.
    """

    def __init__(self, function: Fetch, keys: tuple[str, ...]):
        self.function = function
        self.keys = keys
        self.name = f"the function {getattr(function, '__qualname__', type(function).__name__)}"

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the columns of an answer to no keys."""
        fields = zip(self.keys, kinds, strict=True)
        return self.fetch(pa.schema(list(fields)).empty_table()).schema

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Ask the function."""
        if keys.num_columns == 1:
            array = keys.column(0).combine_chunks()
        else:
            array = keys.combine_chunks().to_struct_array().combine_chunks()
        answer = self.function(array)
        if isinstance(answer, pa.RecordBatch):
            answer = pa.Table.from_batches([answer])
        if not isinstance(answer, pa.Table):
            raise BadInput(
                f"{self.name} must return a pyarrow Table, got {type(answer).__name__} for "
                f"{len(array)} keys; return a table without rows where there are none"
            )
        return answer


def as_source(relation: Relation | Fetch, on: tuple[str, ...]) -> RowSource:
    """Return the source behind what a user passed."""
    if isinstance(relation, Relation):
        if relation.key is not None and len(relation.key) != len(on):
            raise BadInput(
                f"key of the relation must name as many columns as on ({', '.join(on)}), got "
                f"{', '.join(relation.key)}"
            )
        return Database(relation, tuple(relation.key or on))
    if callable(relation):
        return Called(relation, on)
    raise BadInput(
        "relation must be a Relation, or a function fetch(keys) that returns a pyarrow Table, got "
        f"{type(relation).__name__}"
    )
