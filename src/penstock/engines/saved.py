"""Saved state: plain arrays under plain names, with a header that says what they are.

Nothing is pickled. The header is JSON, kept as bytes in an array like the rest, so that a saved
state is one flat dictionary that any array format can hold.
"""

import json
from typing import Any

import numpy as np

from ..errors import BadState


def pack_header(header: dict[str, Any]) -> np.ndarray:
    """Return the header as an array of bytes."""
    return np.frombuffer(json.dumps(header).encode(), np.uint8).copy()


def unpack_header(saved: dict[str, np.ndarray], engine: str, version: int) -> dict[str, Any]:
    """Return the header of a saved state, or say why it cannot be used."""
    try:
        header = json.loads(saved["header"].tobytes())
        found, kind = header["format"], header["engine"]
    except (KeyError, ValueError, TypeError) as error:
        raise BadState(f"this is not a saved {engine}: its header cannot be read") from error
    if kind != engine:
        raise BadState(f"this is a saved {kind}, not a saved {engine}")
    if found != version:
        raise BadState(
            f"saved state has format {found}, this version of Penstock reads format {version}"
        )
    return header


def part(saved: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin so, without that beginning.

    >>> part({"held.key": np.zeros(1), "counts": np.ones(1)}, "held.")
    {'key': array([0.])}
    """
    return {
        name.removeprefix(prefix): array for name, array in saved.items() if name.startswith(prefix)
    }


def flatten(state: Any, name: str, copy: bool = True) -> dict[str, np.ndarray]:
    """Return the arrays of a (nested) NamedTuple under dotted names.

    A part with room for more than it holds says by `compact` how it is best saved; `expanded` makes
    it usable again. Without `copy` the others are the arrays of the state themselves.
    """
    if isinstance(state, np.ndarray):
        return {name: state.copy() if copy else state}
    if hasattr(state, "compact"):
        state = state.compact()
    arrays: dict[str, np.ndarray] = {}
    for field, value in zip(state._fields, state, strict=True):
        arrays |= flatten(value, f"{name}.{field}", copy)
    return arrays


def unflatten(like: Any, name: str, saved: dict[str, np.ndarray]) -> Any:
    """Return a state shaped like `like` with the saved arrays in it."""
    if isinstance(like, np.ndarray):
        if name not in saved:
            raise BadState(f"saved state lacks {name!r}")
        return np.array(saved[name], like.dtype, order="C")
    return type(like)(
        *(
            unflatten(value, f"{name}.{field}", saved)
            for field, value in zip(like._fields, like, strict=True)
        )
    )


def expanded(state: Any) -> Any:
    """Return a restored state in which every part that was saved as `compact` has room again."""
    if isinstance(state, np.ndarray):
        return state
    if hasattr(state, "expand"):
        return state.expand()
    return type(state)(*(expanded(each) for each in state))
