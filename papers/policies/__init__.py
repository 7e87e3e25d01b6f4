"""Policies that only the experiments need: they find no more than those of Penstock.

- `age.py`: AGE, which finds no more than random eviction
- `elba.py`: ELBA, which chooses as LBA does, computed for each tuple
- `gdj_rank.py`: GDJ with the credit method 2; `ranks.py`: the tree that it keeps its credits in

`papers` makes them known by name, in every process that imports it.
"""

from penstock import policies

from .age import AGE
from .elba import ELBA
from .gdj_rank import GDJ_RANK

for policy in (AGE, ELBA, GDJ_RANK):
    policies.add(policy)
