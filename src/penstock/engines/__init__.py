"""Engines drive a policy over a stream: joining two or more streams, or caching a relation."""

from .join import Join, Matches
from .lookup import Lookup

__all__ = ["Join", "Lookup", "Matches"]
