"""Look into a checkpoint on the driver, before a query starts from it.

Where a query will be started from is not known when a frame is made of others: only `start()` is
told. So a restart that cannot go on is refused by the first micro-batch, in a worker. A user who
names the checkpoint beforehand is told at once, and by the driver.
"""

import os
from typing import Any

from ..errors import BadInput
from .store import check_fingerprint, read_fingerprint

OPERATOR = "applyInPandasWithState"  # as Spark calls it in a checkpoint
START = 1 << 20  # bytes of a bucket's state, which hold its header


def check_checkpoint(
    session: Any, checkpoint: Any, wanted: dict[str, object], what: str, streaming: bool
) -> None:
    """Refuse a checkpoint that was written by another query; one that is not there yet passes."""
    if checkpoint is None:
        return
    if not isinstance(checkpoint, str | os.PathLike):
        raise BadInput(
            "checkpoint must be the path that option('checkpointLocation', ...) gets, got "
            f"{checkpoint!r}"
        )
    if not streaming:
        raise BadInput(f"checkpoint is for streams, and a {what} of batch frames has none")
    start = _read_state(session, os.fspath(checkpoint))
    if start is not None:
        check_fingerprint(read_fingerprint(start), wanted, what)


def _read_state(session: Any, path: str) -> bytes | None:
    """Return how the state of some bucket begins; None if there is none that Spark can read."""
    try:
        operators = session.read.format("state-metadata").load(path)
        number = operators.where(f"operatorName = '{OPERATOR}'").select("operatorId").first()
        if number is None:
            return None
        state = session.read.format("statestore").option("operatorId", number[0]).load(path)
        start = f"substring(value.groupState.state, 1, {START}) as start"
        found = state.selectExpr(start).first()
    except Exception:  # no batch was committed yet; whatever else is wrong, the query will tell
        return None
    return None if found is None else bytes(found[0])
