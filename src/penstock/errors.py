"""What can go wrong, in one base error and few kinds.

Every message names the thing, the rule, the value and the way out, in one sentence.
"""


class PenstockError(Exception):
    """The base of every error that Penstock raises on purpose."""


class BadInput(PenstockError, ValueError):
    """A value, a file or a stream breaks a rule; the message says which and what to do."""


class TooSmall(BadInput):
    """A budget in bytes has no room for a single row; `least` is the smallest that has."""

    least = 0


class BadState(PenstockError):
    """Saved state does not fit what is asked of it: another format, policy or shape."""


class Unreachable(PenstockError):
    """A database or service did not answer, however often it was asked."""
