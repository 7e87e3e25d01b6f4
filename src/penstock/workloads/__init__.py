"""Streams to replay: generators in the papers' likeness, and readers of trace files."""

from collections.abc import Callable
from dataclasses import dataclass

from .drift import (
    Noise,
    drift,
    drift_references,
    floor,
    floor_references,
    roof,
    roof_references,
    tower,
    tower_references,
)
from .files import (
    KeyRows,
    Readings,
    read_join,
    read_keys,
    read_lookup,
    read_pair,
    read_readings,
    read_stream,
    row_bytes,
)
from .gdj import gdj, gdj_references
from .locality import Locality, locality, locality_references
from .trace import JoinTrace, LookupTrace
from .walk import walk, walk_references
from .zipf import zipf, zipf_references

__all__ = [
    "GENERATED",
    "JoinTrace",
    "KeyRows",
    "Locality",
    "LookupTrace",
    "Noise",
    "Readings",
    "Workload",
    "drift",
    "drift_references",
    "floor",
    "floor_references",
    "gdj",
    "gdj_references",
    "locality",
    "locality_references",
    "read_join",
    "read_keys",
    "read_lookup",
    "read_pair",
    "read_readings",
    "read_stream",
    "roof",
    "roof_references",
    "row_bytes",
    "tower",
    "tower_references",
    "walk",
    "walk_references",
    "zipf",
    "zipf_references",
]


@dataclass(frozen=True)
class Workload:
    """A generated workload; both generators are called as (length, seed) or with more options."""

    name: str
    join: Callable[..., JoinTrace]
    lookup: Callable[..., LookupTrace]
    windowed: bool  # its tuples die by themselves: the trace carries `end`


GENERATED: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload("tower", tower, tower_references, windowed=True),
        Workload("roof", roof, roof_references, windowed=True),
        Workload("floor", floor, floor_references, windowed=True),
        Workload("walk", walk, walk_references, windowed=False),
        Workload("zipf", zipf, zipf_references, windowed=False),
        Workload("gdj", gdj, gdj_references, windowed=False),
        Workload("locality", locality, locality_references, windowed=False),
    )
}
