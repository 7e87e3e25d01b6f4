"""Rows that have a partner and found none, by comparing every row with every other."""


def lost_rows(rows, matched, within, sides=2):
    """Return per side how many rows have a partner and are not in `matched`.

    `rows` are (side, key, time, name), `matched` holds (side, name).
    """
    lost = [0] * sides
    for side, key, time, name in rows:
        partner = any(
            other_side != side
            and other_key == key
            and (within is None or abs(other_time - time) <= within)
            for other_side, other_key, other_time, _ in rows
        )
        if partner and (side, name) not in matched:
            lost[side] += 1
    return lost
