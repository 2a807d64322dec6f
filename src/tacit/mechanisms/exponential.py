"""The exponential mechanism: choose a candidate, the better its score the likelier.

Theorem. Let score_x(y) change by at most S between neighbours x, x' for every candidate y. Choosing y with probability
proportional to prior(y) * exp(epsilon * score_x(y) / (2 S)), the prior public, has a privacy loss of bounded range
epsilon: ln(Pr_x[y] / Pr_x'[y]) lies in an interval of length epsilon that contains 0, so the choice is pure
epsilon-differentially private. Where the score is monotone (adding a unit moves all scores the same way, as counts
do), epsilon/S without the 2 gives the same.
Proof. The loss is f * (score_x(y) - score_x'(y)) - ln(Z_x/Z_x') with f the factor and Z the sums of weights. Over y
the first term varies over [-f S, f S], or over [0, f S] (or its negative) if monotone: a range of epsilon in both
cases. The loss is positive for some y and negative for some other (or zero throughout), since both probabilities sum
to one.

Utility. With n candidates of which m reach the best score, under a flat prior,
Pr[score <= best - (2 S/epsilon)(ln(n/m) + t)] <= exp(-t): a bad candidate weighs at most exp(-t) m/n of a best one.

A choice from an interval of reals (`choose_real`): candidates are the points of a public grid; the score is a step
function with edges anywhere (they may be private: only its value at each point counts). A cell is chosen by its
number of points times its weight, then a point uniformly within it: exactly the law above over the points.

Assumptions. The caller's sensitivity holds under the caller's neighbour relation (add or remove one unit by default)
for scores as `scores` reads them; candidates, prior and interval do not depend on the data (see `candidates`). The
choice is exact (`tacit.noise.exponential_race`).

Source: McSherry, Talwar 2007; bounded range: Durfee, Rogers 2019; monotone scores: Dwork, Roth 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import noise, parameters
from tacit.loss import events
from tacit.mechanisms.candidates import public_candidates
from tacit.mechanisms.interval import Interval
from tacit.mechanisms.scores import read_scores
from tacit.mechanisms.selection import score_factor, shortfall
from tacit.parameters import Number


@dataclass(frozen=True, slots=True, init=False)
class Exponential:
    """A choice by scores of this sensitivity, at this epsilon. High scores, or low losses, are preferred.

    >>> Exponential(1, "0.5").event.to_json()
    '{"kind":"exponential","range":"1/2"}'
    >>> from tacit.mechanisms import declared_public
    >>> Exponential(1, 5000).choose(declared_public(["a", "b"]), scores=[3, 1000])  # e**2490 to 1
    'b'
    """

    event: events.Exponential
    factor: Fraction

    def __init__(self, sensitivity: Number, epsilon: Number, *, monotone: bool = False) -> None:
        object.__setattr__(self, "factor", score_factor(sensitivity, epsilon, monotone))
        object.__setattr__(self, "event", events.Exponential(parameters.rational("epsilon", epsilon)))

    @property
    def scale(self) -> float:
        """How many points of score make a candidate e times likelier: 2 S/epsilon, or S/epsilon for monotone scores."""
        return float(1 / self.factor)

    def shortfall(self, count: int, best_count: int = 1, *, confidence: Number) -> float:
        """The choice's score is this far below the best, or further, with probability at most 1 - confidence.

        `count` candidates under a flat prior, of which `best_count` reach the best score.
        """
        return shortfall(self.factor, count, best_count, confidence)

    def choose(
        self,
        candidates: Any,
        *,
        scores: Any = None,
        losses: Any = None,
        prior: Any = None,
        bits: noise.BitSource | None = None,
    ) -> Any:
        """One of the public `candidates`, by private scores or losses, one for each."""
        options = public_candidates(candidates)
        weights = None if prior is None else _public_prior(prior, len(options))
        read = read_scores(scores, losses, len(options), self.factor)
        source = noise.secure() if bits is None else bits
        return options[noise.exponential_race(read, self.factor, source, weights)]

    def choose_real(
        self,
        lower: Number,
        upper: Number,
        *,
        edges: Any,
        scores: Any = None,
        losses: Any = None,
        grid: Number | None = None,
        bits: noise.BitSource | None = None,
    ) -> float:
        """A real number from the public interval [lower, upper], on a public grid, by a private step function.

        `edges` ascend; scores[0] belongs to the points below edges[0], scores[i] to those from edges[i-1] (included) to
        edges[i], the last to the points from the last edge on.
        """
        interval = Interval(lower, upper, grid)
        borders = interval.borders(edges)
        read = read_scores(scores, losses, borders.size - 1, self.factor)
        source = noise.secure() if bits is None else bits
        widths = np.diff(borders)
        cell = noise.exponential_race(read, self.factor, source, widths.astype(np.float64))
        return interval.real(int(borders[cell]) + noise.uniform_below(int(widths[cell]), None, source))


def _public_prior(prior: Any, count: int) -> NDArray[np.float64]:
    """Public weights of the candidates, as the floats they are."""
    try:
        weights = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise parameters.refuse("prior", "a list of numbers", prior) from None
    if weights.shape != (count,):
        raise parameters.refuse("prior", f"{count} weights, one for each candidate", f"the shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise parameters.refuse("prior", "finite weights of at least 0, one of them above 0", prior)
    return weights
