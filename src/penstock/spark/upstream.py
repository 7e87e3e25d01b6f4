"""Refuse what Spark would refuse only when the query starts, and in other words."""

import io
import re
from contextlib import redirect_stdout

from pyspark.sql import DataFrame

from ..errors import BadInput

# Spark marks the streaming parts of a plan with a tilde. Deduplication and its own joins may
# come before a join of ours; these may not.
FORBIDDEN = {
    "Aggregate": "an aggregation",
    "FlatMapGroupsInPandasWithState": "a join, lookup or thin of Penstock, or a stateful function",
    "FlatMapGroupsWithState": "a flatMapGroupsWithState",
    "TransformWithState": "a transformWithState",
}


def check_upstream(frame: DataFrame, who: str) -> None:
    """Refuse a stream that passed a stateful operator which Spark forbids before another one."""
    text = _plan_text(frame)
    for node in re.findall(r"^[\s:+|-]*~(\w+)", text, re.MULTILINE):
        for name, words in FORBIDDEN.items():
            if node.startswith(name):
                raise BadInput(
                    f"the {who} frame comes from {words}, and Spark allows no second stateful "
                    "operator after it in one query; join several frames at once with join_many, "
                    "or write the first query to a table and read that as a stream"
                )


def _plan_text(frame: DataFrame) -> str:
    """Return the analysed plan as text; on Spark Connect there is no other way to see it."""
    said = io.StringIO()
    with redirect_stdout(said):
        frame.explain(extended=True)
    analysed = said.getvalue().partition("== Analyzed Logical Plan ==")[2]
    return analysed.partition("== Optimized Logical Plan ==")[0]
