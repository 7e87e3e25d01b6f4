"""Sources and caches that talk through an MQTT broker.

A `SourceClient` publishes each interval as a retained message, so that a cache that comes late has
all of them at once; a `CacheClient` asks for exact values by request and answer. MQTT 5, or 3.1.1
where the broker knows no better. Needs the package paho-mqtt: `pip install 'penstock[mqtt]'`.
"""

from .broker import Broker, find_broker
from .cache import CacheClient, Found
from .source import SourceClient

__all__ = ["Broker", "CacheClient", "Found", "SourceClient", "find_broker"]
