"""Keys, patterns of keys, and the topics that messages about them go to."""

from typing import NamedTuple

from ...errors import BadInput

LONGEST = 1024  # characters
ROOT = "penstock"
FORBIDDEN = "+#(),<>"  # MQTT's wildcards, and what would confuse a query


class Topics(NamedTuple):
    """Where messages go, all of them below one root.

    >>> Topics().interval("sensor/3/temp")
    'penstock/interval/sensor/3/temp'
    """

    root: str = ROOT

    def interval(self, key: str) -> str:
        """Where the interval of a key is retained; with a pattern: of several keys."""
        return f"{self.root}/interval/{key}"

    def ask(self, source: str) -> str:
        """Where a source is asked for exact values."""
        return f"{self.root}/ask/{source}"

    def state(self, source: str) -> str:
        """Where it is retained whether a source is there; its last will goes here too."""
        return f"{self.root}/source/{source}"

    def reply(self, cache: str) -> str:
        """Where a cache is answered."""
        return f"{self.root}/reply/{cache}"

    def key_of(self, topic: str) -> str:
        """Return the key whose interval a topic has; empty, if it has none.

        >>> Topics().key_of("penstock/interval/sensor/3/temp")
        'sensor/3/temp'
        """
        return _after(topic, self.interval(""))

    def source_of(self, topic: str) -> str:
        """Return the source whose state a topic has; empty, if it has none."""
        return _after(topic, self.state(""))

    def is_reply(self, topic: str) -> bool:
        """Tell whether an answer may be sent there: a source sends to nowhere else."""
        rest = _after(topic, self.reply(""))
        return bool(rest) and is_name(rest)


def check_name(what: str, name: str) -> str:
    """Return a name that can be part of a topic.

    >>> check_name("a key", "sensor/+/temp")
    Traceback (most recent call last):
    penstock.errors.BadInput: a key must be a name such as sensor/3/temp, without wildcards, ...
    """
    if is_name(name):
        return name
    raise BadInput(
        f"{what} must be a name such as sensor/3/temp, without wildcards, brackets, commas,"
        f" < or >, empty parts or $ at its beginning, got {name!r}"
    )


def is_name(name: str) -> bool:
    """Tell whether a name can be part of a topic.

    >>> is_name("sensor/3/temp"), is_name("sensor//temp"), is_name("$SYS/load")
    (True, False, False)
    """
    return (
        0 < len(name) <= LONGEST
        and name.isprintable()
        and not any(sign in name for sign in FORBIDDEN)
        and not name.startswith("$")
        and all(part.strip() == part != "" for part in name.split("/"))
    )


def check_pattern(pattern: str) -> str:
    """Return a pattern of keys in MQTT's notation; `*` means all keys.

    >>> check_pattern("sensor/+/temp"), check_pattern("*")
    ('sensor/+/temp', '#')
    >>> check_pattern("sensor/#/temp")
    Traceback (most recent call last):
    penstock.errors.BadInput: a pattern of keys must be ... got 'sensor/#/temp'
    """
    if pattern in ("*", "#"):
        return "#"
    parts = pattern.split("/")
    parts = parts[:-1] if parts[-1] == "#" else parts
    if is_name("/".join("any" if part == "+" else part for part in parts)):
        return pattern
    raise BadInput(
        "a pattern of keys must be a key, with + for any one part of it or # for all further"
        f" parts, as in sensor/+/temp or sensor/#, got {pattern!r}"
    )


def matches(pattern: str, key: str) -> bool:
    """Tell whether a key is one of those that a pattern means.

    >>> matches("sensor/+/temp", "sensor/3/temp"), matches("sensor/#", "sensor")
    (True, True)
    >>> matches("sensor/+", "sensor/3/temp")
    False
    """
    wanted, parts = pattern.split("/"), key.split("/")
    if wanted[-1] == "#":
        wanted.pop()
        parts = parts[: len(wanted)]
    return len(wanted) == len(parts) and all(w in ("+", p) for w, p in zip(wanted, parts))


def _after(topic: str, beginning: str) -> str:
    return topic[len(beginning) :] if topic.startswith(beginning) else ""
