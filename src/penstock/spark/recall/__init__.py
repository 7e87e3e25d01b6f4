"""How much a join inside a budget has lost, estimated from a sample while it runs.

`watched` draws rows, `pairs` follows what they meet, `lost_rows` which rows lost all partners;
`keys` samples keys instead, for joins of three and more; `estimate` makes intervals of the sums.
"""
