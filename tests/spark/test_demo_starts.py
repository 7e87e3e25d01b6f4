"""A demonstration on a machine that is busy otherwise starts its query again, and no other one."""

import pytest
from pyspark.errors import StreamingQueryException

from penstock.spark.demo import flights


class Query:
    """Ends at once, or with an error."""

    def __init__(self, error):
        self.error = error

    def awaitTermination(self, seconds):
        if self.error:
            raise StreamingQueryException(self.error)
        return True


def started(*errors):
    """Return what starts such queries, one after the other, and the list of them."""
    made, given = [], iter(errors)

    def start():
        made.append(Query(next(given)))
        return made[-1]

    return start, made


def test_a_query_whose_worker_did_not_start_is_started_again():
    start, made = started(f"terminated with exception: {flights.TOO_BUSY}", None)
    looked = []
    assert flights.run(start, looked.append) is made[1]
    assert looked == [made[1]]


@pytest.mark.parametrize(
    ("error", "starts"), [(flights.TOO_BUSY, flights.STARTS), ("disk full", 1)]
)
def test_other_errors_and_one_that_stays_are_raised(error, starts):
    start, made = started(*[error] * flights.STARTS)
    with pytest.raises(StreamingQueryException, match=error):
        flights.run(start)
    assert len(made) == starts
