"""Keys with characters that a database cannot hold: they have no row there, and fail no query.

PostgreSQL refuses a query whose parameters it cannot represent: no text of it holds a NUL, and a
database in LATIN1 holds no euro sign. The first is known beforehand; the others are found when a
query has been refused, by asking for ever fewer characters at once, and remembered.
"""

import pyarrow as pa
import pyarrow.compute as pc

from .sessions import Session

REFUSED = ("22021", "22P05")  # character_not_in_repertoire, untranslatable_character


def askable(session: Session, keys: pa.Table) -> pa.Table:
    """Return the keys that hold no character of which the session knows that none can."""
    if not session.unknown:
        return keys
    codes = (f"{ord(letter):x}" for letter in sorted(session.unknown))
    odd = "[" + "".join(rf"\x{{{code}}}" for code in codes) + "]"
    for name in keys.column_names:
        if pa.types.is_string(keys[name].type):
            keys = keys.filter(pc.invert(pc.match_substring_regex(keys[name], odd)))
    return keys


def learn(session: Session, keys: pa.Table, error: Exception) -> bool:
    """Find out which characters of the keys made a query fail; tell whether any did."""
    if getattr(error, "sqlstate", None) not in REFUSED:
        return False
    texts = [column.to_pylist() for column in keys.columns if pa.types.is_string(column.type)]
    letters = {letter for column in texts for text in column for letter in text}
    known = len(session.unknown)
    _sort_out(session, sorted(letters - session.unknown - session.tried))
    return len(session.unknown) > known


def _sort_out(session: Session, letters: list[str]) -> None:
    if not letters:
        return
    if _can_hold(session, letters):
        session.tried.update(letters)
    elif len(letters) == 1:
        session.unknown.update(letters)
    else:
        half = len(letters) // 2
        _sort_out(session, letters[:half])
        _sort_out(session, letters[half:])


def _can_hold(session: Session, letters: list[str]) -> bool:
    try:
        session.ask("SELECT cardinality($1)", pa.record_batch({"letters": pa.array([letters])}))
    except Exception as error:
        if getattr(error, "sqlstate", None) in REFUSED:
            return False
        raise
    return True
