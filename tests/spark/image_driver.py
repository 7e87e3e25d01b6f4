"""What another process does with an image, and the engines that images are tried with."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from penstock.engine import Join, Lookup
from penstock.spark.runtime.image import Image, Owner
from tests.recount import recount

SIZES = (20, 200, 60, 700, 300, 1500, 400)  # rows of the batches: tables grow from small to large
THREE = (((0, 0), (1, 0), (2, 0)),)
WITHIN = 500


def make(kind: str, policy: str, options: dict[str, Any]) -> Any:
    """Return an empty engine."""
    if kind == "lookup":
        return Lookup(policy, **options)
    return Join(policy, **({"within": WITHIN} | options))


def push(engine: Any, number: int) -> list:
    """Show an engine a batch, and return all that can be seen of what it does."""
    rng = np.random.default_rng(number)
    count = SIZES[number]
    key = (rng.pareto(0.7, count) * 3).astype(np.int64) % 97
    size = rng.integers(1, 200, count)
    if isinstance(engine, Lookup):
        out = engine.push(key, size=size)
        counted = engine.counters
        return [out.hit.tolist(), out.victim.tolist(), engine.resident.tolist(), counted]
    side = rng.integers(0, engine.form.shape.streams, count)
    time = sum(SIZES[:number]) + np.arange(count)
    found = engine.push(side, key, time, size=size).rows.tolist()
    counters = {name: each.tolist() for name, each in engine.counters.items()}
    return [found, engine.held_rows.tolist(), engine.used, counters, str(engine.in_force)]


def step(folder: Path, token: str, number: int) -> list | None:
    """Load an engine, push a batch and save it again under the next token."""
    image = Image(folder)
    with image.lock():
        engine = image.load(token)
        if engine is None:
            return None
        found = push(engine, number)
        recount(engine)
        image.save(engine, f"{token}+")
    return found


def load(folder: Path, token: str, owner: Owner | None = None) -> Any:
    """Load a value, which is sent to the process that asked."""
    image = Image(folder, owner)
    with image.lock():
        return image.load(token)


def write_and_wait(folder: Path, token: str, ready: Any) -> None:
    """Load an array, change it, and wait for the end."""
    image = Image(folder)
    with image.lock():
        image.load(token)["table"][:] = 7
        ready.set()
        time.sleep(3600)


def add_often(folder: Path, token: str, times: int) -> None:
    """Add 1 to every number of an array so many times, each time under a lock of its own."""
    image = Image(folder)
    for _ in range(times):
        with image.lock():
            value = image.load(token)
            before = value["table"].copy()
            time.sleep(0.001)
            value["table"][:] = before + 1
            image.save(value, token)
