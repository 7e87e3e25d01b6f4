"""Policies that only the experiments need: they find no more than those of Penstock.

- `elba.py`: ELBA, which chooses as LBA does, computed for each tuple
- `gdj_rank.py`: GDJ with the credit method 2; `ranks.py`: the tree that it keeps its credits in

`papers` makes them known by name, in every process that imports it.
"""

from penstock import policies

from .elba import ELBA
from .gdj_rank import GDJ_RANK

for policy in (ELBA, GDJ_RANK):
    policies.add(policy)
