"""Bounded aggregates: their answers are intervals that contain the truth."""

from .plan import answer, bounds, most_telling, need, refreshes
from .query import KINDS, Query
from .text import parse

__all__ = ["KINDS", "Query", "answer", "bounds", "most_telling", "need", "parse", "refreshes"]
