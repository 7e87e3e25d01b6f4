"""A pipeline as a file describes it: checked, then frames, then a query.

The keys of [join], [lookup] and [thin] are the arguments of these functions, read from their
signatures. An argument that is a frame is the name of a source.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ...errors import PenstockError
from ...kernel.options import nearest
from ...relations import Relation
from ..archive.write import write
from ..join import join
from ..listener import check_options
from ..lookup import lookup
from ..observe import bare
from ..thin import thin
from . import connectors
from .connectors import CONNECTOR, CONSOLE, KAFKA, SINKS, SOURCES, TRIGGERS
from .toml_file import Table, TomlFile, flat

OPERATORS: dict[str, Callable[..., DataFrame]] = {"join": join, "lookup": lookup, "thin": thin}
RELATION = [each.name for each in fields(Relation) if each.name != "credentials"]
SECRET = re.compile(r"secret|password|token|access.?key|jaas|credential", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A file whose tables and keys are all known; the values are checked when frames are made."""

    file: TomlFile
    name: str  # of the operator: join, lookup or thin

    @classmethod
    def read(cls, path: Path) -> "Pipeline":
        """Return the pipeline of a file."""
        file = TomlFile.read(path)
        file.check_keys("", file.content, ["source", *OPERATORS, "sink", "monitor", "spark"])
        chosen = [name for name in OPERATORS if name in file.content]
        if len(chosen) != 1:
            found = " and ".join(f"[{name}]" for name in chosen) or "none of them"
            raise file.error(
                f"a pipeline has exactly one of [join], [lookup] and [thin], got {found}",
                chosen[-1] if chosen else "",
            )
        made = cls(file, chosen[0])
        made._check()
        return made

    @property
    def operator(self) -> Callable[..., DataFrame]:
        """The function of the library."""
        return OPERATORS[self.name]

    @cached_property
    def options(self) -> Table:
        """What the operator is given, by its arguments; frames by the names of sources."""
        filled = self.file.filled(self.file.table(self.name), self.name)
        if "relation" in filled:  # its address is read where connections are opened
            filled["relation"] = self.file.content[self.name]["relation"]
        return filled

    @cached_property
    def sources(self) -> dict[str, Table]:
        """What the sources are given, by their names."""
        tables = self.file.table("source", required=True)
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise self.file.error(
                    f"a source is a table with a name, [source.{name}]", f"source.{name}"
                )
        return {name: self._connector(f"source.{name}", tables[name], SOURCES) for name in tables}

    @cached_property
    def sink(self) -> Table:
        """What the sink is given."""
        return self._connector("sink", self.file.table("sink", required=True), SINKS)

    @cached_property
    def monitor(self) -> Table:
        """What the monitor is given; empty without one."""
        return self.file.filled(self.file.table("monitor"), "monitor")

    @cached_property
    def settings(self) -> dict[str, str]:
        """Settings of the session, by Spark's names: [spark] is the part before the first dot."""
        found = flat({"spark": self.file.filled(self.file.table("spark"), "spark")})
        return {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in found.items()}

    def _connector(self, place: str, table: Table, known: Mapping[str, Any]) -> Table:
        """Return the options of a source or of the sink, refusing unknown ones."""
        kind = str(table.get("format"))
        if kind not in known:
            said = f"unknown format {kind!r}" if "format" in table else f"[{place}] needs a format"
            raise self.file.error(f"{said}; {nearest(kind, list(known))}", f"{place}.format")
        given = flat({key: value for key, value in table.items() if key != "trigger"})
        given |= {"trigger": table["trigger"]} if "trigger" in table else {}
        more = "trigger" if place == "sink" else "select"
        self.file.check_keys(place, given, ["format", *known[kind], more])
        required = connectors.REQUIRED.get(kind, ())
        for name in (*required, "topic") if place == "sink" and kind == KAFKA else required:
            if name not in given:
                raise self.file.error(f"[{place}] needs {name}", place)
        if "trigger" in table:
            if not isinstance(given["trigger"], dict) or len(given["trigger"]) != 1:
                way = 'trigger.processingTime = "10 seconds"'
                raise self.file.error(
                    f"trigger must be one of Spark's, as {way}", f"{place}.trigger"
                )
            self.file.check_keys(f"{place}.trigger", given["trigger"], TRIGGERS)
        with self.placed(place, given):
            connectors.check_options(given)
        return self.file.filled(given, place)

    def _check(self) -> None:
        """Refuse what can be refused without Spark: unknown keys, missing ones, unknown sources."""
        parameters = inspect.signature(self.operator).parameters
        self.file.check_keys(self.name, self.options, parameters)
        for name, each in parameters.items():
            needed = each.default is inspect.Parameter.empty
            if self.operator is join and name == "on":
                needed = "near" not in self.options
            if needed and name not in self.options:
                kind = ", the name of a source" if name in self.frame_names else ""
                raise self.file.error(f"[{self.name}] needs {name}{kind}", self.name)
        used = {name: self.options[name] for name in self.frame_names if name in self.options}
        for name, source in used.items():
            if not isinstance(source, str) or source not in self.sources:
                said = nearest(str(source), list(self.sources))
                raise self.file.error(f"unknown source {source!r}; {said}", f"{self.name}.{name}")
        for source in self.sources:
            if source not in used.values():
                raise self.file.error(
                    f"[{self.name}] does not use the source {source!r}; name it there, or drop it",
                    f"source.{source}",
                )
        if "relation" in self.options:
            relation, place = self.options["relation"], f"{self.name}.relation"
            if not isinstance(relation, dict):
                raise self.file.error("relation must be a table: uri, and table or query", place)
            self.file.check_keys(place, relation, RELATION)
            if "uri" not in relation:
                raise self.file.error(f"[{place}] needs uri", place)
        if self.sink["format"] != CONSOLE and "checkpoint" not in self.options:
            raise self.file.error(
                f"[{self.name}] needs checkpoint, the folder that a restart goes on from", self.name
            )
        if "archive" in self.options and (
            self.sink["format"] != "parquet" or self.sink.keys() - {"format", "path", "trigger"}
        ):
            raise self.file.error(
                "a join with archive writes its results as Parquet, of which [sink] can only say "
                "path and trigger",
                f"{self.name}.archive",
            )
        self.file.check_keys("monitor", self.monitor, inspect.signature(check_options).parameters)
        with self.placed("monitor", self.monitor):
            check_options(**self.monitor)

    @cached_property
    def frame_names(self) -> list[str]:
        """The arguments of the operator that are frames."""
        return [
            name
            for name, each in inspect.signature(self.operator, eval_str=True).parameters.items()
            if DataFrame in (each.annotation, *get_args(each.annotation))
        ]

    # ------------------------------------------------------------ frames and a query

    def frames(self, spark: Any) -> dict[str, DataFrame]:
        """Return the streams of all sources."""
        found = {}
        for name, given in self.sources.items():
            with self.reading(name):
                found[name] = connectors.read(spark, given)
        return found

    def reading(self, name: str) -> AbstractContextManager[None]:
        """Let errors of a source name its line."""
        return self.placed(f"source.{name}", self.sources[name], f"the source {name!r}: ")

    def result(
        self, frames: Mapping[str, DataFrame], **instead: Any
    ) -> tuple[DataFrame, list[str]]:
        """Return what the operator makes of the streams, and what it warns of.

        instead: arguments in the place of the file's.
        """
        given = self.options | instead
        given |= {name: frames[given[name]] for name in self.frame_names if name in given}
        with warnings.catch_warnings(record=True) as said, self.placed(self.name, self.options):
            warnings.simplefilter("always", UserWarning)
            if "relation" in given:
                with self.placed(f"{self.name}.relation", given["relation"]):
                    given["relation"] = Relation(**given["relation"])
            made = self.operator(**given)
        told = [str(each.message) for each in said if issubclass(each.category, UserWarning)]
        return made, [self.file.hide(each) for each in dict.fromkeys(told)]

    def writer(self, result: DataFrame) -> Any:
        """Return Spark's writer of the results, which starts the query."""
        with self.placed("sink", self.sink):
            writer = connectors.write(result, self.sink).queryName(self.file.path.stem)
        checkpoint = self.options.get("checkpoint")
        return writer.option("checkpointLocation", checkpoint) if checkpoint else writer

    def start(self, result: DataFrame) -> Any:
        """Start the query."""
        if "archive" not in self.options:
            with self.placed("sink", self.sink):
                return self.writer(result).start()
        with self.placed(self.name, self.options):
            return write(
                result,
                results=self.sink["path"],
                checkpoint=self.options["checkpoint"],
                name=self.file.path.stem,
                **self.sink.get("trigger", {}),
            )

    @contextmanager
    def placed(self, place: str, given: Mapping[str, Any], what: str = "") -> Iterator[None]:
        """Let an error name the line of the key that it is about."""
        try:
            yield
        except PySparkException as error:
            said = first_sentence(error)
        except Py4JJavaError as error:  # of Java, which PySpark has no class for
            said = str(error.java_exception.getMessage())
        except (PenstockError, TypeError) as error:
            said, what = str(error), ""
            if said.startswith(self.file.path.name):  # its line is known already
                raise
        else:
            return
        key = _blamed(said, given)
        raise self.file.error(what + said, f"{place}.{key}" if key else place) from None

    def failed(self, sentence: str) -> PenstockError:
        """Return why the query failed, with the line of the option that it is about, if any.

        Spark looks at some options of sources and sinks only when the first micro-batch begins.
        """
        places = {f"source.{name}": given for name, given in self.sources.items()}
        for place, given in (places | {"sink": self.sink}).items():
            for name in given:
                if f"'{name}'" in sentence:
                    return self.file.error(sentence, f"{place}.{name}")
        return PenstockError(sentence)

    def describe(
        self, frames: Mapping[str, DataFrame], result: DataFrame, said: list[str]
    ) -> dict[str, Any]:
        """Return the plan as plain values, secrets left out; variables are told by their names."""
        content = _redacted(self.file.content)
        sources = content["source"]
        return {
            "file": str(self.file.path),
            "sources": {n: sources[n] | {"columns": _columns(frames[n])} for n in self.sources},
            "operator": self.name,
            "options": content[self.name],
            "result": _columns(result),
            "sink": content["sink"],
            **{name: content[name] for name in ("monitor", "spark") if name in content},
            "warnings": said,
        }


