"""What differs between databases: how to connect, to ask for many keys at once, and to learn types.

All keys of a query travel in one parameter (one per key column), so that a query is one round trip
however many keys it asks for.
"""

import json
import os
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa

from ..errors import BadInput
from ..extras import need
from . import libpq

SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?://)?")
FILE_OPTIONS = frozenset(("mode", "cache", "vfs", "psow", "nolock", "immutable"))  # of SQLite
Ask = Callable[[str], pa.Table]  # what puts a query to the database
SAMPLE = 1000  # rows that give the type of an SQLite column which was declared without one


class NoFile(Exception):
    """The file of a database is not there: asking again changes nothing."""


class Dialect:
    """One kind of database; what most of them have in common."""

    name: str
    unknown = ""  # characters that no text of this kind of database can hold

    def check(self, uri: str) -> None:
        """Refuse an address, perhaps with variables, that cannot be read or holds a password."""
        raise NotImplementedError

    def complete(self, uri: str, login: dict[str, str]) -> tuple[str, set[str]]:
        """Return the address to connect to as a user, and the secrets in it."""
        raise NotImplementedError

    def connect(self, uri: str) -> Any:
        """Return an open connection that commits by itself."""
        raise NotImplementedError

    def among(self, keys: list[str], kinds: list[pa.DataType]) -> str:
        """Return the condition that the (quoted) key columns are among those asked for."""
        raise NotImplementedError

    def reader(self, ask: Ask) -> str:
        """Return the user whose rights apply: a row may look different to another user."""
        return ""

    def bind(self, keys: pa.Table) -> Any:
        """Return the parameters of that condition: one row that holds each key column as a list."""
        lists = []
        for column in keys.columns:
            values = column.combine_chunks()
            ends = pa.array([0, len(values)], pa.int32())
            lists.append(pa.ListArray.from_arrays(ends, values))
        return pa.RecordBatch.from_arrays(lists, names=keys.column_names)

    def columns(self, ask: Ask, source: str) -> pa.Schema:
        """Return the columns of a source, which is a table's name or a query in brackets."""
        return ask(f"SELECT * FROM {source} AS r LIMIT 0").schema

    def select(self, name: str, kind: pa.DataType) -> str:
        """Return the expression that fetches a (quoted) column as a type."""
        return name


class Postgres(Dialect):
    """PostgreSQL, and databases that speak its protocol."""

    name = "postgresql"
    unknown = "\0"

    def check(self, uri: str) -> None:
        libpq.refuse_passwords(uri)

    def complete(self, uri: str, login: dict[str, str]) -> tuple[str, set[str]]:
        options = dict(libpq.read(uri))
        if "user" in login:  # another's password is not for this user
            options.pop("password", None)
        options |= login
        options["client_encoding"] = "UTF8"  # as Arrow has it, whatever the database has
        secrets = {value for name, value in options.items() if name in libpq.SECRET and value}
        return libpq.written(options), secrets

    def connect(self, uri: str) -> Any:
        return _driver("adbc_driver_postgresql.dbapi").connect(uri, autocommit=True)

    def reader(self, ask: Ask) -> str:
        return str(ask("SELECT current_user::text AS reader")["reader"][0])

    def among(self, keys: list[str], kinds: list[pa.DataType]) -> str:
        if len(keys) == 1:
            return f"{keys[0]} = ANY($1)"
        words = ["bigint[]" if pa.types.is_integer(kind) else "text[]" for kind in kinds]
        given = ", ".join(f"${number}::{word}" for number, word in enumerate(words, 1))
        return f"({', '.join(keys)}) IN (SELECT * FROM unnest({given}))"


class FileDialect(Dialect):
    """A database in a file: no users, and any character in a text."""

    def check(self, uri: str) -> None:
        """Refuse a host, before which a password could stand, and options that could hold one."""
        try:
            parts = urlsplit(uri)
            options = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        except ValueError:  # its text would show the address
            parts, options = None, set()
        if parts is None or parts.netloc or options - FILE_OPTIONS:
            raise BadInput(
                "the uri of a relation in a file must be like sqlite:///path, without a host, and "
                f"with no options but {', '.join(sorted(FILE_OPTIONS))}; it is not shown here, "
                "since it may hold a password"
            )

    def complete(self, uri: str, login: dict[str, str]) -> tuple[str, set[str]]:
        self.check(uri)
        if login:
            raise BadInput(
                "credentials= is for databases with users, and a file has none; leave it out"
            )
        return uri, set()


class DuckDb(FileDialect):
    """A DuckDB file, opened for reading, as several processes may do at once."""

    name = "duckdb"

    def connect(self, uri: str) -> Any:
        driver = _driver("adbc_driver_duckdb")
        manager = _driver("adbc_driver_manager.dbapi")
        return manager.connect(
            driver=driver.driver_path(),
            entrypoint="duckdb_adbc_init",
            db_kwargs={"path": _existing(_path(uri)), "access_mode": "READ_ONLY"},
            autocommit=True,
        )

    def among(self, keys: list[str], kinds: list[pa.DataType]) -> str:
        return f"({', '.join(keys)}) IN (SELECT {', '.join(['unnest(?)'] * len(keys))})"


