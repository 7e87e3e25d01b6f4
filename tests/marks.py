"""Marks that several tests carry."""

import pytest
from numba import config

# What has a kernel of its own takes seconds to compile, and every shape of join is compiled for one
# policy in test_join_shapes.py; other policies in such shapes are tried as plain Python.
plain = pytest.mark.skipif(not config.DISABLE_JIT, reason="tried as plain Python: no kernel for it")
long = pytest.mark.skipif(config.DISABLE_JIT, reason="too many rows for plain Python")
