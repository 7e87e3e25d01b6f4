"""Every policy in every setting of GreedyDual-Join's experiments, against the naive engine.

Slow because of the compiler: each policy is compiled for each shape. No trace has 256 rows: the
twin of HEEB is only defined for the time before it fits its first models.
"""

import pytest

from penstock.policies import BUILT_IN
from penstock.simulate.player import play
from penstock.simulate.skewed import gdj
from tests.simulate.replay import naive_replay

SETTINGS = {
    "figure 6, unified": (gdj(60, 1, streams=4, pairs=True, domain=8), "unified"),
    "figure 6, split": (gdj(60, 1, streams=4, pairs=True, domain=8), "split"),
    "figure 7, 5 streams": (gdj(50, 1, streams=5, domain=4), "unified"),
    "figure 7, 3 attributes": (gdj(120, 1, attributes=3, domain=20), "unified"),
}
NAMES = [policy.name for policy in BUILT_IN if "joining" in policy.problems and not policy.plain]


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_twin(name, setting):
    trace, layout = SETTINGS[setting]
    for drop in (0.0, 0.4):
        options = {"within": 25, "first": 30, "layout": layout, "drop": drop, "seed": 4}
        found = play(trace, name, 16, **options).results
        assert found == len(naive_replay(trace, name, 16, **options)) > 0
