"""Joins drawn at random in a session of another kind, such as Spark Connect.

    python -m tests.spark.differential_driver '{"folder": ..., "master": "connect", "cases": [...]}'

Prints one line of JSON with what went wrong, by case.
"""

import json
import sys
from pathlib import Path

from tests.spark.driver import session


def main(given: dict) -> None:
    from tests.spark.differential import check

    spark = session(given.get("master", "local[2]"), {})
    wrong = {}
    for name in given["cases"]:
        try:
            check(spark, name, Path(given["folder"]) / name)
        except AssertionError as error:
            wrong[name] = str(error)
    print(json.dumps({"wrong": wrong}))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
