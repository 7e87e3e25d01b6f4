"""The state of a bucket as one binary: a checked header, plain arrays, Arrow IPC for the payloads.

Nothing is pickled. The header says which version wrote it, for which join, and where each part
lies; before it stand its checksum, that of the parts, and the length of the whole.
"""

import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ...engine.saved import part
from ...errors import BadState
from .arrow import from_ipc, to_ipc

MAGIC = b"PENSTOCK"
FORMAT = 2
DAMAGED = "the state of a bucket is damaged: its length or checksum is not as written"
PREFIX = struct.Struct("<8sIIIIQ")  # magic, format, header's length and checksum, parts', total


class Stored(NamedTuple):
    """What a bucket remembers between micro-batches."""

    fingerprint: dict[str, Any]
    arrays: dict[str, np.ndarray]
    payloads: list[pa.Table]  # one per input: the rows held, in the order of their positions
    totals: dict[str, float]

    def part(self, prefix: str) -> dict[str, np.ndarray]:
        """Return the arrays whose name begins so, without that beginning."""
        return part(self.arrays, prefix)


def encode(stored: Stored) -> bytes:
    """Return the state as one binary."""
    parts: list[bytes | memoryview] = []
    arrays, offset = [], 0
    for name, array in stored.arrays.items():
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data  # nothing is copied
        kind = array.dtype.descr if array.dtype.names else array.dtype.str
        arrays.append([name, kind, list(array.shape), offset, len(data)])
        parts.append(data)
        offset += len(data)
    tables = []
    for table in stored.payloads:
        packet = to_ipc(table)
        tables.append([offset, len(packet)])
        parts.append(packet)
        offset += len(packet)
    said = {"fingerprint": stored.fingerprint, "arrays": arrays, "payloads": tables}
    header = json.dumps(said | {"totals": stored.totals}).encode()
    return seal(header, parts)


def seal(header: bytes, parts: Sequence[bytes | memoryview]) -> bytes:
    """Put header and parts behind a prefix that vouches for them."""
    checksum = 0
    for each in parts:
        checksum = zlib.crc32(each, checksum)
    total = PREFIX.size + len(header) + sum(map(len, parts))
    prefix = PREFIX.pack(MAGIC, FORMAT, len(header), zlib.crc32(header), checksum, total)
    return b"".join([prefix, header, *parts])


def decode(blob: bytes) -> Stored:
    """Return the state of a binary, or say why it cannot be one."""
    view = memoryview(blob)
    if len(view) < PREFIX.size or bytes(view[:8]) != MAGIC:
        raise BadState("the state of a bucket was not written by Penstock; use another checkpoint")
    _, version, length, *written = PREFIX.unpack_from(view)
    if version != FORMAT:
        raise BadState(
            f"the checkpoint has state of format {version}, this Penstock reads format {FORMAT}; "
            "restart with the version that wrote it, or use another checkpoint"
        )
    head, body = view[PREFIX.size :][:length], view[PREFIX.size + length :]
    if written != [zlib.crc32(head), zlib.crc32(body), len(view)]:
        raise BadState(DAMAGED)
    header = json.loads(bytes(head))
    arrays = {
        name: np.frombuffer(body[at : at + size], _from_text(kind)).reshape(shape)
        for name, kind, shape, at, size in header["arrays"]
    }
    payloads = [from_ipc(body[at : at + size]) for at, size in header["payloads"]]
    return Stored(header["fingerprint"], arrays, payloads, header["totals"])


def _from_text(kind: Any) -> np.dtype:
    dtype = np.dtype(kind if isinstance(kind, str) else [tuple(each) for each in kind])
    if dtype.hasobject:
        raise BadState("the state of a bucket holds Python objects, which Penstock never writes")
    return dtype
