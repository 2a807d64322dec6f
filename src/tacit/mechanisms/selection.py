"""What the mechanisms that choose a candidate share: the factor on scores, and how far a choice may fall short."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.loss.numbers.rounding import float_up, fraction_log_up
from tacit.parameters import Number

_SMALLEST, _LARGEST = Fraction(1, 10**279), Fraction(10**279)


def score_factor(sensitivity: Number, epsilon: Number, monotone: Any) -> Fraction:
    """What one point of score adds to a log-weight: epsilon/(2 S), or epsilon/S for monotone scores."""
    exact = parameters.positive("sensitivity", sensitivity, "Scores that depend on no person need no mechanism.")
    target = parameters.positive("epsilon", epsilon)
    if not isinstance(monotone, bool):
        raise parameters.refuse("monotone", "True or False", monotone)
    factor = target / (exact if monotone else 2 * exact)
    if not _SMALLEST < factor < _LARGEST:
        allowed = "a number of ordinary size: epsilon / sensitivity stays between 1e-278 and 1e278"
        raise parameters.refuse("epsilon", allowed, epsilon)
    return factor


def shortfall(factor: Fraction, count: int, best_count: int, confidence: Number) -> float:
    """(ln(count/best_count) + ln(1/(1 - confidence))) / factor, rounded up."""
    everyone = parameters.whole("count", count, least=1)
    best = parameters.whole("best_count", best_count, least=1)
    if best > everyone:
        raise parameters.refuse("best_count", f"at most the count, {everyone}", best_count)
    level = 1 - parameters.open_probability("confidence", confidence)
    gap = fraction_log_up(Fraction(everyone, best) / level)
    return math.inf if gap == math.inf else float_up(Fraction(gap) / factor)
