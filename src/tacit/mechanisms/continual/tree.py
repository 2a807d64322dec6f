"""Running totals by a binary tree of noisy sums, each made better by the noisy sums below it.

Theorem. Steps 1, ..., n are the leaves of binary trees; a node is the sum of the steps under it and is released with
its own noise when the last of them has come. A step lies under at most h = floor(log2 n) + 1 nodes. If a unit changes
at most m steps, each by at most D in L1 norm, all released numbers together have L1 sensitivity m h D. So discrete
Laplace noise of scale m h D/epsilon on every node is epsilon-differentially private for the whole stream, also if the
stream is chosen on the way. Sums and noises are whole numbers, and nothing is rounded.
Proof. A unit's change is the sum of its changes at single steps, each of which moves h numbers by as much as it moves
the step; norms add. The ratio of the probabilities of a whole output is a product of ratios, one for each number given
those before it; their exponents sum to at most m h D/scale, whatever was chosen.

Refinement (Honaker 2015, "estimation from below"; post-processing). The sum of a node is told twice: by its own number,
of variance v, and by its children's estimates, of variance 2 u. Weighing them by inverse variances gives
1/(1/v + 1/(2 u)), the least among unbiased linear estimates that use nothing outside the node; it falls towards v/2.
A running total is the sum of the estimates of at most h nodes.

Memory: one open sum and one waiting estimate for each of h levels and each cell.

Source: Chan, Shi, Song 2011; Dwork, Naor, Pitassi, Rothblum 2010; Honaker 2015.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def levels_of(steps: int) -> int:
    """h: under how many nodes a step lies at most."""
    return steps.bit_length()


def node_variances(levels: int) -> list[float]:
    """The variance of a node's estimate by level, in units of the variance of one number's noise."""
    found = [1.0]
    for _ in range(1, levels):
        found.append(1 / (1 + 1 / (2 * found[-1])))
    return found


def variance(step: int) -> float:
    """The variance of the running total after `step` steps, in units of that of one number's noise."""
    levels = levels_of(step)
    return sum(each for level, each in enumerate(node_variances(levels)) if step >> level & 1)


def log_moment(step: int, scale: float, rate: float) -> float:
    """log E[exp(rate * error)] of the running total after `step` steps; infinite where there is no such moment."""
    decay = math.exp(-1 / scale)

    def one(at: float) -> float:
        grown = decay * math.exp(at) if at < 700 else math.inf
        return math.inf if grown >= 1 else math.log((1 - decay) ** 2 / ((1 - grown) * (1 - decay * math.exp(-at))))

    def node(level: int, at: float) -> float:
        if level == 0:
            return one(at)
        own = weights[level]
        return one(own * at) + 2 * node(level - 1, (1 - own) * at)

    weights = node_variances(levels_of(step))
    return sum(node(level, rate) for level in range(len(weights)) if step >> level & 1)


@lru_cache(maxsize=1024)  # the same for every cell of a step
def reach(step: int, scale: float, level: float) -> float:
    """A t that the running total's error exceeds with probability at most `level`: Chernoff's bound, at a good rate."""
    rates = np.geomspace(1e-3, 0.999, 200) / scale
    bounds = [(log_moment(step, scale, float(each)) + math.log(2 / level)) / float(each) for each in rates]
    return min(bounds)


class Tree:
    """The sums that are open, and the estimates of finished nodes that wait for their sibling."""

    def __init__(self, steps: int, width: int) -> None:
        self.levels, self.width = levels_of(steps), width
        self.time = 0
        self.open: list[list[int]] = [[0] * width for _ in range(self.levels)]  # exact: private
        self.waiting: list[list[float]] = [[0.0] * width for _ in range(self.levels)]
        self._weights = node_variances(self.levels)

    def step(self, values: Any, draw: Any) -> list[float]:
        """The running totals after one more vector; `draw(k)` gives k draws of noise."""
        self.time += 1
        finished = (self.time & -self.time).bit_length()
        cells = range(self.width)
        carried, below = list(values), [0.0] * self.width
        noise = draw(finished * self.width)
        for level in range(finished):
            if level:
                carried = [self.open[level - 1][cell] + carried[cell] for cell in cells]
                self.open[level - 1] = [0] * self.width
                left = self.waiting[level - 1]
                self.waiting[level - 1] = [0.0] * self.width
                below = [left[cell] + below[cell] for cell in cells]
            own = [carried[cell] + int(noise[level * self.width + cell]) for cell in cells]
            weight = self._weights[level] if level else 1.0
            below = [weight * own[cell] + (1 - weight) * below[cell] for cell in cells]
        self.open[finished - 1] = carried
        self.waiting[finished - 1] = below
        return [sum(row[cell] for row in self.waiting) for cell in cells]

    def extend(self, values: NDArray[Any], draw: Any) -> NDArray[np.float64]:
        """The running totals after each of many vectors."""
        found = [self.step(row, draw) for row in values.tolist()]
        return np.array(found, dtype=np.float64).reshape(len(found), self.width)
