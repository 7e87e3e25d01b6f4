"""A lookup in a process of its own, to be killed or to have another kind of session.

    python -m tests.spark.lookup_driver '{"folder": ..., "uri": ..., "master": ..., "options": {}}'

Prints one line of JSON with the figures of the lookup.
"""

import dataclasses
import json
import sys
from pathlib import Path

from tests.spark.driver import begin, disturbed

SCHEMA = "k int, v long"


def main(given: dict) -> None:
    from penstock.spark import Relation, lookup, metrics
    from tests.spark.streams import run

    spark = begin(given)
    folder = Path(given["folder"])
    relation = Relation(given["uri"], table="customers", key="id")
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    stream = reader.parquet(str(folder / "events"))
    found = lookup(stream, relation, "k", **given["options"])
    query = run(disturbed(found, folder, given), folder)
    told = dataclasses.asdict(metrics(query))
    still = spark.read.schema(SCHEMA).parquet(str(folder / "events"))
    told["batch_rows"] = lookup(still, relation, "k", **given["options"]).count()
    print(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
