import signal
import threading

import pytest

from papers.pool import Pool, _interrupts_delayed
from tests.signals import handled


def start_interrupted(number=signal.SIGINT) -> list[str]:
    """Start workers as the pool does, with a Ctrl-C in between; return what came of it."""
    steps, go = [], threading.Event()

    def get_it():  # a signal to the process may be delivered to any thread that was there before
        go.wait()
        signal.raise_signal(number)

    other = threading.Thread(target=get_it)
    other.start()
    try:
        with _interrupts_delayed():
            go.set()
            other.join()
            signal.raise_signal(number)
            steps.append("workers have started")
        steps.append("work goes on")
    except KeyboardInterrupt:
        steps.append("interrupted")
    return steps


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_that_comes_while_workers_start_is_not_lost(number):
    with handled(number, signal.default_int_handler):
        assert start_interrupted(number) == ["workers have started", "interrupted"]


def test_an_ignored_interrupt_stays_ignored_while_workers_start():
    with handled(signal.SIGINT, signal.SIG_IGN):
        assert start_interrupted() == ["workers have started", "work goes on"]
        with Pool(workers=2) as pool:
            assert dict(pool.map(abs, [-3, 4])) == {0: 3, 1: 4}
