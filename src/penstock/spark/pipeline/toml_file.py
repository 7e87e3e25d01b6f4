"""A TOML file whose errors name the line, and whose texts may name variables of the environment."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import BadInput
from ...kernel.options import nearest
from ...relations.libpq import VARIABLE
from ...relations.relation import hide, values

Table = dict[str, Any]


def lines_of(text: str) -> dict[str, int]:
    """Return the line of every table and key, by their dotted names.

    `tomllib` keeps no lines. Each statement is parsed alone, under the header of its table; one
    that cannot be parsed yet goes on in the next line.

    >>> lines_of('[a]\\nb.c = [\\n  1,\\n]\\n\\n[a."d.e"]\\nf = 2')
    {'a': 1, 'a.b': 2, 'a.b.c': 2, 'a.d.e': 6, 'a.d.e.f': 7}
    """
    lines: dict[str, int] = {}
    header, statement = "", [""]
    for number, line in enumerate(text.split("\n"), 1):
        is_header = len(statement) == 1 and line.lstrip().startswith("[")
        statement[0] = "" if is_header else header
        statement.append(line)
        try:
            found = tomllib.loads("\n".join(statement))
        except ValueError:
            continue
        first = number - len(statement) + 2
        for name in _names(found):
            lines.setdefault(name, first)
        header, statement = line if is_header else header, [""]
    return lines


def _names(table: Any, before: str = "") -> Iterator[str]:
    """Yield the dotted names of everything in a table; those of an array of tables once."""
    for each in table if isinstance(table, list) else [table]:
        for key, value in each.items() if isinstance(each, dict) else ():
            yield before + key
            yield from _names(value, f"{before}{key}.")


def flat(table: Mapping[str, Any], before: str = "") -> Table:
    """Return a table in a table as dotted names: how Spark and Kafka name their options.

    >>> flat({"kafka": {"bootstrap": {"servers": "a:9092"}}, "subscribe": "views"})
    {'kafka.bootstrap.servers': 'a:9092', 'subscribe': 'views'}
    """
    found: Table = {}
    for key, value in table.items():
        name = before + key
        found |= flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return found


@dataclass(frozen=True)
class TomlFile:
    """What a file says, and where."""

    path: Path
    content: Table
    lines: dict[str, int]
    secrets: frozenset[str]  # values of the variables that it names

    @classmethod
    def read(cls, path: Path) -> "TomlFile":
        """Return the file; its texts still name variables."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise BadInput(f"{path} cannot be read: {reason}; `penstock init` writes one") from None
        try:
            content = tomllib.loads(text)
            lines = lines_of(text)
        except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
            raise BadInput(f"{path.name} is no TOML: {error}") from None
        except RecursionError:
            raise BadInput(f"{path.name} is no TOML: it nests too deeply") from None
        return cls(path, content, lines, frozenset(values(text)))

    def error(self, sentence: str, name: str = "") -> BadInput:
        """Return an error at the line of a name, or of the nearest table around it."""
        while name and name not in self.lines:
            name = name.rpartition(".")[0]
        where = f", line {self.lines[name]}" if name else ""
        bare = re.sub(r"\b(\w+)=(?=[.,; ]|$)", r"\1", self.hide(sentence))  # `within=` in Python
        return BadInput(f"{self.path.name}{where}: {bare}")

    def hide(self, text: str) -> str:
        """Return a text without the values of variables that the file names."""
        return hide(text, set(self.secrets))

    def table(self, name: str, required: bool = False) -> Table:
        """Return a table of the file; empty if it is not there."""
        found = self.content.get(name, {})
        if not isinstance(found, dict):
            raise self.error(f"{name} must be a table, [{name}], got {found!r}", name)
        if required and not found:
            raise self.error(f"a pipeline needs a table [{name}]")
        return found

    def check_keys(self, name: str, given: Iterable[str], known: Iterable[str]) -> None:
        """Refuse a key that a table does not have; `*` at the end of one stands for anything."""
        names = list(known)
        open_ended = tuple(each[:-1] for each in names if each.endswith("*"))
        for key in given:
            if key not in names and not (open_ended and key.startswith(open_ended)):
                where = f" of [{name}]" if name else ""
                raise self.error(
                    f"unknown key {key!r}{where}; {nearest(key, names)}", f"{name}.{key}".strip(".")
                )

    def filled(self, value: Any, name: str) -> Any:
        """Return a value with those of its variables in their places."""
        if isinstance(value, dict):
            return {key: self.filled(each, f"{name}.{key}") for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each, name) for each in value]
        if not isinstance(value, str):
            return value
        missing = [each for each in VARIABLE.findall(value) if each not in os.environ]
        if missing:
            raise self.error(f"the variable {missing[0]} is not set in the environment", name)
        return VARIABLE.sub(lambda found: os.environ[found[1]], value)
