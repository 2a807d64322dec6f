"""What reports about numbers tell: means without bias, and the whole distribution by expectation maximisation.

Theorem (sign). A report is 1 with probability (b m + (a - b) t)/((a + b) m) for t of m steps, so
m ((a + b) report - b)/(a - b) has mean t.
Theorem (window). With G = m + w cells and W = a w + b m, the mean of the reported cell is
(b G (G - 1)/2 + (a - b)(w t + w (w - 1)/2))/W. That is linear in t, so
(W cell - b G (G - 1)/2 - (a - b) w (w - 1)/2)/((a - b) w) has mean t.
Either of the two by a coin that has nothing to do with t: each report is read by its own rule.

The interval of a mean is in `mean_ends`.

The distribution is the one under which the reports are likeliest, found by expectation maximisation with a smoothing
step (Li et al. 2020). It works on reports that are already private. It has no interval, and neither have its quantiles:
none is known to cover.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.local.laws import Law

Reals = NDArray[np.float64]
Whole = NDArray[np.int64]
_MOST_ROUNDS = 2_000
_CELLS = 512  # a smoothing step is as wide as on this many cells, where its paper tried it, however fine the steps are
_MOST_WIDE = 64


def steps_told(law: Law, reports: Whole) -> Reals:
    """For every report a number of steps whose mean is the true one."""
    if law["kind"] == "either":
        both = [steps_told(part, reports[:, 1]) for part in law["parts"]]
        return np.where(reports[:, 0] == 0, both[0], both[1])
    a, b, m = law["keep"], law["other"], law["steps"]
    if law["kind"] == "sign":
        return np.asarray(m * ((a + b) * reports.astype(np.float64) - b) / (a - b))
    w = law["window"]
    cells, weight = m + w, a * w + b * m
    fixed = b * cells * (cells - 1) / 2 + (a - b) * w * (w - 1) / 2
    return np.asarray((weight * reports.astype(np.float64) - fixed) / ((a - b) * w))


def distribution(law: Law, counts: Whole) -> Reals:
    """The share of each number of steps 0..m, from how often each cell was reported."""
    a, b, m, w = law["keep"], law["other"], law["steps"], law["window"]
    weight = a * w + b * m
    low, extra = b / weight, (a - b) / weight
    found = np.full(m + 1, 1.0 / (m + 1))
    kernel = _kernel(m)
    sums, ratio = np.zeros(m + 2 * w), np.zeros(m + w + 1)  # sums[w - 1] is the sum of none, sums[w + m] that of all
    likely = -np.inf
    enough = 1e-3 * (a / b)
    for _ in range(_MOST_ROUNDS):
        found.cumsum(out=sums[w : w + m + 1])
        sums[w + m :] = sums[w + m]
        expected = low + extra * (sums[w:] - sums[:-w])
        before, likely = likely, float(counts @ np.log(expected))
        if likely - before < enough:
            break
        (counts / expected).cumsum(out=ratio[1:])
        found = found * (low * ratio[-1] + extra * (ratio[w:] - ratio[:-w]))
        found = _smooth(found, kernel)
    return found


def quantiles_of(found: Reals, wanted: Sequence[float]) -> list[float]:
    """Where the distribution over 0..m reaches these shares: each step's share spread evenly half a step around it."""
    ends = np.arange(len(found) + 1) - 0.5
    reached = np.concatenate([[0.0], np.cumsum(found)])
    return [min(max(float(np.interp(each, reached, ends)), 0.0), len(found) - 1.0) for each in wanted]


def _kernel(steps: int) -> Reals:
    """Weights 1, 2, 1 over `_CELLS` cells, on the steps: repeated until their variance, in widths, fits."""
    times = min(max(1, round((steps / _CELLS) ** 2)), _MOST_WIDE)
    return np.array([math.comb(2 * times, k) / 4**times for k in range(2 * times + 1)])


def _smooth(found: Reals, kernel: Reals) -> Reals:
    side = len(kernel) // 2  # fewer than there are steps
    mirrored = np.concatenate([found[side - 1 :: -1], found, found[: -side - 1 : -1]])
    smooth = np.convolve(mirrored, kernel, mode="valid")
    return np.asarray(smooth / smooth.sum())
