"""Differencing: two harmless means, with and without one household, give that household's income.

A zip code of 6,898 households has a mean income of 79,083, one very rich household among them. Exact means m of all n
and m' of the n - 1 others give n m - (n - 1) m'. Here several zip codes of that kind stand in one table, and a coin
decided for each whether the rich household lives there; the attacker says so when the difference is nearer to a
fortune than to nothing.

Against the curator the two questions are sums by zip code: of all households, and of those below a million. The owner
bounded incomes at a million, so that is what a household can add. The two questions share the budget.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.audit.attacks.sandbox import Whole, made_up, one_column
from tacit.parameters import Number

HOUSEHOLDS = 6_898
MEAN = 79_083
FORTUNE = 60_000_000
BOUND = 1_000_000


def differencing(epsilon: Number = 1, *, zips: int = 30, seed: int = 1) -> Attempt:
    """Tell whether a very rich household lives in a zip code, from two means (naive) or two noisy sums (tacit).

    >>> done = differencing(epsilon=1, zips=4)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.73)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        rich = rng.integers(0, 2, zips) == 1
        rich[0] = True  # the zip code of the example; the attacker is not asked about it
        zipped = [_incomes(rng, bool(each)) for each in rich]
        incomes = np.concatenate(zipped)
        where = np.repeat(np.arange(zips), [each.size for each in zipped])
        number, below = np.bincount(where), np.bincount(where, incomes < BOUND)
        everyone, others = np.bincount(where, incomes) / number, np.bincount(where, incomes * (incomes < BOUND)) / below
        told = np.rint(number * everyone - below * others)
        naive = float(np.mean(((told > BOUND) == rich)[1:]))
        total, rest = _asked(where, incomes, parameters.positive("epsilon", epsilon))
        private = float(np.mean(((2 * (total - rest) > BOUND) == rich)[1:]))
        words = (
            f"Exact means give the fortune of {told[0]:,.0f} to the last digit. Through the curator the difference "
            f"of the same two sums is {total[0] - rest[0]:,.0f}, and the mean of the others, {others[0]:,.0f}, "
            f"comes out as {rest[0] / below[0]:,.0f}."
        )
        return Rates(naive, private, 0.5, zips - 1, words)

    return attempted("differencing", "tell whether one rich household lives in a zip code", run, epsilon=epsilon)


def _incomes(rng: np.random.Generator, rich: bool) -> Whole:
    """Incomes of one zip code; with the rich household they have the number and the mean of the example.

    The others' incomes do not depend on whether it is there: the two cases are neighbours.
    """
    target = HOUSEHOLDS * MEAN - FORTUNE
    drawn = np.clip(rng.lognormal(11, 0.6, HOUSEHOLDS - 1), 1_000, 700_000)
    incomes = np.floor(drawn * (target / drawn.sum())).astype(np.int64)
    incomes[: target - int(incomes.sum())] += 1  # the remainder of rounding, one unit to each of the first
    return np.append(incomes, FORTUNE) if rich else incomes


def _asked(where: Whole, incomes: Whole, epsilon: Fraction) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two sums for every zip code, each for half of the budget."""
    columns = {"zip": (where, (0, int(where.max()))), "income": (incomes, (0, BOUND))}
    sql = "SELECT zip, sum(income) AS total FROM people {}GROUP BY zip ORDER BY zip"
    with made_up(columns, epsilon) as curator:
        total = curator.ask(sql.format(""), epsilon / 2)
        rest = curator.ask(sql.format(f"WHERE income < {BOUND} "), epsilon / 2)
        return one_column(total, "total"), one_column(rest, "total")
