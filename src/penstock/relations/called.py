"""A function of the user's as a relation: an HTTP service, Redis, a folder of Parquet files."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ..errors import BadInput


class Called:
    """Asks `fetch(keys)`, which returns a table that holds the key under the events' names.

    Several key columns are passed as one array of structs. Asked for no keys, the function must
    return an empty table: that tells the columns before the query starts.
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
        """Return the text as it is: what the function knows is not known here."""
        return text

    @property
    def identity(self) -> str:
        """Return the function's name."""
        return self.name

    def is_empty(self) -> bool:
        """Return False: nobody can know."""
        return False
