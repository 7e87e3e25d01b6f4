"""A Kafka broker of one node on the loopback, for tests and benchmarks; see scripts/kafka.sh."""

import shlex
import socket
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.patience import PATIENCE, until
from tests.spark.processes import ROOT, kill, start

# Nothing is replicated; the values in brackets are those of one run.
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={folder}
offsets.topic.replication.factor=1
auto.create.topics.enable=false
"""
CLUSTER = "cGVuc3RvY2stdGVzdHMtMA"  # 16 bytes, as Kafka wants them


class Missing(Exception):
    """Neither found nor fetched; the message is one line."""


def places() -> dict[str, str]:
    """Return KAFKA_CLASSPATH and KAFKA_JARS; fetch what they name if need be."""
    done = subprocess.run([ROOT / "scripts" / "kafka.sh"], capture_output=True, text=True)
    if done.returncode:
        raise Missing(done.stderr.strip().splitlines()[-1])
    return dict(word.split("=", 1) for word in shlex.split(done.stdout))


class Broker:
    """A running broker, by its address."""

    def __init__(self, servers: str, jars: str):
        self.servers = servers
        self.jars = jars  # of Spark's connector, for spark.jars

    def create(self, *topics: str, partitions: int = 2, **config: str) -> None:
        admin = AdminClient({"bootstrap.servers": self.servers})
        new = [NewTopic(name, partitions, 1, config=config) for name in topics]
        for made in admin.create_topics(new).values():
            made.result()

    def read(self, topic: str) -> Iterator[bytes]:
        """Yield the values of all that a topic holds by now."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "reader"})
        parts = consumer.list_topics(topic, timeout=PATIENCE).topics[topic].partitions
        for part in (TopicPartition(topic, number, OFFSET_BEGINNING) for number in parts):
            _, end = consumer.get_watermark_offsets(part, timeout=PATIENCE)
            consumer.assign([part])
            while end and (message := consumer.poll(PATIENCE)):
                yield message.value()
                if message.offset() == end - 1:
                    break
        consumer.close()


@contextmanager
def broker(folder: Path, memory: str = "512m") -> Iterator[Broker]:
    """Start a broker whose files are in a folder, and end it."""
    found = places()
    ports = list(free_ports(2))
    (folder / "data").mkdir(parents=True)
    file, log = folder / "server.properties", folder / "broker.log"
    file.write_text(PROPERTIES.format(port=ports[0], controller=ports[1], folder=folder / "data"))
    java = ["java", f"-Xmx{memory}", "-cp", found["KAFKA_CLASSPATH"]]
    format_it = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(file)]
    subprocess.run(format_it, check=True, capture_output=True)
    process = start([*java, "kafka.Kafka", str(file)], log)
    servers = f"127.0.0.1:{ports[0]}"
    try:
        until(lambda: _answers(servers, process, log), "the broker's answer")
        yield Broker(servers, found["KAFKA_JARS"])
    finally:
        kill(process)


def _answers(servers: str, process: subprocess.Popen, log: Path) -> bool:
    assert process.poll() is None, log.read_text(errors="replace")[-3000:]
    quiet = {"bootstrap.servers": servers, "log_level": 0}
    try:
        return bool(AdminClient(quiet).list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def free_ports(count: int) -> Iterable[int]:
    """Return ports that no process listens on."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports
