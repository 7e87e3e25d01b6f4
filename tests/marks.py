"""Marks that several tests carry."""

import pytest
from numba import config

long = pytest.mark.skipif(config.DISABLE_JIT, reason="too many rows for plain Python")
