"""What a join owes, worked out by nested loops from the records of its archive.

A record is a dict: `bucket`, `place`, `last` and `alone` as they are archived, and either `left` or
`right`, a row (key, time, number), or neither: then it tells what became of a row that was archived
before. Nothing here knows how the records came about.
"""

from collections import Counter

from .how import NO_PARTNER, PRESERVED, bounds_of


def settled_rows(records):
    """Return one dict per row, with all that its records tell of it."""
    rows = {}
    for record in records:
        mine = rows.setdefault((record["bucket"], record["place"]), dict(record))
        for name in ("left", "right", "last"):
            if mine[name] is None:
                mine[name] = record[name]
        mine["alone"] = mine["alone"] or record["alone"]
    return list(rows.values())


def was_found(one, other):
    """Tell whether the live join has met these two rows, which match."""
    first, then = sorted((one, other), key=lambda row: row["place"])
    return first["last"] is None or then["place"] <= first["last"]


def owed(records, within, how, near=None):
    """Return what is to be added to the results, and what is to be taken away.

    Both are multisets of (number of the left row, number of the right row), -1 for none. In a band
    join the numbers of two rows that match are at most `near` apart.
    """
    rows = settled_rows(records)
    lefts, rights = ([row for row in rows if row[side]] for side in ("left", "right"))
    low, high = bounds_of(within)
    missed = [
        (a, b)
        for a in lefts
        for b in rights
        if a["bucket"] == b["bucket"]
        and a["left"][0] == b["right"][0]
        and low <= b["right"][1] - a["left"][1] <= high
        and (near is None or abs(b["right"][2] - a["left"][2]) <= near)
        and not was_found(a, b)
    ]
    pairs = Counter((a["left"][2], b["right"][2]) for a, b in missed)
    lonely = Counter({(a["left"][2], NO_PARTNER) for a, _ in missed if a["alone"]})
    lonely += Counter({(NO_PARTNER, b["right"][2]) for _, b in missed if b["alone"]})
    if how == "semi":
        return lonely, Counter()
    return Counter() if how == "anti" else pairs, lonely if how in PRESERVED else Counter()
