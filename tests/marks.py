"""Marks that several tests carry."""

import pytest
from hypothesis import HealthCheck
from numba import config

# What has a kernel of its own takes seconds to compile, and every shape of join is compiled for one
# policy in test_join_shapes.py; other policies in such shapes are tried as plain Python.
plain = pytest.mark.skipif(not config.DISABLE_JIT, reason="tried as plain Python: no kernel for it")
_compiled = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="of compiled code only")


def compiled_only(test):
    """Mark what says something of compiled code only; `make test` runs it in every room."""
    return pytest.mark.compiled(_compiled(test))


long = compiled_only  # too many rows for plain Python

# For properties that take a fixture, which may be the same for all examples. What goes by the clock
# is left out as in tests/conftest.py.
UNFIT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def some(values, often):
    """Return values for `parametrize` of which most are tried among the slow tests only."""
    slow = pytest.mark.slow
    return [each if each in often else pytest.param(each, marks=slow) for each in values]
