"""Permute and flip: a choice by score that is never worse than the exponential mechanism at the same epsilon.

Mechanism. With f = epsilon/(2 S), the largest f * score(y) + E_y wins, the E_y independent standard exponential
noise. This is the law of: take the candidates in random order, and stop at the first that a coin of probability
exp(f (score(y) - best)) accepts.

Theorem. Let score_x(y) change by at most S between neighbours x, x' for every candidate y.
(1) The choice is pure epsilon-differentially private; for monotone scores (all move the same way) f = epsilon/S gives
the same.
(2) For every neighbouring pair its privacy loss is dominated by that of Laplace noise with sensitivity/scale = epsilon.
Proof. (1) Given the largest key M of the others, y wins with probability min(1, exp(f score(y) - M)). Moving all
scores by at most t moves f score(y) - M by at most 2 f t (by f t if they all move the same way), so the probability
changes by a factor of at most exp(2 f t) (or exp(f t)).
(2) Walk from score_x to score_x' on the straight line in k steps. By (1) each step multiplies the probability p of any
set of outcomes, and that of its complement, by at most exp(epsilon/k). As k grows: |dp| <= min(p, 1 - p) d(epsilon)
along the walk. The Laplace distribution function F has F' = min(F, 1 - F), so F^-1(p) moves by at most epsilon in all.
F^-1 moving by epsilon is the trade-off between Laplace noise around 0 and around epsilon; having it for every set of
outcomes is being dominated (Blackwell).

Utility. Its expected shortfall is at most that of the exponential mechanism for every score vector, and the same
bound Pr[score <= best - (2 S/epsilon)(ln n + t)] <= exp(-t) holds: a candidate that far below wins only if its noise
passes the best's.

Assumptions. As for the exponential mechanism: the caller's neighbour relation, scores as `scores` reads them, public
candidates. No prior. The choice is exact (`tacit.noise.one_sided_race`).

Source: McKenna, Sheldon 2020; noise form: Ding, Kifer, Steinke, Wang, Xiao, Zhang 2021; (2) is argued here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import noise, parameters
from tacit.loss import events
from tacit.mechanisms.candidates import public_candidates
from tacit.mechanisms.scores import read_scores
from tacit.mechanisms.selection import score_factor, shortfall
from tacit.parameters import Number


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip:
    """A choice by scores of this sensitivity, at this epsilon. High scores, or low losses, are preferred.

    >>> from tacit.mechanisms import declared_public
    >>> PermuteAndFlip(1, 5000).choose(declared_public(["a", "b"]), scores=[3, 1000])
    'b'
    """

    event: events.Laplace
    factor: Fraction

    def __init__(self, sensitivity: Number, epsilon: Number, *, monotone: bool = False) -> None:
        object.__setattr__(self, "factor", score_factor(sensitivity, epsilon, monotone))
        exact = parameters.rational("epsilon", epsilon)
        object.__setattr__(self, "event", events.Laplace(sensitivity=exact, scale=Fraction(1)))

    @property
    def scale(self) -> float:
        """The scale of the noise in points of score: 2 S/epsilon, or S/epsilon for monotone scores."""
        return float(1 / self.factor)

    def shortfall(self, count: int, *, confidence: Number) -> float:
        """The choice's score is this far below the best, or further, with probability at most 1 - confidence."""
        return shortfall(self.factor, count, 1, confidence)

    def choose(
        self, candidates: Any, *, scores: Any = None, losses: Any = None, bits: noise.BitSource | None = None
    ) -> Any:
        """One of the public `candidates`, by private scores or losses, one for each."""
        options = public_candidates(candidates)
        read = read_scores(scores, losses, len(options), self.factor)
        source = noise.secure() if bits is None else bits
        return options[noise.one_sided_race(read, self.factor, source)]
