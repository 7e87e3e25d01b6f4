"""Every generated workload keeps the same promises."""

import numpy as np
import pytest

from penstock.simulate.workloads import GENERATED


def test_names():
    assert list(GENERATED) == ["tower", "roof", "floor", "walk", "zipf", "gdj", "locality"]
    assert all(name == workload.name for name, workload in GENERATED.items())


@pytest.mark.parametrize("workload", GENERATED.values(), ids=lambda workload: workload.name)
def test_promises(workload):
    trace = workload.join(500, seed=1)
    assert (trace.name, len(set(trace.time)), len(trace)) == (workload.name, 500, 1000)
    assert (trace.end is not None) == (workload.name in ("tower", "roof", "floor"))
    assert np.bincount(trace.side).tolist() == [500, 500]
    references = workload.references(500, seed=1)
    assert (references.name, len(references)) == (workload.name, 500)
    again = workload.references(500, seed=1).key.tolist()
    assert references.key.tolist() == again != workload.references(500, seed=2).key.tolist()
