"""AUTO: policies are tried out while the engine runs, and the one that finds most rules.

It is a name and not a policy: an engine that is asked for it tries the candidates below in
miniature (`engines.chooser`), and one of them at a time rules it.
"""

from ..core.policy import CACHING, JOINING, NoState, Policy, Setup, make_no_state, refuse

# Families: the first of each is tried from the start, the others when one of their family leads.
FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    JOINING: (
        ("rate", "rate:remains=yes"),
        ("prob",),
        ("life",),
        ("lba",),
        ("gdj:percentile=0.2", "gdj:percentile=0.0", "gdj:percentile=0.5", "gdj:percentile=0.9"),
        ("clock:rho=0.5", "clock:rho=0.1", "clock:rho=0.9"),
        ("lru",),
        ("fifo",),
        ("rand",),
        ("heeb",),
    ),
    CACHING: (
        ("rate",),
        ("lru",),
        ("lfu",),
        ("wtinylfu",),
        ("s3fifo",),
        ("sieve",),
        ("lhd",),
        ("gdj:percentile=0.2", "gdj:percentile=0.0", "gdj:percentile=0.5", "gdj:percentile=0.9"),
        ("heeb",),
    ),
}


def make_state(setup: Setup, split: bool = True) -> NoState:
    """Take the parameters; with `split=no` the memory stays as it was laid out.

    There is no state: that of whoever rules is the engine's.
    """
    return make_no_state(setup)


AUTO = Policy(
    "auto",
    "tries the others out in miniature while it runs; who finds most rules",
    make_state,
    refuse,
)
