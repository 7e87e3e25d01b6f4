"""Sources and caches that communicate through an MQTT broker.

A `SourceClient` publishes each interval as a retained message, so that a cache that connects later
receives all of them at once; a `CacheClient` requests exact values from the sources. MQTT 5, or
3.1.1 where the broker speaks no other. Needs the package paho-mqtt: `pip install 'penstock[mqtt]'`.

`source_client` and `cache_client` are the two clients, `link` their connection and the address of
the broker, `messages` what they send, and `trial` a broker for trials on one machine.
"""

from .cache_client import CacheClient, Found
from .link import Broker, find_broker
from .source_client import SourceClient

__all__ = ["Broker", "CacheClient", "Found", "SourceClient", "find_broker"]
