import numpy as np
import pytest

from bench.goal_bound import exact_rows, most_rows, zipf_chances

EMPTY, WAITING, MATCHED, BOTH = range(4)  # what is held of one key: a row, one a side


def best_for_a_key(price):
    """Return rows matched less the price of memory, a unit of time, by value iteration.

    A row of each side comes once in a unit of time. Older rows that wait are worth what they gain
    until a partner comes: they bear on nothing else.
    """
    older = max(0.0, 1 - price)
    value = np.zeros(4)
    for _ in range(500):
        served = max(value[[EMPTY, MATCHED, BOTH]])  # a match leaves the choice what to hold on
        after = np.array(
            [
                2 * max(value[WAITING], 0),
                -price + max(value[WAITING] + older, 0) + 2 + served,
                -price + max(value[WAITING], value[MATCHED], 0) + 1 + served,
                -2 * price + 2 * (1 + served),
            ]
        )
        after /= 2
        gained = 2 * after[EMPTY]
        value = after - after[EMPTY]
    return gained


@pytest.mark.parametrize("price", [0.05, 0.3, 0.7, 0.95, 1.1, 1.5, 1.9, 2.2])
def test_a_key_gives_what_its_decision_process_gives(price):
    # the least over all prices of (the best at the price, plus the price of the budget) is the
    # most that the budget gives; so at each price the best is the highest line through the steps
    keys, chance = 50, np.full(50, 0.02)
    held = np.linspace(0, 2 * keys, 2001)
    given = [most_rows(chance, budget, 10**9) for budget in held]
    best = max(np.array(given) / 0.01 - price * held) / keys
    assert best == pytest.approx(best_for_a_key(price), abs=2e-3)


def test_no_more_than_an_exact_join_matches():
    chance = zipf_chances(1000, 0.9)
    assert most_rows(chance, 10**6, 500) == pytest.approx(exact_rows(chance, 500).sum())


def test_an_exact_join_matches_so_many():
    random, chance, window = np.random.default_rng(1), zipf_chances(300, 0.8), 100
    key, side = random.choice(300, 100_000, p=chance), random.integers(0, 2, 100_000)
    last, matched = {}, np.zeros(len(key), bool)
    for row, (k, s) in enumerate(zip(key, side, strict=True)):
        if row - last.get((k, 1 - s), -window - 1) <= window:
            matched[row] = True
        last[k, s] = row
    last = {}
    for row in reversed(range(len(key))):
        k, s = key[row], side[row]
        if last.get((k, 1 - s), 10**9) - row <= window:
            matched[row] = True
        last[k, s] = row
    assert matched.mean() == pytest.approx(exact_rows(chance, window).sum(), rel=0.01)
