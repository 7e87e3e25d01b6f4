"""What the driver has of kernels for its workers: see `rehearsal`."""

from typing import Any, NamedTuple

from ...engine.beside import Elsewhere, rely_on
from ...kernel.jit import Packed, unpack


class Kernels(NamedTuple):
    """What the driver has of kernels for its workers."""

    sent: Packed | None = None  # to other machines
    awaited: Elsewhere | None = None  # on this one

    def use(self) -> None:
        """Have them at hand, in a worker."""
        if self.sent is not None:
            unpack(self.sent)
        if self.awaited is not None:
            rely_on(self.awaited)


def is_local(session: Any) -> bool:
    """Tell whether workers run on the driver's machine, where they find its kernels."""
    return str(session.conf.get("spark.master", "")).startswith("local[")
