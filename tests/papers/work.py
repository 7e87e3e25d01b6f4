"""Work that workers import: it leaves a line for each time that it was done."""

import os
import signal
from pathlib import Path

from penstock.errors import BadInput


def double(given):
    if "log" in given:
        with Path(given["log"]).open("a") as log:
            log.write(f"{given['x']}\n")
    if given["x"] < 0:
        raise BadInput(f"x must be at least 0, got {given['x']}; choose another")
    return {"twice": 2 * given["x"]}


def die_once(given):
    """Kill the worker, with whatever it was about to tell, the first time that 3 comes."""
    mark = Path(given["mark"])
    if given["x"] == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"twice": 2 * given["x"]}
