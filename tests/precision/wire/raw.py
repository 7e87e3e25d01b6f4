"""A plain MQTT client, to send what ours never would; and ways to break a connection."""

import json
import socket
import threading
import time

import paho.mqtt.client as mqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from penstock.precision.wire.link import YEAR

from .brokers import PATIENCE, until


class Raw:
    """A connection that can be used as a context."""

    def __init__(self, broker, protocol):
        self.protocol = protocol
        self.client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, protocol=protocol)
        up = threading.Event()
        self.client.on_connect = lambda *_: up.set()
        self.client.connect(broker.host, broker.port)
        self.client.loop_start()
        assert up.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Leave once the broker has read everything: amqtt drops the rest when one leaves."""
        back = threading.Event()
        self.client.on_message = lambda *_: back.set()
        self.client.on_subscribe = lambda *_: self.client.publish(f"echo/{id(self)}", b"echo")
        self.client.subscribe(f"echo/{id(self)}")
        assert back.wait(PATIENCE)
        self.client.disconnect()
        self.client.loop_stop()

    def send(self, topic, payload, retain=False, age=None, reply=None):
        """Send and wait until it is sent; age: as if it had been at the broker for so long."""
        properties = None
        if self.protocol == mqtt.MQTTv5:
            properties = Properties(PacketTypes.PUBLISH)
            if age is not None:
                properties.MessageExpiryInterval = YEAR - age
            if reply is not None:
                properties.ResponseTopic = reply
        said = self.client.publish(topic, payload, qos=1, retain=retain, properties=properties)
        said.wait_for_publish(PATIENCE)


def interval(value=20.0, number=1, run=7, **changes):
    """Return the payload of an interval of width 4."""
    record = {"value": value, "low": value - 2, "high": value + 2, "width": 4.0, "why": "above"}
    record |= {"run": run, "number": number, "sent": time.time(), "silence": 600.0}
    return json.dumps(record | {"source": "raw"} | changes).encode()


def blink(client):
    """Break the connection of one of our clients; it comes back."""
    until(lambda: client.up)
    client._client.socket().shutdown(socket.SHUT_RDWR)


def kill(client):
    """Break it as if the process had been killed."""
    client._client._reconnect_on_failure = False
    blink(client)
