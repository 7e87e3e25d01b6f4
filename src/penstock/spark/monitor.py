"""One call that shows all Penstock queries of a session: metrics for Prometheus, and a live page.

A listener of Spark takes every progress report, on classic Spark and on Spark Connect alike
(`listener`). `report.history` keeps them, `report.live` draws them, `report.exposition` writes them
for Prometheus. These are imported when a monitor starts: a worker needs none of them.
"""

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Self

from pyspark.sql import SparkSession

from ..errors import BadInput

if TYPE_CHECKING:
    from ..advisor import Advice


def monitor(
    spark: SparkSession,
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    token: str | None = None,
    advice: "Advice | Mapping[str, Advice] | None" = None,
    every: float = 1.0,
) -> "Monitor":
    """Serve the figures of all Penstock queries of a session until `stop()` is called.

    `/` is a page to watch them, `/metrics` is for Prometheus. Queries that run already are seen
    with their next micro-batch. Where the join, lookup or thin was given `checkpoint=`, the figures
    are also kept in the folder of the checkpoint, on local disks, for `penstock report`.

    Parameters:
        port: where to listen; 0 chooses a free one, and `url` of what is returned tells which.
        host: an address other than that of the loopback needs a token.
        token: what a browser must give as `?token=`, and Prometheus as its bearer token.
        advice: what `advise` returned for the streams, for all queries or by the name of the query:
            where recall falls the page then says what budget would restore it.
        every: the least number of seconds between two samples of a curve.
    """
    check_options(port, host=host, token=token, every=every)
    return Monitor(spark, port, host, token, advice, every)


def check_options(
    port: int = 0, *, host: str = "127.0.0.1", token: str | None = None, every: float = 1.0
) -> None:
    """Refuse options that `monitor` cannot take."""
    from ..report.server import check_place

    check_place(port, host, token)
    if isinstance(every, bool) or not isinstance(every, int | float) or not 0 <= every < inf:
        raise BadInput(f"every must be a number of seconds, 0 or more, got {every!r}")


class Monitor:
    """A listener of a session and a server of what it has heard; see `monitor`."""

    def __init__(
        self,
        spark: SparkSession,
        port: int,
        host: str,
        token: str | None,
        advice: "Advice | Mapping[str, Advice] | None",
        every: float,
    ):
        from ..report.exposition import exposition
        from ..report.server import Server
        from .listener import Listener

        self._spark = spark
        self._listener = Listener(advice, every)
        self._server = Server(self._listener.watched, exposition, port, host, token)
        try:
            spark.streams.addListener(self._listener)
        except BaseException:
            self._server.stop()
            raise
        self._stopped = False

    @property
    def url(self) -> str:
        """The address of the page; with the token, if there is one."""
        return self._server.url

    def stop(self) -> None:
        """Stop listening and serving."""
        if not self._stopped:
            self._stopped = True
            self._server.stop()
            self._spark.streams.removeListener(self._listener)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
