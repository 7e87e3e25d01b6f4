"""Ask a source with a timeout, and again after a pause, a limited number of times."""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import BadInput, PenstockError, Unreachable

LONGEST = 30.0  # seconds between two tries
HOPELESS = ("ProgrammingError", "DataError", "IntegrityError", "NotSupportedError")
WRITTEN = (
    "nothing of this micro-batch was written, so start the query again from its checkpoint when it "
    "answers"
)


class Patience(NamedTuple):
    """How many keys a query has, how long it may take, and how often it is retried."""

    size: int = 10_000  # keys in one query
    timeout: float = 30.0  # seconds for one query
    retries: int = 6
    pause: float = 0.2  # seconds before the first retry; doubled before each further one


class Tried(NamedTuple):
    """An answer, when its query was sent (microseconds), and how many tries it took."""

    answer: Any
    sent: int
    tries: int


def ask(
    question: Callable[[], Any],
    patience: Patience,
    who: Any,
    clock: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
    way_out: str = WRITTEN,
) -> Tried:
    """Ask until there is an answer; the query of the source `who` is cancelled at a timeout."""
    began = clock()
    for tries in range(1, patience.retries + 2):
        sent = clock()
        try:
            return Tried(within(patience.timeout, question, who.cancel), sent, tries)
        except PenstockError:
            raise  # asking again changes nothing
        except Exception as error:
            said = _first_line(error, who.hide)
            if _is_hopeless(error):
                raise BadInput(f"{who.name} cannot be asked: {said}") from None
        if tries <= patience.retries:
            sleep(min(LONGEST, patience.pause * 2 ** (tries - 1)))
    taken = (clock() - began) / 1e6
    often = "once" if patience.retries == 0 else f"{patience.retries + 1} times in {taken:.1f} s"
    raise Unreachable(
        f"{who.name} was asked {often} and did not answer, the last time because: {said}; {way_out}"
    )


def within(seconds: float, action: Callable[[], Any], give_up: Callable[[], None]) -> Any:
    """Return what an action returns, or raise TimeoutError if that takes too long.

    >>> within(5, lambda: 7, lambda: None)
    7
    """
    box: dict[str, Any] = {}

    def work() -> None:
        try:
            box["answer"] = action()
        except BaseException as error:  # it is raised in the waiting thread
            box["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        give_up()
        raise TimeoutError(f"no answer within {seconds:g} s")
    if "error" in box:
        raise box["error"]
    return box["answer"]


def _is_hopeless(error: Exception) -> bool:
    """Return whether the database understood and refused: no such table, no permission."""
    return any(kind.__name__ in HOPELESS for kind in type(error).__mro__)


def _first_line(error: Exception, hide: Callable[[str], str]) -> str:
    """Return the first line; secrets are hidden before, since one may go over several lines."""
    lines = [line.strip() for line in hide(str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no reason given'}"
