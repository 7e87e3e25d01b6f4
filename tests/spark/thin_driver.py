"""A thinning in a process of its own, to be killed or to have another kind of session.

    python -m tests.spark.thin_driver '{"folder": ..., "master": ..., "options": {}}'

Prints one line of JSON with the figures of the query.
"""

import dataclasses
import json
import sys
from pathlib import Path

from tests.spark.driver import begin, disturbed

READINGS, QUERIES = "k string, at timestamp, v double", "k string, at timestamp, delta double"


def main(given: dict) -> None:
    from penstock.spark import metrics
    from penstock.spark.precision import bounded_agg, latest
    from penstock.spark.thin import thin
    from tests.spark.streams import run

    spark = begin(given)
    folder = Path(given["folder"])

    def thinned(reader):
        frames = [
            reader.schema(kind).parquet(str(folder / name))
            for name, kind in (("readings", READINGS), ("queries", QUERIES))
        ]
        return thin(frames[0], "k", "v", "at", queries=frames[1], **given["options"])

    stream = thinned(spark.readStream.option("maxFilesPerTrigger", 1))
    query = run(disturbed(stream, folder, given), folder)
    told = dataclasses.asdict(metrics(query))
    batch = thinned(spark.read)
    told["batch_rows"] = batch.count()
    answer = bounded_agg(latest(batch, "k", "at"), "sum", 1.0, key="k").collect()
    told["answer"] = [answer[0].low, answer[0].high, sorted(answer[0].refresh)]
    print(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
