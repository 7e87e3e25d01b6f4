"""Intervals through a real broker on this machine: updates a second, and how long queries take.

    python bench/precision_wire.py [--only updates|queries|late] [--broker mosquitto|amqtt]

Source, broker and cache are three processes. Every update leaves its interval (width 0), so every
update is a message that the broker retains and hands on. Of values that come faster than the
network takes them only the last is sent; what is counted is what arrived at the cache.
"""

import argparse
import json
import multiprocessing
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from penstock.precision import Query
from penstock.precision.wire import Broker, CacheClient, SourceClient
from penstock.precision.wire.trial import TrialBroker

PROCESSES = multiprocessing.get_context("spawn")
PATIENCE = 60.0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_amqtt(port, ready, end):
    with TrialBroker(port):
        ready.set()
        end.wait()


class Running:
    """A broker in a process of its own."""

    def __init__(self, kind):
        self.broker = Broker("127.0.0.1", free_port())
        self.kind = kind
        self.end = PROCESSES.Event()
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        if self.kind == "amqtt":
            ready = PROCESSES.Event()
            arguments = (self.broker.port, ready, self.end)
            self.process = PROCESSES.Process(target=run_amqtt, args=arguments)
            self.process.start()
            ready.wait(PATIENCE)
        else:
            config = Path(self.folder.name) / "mosquitto.conf"
            lines = [f"listener {self.broker.port} 127.0.0.1", "allow_anonymous true"]
            lines.append("set_tcp_nodelay true")  # or the kernel makes small messages wait
            config.write_text("\n".join(lines) + "\n")
            self.process = subprocess.Popen(
                [find_mosquitto(), "-c", str(config)], stderr=subprocess.DEVNULL
            )
            while socket.socket().connect_ex(("127.0.0.1", self.broker.port)):
                time.sleep(0.02)
        return self.broker

    def __exit__(self, *_):
        self.end.set()
        if self.kind == "mosquitto":
            self.process.terminate()
        (self.process.join if self.kind == "amqtt" else self.process.wait)(10)
        self.folder.cleanup()


def find_mosquitto():
    return shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")


def listen(broker, keys, seconds, results):
    """Count what arrives in so many seconds, after every key was heard of."""
    with CacheClient(broker, timeout=PATIENCE, patience=PATIENCE) as cache:
        results.put("ready")
        while len(cache.known()) < keys:
            time.sleep(0.01)
        before, began, used = cache.counts["received"], time.perf_counter(), time.process_time()
        time.sleep(seconds)
        arrived, took = cache.counts["received"] - before, time.perf_counter() - began
        results.put((arrived / took, 1e6 * (time.process_time() - used) / arrived))


def updates(kind, keys=1000, seconds=5.0):
    """Return updates a second that arrive at a cache."""
    results = PROCESSES.Queue()
    with Running(kind) as broker:
        listener = PROCESSES.Process(target=listen, args=(broker, keys, seconds, results))
        listener.start()
        results.get(timeout=PATIENCE)
        with SourceClient(broker, "bench", rule="static:width=0", timeout=PATIENCE) as source:
            value, used = 0.0, time.process_time()
            while results.empty():
                value += 1.0
                for i in range(keys):
                    source.set(f"sensor/{i}", value)
                while source.backlog > keys // 2:  # or it would take the processor from the network
                    time.sleep(0.001)
            of_source = 1e6 * (time.process_time() - used) / source.counts["published"]
        rate, of_cache = results.get()
        listener.join()
        cost = {"source_us": of_source, "cache_us": of_cache}  # processor time of an update
        return {"broker": kind, "keys": keys, "updates_per_second": rate, **cost}


def hold(broker, keys, ready, end):
    with SourceClient(broker, "bench", rule="static:width=4", timeout=PATIENCE) as source:
        for i in range(keys):
            source.set(f"sensor/{i}", float(i))
        source.flush(PATIENCE)
        ready.set()
        end.wait()


def queries(kind, keys=100, repeats=200):
    """Return the milliseconds that queries take, by the number of values they fetch."""
    ready, end = PROCESSES.Event(), PROCESSES.Event()
    with Running(kind) as broker:
        holder = PROCESSES.Process(target=hold, args=(broker, keys, ready, end))
        holder.start()
        ready.wait(PATIENCE)
        found = []
        with CacheClient(broker, timeout=PATIENCE, patience=PATIENCE) as cache:
            while len(cache.known()) < keys:
                time.sleep(0.01)
            for fetched in (0, 1, 10, 100):
                query = Query("sum", 4.0 * (keys - fetched))
                times = []
                for _ in range(repeats):
                    began = time.perf_counter()
                    answer = cache.ask(query).answer
                    times.append(1000 * (time.perf_counter() - began))
                    assert answer.within
                    assert len(answer.refreshed) == fetched
                    assert answer.low <= keys * (keys - 1) / 2 <= answer.high
                ranked = statistics.quantiles(times, n=20)
                found.append({"broker": kind, "fetched": fetched})
                found[-1] |= {"median_ms": statistics.median(times), "p95_ms": ranked[-1]}
        end.set()
        holder.join()
        return found


def late(kind, keys=5000):
    """Return how long a cache that comes late needs until it has every interval."""
    ready, end = PROCESSES.Event(), PROCESSES.Event()
    with Running(kind) as broker:
        holder = PROCESSES.Process(target=hold, args=(broker, keys, ready, end))
        holder.start()
        ready.wait(PATIENCE)
        began = time.perf_counter()
        with CacheClient(broker, timeout=PATIENCE, patience=PATIENCE) as cache:
            took = time.perf_counter() - began
            known = len(cache.known())
        end.set()
        holder.join()
        return {"broker": kind, "keys": keys, "known": known, "seconds": took}


PARTS = {"updates": updates, "queries": queries, "late": late}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--broker", choices=["mosquitto", "amqtt"])
    arguments = parser.parse_args()
    kinds = [arguments.broker] if arguments.broker else ["mosquitto", "amqtt"]
    if "mosquitto" in kinds and not find_mosquitto():
        print("no mosquitto on the path: run `make programs`, or install it")
        kinds.remove("mosquitto")
    for name in [arguments.only] if arguments.only else PARTS:
        for kind in kinds:
            print(name, json.dumps(PARTS[name](kind)), flush=True)


if __name__ == "__main__":
    main()
