"""Models fitted to a whole trace before it is replayed, as the HEEB paper does with real data."""

from typing import Any

from ..models import Model
from ..policies.heeb_tables import fit_family
from ..workloads import JoinTrace
from .ordered import with_ordered_keys
from .source import Trace


def fit_before(trace: Trace, params: dict[str, Any]) -> list[Model]:
    """Return a model of each stream, of the family that `heeb:model=` names, or of the best."""
    family, period = params.get("model", "auto"), params.get("period")
    if isinstance(trace, JoinTrace):
        ordered = with_ordered_keys(trace, "heeb")
        streams = [ordered.key[ordered.side == side] for side in range(trace.streams)]
    else:
        streams = [with_ordered_keys(trace, "heeb").key]
    return [fit_family(family, stream, period) for stream in streams]
