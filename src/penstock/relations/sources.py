"""Sources of rows by key: a database, or a function of the user's, behind one interface."""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from ..errors import BadInput
from .database import Database
from .relation import Relation


class Source(Protocol):
    """A source that has one row, or none, for a key."""

    name: str
    keys: tuple[str, ...]  # the columns of its answers that hold the key

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the columns of its answers, asked for no key; `kinds` are the keys' types."""

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Return the rows of some keys, in any order."""

    def cancel(self) -> None:
        """Cancel the query that runs, as far as that can be done; from another thread."""

    def hide(self, text: str) -> str:
        """Return a message without secrets."""

    @property
    def identity(self) -> str:
        """A name that no other source has, and that does not show where it is."""

    def is_empty(self) -> bool:
        """Return whether there is no row at all, as far as that can be known."""


class Called:
    """A function `fetch(keys)`, such as a client of an HTTP service or of Redis.

    It returns a table that holds the key under the names it has in the events. Several key columns
    are passed as one array of structs. Asked for no keys, the function must return an empty table:
    its columns are needed before the query starts.
    """

    def __init__(self, function: Callable[[pa.Array], Any], keys: tuple[str, ...]):
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

    def cancel(self) -> None:
        """Do nothing: a function cannot be stopped from outside."""

    def hide(self, text: str) -> str:
        """Return the text as it is: the secrets of the function are not known here."""
        return text

    @property
    def identity(self) -> str:
        """Return the function's name."""
        return self.name

    def is_empty(self) -> bool:
        """Return False: it cannot be known."""
        return False


def as_source(relation: Any, on: tuple[str, ...]) -> Source:
    """Return the source behind what a user passed."""
    if isinstance(relation, Relation):
        if relation.key is not None and len(relation.key) != len(on):
            raise BadInput(
                f"key of the relation must name as many columns as on ({', '.join(on)}), got "
                f"{', '.join(relation.key)}"
            )
        return Database(relation, tuple(relation.key or on))
    if isinstance(relation, Callable):  # type: ignore[arg-type]
        return Called(relation, on)
    raise BadInput(
        "relation must be a Relation, or a function fetch(keys) that returns a pyarrow Table, got "
        f"{type(relation).__name__}"
    )
