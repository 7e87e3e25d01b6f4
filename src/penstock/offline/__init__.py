"""The best that hindsight allows: what no policy can beat, for joins and for caches."""

from .join import most_results
from .lookup import lfd
from .reach import Reach, count_matches, find_reach

__all__ = ["Reach", "count_matches", "find_reach", "lfd", "most_results"]
