"""What an engine tells a policy and asks of it. A policy overrides what it cares about."""


class Policy:
    """Hooks are called in the order arrive, match, victim + remove, insert; `now` is the time."""

    def __init__(self, seed, budget, joins):
        self.budget = budget  # rows of the lane; None: no limit, or a limit that is not in rows
        self.joins = joins
        self.stamps = 0
        self.together = False  # set by the engine: newcomers of one time are decided about at once
        self.caching = False  # set by the engine: it is a cache, stream 1 are the references

    def stamp(self):
        """Return a number larger than all before it, to break ties by order."""
        self.stamps += 1
        return self.stamps

    def arrive(self, t, now):
        """`t` has come, from any stream, and has not met anybody yet."""

    def insert(self, t, now):
        """`t` is now held."""

    def match(self, t, now):
        """The held `t` took part in one result."""

    def gain(self, t, join):
        """Return what the next partner of `t` in a join is worth; the engine knows other goals."""
        return 1

    def gains(self, t):
        """Return `gain` for each join of `t`, in their order."""
        numbers = [n for n, join in enumerate(self.joins) if t.stream in dict(join)]
        return [self.gain(t, number) for number in numbers]

    def gained(self, t, now):
        """What `gain` returns for the held `t` has changed, other than by a match or its end."""

    def remove(self, t, now):
        """`t` is held no more: it expired or was the victim."""

    def victim(self, newcomer, now):
        """Return the held tuple that makes room, or None to refuse the newcomer."""
        raise NotImplementedError


def check_admit(admit):
    """Refuse an unknown rule of admission: does the newcomer compete with the held tuples?"""
    if admit not in ("always", "compete"):
        raise ValueError(f"admit must be 'always' or 'compete', got {admit!r}")
    return admit
