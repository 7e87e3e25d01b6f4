"""What `penstock run` tells of a query that it follows, without Spark."""

from penstock.spark.pipeline import drive


class Query:
    """A query whose micro-batches come while it is waited for, some of them within one pause."""

    def __init__(self, pauses):
        self.pauses = list(pauses)
        self.recentProgress = []
        self.stopped = False
        self.status = {"isTriggerActive": False}

    @property
    def lastProgress(self):
        return self.recentProgress[-1] if self.recentProgress else None

    def awaitTermination(self, _):
        if not self.pauses:
            return True
        self.recentProgress += self.pauses.pop(0)
        return False

    def stop(self):
        self.stopped = True


def ran(batch):
    return {"batchId": batch, "durationMs": {"addBatch": 1}}


def waits(batch):
    return {"batchId": batch, "durationMs": {"latestOffset": 1}}


def test_every_micro_batch_is_reported_once():
    query, told = Query([[ran(3)], [], [waits(4)], [ran(4), ran(5), ran(6)], [waits(7)]]), []
    drive(query, lambda: False, told.append)
    assert [each["batchId"] for each in told] == [3, 4, 5, 6]
    assert query.stopped


def test_the_first_look_may_find_several():
    query, told = Query([[ran(7), ran(8), waits(9)]]), []
    drive(query, lambda: False, told.append)
    assert [each["batchId"] for each in told] == [7, 8]


def test_it_ends_between_micro_batches():
    query, told = Query([[ran(0)], [ran(1)], [ran(2)]]), []
    drive(query, lambda: len(told) > 0, told.append)
    assert [each["batchId"] for each in told] == [0]
    assert query.stopped
