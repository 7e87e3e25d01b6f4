"""Parameters found while running: every candidate joins beside, and who finds most is followed.

Shares with the package what the outcome is defined by, written out again: the candidates and the
first of them, which keys are sampled, after how many sampled rows a choice is made, how found
results fade, and when a lead is enough. Miniatures are the naive engines themselves, and rows are
seen one at a time instead of in batches.
"""

from itertools import product

from .join import NaiveJoin
from .lookup import NaiveLookup
from .policies import factory
from .rng import mix

GRIDS = {  # policy -> parameter -> (first, candidates)
    "gdj": {"percentile": (0.2, [0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0])},
    "clock": {
        "rho": (0.5, [0.01, None, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]),
        "w0": (0.0, [0.0, 1.0]),
    },
}
FIRST, PART, LIFE, LEAD = 64, 32, 50_000, 1.002
ROOM = 512
SALT = 0x5851F42D4C957F2D


def share_of(rows):
    return min(1.0, ROOM / rows)


def most_waiting(rows):
    """Return after how many sampled rows at most there is a choice: 8 miniatures full, or so."""
    return sorted([1024, 8 * min(rows, ROOM), 4096])[1]


def in_sample(key, share):
    """Tell whether the hash of a key, as a number from 0 to 1, falls below the share."""
    return (mix((key % 2**64) ^ SALT) >> 11) < round(share * 2**53)


def is_tuned(name, params):
    return any(params.get(key) == "auto" for key in GRIDS.get(name, {}))


class Tuner:
    """Shows sampled rows to the miniatures; `saw` says what to go on with, or None."""

    def __init__(self, name, params, make, rows):
        grids = {key: grid for key, grid in GRIDS[name].items() if params.get(key) == "auto"}
        combined = product(*(values for _, values in grids.values()))
        self.candidates = [dict(zip(grids, values, strict=True)) for values in combined]
        self.choice = self.candidates.index({key: first for key, (first, _) in grids.items()})
        self.minis = [make(params | values) for values in self.candidates]
        self.scores = [0.0] * len(self.minis)
        self.share, self.most = share_of(rows), most_waiting(rows)
        self.waiting = []
        self.seen = 0

    @property
    def chosen(self):
        return self.candidates[self.choice]

    def saw(self, rows, key_of):
        """Take rows that arrived together, if only one."""
        self.waiting += [row for row in rows if self.share >= 1 or self._samples(key_of(row))]
        if len(self.waiting) < min(max(FIRST, self.seen // PART), self.most):
            return None
        found = [attained_with(mini, self.waiting) for mini in self.minis]
        kept = max(0.0, 1 - len(self.waiting) / LIFE)
        self.scores = [old * kept + new for old, new in zip(self.scores, found, strict=True)]
        self.seen += len(self.waiting)
        self.waiting = []
        best = self.scores.index(max(self.scores))
        if self.scores[best] <= LEAD * self.scores[self.choice] + 1:
            return None
        self.choice = best
        return self.chosen

    def _samples(self, key):
        return in_sample(key, self.share)


def attained_with(engine, rows):
    """Return how much of its goal an engine finds in some rows."""
    before = engine.attained
    engine.push(rows)
    return engine.attained - before


class TunedJoin(NaiveJoin):
    """A join whose policy has parameters that are `auto`."""

    def __init__(self, name, params, budget, *, joins, **options):
        whole = max(1, budget // 100) if options.get("sized") else budget
        share = share_of(whole)

        def make(values):
            small = dict(options)
            if options.get("window") == "count":
                small["within"] = max(1, round(options["within"] * share))
            parts = self._parts(budget, options)
            rows = [max(1, round(part * share)) for part in parts]
            small["shares"] = [part / sum(rows) for part in rows]
            small["scale"] = max(1, round(whole * share))
            return NaiveJoin(factory(name, joins=joins, **values), sum(rows), joins=joins, **small)

        self.tuner = Tuner(name, params, make, whole)
        policy = factory(name, joins=joins, **(params | self.tuner.chosen))
        super().__init__(policy, budget, joins=joins, **options)

    def _parts(self, budget, options):
        lanes = NaiveJoin(lambda seed, rows: _Anyone(), budget, **options).lanes
        return [lane.budget for lane in lanes]

    def _take(self, number, row, results):
        before = sum(self.taken)
        super()._take(number, row, results)
        if sum(self.taken) > before:
            self._tell([row])

    def _take_together(self, time, group, results):
        group = list(group)
        super()._take_together(time, group, results)
        self._tell([row for _, row in group if row["keys"] is not None])

    def _tell(self, rows):
        change = self.tuner.saw(rows, lambda row: row["keys"][0])
        if change is not None:
            for lane in self.lanes:
                lane.policy.retune(**change)


class _Anyone:
    """Stands in for a policy where only the budgets are asked for."""


class TunedLookup(NaiveLookup):
    """A cache whose policy has parameters that are `auto`."""

    def __init__(self, name, params, budget, *, seed=0):
        small = max(1, round(budget * share_of(budget)))
        self.tuner = Tuner(
            name, params, lambda values: NaiveLookup(factory(name, **values), small), budget
        )
        super().__init__(factory(name, **(params | self.tuner.chosen)), budget, seed=seed)

    def _look_up(self, key, size):
        hit = super()._look_up(key, size)
        change = self.tuner.saw([key], lambda key: key)
        if change is not None:
            self.policy.retune(**change)
        return hit
