"""Where rows come from, whatever it is: the one interface that fetching goes by."""

from collections.abc import Callable
from typing import Any, Protocol

import pyarrow as pa

from ..errors import BadInput
from .called import Called
from .database import Database
from .relation import Relation


class Source(Protocol):
    """Something that has a row, or none, for a key."""

    name: str
    keys: tuple[str, ...]  # the columns of its answers that hold the key

    def schema(self, kinds: list[pa.DataType]) -> pa.Schema:
        """Return the columns of its answers, asked for no key; `kinds` are the keys' types."""

    def fetch(self, keys: pa.Table) -> pa.Table:
        """Return the rows of some keys, in any order."""

    def cancel(self) -> None:
        """Give up what is being fetched, as far as that can be done; from another thread."""

    def hide(self, text: str) -> str:
        """Return a message without secrets."""

    @property
    def identity(self) -> str:
        """What tells it from others, without saying where it is."""

    def is_empty(self) -> bool:
        """Tell whether there is no row at all, as far as that can be known."""


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
