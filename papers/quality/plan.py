"""Which cells there are: every policy that makes sense on a stream, in all memories and layouts."""

from collections.abc import Iterable

from papers.grid import Given, product
from penstock import policies
from penstock.errors import BadInput
from penstock.kernel.policy import CACHING, JOINING

from .cell import BEST
from .streams import FEW_STEPS, STEPS, Stream

SHARES, FEW_SHARES = (0.01, 0.05, 0.1, 0.2, 0.5), (0.05, 0.2)
LAYOUTS = ("unified", "split")
AUTO = "auto"
QUICK = (  # streams of the short version: few forms of joins, so that few kernels are compiled
    "join: tower",
    "join: zipf",
    "join: locality",
    "join: zipf that jumps",
    "cache: zipf",
    "cache: locality",
)
COSTLY = ("heeb", "hist", "age")  # and of no use where the order of keys means nothing


def cells(streams: Iterable[Stream], quick: bool = False) -> list[Given]:
    """Return the cells of some streams; `quick`: of few of them, short, two sizes, one layout."""
    made = []
    for stream in streams:
        if quick and stream.name not in QUICK:
            continue
        at = {
            "stream": stream.name,
            "steps": FEW_STEPS if quick else STEPS,
            "share": FEW_SHARES if quick else SHARES,
        }
        layouts = LAYOUTS[:1] if quick or stream.caching else LAYOUTS
        made += product(**at, layout=LAYOUTS[0], policy=BEST)
        made += product(**at, policy=contenders(stream), layout=layouts)
    return made


def contenders(stream: Stream) -> list[str]:
    """Return the policies that make sense on a stream, `auto` last if there is one.

    >>> from papers.quality.streams import everything
    >>> tower, *_ = everything()
    >>> {"heeb", "prob", "rate"} <= set(contenders(tower)), "sieve" in contenders(tower)
    (True, True)
    """
    problem = CACHING if stream.caching else JOINING
    fit = [
        policy.name
        for policy in policies.BUILT_IN
        if problem in policy.problems
        and not (stream.caching and policy.needs_window)
        and (stream.plain or not policy.plain)
        and (stream.ordered or not (policy.ordered or policy.name in COSTLY))
        and policy.name != AUTO
    ]
    return [*fit, AUTO] if _is_known(AUTO) else fit


def _is_known(policy: str) -> bool:
    try:
        policies.choose(policy)
    except BadInput:
        return False
    return True