class Sqlite(FileDialect):
    """An SQLite file, opened for reading: a name that is not there must not become a new file.

    A column of SQLite may hold anything, and the driver takes the types of the values it sees. So
    types are those declared (or those of the first rows), and every answer is cast to them by the
    database.
    """

    name = "sqlite"
    CASTS = ((pa.types.is_floating, "REAL"), (pa.types.is_string, "TEXT"))

    def connect(self, uri: str) -> Any:
        if uri.startswith("file:"):  # as SQLite reads it: memory, or another way to store
            place = uri
        else:
            place = f"file:{_path(uri)}?mode=ro"
            _existing(unquote(_path(uri)))
        return _driver("adbc_driver_sqlite.dbapi").connect(place, autocommit=True)

    def among(self, keys: list[str], kinds: list[pa.DataType]) -> str:
        if len(keys) == 1:
            return f"{keys[0]} IN (SELECT value FROM json_each(?))"
        parts = ", ".join(f"json_extract(value, '$[{i}]')" for i in range(len(keys)))
        return f"({', '.join(keys)}) IN (SELECT {parts} FROM json_each(?))"

    def bind(self, keys: pa.Table) -> Any:
        columns = [column.to_pylist() for column in keys.columns]
        values = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        return (json.dumps(values),)

    def columns(self, ask: Ask, source: str) -> pa.Schema:
        seen = ask(f"SELECT * FROM {source} AS r LIMIT {SAMPLE}")
        # SQLite shows the types of a table or view only.
        ask(f"CREATE TEMP VIEW penstock_columns AS SELECT * FROM {source}")
        declared = ask("PRAGMA temp.table_info(penstock_columns)").to_pylist()
        kinds = [
            _affinity(each["type"]) or _seen_type(column, each["type"])
            for each, column in zip(declared, seen.columns, strict=True)
        ]
        return pa.schema(list(zip(seen.column_names, kinds, strict=True)))

    def select(self, name: str, kind: pa.DataType) -> str:
        for test, word in self.CASTS:
            if test(kind):
                return f"CAST({name} AS {word})"
        return name


def _affinity(declared: str | None) -> pa.DataType | None:
    """Return the type that SQLite gives a column for the words it was declared with."""
    words = (declared or "").upper()
    if "INT" in words:
        return pa.int64()
    if any(word in words for word in ("CHAR", "CLOB", "TEXT")):
        return pa.string()
    if any(word in words for word in ("REAL", "FLOA", "DOUB")):
        return pa.float64()
    return None


def _seen_type(column: pa.ChunkedArray, declared: str | None) -> pa.DataType:
    """Return the type that the first values have; a blob and no type at all are declared alike."""
    if column.null_count < len(column):
        return column.type
    return pa.binary() if "BLOB" in (declared or "").upper() else pa.string()


DIALECTS: dict[str, Dialect] = {
    "postgresql": Postgres(),
    "postgres": Postgres(),
    "sqlite": Sqlite(),
    "file": Sqlite(),
    "duckdb": DuckDb(),
}


def dialect_of(uri: str) -> Dialect:
    """Return the kind of database that an address names."""
    found = SCHEME.match(uri)
    scheme = found.group(1) if found else ""
    if scheme not in DIALECTS:
        # Without the slashes it may be anything, such as a user and a password.
        got = repr(scheme) if found and found.group().endswith("://") else "something else"
        raise BadInput(
            f"the uri of a relation must begin with one of {', '.join(DIALECTS)}, as in "
            f"postgresql://host/database, got {got}; pass a function fetch(keys) for anything else"
        )
    return DIALECTS[scheme]


def quoted(name: str) -> str:
    """Return a name that SQL takes literally."""
    return '"' + name.replace('"', '""') + '"'


def _driver(module: str) -> Any:
    return need(module, "this relation, on the executors too,")


def _existing(path: str) -> str:
    """Return a path where a file is; drivers do not say that, nor where they looked for it."""
    if not os.path.isfile(path):
        raise NoFile(
            f"there is no file {os.path.abspath(path)}; three slashes begin an absolute path "
            "(sqlite:////data/shop.db or sqlite:///data/shop.db), none a relative one "
            "(sqlite:shop.db), and on a cluster every executor needs the file"
        )
    return path


def _path(uri: str) -> str:
    """Return the file of an address; three slashes begin an absolute path, as usual.

    >>> _path("sqlite:////data/shop.db"), _path("sqlite:///data/shop.db"), _path("duckdb:x.db")
    ('/data/shop.db', '/data/shop.db', 'x.db')
    """
    parts = urlsplit(uri)
    return "/" + parts.path.lstrip("/") if uri.startswith(f"{parts.scheme}://") else parts.path