def _columns(frame: DataFrame) -> dict[str, str]:
    return {each.name: each.dataType.simpleString() for each in frame.schema.fields}


def _redacted(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return a table without what looks like a secret by its name.

    >>> _redacted({"kafka": {"sasl.jaas": {"config": "login"}, "client.id": "a"}})
    {'kafka': {'sasl.jaas': {'config': '***'}, 'client.id': 'a'}}
    """
    shown: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{before}.{key}"
        if isinstance(value, dict):
            shown[key] = _redacted(value, name)
        else:  # a variable is told by its name
            shown[key] = "***" if SECRET.search(name) and "${" not in str(value) else value
    return shown


def first_sentence(error: Exception) -> str:
    """Return what Spark says without its codes and plans.

    >>> first_sentence(Exception("[PATH_NOT_FOUND] Path does not exist: a. SQLSTATE: 42K03\\nat b"))
    'Path does not exist: a'
    """
    said = str(error).strip().partition("\n")[0]
    if "Failed to find data source: kafka" in said:
        return (
            f'Spark has no connector for Kafka here; set jars.packages = "{CONNECTOR}" in [spark]'
        )
    return bare(said)


def _blamed(sentence: str, given: Mapping[str, Any]) -> str:
    """Return the key that an error is about: whose value it quotes first, or which it names.

    >>> options = {"left": "views", "on": "customr", "budget": 0}
    >>> _blamed("the left frame has no column 'customr'; it has customer", options)
    'on'
    >>> _blamed("budget must be at least 1 per bucket (2 of them), got 0; raise it", options)
    'budget'
    >>> _blamed("time column 'id' must be a timestamp", {"on": "id", "time": "id"})
    'time'
    >>> _blamed("Argument `schema` should be str, got int", {"path": "a", "schema": 7})
    'schema'
    """
    quoted = [each.lower() for each in re.findall(r"[\"'`](\w{2,})[\"'`]", sentence)]
    found = {}
    for name, value in given.items():
        items = [*value, *value.values()] if isinstance(value, dict) else value
        items = items if isinstance(items, list) else [items]
        texts = [each for each in items if isinstance(each, str)]
        places = [sentence.find(repr(text)) for text in texts]
        if name == "path":
            places += [sentence.find(text) for text in texts]
        if name in ("schema", "select") and any(q in t.lower() for q in quoted for t in texts):
            places.append(0)
        named = re.search(rf"\b{re.escape(name)}(=| must\b)|[`']{re.escape(name)}[`']", sentence)
        places += [named.start()] if named else []
        if any(place >= 0 for place in places):
            tells = not re.search(rf"\b{re.escape(name)}\b", sentence)  # of two, which it names
            found[name] = (min(place for place in places if place >= 0), tells)
    return min(found, key=lambda name: found[name]) if found else ""
