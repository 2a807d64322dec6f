"""Report noisy max: whole-number scores, geometric noise on each, and the largest wins.

Theorem. Let score_x(y) be whole numbers that change by at most S between neighbours x, x' for every candidate y. Add
to each independent noise of mass proportional to a**k on k = 0, 1, 2, ..., a = exp(-1/scale), and report the candidate
with the largest sum; ties are broken uniformly at random. With scale = 2 S/epsilon this is pure epsilon-differentially
private; for monotone scores (all move the same way), with scale = S/epsilon.
Proof. Breaking ties uniformly is giving every candidate an independent uniform rank u and comparing (sum, u). Fix all
ranks, and the noise of all candidates but y. Then y wins exactly when its noise reaches the whole number t = max over j
of (score(j) + noise(j) - score(y) + [u_j > u_y]). Between neighbours t moves by at most 2 S (by at most S if all scores
move the same way). Pr[noise >= t] is a**t for t >= 0 and 1 below, so it changes by a factor of at most exp(2 S/scale)
(or exp(S/scale)); and so does its average over ranks and the others' noise. Only the winner is released, not the sums.

Noise on one side suffices because the proof looks at one tail only, and it is half as variable as on both sides.

Assumptions. The caller's sensitivity holds under the caller's neighbour relation (add or remove one unit by default).
Scores beyond 2**61 are clamped there, which moves no two of them apart; so no sum is cut off (ties made by cutting
would tell something). Candidates are public (see `candidates`). The noise is exact (`tacit.noise.geometric`).

Source: Dwork, Roth 2014 (with Laplace noise); one-sided noise: Ding et al. 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import noise, parameters
from tacit.loss import events
from tacit.mechanisms.candidates import public_candidates
from tacit.mechanisms.scores import read_scores
from tacit.mechanisms.selection import score_factor, shortfall
from tacit.parameters import Number

_LIMIT = 1 << 61


@dataclass(frozen=True, slots=True, init=False)
class NoisyMax:
    """A choice by whole-number scores of this sensitivity, at this epsilon. High scores or low losses are preferred.

    >>> from tacit.mechanisms import declared_public
    >>> NoisyMax(1, 5000).choose(declared_public(["a", "b"]), scores=[3, 1000])
    'b'
    """

    event: events.Pure
    noise_scale: Fraction

    def __init__(self, sensitivity: int, epsilon: Number, *, monotone: bool = False) -> None:
        parameters.whole("sensitivity", sensitivity, least=1)
        object.__setattr__(self, "noise_scale", 1 / score_factor(sensitivity, epsilon, monotone))
        object.__setattr__(self, "event", events.Pure(parameters.rational("epsilon", epsilon)))

    @property
    def scale(self) -> float:
        """The scale of the noise in points of score: 2 S/epsilon, or S/epsilon for monotone scores."""
        return float(self.noise_scale)

    def shortfall(self, count: int, *, confidence: Number) -> float:
        """The choice's score is this far below the best, or further, with probability at most 1 - confidence.

        To lose by g a candidate must have noise of at least g, and Pr[noise >= g] <= exp(-g/scale); fewer than `count`
        candidates can.
        """
        return shortfall(1 / self.noise_scale, count, 1, confidence)

    def choose(
        self, candidates: Any, *, scores: Any = None, losses: Any = None, bits: noise.BitSource | None = None
    ) -> Any:
        """One of the public `candidates`, by private whole-number scores or losses, one for each."""
        options = public_candidates(candidates)
        read = read_scores(scores, losses, len(options), 1 / self.noise_scale)
        if read.dtype != np.int64:
            hint = "Round them first, or use PermuteAndFlip."
            raise parameters.refuse("scores", "whole numbers", "real numbers", hint)
        source = noise.secure() if bits is None else bits
        added = noise.geometric(self.noise_scale, read.size, source)
        if added.dtype != object and added.max() > _LIMIT:
            added = added.astype(object)
        sums = np.clip(read, -_LIMIT, _LIMIT) + added
        leaders = np.flatnonzero(sums == sums.max())
        return options[int(leaders[noise.uniform_below(leaders.size, None, source)])]
