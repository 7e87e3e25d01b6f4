"""Types and values of columns, drawn at random: all that a join accepts, with their odd values."""

import math
import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

Draw = Callable[[random.Random], Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LETTERS = "abcxyz 0,;'\"\\`{}\n\t\0é߀𝄞"
MICROS = 10**6


class Kind(NamedTuple):
    """A type in Spark's words, and a way to draw values of it; never null at the top."""

    ddl: str
    draw: Draw


def whole(bits: int) -> Draw:
    """Return a way to draw whole numbers, often the largest and the smallest."""
    top = 2 ** (bits - 1)
    special = [0, 1, -1, top - 1, -top]
    return lambda rng: rng.choice([*special, rng.randrange(-top, top)])


def draw_float(rng: random.Random) -> float:
    special = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, 2.0**-24, -(2.0**60)]
    return rng.choice([*special, rng.randrange(100) / 8])  # exact in 32 bits too


def decimals(digits: int, scale: int) -> Draw:
    def draw(rng: random.Random) -> Decimal:
        units = rng.choice([0, 1, -1, 10**digits - 1, rng.randrange(10**digits)])
        return Decimal(units).scaleb(-scale) if digits < 28 else _wide(units, scale)

    return draw


def _wide(units: int, scale: int) -> Decimal:
    """Return a decimal of more digits than Python's default context would keep."""
    sign, digits, _ = Decimal(units).as_tuple()
    return Decimal((sign, digits, -scale))


def draw_text(rng: random.Random) -> str:
    long = rng.random() < 0.02
    drawn = "".join(rng.choice(LETTERS) for _ in range(rng.randrange(2000 if long else 8)))
    return rng.choice(["", " ", "é", "e\u0301", "\0", drawn, drawn])


def draw_bytes(rng: random.Random) -> bytes:
    return rng.choice([b"", b"\0", b"\xff", rng.randbytes(rng.randrange(9))])


def draw_date(rng: random.Random) -> date:
    return rng.choice([date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31), _some_day(rng)])


def _some_day(rng: random.Random) -> date:
    return date(2024, 2, 27) + timedelta(days=rng.randrange(5))


def draw_moment(rng: random.Random) -> datetime:
    seconds = rng.choice([0, -1, 1_711_846_800, -62_135_500_000, 253_402_200_000])
    return EPOCH + timedelta(seconds=seconds, microseconds=rng.choice([0, 1, 999_999]))


def draw_local(rng: random.Random) -> datetime:
    return draw_moment(rng).replace(tzinfo=None)


def draw_span(rng: random.Random) -> timedelta:
    return timedelta(microseconds=rng.choice([0, -1, 86_400 * MICROS, rng.randrange(10**15)]))


SCALARS = [
    Kind("boolean", lambda rng: rng.random() < 0.5),
    Kind("tinyint", whole(8)),
    Kind("smallint", whole(16)),
    Kind("int", whole(32)),
    Kind("bigint", whole(64)),
    Kind("float", draw_float),
    Kind("double", draw_float),
    Kind("decimal(9,2)", decimals(9, 2)),
    Kind("decimal(18,0)", decimals(18, 0)),
    Kind("decimal(38,6)", decimals(38, 6)),
    Kind("decimal(38,38)", decimals(38, 38)),
    Kind("string", draw_text),
    Kind("binary", draw_bytes),
    Kind("date", draw_date),
    Kind("timestamp", draw_moment),
    Kind("timestamp_ntz", draw_local),
    Kind("interval day to second", draw_span),
]


def draw_kind(rng: random.Random, depth: int = 2, key: bool = False) -> Kind:
    """Draw a type; `key`: one that has equality."""
    if depth == 0 or rng.random() < 0.7:
        return rng.choice(SCALARS)
    shapes = [array, struct] if key else [array, struct, map_of]
    return rng.choice(shapes)(rng, depth - 1, key)


def array(rng: random.Random, depth: int, key: bool) -> Kind:
    inside = nullable(draw_kind(rng, depth, key))
    return Kind(
        f"array<{inside.ddl}>", lambda rng: [inside.draw(rng) for _ in range(rng.randrange(3))]
    )


def struct(rng: random.Random, depth: int, key: bool) -> Kind:
    names = rng.sample(["a", "b", "`a.b`", "`c d`", "`é`"], rng.randrange(1, 4))
    fields = {name: nullable(draw_kind(rng, depth, key)) for name in names}
    plain = {name.strip("`"): field for name, field in fields.items()}
    return Kind(
        "struct<" + ",".join(f"{name}:{field.ddl}" for name, field in fields.items()) + ">",
        lambda rng: {name: field.draw(rng) for name, field in plain.items()},
    )


def map_of(rng: random.Random, depth: int, key: bool) -> Kind:
    names, values = rng.choice([SCALARS[3], SCALARS[11]]), nullable(draw_kind(rng, depth))

    def draw(rng: random.Random) -> list[tuple]:
        keys = {names.draw(rng) for _ in range(rng.randrange(3))}
        return [(name, values.draw(rng)) for name in sorted(keys)]

    return Kind(f"map<{names.ddl},{values.ddl}>", draw)


def nullable(kind: Kind, share: float = 0.2) -> Kind:
    """Return the same type with nulls among its values."""
    return Kind(kind.ddl, lambda rng: None if rng.random() < share else kind.draw(rng))
