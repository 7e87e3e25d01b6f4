"""The profile of a folder as a batch and as a stream, over Spark Connect.

    python -m tests.spark.profile_driver '{"folder": ..., "rows": ...}'

Prints one line of JSON with both reports. A process has one kind of session, so this needs its own.
"""

import json
import sys

from tests.spark.driver import session


def main(given: dict) -> None:
    from penstock.spark import profile

    spark = session("connect", {})
    schema, source = "who string, at timestamp", f"{given['folder']}/in"
    batch = profile(spark.read.schema(schema).parquet(source), "who", "at", rows=given["rows"])
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)
    running = profile(
        stream,
        "who",
        "at",
        rows=given["rows"],
        checkpoint=f"{given['folder']}/state",
        trigger={"availableNow": True},
    )
    running.query.awaitTermination()
    print(json.dumps({"batch": batch.to_json(), "stream": running.report().to_json()}))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
