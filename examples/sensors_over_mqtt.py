"""Twenty sensors over MQTT: an average within half a degree, from few messages.

    python examples/sensors_over_mqtt.py [mqtt://HOST:PORT]

Needs `pip install '.[mqtt]'` in the folder of the source. Without an address it starts a broker of
its own (amqtt).
Each sensor reads its temperature once a minute for a day. It sends a message only when the reading
leaves the interval that it published last; a query fetches as few exact values as it can.
"""

import math
import random
import sys
from contextlib import ExitStack
from typing import NamedTuple

from penstock.precision.wire import CacheClient, SourceClient, find_broker

SENSORS, MINUTES, EVERY = 20, 1_440, 60


class Day(NamedTuple):
    """What a day took, and how it ended."""

    readings: int
    intervals: int  # messages of sensors
    fetched: int  # exact values that queries asked for
    within: int  # answers that were as narrow as asked for
    asked: int


def main(address: str | None = None, minutes: int = MINUTES) -> Day:
    """Play a day, ask once an hour, and print how many messages that took."""
    with ExitStack() as stack:
        if address is None:
            from penstock.precision.wire.trial import TrialBroker

            address = f"mqtt://127.0.0.1:{stack.enter_context(TrialBroker()).port}"
        broker = find_broker(address)
        house = stack.enter_context(SourceClient(broker, "house", max_silence=3600))
        chance = random.Random(1)
        values = [18.0 + chance.random() for _ in range(SENSORS)]
        fetched = within = asked = 0
        for minute in range(minutes):
            daily = 0.01 * math.sin(2 * math.pi * minute / MINUTES)
            for number in range(SENSORS):
                values[number] += daily + chance.gauss(0, 0.03)
                house.set(f"sensor/{number}/temp", values[number])
            if minute == 0:
                house.flush()
                cache = stack.enter_context(CacheClient(broker, ["sensor/+/temp"]))
            if minute % EVERY == EVERY - 1:
                house.flush()
                answer, _ = cache.ask("avg(sensor/+/temp) within 0.5")
                asked, within = asked + 1, within + answer.within
                fetched += len(answer.refreshed)
                mean = sum(values) / SENSORS
                print(f"{minute + 1:5} min: {answer.low:.2f} to {answer.high:.2f} (is {mean:.2f})")
        day = Day(minutes * SENSORS, house.counts["published"], fetched, within, asked)
    print(f"{day.readings:,} readings, {day.intervals:,} intervals sent, {day.fetched:,} fetched")
    return day


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
