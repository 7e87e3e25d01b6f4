"""Kernels made by the driver, so that each is compiled once for all workers.

On one machine a process beside the driver compiles them while the query starts, and the workers
find them in the cache folder. To other machines they travel with the query, by name and hash; a
worker unpickles none whose hash is another, and none from a folder that others can write
(`kernel.jit`). On a processor of another kind they are of no use, and the worker compiles its own
and says so.
"""

import json
from typing import Any

from ...engine.base import Engine
from ...engine.warm import compile_for, prepare, prepare_beside
from ...kernel.jit import Packed, cache_folder, packed, used_kernels

NONE = Packed("", {}, {})


def kernels_for(engine: Engine, session: Any) -> Packed:
    """Have all compiled that a new engine needs; return what has to be sent to the workers."""
    if cache_folder() is None or str(session.conf.get("spark.master", "")).startswith("local["):
        prepare_beside(engine)
        return NONE
    own = engine._terms()
    prepare(engine)
    if engine.chooser is not None:  # here it would be compiled beside, and there once more
        compile_for(json.dumps(own))
    return packed(used_kernels())
