"""A binomial count plus the noise of two counts: the law behind every interval for a noisy proportion.

Let K of n rows have a property, and let K' = K + X and L' = n - K + Y be released, X and Y of one Laplace law. At the
true p the released (1 - p) K' - p L' is (K - n p) + (1 - p) X - p Y: a centred binomial plus two Laplace numbers of
scales (1 - p) b and p b. Its tail is summed over the binomial's outcomes exactly; n is taken as K' + L'. (The noise in
n moves the binomial's variance by a share of about b/n, and not its centre.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacit.statistics.moments.noise_sum import two_above

Reals = NDArray[np.float64]
_MOST_OUTCOMES = 2_000


def chance_of_proportion(with_it: float, without: float, scale: float, p: float) -> float:
    """The two-sided p-value of a proportion, for the two released counts."""
    total = with_it + without
    rows = max(round(total), 0)
    statistic = (1 - p) * with_it - p * without
    outcomes, weights = _binomial(rows, p)
    tails = two_above(statistic - (outcomes - rows * p), (1 - p) * scale, p * scale)
    upper = float(weights @ tails)
    return min(1.0, 2 * min(upper, 1 - upper))


def _binomial(rows: int, p: float) -> tuple[Reals, Reals]:
    """Outcomes within ten deviations and their probabilities; evenly thinned out where there are many."""
    spread = 10 * np.sqrt(rows * p * (1 - p)) + 10
    first, last = max(0, int(rows * p - spread)), min(rows, int(rows * p + spread) + 1)
    stride = max(1, (last - first) // _MOST_OUTCOMES)
    outcomes = np.arange(first, last + 1, stride, dtype=np.float64)
    weights = stats.binom.pmf(outcomes, rows, p)
    return outcomes, np.asarray(weights / max(float(weights.sum()), 1e-300))
