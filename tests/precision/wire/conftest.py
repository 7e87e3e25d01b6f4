"""A broker of each kind for all tests of a file, and a corner of its topics for each test."""

import itertools

import pytest

from penstock.precision.wire import CacheClient, SourceClient

from .brokers import KINDS, MOSQUITTO, NO_MOSQUITTO, PATIENCE, address

COUNTER = itertools.count()


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    if request.param == "mosquitto" and MOSQUITTO is None:
        pytest.skip(NO_MOSQUITTO)
    return KINDS[request.param]


@pytest.fixture(scope="module")
def running(kind, tmp_path_factory):
    broker = kind(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.stop()


class Corner:
    """Makes clients that do not meet those of other tests, and closes them."""

    def __init__(self, broker):
        self.broker = broker
        self.root = f"test{next(COUNTER)}"
        self.made = []

    def source(self, name="gateway", broker=None, **options):
        options = {"rule": "static:width=4", "root": self.root, "timeout": PATIENCE} | options
        return self._keep(SourceClient(broker or self.broker, name, **options))

    def cache(self, *patterns, broker=None, **options):
        options = {"root": self.root, "timeout": PATIENCE, "patience": PATIENCE} | options
        return self._keep(CacheClient(broker or self.broker, patterns or ("#",), **options))

    def _keep(self, client):
        self.made.append(client)
        return client

    def close(self):
        for client in self.made:
            client.close()


@pytest.fixture
def corner(running):
    made = Corner(address(running))
    yield made
    made.close()
