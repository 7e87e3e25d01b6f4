"""The open connections of this process, kept from one question of a lookup to its next.

A Python worker of Spark serves many queries, one after the other. Which user a connection belongs
to cannot be told from a relation: two providers may be made by one function, and one provider may
answer differently each time. So every lookup draws a token when it is planned, which travels with
it, and finds here only connections that were opened for the same token.

Whoever takes a session has it alone until it is put back.
"""

import atexit
import contextlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from .dialects import Dialect
from .secrets import Address

KEPT = 8  # connections of a process that wait for their next question


@dataclass(eq=False)
class Session:
    """An open connection, and what was learned of its database."""

    connection: Any
    address: Address
    unknown: set[str] = field(default_factory=set)  # characters that its texts cannot hold
    tried: set[str] = field(default_factory=set)  # characters that they can

    @property
    def dialect(self) -> Dialect:
        """The kind of the database."""
        return self.address.dialect

    def ask(self, sql: str, bound: Any = None) -> pa.Table:
        """Return the answer to one query."""
        with self.connection.cursor() as cursor:
            if self.dialect.name == "sqlite":  # types are told by a whole answer
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": "1048576"})
            cursor.execute(sql, bound)
            return cursor.fetch_arrow_table()

    def cancel(self) -> None:
        """Stop the query that runs; from another thread."""
        self.connection.adbc_cancel()

    def close(self) -> None:
        """Close the connection, whatever state it is in."""
        with contextlib.suppress(Exception):  # it may be broken or busy, which is why it is closed
            self.connection.close()


def open_session(address: Address) -> Session:
    """Return a new connection to an address."""
    dialect = address.dialect
    return Session(dialect.connect(address.uri), address, unknown=set(dialect.unknown))


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
        """Let a session wait for its next question; the one that waited longest may be closed."""
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
