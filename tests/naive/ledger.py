"""Shares of one budget, from digests, with dictionaries and one loop after another."""

KEYS = 256
NO_WINDOW = 8
FADING = 4
HELD = 2
UNNAMED = 0.5


class NaiveLedger:
    """`take` lists of digests as dictionaries; it returns what each bucket may hold."""

    def __init__(self, joins, buckets, budget, within, bucket_of, goal="pairs"):
        self.joins = [[stream for stream, _ in join] for join in joins]
        self.buckets, self.budget, self.within = buckets, budget, within
        self.bucket_of, self.goal = bucket_of, goal
        self.counts = {}  # (join, key) -> {stream: rows}
        self.rows = {}
        self.distinct = {}
        self.size = {}
        self.fading = self.seen = self.last = 0.0
        self.latest = None
        self.shares = [0] * buckets

    def take(self, digests):
        digests = [each for each in digests if each["rows"]]
        spans = [each["latest"] - each["earliest"] for each in digests]
        if self.within is not None and max(spans, default=0) <= max(1, self.within):
            digests = [each for each in digests if not self._is_left_behind(each, digests)]
        if digests:
            self._fade(digests)
            for each in digests:
                self._count(each)
            self._forget()
        if digests or not any(self.shares):
            wanted = self._whole(self._wanted(), self.budget)
            kept = [min(old, max(new, old // 4)) for old, new in zip(self.shares, wanted)]
            more = [max(0, new - old) for old, new in zip(kept, wanted)]
            given = self._whole(more, self.budget - sum(self.shares)) if any(more) else more
            self.shares = [old + up for old, up in zip(kept, given)]
        return self.shares

    def _is_left_behind(self, digest, digests):
        mine = [each["latest"] for each in digests if each["stream"] == digest["stream"]]
        return digest["latest"] < max(mine) - max(1, self.within)

    def _fade(self, digests):
        window = NO_WINDOW * self.budget if self.within is None else max(1, self.within)
        newest = max(each["latest"] for each in digests)
        if self.within is None:
            elapsed = sum(each["size"] for each in digests)
        elif self.latest is None:
            elapsed = newest - min(each["earliest"] for each in digests)
        else:
            elapsed = max(0, newest - self.latest)
        spans = [each["latest"] - each["earliest"] for each in digests]
        all_told = self.within is None or max(spans) > window
        told = elapsed if all_told else min(elapsed, window)
        left = window / (window + FADING * elapsed)
        for faded in (self.rows, self.distinct, self.size, *self.counts.values()):
            for name in faded:
                faded[name] *= left
        self.window = window
        self.fading = self.fading * left + told
        self.seen += told
        self.last = told
        self.latest = newest if self.latest is None else max(newest, self.latest)

    def _count(self, digest):
        stream = digest["stream"]
        for name in ("rows", "distinct", "size"):
            known = getattr(self, name)
            known[stream] = known.get(stream, 0.0) + digest[name]
        join = next(n for n, streams in enumerate(self.joins) if stream in streams)
        for key, count in digest["keys"].items():
            mine = self.counts.setdefault((join, key), {})
            mine[stream] = mine.get(stream, 0.0) + count

    def _forget(self):
        ranked = sorted(self.counts, key=lambda name: (-sum(self.counts[name].values()), name))
        self.counts = {name: self.counts[name] for name in ranked[:KEYS]}

    def _wanted(self):
        if self.goal == "rows":  # hot keys need no more memory than others
            return [self.budget / self.buckets] * self.buckets
        live = min(self.window, self.seen + self.last) / self.fading if self.fading else 1.0
        offers = []  # (worth of a unit, size, bucket or None)
        for join, streams in enumerate(self.joins):
            mine = {key: of for (j, key), of in self.counts.items() if j == join}
            known = dict.fromkeys(streams, 0.0)
            for _, of in sorted(mine.items()):
                for stream in streams:
                    known[stream] += live * of.get(stream, 0.0)
            for stream in streams:
                rows = live * self.rows.get(stream, 0.0)
                unit = live * self.size.get(stream, 0.0) / rows if rows else 1e-9
                rest, means = 1.0, {}
                for other in streams:
                    if other != stream:
                        keys = max(1.0, live * self.distinct.get(other, 0.0) - len(mine))
                        left = max(0.0, live * self.rows.get(other, 0.0) - known[other])
                        means[other] = left / keys
                        rest *= means[other]
                for key, of in sorted(mine.items()):
                    worth = 1.0
                    for other in streams:
                        if other != stream:
                            worth *= max(live * of.get(other, 0.0), UNNAMED * means[other])
                    held = live * of.get(stream, 0.0) * unit
                    if worth > 0:
                        offers.append((worth / unit, held, self.bucket_of(key)))
                if rest > 0:
                    offers.append((rest / unit, max(0.0, rows - known[stream]) * unit, None))
        room, preferred = list(self.shares), []
        for worth, size, bucket in sorted(offers, key=_order):
            inside = 0.0 if bucket is None else min(size, room[bucket])
            if inside:
                room[bucket] -= inside
                preferred.append((worth * HELD, inside, bucket, 0))
            preferred.append((worth, size - inside, bucket, 1))
        wanted, left = [0.0] * self.buckets, float(self.budget)
        for _, size, bucket, _ in sorted(preferred, key=_order):
            given = min(size, left)
            left -= given
            for each in range(self.buckets) if bucket is None else [bucket]:
                wanted[each] += given / (self.buckets if bucket is None else 1)
        return [each + left / self.buckets for each in wanted]

    def _whole(self, wanted, budget):
        exact = [each * budget / sum(wanted) for each in wanted]
        parts = [int(each) for each in exact]
        by_fraction = sorted(range(len(parts)), key=lambda n: parts[n] - exact[n])
        for place in by_fraction[: budget - sum(parts)]:
            parts[place] += 1
        return parts


def _order(offer):
    """What is worth most comes first; then what there is room for; then bucket by bucket."""
    worth, _, bucket, *outside = offer
    return -worth, outside, -1 if bucket is None else bucket
