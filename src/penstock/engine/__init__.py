"""Engines drive a policy over a stream: joining two or more streams, or caching a relation.

- `base`: what both have in common
- `join`, `lookup`: the public classes; `join_options`: the kinds of join, and what goes together
- `join_memory`: how a join divides its budget; `departures`: its rows without a partner
- `join_kernel`, `lookup_kernel`: what happens to one arrival after another, compiled
- `join_probe`: how a newcomer is matched; part of the join's kernel
- `standings`: with the goal of rows, what a held tuple is still worth; part of the join's kernel
- `join_upkeep`: what a join does between batches
- `batch`: checks a batch and brings it into order
- `saved`: an engine as plain arrays, and back
- `footprint`: what an engine takes in bytes
- `ledger`: one budget for the buckets of a query, and for several memories
- `adapt`: parameters and policies found while an engine runs
"""

from .join import Join, Matches
from .lookup import Lookup

__all__ = ["Join", "Lookup", "Matches"]
