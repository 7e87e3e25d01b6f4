"""Work for grids: the CLOCK paper's two queries, in which a tuple is valid for a time.

*wind* is listing 1: sensors that report the same wind speed at about the same time, `sensor1 !=
sensor2`, speeds from a threshold up. The paper's sensors are not to be had; here, twelve stations
report hourly. A reading comes on both sides of the join, so that a place of the memory holds one
binding of either; with itself it does not match.

*tv* is listing 2: who is watching what. Both viewers' sessions and programmes are valid from their
start to their end, and match where the channel is the same and the times overlap. The paper's logs
are not public; these are generated: channels of a Zipf popularity, programmes back to back,
sessions with many short ones, more of them in the evening and when programmes begin.
"""

import functools
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv

from penstock.engine import Join
from penstock.kernel.rng import source

from .lab import data_folder
from .streams import WEATHER

SLOWEST = 4.5  # m/s: listing 1 has 10, in miles an hour
HOURS = 3  # that two readings may be apart
STEPS = 16  # moments of an hour: there are twelve sensors
DAY = 86_400  # seconds
CHANNELS = 150
PART = 4096  # rows between two looks at the results


class Query(NamedTuple):
    """The arrivals of a query, in the order of their times."""

    side: np.ndarray  # int8[n]
    key: np.ndarray  # int64[n]
    time: np.ndarray  # int64[n]: of which an hour has `hour`
    end: np.ndarray  # int64[n]: the last time at which a row can match
    who: np.ndarray  # int64[n]: rows of the same sensor do not match; -1: of none
    hour: int
    together: bool  # whether rows come two at a time, one of each side


class Need(NamedTuple):
    """What an exact join needs and finds."""

    held: np.ndarray  # int64[hours]: rows held at the end of each hour
    rows: np.ndarray  # int64[hours]: that arrive
    results: np.ndarray  # int64[n]: that each row completes


