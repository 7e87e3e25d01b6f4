"""A table or query of a database as a source of rows, one batched query at a time.

Every process keeps one connection to a database and opens it anew when it breaks. What travels to
the workers is what the user wrote; the address with its secrets exists in a connection alone.
"""

import hashlib
from typing import Any

import pyarrow as pa

from ..errors import BadInput
from .dialects import dialect_of, quoted
from .relation import Relation
from .secrets import Address, address_of

_connections: dict[tuple[str, str], Any] = {}  # of this process, by what was asked for


class Database:
    """Fetches rows of one relation."""

    def __init__(self, relation: Relation, keys: tuple[str, ...]):
        self.relation = relation
        self.keys = keys
        self.name = relation.name
        self.selected: dict[str, pa.DataType] = {}  # the columns to fetch, by `schema`

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the key columns and the wanted ones as the database has them."""
        address = address_of(self.relation)
        dialect = dialect_of(address.uri)
        self.close()  # an older connection may not have seen how the table has changed
        try:
            found = dialect.columns(self._connection(address), self._from())
        finally:
            self.close()
        for name in (*self.keys, *(self.relation.columns or ())):
            if name not in found.names:
                raise BadInput(
                    f"{self.name} of the relation has no column {name!r}; it has "
                    f"{', '.join(found.names)}"
                )
        rest = self.relation.columns or [name for name in found.names if name not in self.keys]
        names = [*self.keys, *(name for name in rest if name not in self.keys)]
        self.selected = {name: _storage(found.field(name).type) for name in names}
        self._refuse_odd_keys(kinds)
        return pa.schema(list(self.selected.items()))

    def _refuse_odd_keys(self, kinds: list[pa.DataType]) -> None:
        for name, kind in zip(self.keys, kinds, strict=True):
            if not pa.types.is_integer(kind) and not pa.types.is_string(kind):
                raise BadInput(
                    f"the key of a database relation must be whole numbers or texts, got {kind} "
                    f"for {name!r}; cast it to string in the frame and in query="
                )

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Return the rows of some keys, by one query."""
        address = address_of(self.relation)
        dialect = dialect_of(address.uri)
        columns = ", ".join(
            f"{dialect.select(quoted(name), kind)} AS {quoted(name)}"
            for name, kind in self.selected.items()
        )
        names = [quoted(name) for name in self.keys]
        kinds = [column.type for column in keys.columns]
        sql = f"SELECT {columns} FROM {self._from()} AS r WHERE {dialect.among(names, kinds)}"
        return self._run(address, sql, dialect.bind(_widened(keys)))

    @property
    def identity(self) -> str:
        """Return a digest of where it is and what is asked: checkpoints need not tell."""
        what = (self.relation.uri, self.relation.table, self.relation.query, self.keys)
        return hashlib.sha256(repr(what).encode()).hexdigest()[:16]

    def is_empty(self) -> bool:
        """Tell whether there is no row at all."""
        sql = f"SELECT 1 AS one FROM {self._from()} AS r LIMIT 1"
        try:
            return self._run(address_of(self.relation), sql, None).num_rows == 0
        finally:
            self.close()

    def _from(self) -> str:
        if self.relation.table is not None:
            return ".".join(quoted(part) for part in self.relation.table.split("."))
        return f"({str(self.relation.query).strip().rstrip(';')})"

    def _run(self, address: Address, sql: str, bound: Any) -> pa.Table:
        connection = self._connection(address)
        try:
            with connection.cursor() as cursor:
                if dialect_of(address.uri).name == "sqlite":  # types are told by a whole answer
                    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "1048576"})
                cursor.execute(sql, bound)
                return cursor.fetch_arrow_table()
        except Exception:
            self._drop(connection)  # whatever is wrong with it: the next one is new
            raise

    def _connection(self, address: Address) -> Any:
        if self._token not in _connections:
            _connections[self._token] = dialect_of(address.uri).connect(address.uri)
        return _connections[self._token]

    @property
    def _token(self) -> tuple[str, str]:
        """Tell connections apart; a provider is another object in every task, so by its name."""
        provider = self.relation.credentials
        return self.relation.uri, getattr(provider, "__qualname__", str(type(provider)))

    def close(self) -> None:
        """Close this process's connection; the next question opens another."""
        if self._token in _connections:
            self._drop(_connections[self._token])

    def _drop(self, connection: Any) -> None:
        if _connections.get(self._token) is connection:  # else another took its place already
            del _connections[self._token]
        try:
            connection.close()
        except Exception:  # it may be broken or busy, which is why it goes
            return

    def cancel(self) -> None:
        """Give up the query that runs."""
        connection = _connections.pop(self._token, None)
        if connection is not None:
            connection.adbc_cancel()

    def hide(self, text: str) -> str:
        """Return a message without the secrets of the address."""
        try:
            return address_of(self.relation).hide(text)
        except BadInput:  # without its variables there is no secret either
            return text


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
