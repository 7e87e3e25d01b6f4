"""The operator as Spark gets it: the state is declared without this package.

Before the first micro-batch Spark asks which state there is, on the driver's machine, in the
workers' Python, and without the files that were shipped to executors. So what Spark asks travels by
value and needs PySpark alone. What does the work travels in it as bytes, and is unpickled where
rows come.
"""

from typing import Any

from pyspark.cloudpickle import dumps
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from .journal import STATE

# As types and not as text, which Spark would have to be asked to read in every task.
CHUNK = T.StructType([T.StructField("chunk", T.BinaryType())])
NUMBER = T.StructType([T.StructField("number", T.LongType())])


def declared(processor: Any) -> StatefulProcessor:
    """Return what declares the state of a processor, and becomes that processor with the rows."""
    pickled = dumps(processor)

    class Declared(StatefulProcessor):  # in a function: a class of a module travels by its name
        processor: Any = None

        def init(self, handle: Any) -> None:
            """Name the state; called once for every task, and on the driver."""
            self.given = handle, handle.getMapState(STATE, NUMBER, CHUNK)

        def work(self) -> Any:
            if self.processor is None:
                import pickle

                self.processor = pickle.loads(pickled)
                self.processor.start(*self.given)
            return self.processor

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            return self.work().handleInputRows(key, rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
            return self.work().handleExpiredTimer(key, timerValues, expiredTimerInfo)

        def close(self) -> None:
            if self.processor is not None:
                self.processor.close()

    return Declared()
