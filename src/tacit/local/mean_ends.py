"""The interval of a mean that reports tell: of the mean of those who answered, whatever they answered.

Sign. A report is a coin whose probability is a line in the answer, so the number of ones is a sum of independent coins
whose mean is that line at the mean answer. Clopper and Pearson's exact interval covers it (`shares` has the argument).

Window, or one of two by a coin. An answer t gives a report that tells t with a variance v(t) which the law says
(`laws.told_variance`). The mean of n reports has the variance V/n, V the mean of v(t_i). The spread S**2 of the reports
is V and the spread of the answers, on average. But where wide reports are rare, a few dozen reports show none of them,
and S**2 says hardly anything. What is known without looking is V >= v*(mean t), v* the greatest convex function below
v: v itself, which is a parabola, where it opens upwards, else its chord. So an end e of the normal interval solves
    e = mean +/- z (max(S**2, v*(e))/n)**(1/2),
and both ends are taken within the bounds of the answers. This is the normal approximation; below 30 reports there is
no interval.

A random half. In a survey of variances each person tells the number or its square, by a fair coin. The mean of one half
is then also off by the choice of its people. The few people with rare answers may all be in the other half: as if there
were one more answer at each end of the bounds, the spread gains W**2/(2 (n + 2)), W the distance of the bounds (the
idea of Agresti and Coull 1998, for means).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.local.laws import Law, told_variance
from tacit.local.numbers import steps_told
from tacit.local.shares import exact_ends

Reals = NDArray[np.float64]
Whole = NDArray[np.int64]
Ends = tuple[float, float]

_ROUNDS: Final = 50


def mean_ends(law: Law, reports: Whole, level: float) -> Ends:
    """Both ends, in steps from the lower bound."""
    if law["kind"] == "sign":
        return _of_coins(law, reports, level)
    told, steps = steps_told(law, reports), float(law.get("steps") or law["parts"][0]["steps"])
    mean, spread = float(told.mean()), float(np.var(told, ddof=1))
    z = float(ndtri((1 + level) / 2))
    return _solved(law, mean, spread, -z, len(told), steps), _solved(law, mean, spread, z, len(told), steps)


def least_variance(law: Law, mean: float, steps: float) -> float:
    """The least mean of variances that answers of this mean can have: v*."""
    low, middle, high = (told_variance(law, share * steps) for share in (0.0, 0.5, 1.0))
    if middle <= (low + high) / 2:
        return told_variance(law, mean)
    return low + (high - low) * mean / steps


def variance_of_half(law: Law, told: Reals) -> float:
    """The variance of the mean of reports from a random half: see above. `told` is in steps."""
    steps, many = float(law["steps"]), len(told)
    spread = float(np.var(told, ddof=1)) if many > 1 else 0.0
    floor = least_variance(law, min(max(float(told.mean()), 0.0), steps), steps) if many else 0.0
    return (max(spread, floor) + steps**2 / (2 * (many + 2))) / max(many, 1)


def _of_coins(law: Law, reports: Whole, level: float) -> Ends:
    a, b, m = law["keep"], law["other"], law["steps"]
    ends = exact_ends(reports.sum(keepdims=True), len(reports), level)
    low, high = (float(np.clip(m * ((a + b) * end[0] - b) / (a - b), 0, m)) for end in ends)
    return low, high


def _solved(law: Law, mean: float, spread: float, z: float, people: int, steps: float) -> float:
    """One end, by iteration: v* changes slowly from one end of the bounds to the other, its root even less."""
    end = min(max(mean, 0.0), steps)
    for _ in range(_ROUNDS):
        floor = least_variance(law, end, steps)
        end = min(max(mean + z * math.sqrt(max(spread, floor) / people), 0.0), steps)
    return end
