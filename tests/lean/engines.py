"""Run every online policy without the optional packages: `python engines.py [block [POLICY ...]]`.

With `block` an import hook hides them; without it they must not be installed.
"""

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec

LENGTH = 120 if os.environ.get("NUMBA_DISABLE_JIT") else 600  # plain Python fits models slowly
OPTIONAL = ("matplotlib", "ortools", "scipy", "statsmodels")


def hide():
    """Let Python find no optional package, as if none was installed."""
    real = PathFinder.find_spec

    def find(name, path=None, target=None):
        return None if name.partition(".")[0] in OPTIONAL else real(name, path, target)

    PathFinder.find_spec = staticmethod(find)


def main():
    if "block" in sys.argv:
        hide()
    assert not [name for name in OPTIONAL if find_spec(name)]

    import numpy as np

    from penstock import Join, Lookup, policies

    import_module("penstock.cli")
    import_module("penstock.spark")

    random = np.random.default_rng(1)
    time = np.arange(LENGTH)
    streams = {  # HEEB fits each family of models to what suits it
        "trend": time // 2 + random.integers(-3, 4, LENGTH),
        "walk": np.cumsum(random.integers(-2, 3, LENGTH)),
        "stationary": random.integers(0, 20, LENGTH),
        "seasonal": np.rint(20 * np.sin(time / 20) + random.normal(0, 2, LENGTH)).astype(np.int64),
    }
    streams["auto"] = streams["ar1"] = streams["seasonal"]
    specs = [(p, p.name, "trend") for p in (*policies.known(), policies.AUTO) if p.name != "heeb"]
    heeb = policies.named("heeb")
    specs += [(heeb, f"heeb:model={family}", family) for family in streams]
    wanted = sys.argv[2:]
    for policy, spec, stream in specs:
        if wanted and spec not in wanted:
            continue
        key = streams[stream]
        if "joining" in policy.problems:
            join = Join(spec, 10, within=50)
            join.push(time % 2, key, time, emit=False)
            assert join.results > 0, spec
        if "caching" in policy.problems:
            cache = Lookup(spec, 10)
            assert cache.push(key).hit.any(), spec
        print(spec, flush=True)
    if not wanted and LENGTH > 128:  # `auto` has looked at the order of keys by then
        join = Join("auto", 10, within=50)
        join.push(time % 2, streams["trend"], time, emit=False)
        assert join.explain()["in_force"] == "heeb"
    assert not [name for name in OPTIONAL if name in sys.modules]


if __name__ == "__main__":
    main()
