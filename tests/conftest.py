"""What every test shares: how hard Hypothesis tries, and which warnings are expected.

`PENSTOCK_HYPOTHESIS` chooses the profile: default, nojit (kernels as plain Python are slow) or
thorough. Under `CI` the examples are the same in every run.
"""

import os

import numba
from hypothesis import HealthCheck, settings

os.environ.setdefault("PENSTOCK_COMPILE", "first")  # it is compiled code that is tested
REPEATABLE = bool(os.environ.get("CI"))
UNCOMPILED = (
    "tests/policies/",
    "tests/engine/",
    "tests/simulate/test_band.py",
    "tests/simulate/test_distortion_tally.py",
    "tests/simulate/test_optimum_cache.py",
    "tests/simulate/test_optimum_join.py",
    "tests/papers/test_printed.py",
    "tests/spark/test_archiver.py",
    "tests/spark/test_shares.py",
)

settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # it would go by the clock, as a deadline does
    max_examples=15,
    derandomize=REPEATABLE,
)
settings.register_profile("nojit", settings.get_profile("default"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("PENSTOCK_HYPOTHESIS", "default"))


def pytest_configure(config):
    if numba.config.DISABLE_JIT:
        # Kernels count on 64-bit integers wrapping round; NumPy's scalars do so with a warning.
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


def pytest_collection_modifyitems(items):
    """Mark what `make test` runs as plain Python only.

    What a policy or an engine decides does not depend on whether it is compiled: test_beside.py
    compares both to the last bit. To compile every kernel that the properties ask for takes longer
    than all tests, so `make test-slow` does that.
    """
    if numba.config.DISABLE_JIT:
        return
    for item in items:
        place = item.path.relative_to(item.config.rootpath).as_posix()
        if place.startswith(UNCOMPILED) and not item.get_closest_marker("compiled"):
            item.add_marker("uncompiled")