def replay_query(given: dict[str, Any]) -> dict[str, Any]:
    """Answer a query under a policy; return its recall, in all and under stress.

    query, length: which; `share` of the largest memory that an exact join needs, `more` times that;
    policy; run, by which the viewers are drawn.
    The first third warms up. Stress: hours in which more rows arrive than on average.

    >>> cell = {"query": "tv", "length": 2000, "share": 0.5, "policy": "clock", "run": 0}
    >>> 0 < replay_query(cell)["recall"] <= 1
    True
    """
    of = given["query"], given["length"], given["run"] if given["query"] == "tv" else 0
    query, need = arrivals(*of), exact(*of)
    wanted = given["share"] * given.get("more", 1) * int(need.held.max())
    memory = max(2, round(wanted))
    results(
        query, given["policy"], memory, given["run"], rows=PART
    )  # so that compiling is not timed
    started = perf_counter()
    found = results(query, given["policy"], memory, given["run"])
    seconds = perf_counter() - started
    counted = np.arange(len(query.key)) >= len(query.key) // 3
    stressed = counted & (need.rows > need.rows.mean())[query.time // query.hour]
    return {
        "memory": memory,
        "milliseconds": 1000 * seconds / len(query.key),
        "recall": _share(found, need.results, counted),
        "stressed": _share(found, need.results, stressed),
    }


def _share(found: np.ndarray, full: np.ndarray, where: np.ndarray) -> float:
    return float(found[where].sum() / max(1, full[where].sum()))


def results(
    query: Query, policy: str, memory: int | None, run: int = 0, rows: int | None = None
) -> np.ndarray:
    """Return how many results each row completes: int64[n]; without a memory limit all of them.

    rows: so many are pushed, and not all.
    """
    join = Join(policy, memory, together=query.together, seed=run)
    found = np.zeros(len(query.key), np.int64)
    for start in range(0, rows or len(query.key), PART):
        part = slice(start, start + PART)
        columns = (query.side[part], query.key[part], query.time[part])
        pairs = join.push(*columns, end=query.end[part]).rows
        who = query.who[pairs]
        other = (who[:, 0] != who[:, 1]) | (who[:, 0] < 0)
        np.add.at(found, pairs[other].max(axis=1), 1)
    return found


@functools.lru_cache(maxsize=2)
def exact(name: str, length: int, run: int = 0) -> Need:
    """Return what an exact join of a query needs and finds."""
    query = arrivals(name, length, run)
    rows = np.bincount(query.time // query.hour)
    over = np.arange(1, len(rows) + 1) * query.hour - 1  # the last moment of each hour
    held = np.cumsum(rows) - np.searchsorted(np.sort(query.end), over)  # came, and have not expired
    return Need(held, rows, results(query, "fifo", None))


@functools.lru_cache(maxsize=2)
def arrivals(name: str, length: int, run: int = 0) -> Query:
    """Return the arrivals of a query: `length` readings, or sessions."""
    return _wind(length) if name == "wind" else _tv(length, run)


def _wind(length: int) -> Query:
    options = pyarrow.csv.ConvertOptions(null_values=["NA"], strings_can_be_null=True)
    table = pyarrow.csv.read_csv(data_folder() / WEATHER, convert_options=options)
    speed = table["WSPM"].to_numpy(zero_copy_only=False)
    time = np.unique(table["time"].to_numpy(), return_inverse=True)[1]
    sensor = np.unique(table["station"].to_numpy(), return_inverse=True)[1]
    kept = np.flatnonzero(np.nan_to_num(speed) >= SLOWEST)
    kept = kept[np.lexsort((sensor[kept], time[kept]))][:length]
    hour = time[kept] - time[kept[0]]
    step = hour * STEPS + sensor[kept]  # a moment for each sensor, so that readings have an order
    last = (hour + HOURS) * STEPS + STEPS - 1
    key = np.rint(speed[kept] * 10).astype(np.int64)
    key, step, last, who = (np.repeat(each, 2) for each in (key, step, last, sensor[kept]))
    side = np.tile(np.array([0, 1], np.int8), len(kept))
    return Query(side, key, step, last, who, hour=STEPS, together=True)


def _tv(length: int, run: int) -> Query:
    random = source(run, 0)
    popular = np.arange(1, CHANNELS + 1) ** -1.0
    start, end, channel = _programmes(random)
    begun = _starts(random, length, start)
    watched = random.choice(CHANNELS, length, p=popular / popular.sum())
    stay = np.minimum(20 * random.pareto(0.7, length) + 5, 4 * 3600).astype(np.int64)
    side = np.repeat(np.array([0, 1], np.int8), [len(start), length])
    time, key = np.concatenate((start, begun)), np.concatenate((channel, watched))
    last = np.concatenate((end, begun + stay))
    order = np.lexsort((side, time))
    side, key, time, last = (column[order] for column in (side, key, time, last))
    none = np.full(len(order), -1, np.int64)
    return Query(side, key, time, last, none, hour=3600, together=False)


def _programmes(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return start, end and channel of three days of programmes."""
    rows = []
    for channel in range(CHANNELS):
        now = 0
        while now < 3 * DAY:
            long = int(random.choice([15, 30, 45, 60, 90, 120])) * 60
            rows.append((now, now + long - 1, channel))
            now += long
    start, end, channel_of = np.array(rows, np.int64).T
    return start, end, channel_of


def _starts(random: np.random.Generator, length: int, programmes: np.ndarray) -> np.ndarray:
    """Return when sessions begin: by the hour of the day, and a part of them with a programme."""
    hour = np.arange(72) % 24
    wanted = 0.15 + np.exp(-(((hour - 20.5) / 2.5) ** 2)) + 0.3 * np.exp(-(((hour - 13) / 2) ** 2))
    begun = random.choice(72, length, p=wanted / wanted.sum()) * 3600 + random.integers(
        0, 3600, length
    )
    with_it = random.random(length) < 0.3
    near = np.sort(programmes)[
        np.minimum(np.searchsorted(np.sort(programmes), begun), len(programmes) - 1)
    ]
    late = np.minimum(near + random.exponential(60, length).astype(np.int64), 3 * DAY - 1)
    return np.sort(np.where(with_it, late, begun))
