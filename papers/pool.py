"""Work on all cores: worker processes that end with their parent; if one is killed, all restart."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from penstock.simulate.comparison import cores

ENDING = (signal.SIGINT, signal.SIGTERM)
RETRIES = 3  # of what was under way when a worker died


class Pool:
    """One process for each core, or as many as are asked for; they start when they are needed.

    >>> with Pool(workers=1) as pool:  # one worker is this process itself
    ...     dict(pool.map(abs, [-3, 4]))
    {0: 3, 1: 4}
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = cores() if workers is None else workers
        self._pool: ProcessPoolExecutor | None = None
        self._before: set[Any] = set()

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self._stop(at_once=kind is not None)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each item and its result, as they are done."""
        if self.workers <= 1:
            yield from enumerate(map(work, items))
            return
        waiting = dict(enumerate(items))
        for attempt in range(1 + RETRIES):
            try:
                for number, found in self._spread(work, waiting):
                    del waiting[number]
                    yield number, found
                return
            except BrokenProcessPool:  # a worker was killed, and took the others with it
                self._stop(at_once=True)
                if attempt == RETRIES:
                    raise
            except BaseException:  # Ctrl-C, or work that failed: the others are stopped
                self._stop(at_once=True)
                raise

    def _spread(
        self, work: Callable[[Any], Any], waiting: dict[int, Any]
    ) -> Iterator[tuple[int, Any]]:
        if self._pool is None:
            self._before = set(multiprocessing.active_children())
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, context, _end_with_parent)
        with _interrupts_delayed():  # the workers, which start here, never see Ctrl-C
            futures: dict[Future, int] = {
                self._pool.submit(work, item): number for number, item in waiting.items()
            }
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _stop(self, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        if at_once:
            for process in set(multiprocessing.active_children()) - self._before:
                process.terminate()
        pool.shutdown(wait=not at_once, cancel_futures=True)


def _end_with_parent() -> None:
    """Watch the parent: a worker whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C and termination, so that no worker is left half started.

    In the processes started meanwhile Ctrl-C stays blocked: their parent will end them. A signal
    that is blocked is delivered later, where one that is ignored would be lost. But it is blocked
    in this thread only, and Python's handler runs here whichever thread gets the signal; so the
    handlers are replaced too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in ENDING if _may_handle(number)}
    for number in handlers:
        signal.signal(number, lambda which, _: came.append(which))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if came:
            signal.raise_signal(came[0])


def _may_handle(number: int) -> bool:
    """Return whether Python handles a signal, and this thread may replace the handler."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and callable(signal.getsignal(number))
