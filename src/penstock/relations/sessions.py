"""The open connections of this process, kept from one query of a lookup to its next.

A Python worker of Spark serves many lookups, one after the other. A relation does not show which
user a connection belongs to: two providers may be made by one function, and one provider may answer
differently each time. So every lookup draws a token when it is planned, which travels with it, and
finds here only connections that were opened for the same token.

A session that was taken is used by one caller alone until it is put back.

Some keys have characters that a database cannot hold. They have no row there, and must not make a
query fail. PostgreSQL refuses a query whose parameters it cannot represent: no text of it holds a
NUL, and a database in LATIN1 holds no euro sign. The first is known beforehand. The others are
found when a query has been refused, by asking for ever fewer characters at once, and remembered.
"""

import atexit
import contextlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .dialects import Dialect
from .relation import Address

KEPT = 8  # connections of a process that wait for their next query
REFUSED = ("22021", "22P05")  # character_not_in_repertoire, untranslatable_character


@dataclass(eq=False)
class Session:
    """An open connection, and the characters that its database can and cannot hold."""

    connection: Any
    address: Address
    unknown: set[str]  # characters that its texts cannot hold
    tried: set[str] = field(default_factory=set)  # characters that they can

    @property
    def dialect(self) -> Dialect:
        """The kind of the database."""
        return self.address.dialect

    def ask(self, sql: str, bound: Any = None) -> pa.Table:
        """Return the answer to one query."""
        with self.connection.cursor() as cursor:
            if self.dialect.name == "sqlite":  # types are found from a whole answer
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "1048576"})
            cursor.execute(sql, bound)
            return cursor.fetch_arrow_table()

    def askable(self, keys: pa.Table) -> pa.Table:
        """Return the keys without those that hold a character which the database cannot hold."""
        if not self.unknown:
            return keys
        codes = (f"{ord(letter):x}" for letter in sorted(self.unknown))
        odd = "[" + "".join(rf"\x{{{code}}}" for code in codes) + "]"
        for name in keys.column_names:
            if pa.types.is_string(keys[name].type):
                keys = keys.filter(pc.invert(pc.match_substring_regex(keys[name], odd)))
        return keys

    def learn(self, keys: pa.Table, error: Exception) -> bool:
        """Find which characters of the keys made a query fail; return whether any did."""
        if not _is_refusal(error):
            return False
        texts = [column.to_pylist() for column in keys.columns if pa.types.is_string(column.type)]
        letters = {letter for column in texts for text in column for letter in text}
        known = len(self.unknown)
        self._sort_out(sorted(letters - self.unknown - self.tried))
        return len(self.unknown) > known

    def _sort_out(self, letters: list[str]) -> None:
        if not letters:
            return
        if self._can_hold(letters):
            self.tried.update(letters)
        elif len(letters) == 1:
            self.unknown.update(letters)
        else:
            half = len(letters) // 2
            self._sort_out(letters[:half])
            self._sort_out(letters[half:])

    def _can_hold(self, letters: list[str]) -> bool:
        try:
            self.ask("SELECT cardinality($1)", pa.record_batch({"letters": pa.array([letters])}))
        except Exception as error:
            if _is_refusal(error):
                return False
            raise
        return True

    def cancel(self) -> None:
        """Stop the query that runs; from another thread."""
        self.connection.adbc_cancel()

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        with contextlib.suppress(Exception):  # it may be broken or busy, which is why it is closed
            self.connection.close()


def _is_refusal(error: Exception) -> bool:
    return getattr(error, "sqlstate", None) in REFUSED


class Sessions:
    """Sessions that wait, by token: one for each, and not more than `kept` in all."""

    def __init__(self, kept: int = KEPT):
        self.kept = kept
        self._waiting: OrderedDict[str, Session] = OrderedDict()  # the latest used at the end
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self, token: str) -> Session | None:
        """Return the session of a token, which then waits no longer; None if there is none."""
        with self._lock:
            return self._waiting.pop(token, None)

    def put(self, token: str, session: Session) -> None:
        """Let a session wait for its next query; the one that waited longest may be closed."""
        with self._lock:
            closed = [self._waiting.pop(token, None)]
            self._waiting[token] = session
            if len(self._waiting) > self.kept:
                closed.append(self._waiting.popitem(last=False)[1])
        for old in closed:
            if old is not None:
                old.close()

    def close(self, token: str) -> None:
        """Close the session of a token, if one waits."""
        session = self.take(token)
        if session is not None:
            session.close()

    def close_all(self) -> None:
        """Close every session that waits."""
        for token in list(self._waiting):
            self.close(token)


SESSIONS = Sessions()
atexit.register(SESSIONS.close_all)  # while the driver's own modules are still there to do so
