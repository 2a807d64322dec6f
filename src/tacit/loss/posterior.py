"""What an attacker can come to believe, and how well they can guess who is in the data.

The attacker knows everything but one unit, holds a prior p for a statement about it (such as: it is in the data; its
value is v and not w), and sees the release. Bayes' rule: odds after = odds before * P(outcome)/Q(outcome).

Theorem 1 (pure epsilon). The ratio lies in [exp(-eps), exp(eps)], so the belief lies in
[p/(p + (1 - p) exp(eps)), p exp(eps)/(p exp(eps) + 1 - p)], which is inside [p exp(-eps), p exp(eps)].

Theorem 2 ((epsilon, delta)). For t > 0 the log ratio L leaves [-(eps + t), eps + t] with probability at most
delta (1 + exp(-eps - t))/(1 - exp(-t)), whichever of P and Q the outcome came from. Proof. With E the event
L > eps + t:  delta >= P(E) - exp(eps) Q(E) >= P(E)(1 - exp(-t)), since Q(E) <= exp(-eps - t) P(E). That bounds P(E);
Q(E) is smaller by the same factor. The other side is the same with P and Q exchanged.
So outside an event of probability `failure` the belief is as under pure eps + t, with t solved from `failure`. There is
no such statement for every outcome, because with probability delta anything may be shown.

Theorem 3 (tests). Any test for membership with false positive rate f has true positive rate at most
min(exp(eps) f + delta, 1 - exp(-eps)(1 - delta - f)), and their difference is at most
(exp(eps) - 1 + 2 delta)/(exp(eps) + 1).

Promise: intervals and rates are rounded outward.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from tacit import parameters
from tacit.loss.budget import Budget
from tacit.loss.numbers.outward import exp_down, exp_up
from tacit.loss.numbers.rounding import STEP_AT_ONE, float_down, float_up
from tacit.loss.simplify import group_delta
from tacit.parameters import Number


@dataclass(frozen=True, slots=True)
class Belief:
    """An interval that holds the attacker's belief after a release, except with probability `failure`.

    >>> from tacit.loss import Budget
    >>> belief = belief_after("1/2", Budget(0))  # rounded outwards
    >>> round(belief.lower, 9), round(belief.upper, 9), belief.failure
    (0.5, 0.5, 0.0)
    """

    lower: float
    upper: float
    failure: float


def belief_after(prior: Number, budget: Budget, failure: Number = 0) -> Belief:
    """Where a prior belief can move when `budget` is spent; `failure` must be above delta (1 + exp(-eps)).

    >>> import math
    >>> from tacit.loss import Budget
    >>> round(belief_after("1/2", Budget(math.log(3))).upper, 6)  # odds of 3 to 1
    0.75
    """
    exact_prior = parameters.probability("prior", prior)
    exact_failure = parameters.probability("failure", failure)
    widened = budget.epsilon + _widening(budget, exact_failure)
    above = float_up(widened)
    return Belief(_moved(exact_prior, -above, up=False), _moved(exact_prior, above, up=True), float_up(exact_failure))


def _widening(budget: Budget, failure: Fraction) -> Fraction:
    """t with delta (1 + exp(-eps))/(1 - exp(-t)) <= failure, rounded up."""
    if budget.delta == 0:
        return Fraction(0)
    needed = budget.delta * (1 + Fraction(exp_up(-float_down(budget.epsilon))))
    share = float_up(needed / failure) if failure else math.inf
    if share >= 1:
        raise parameters.refuse(
            "failure",
            f"above delta (1 + exp(-epsilon)), here about {float_up(needed):.3g}",
            failure,
            "With a delta, belief is bounded except with some probability; state the one you accept.",
        )
    return Fraction(-math.log1p(-share) * (1 + 8 * STEP_AT_ONE))


def _moved(prior: Fraction, log_odds: float, *, up: bool) -> float:
    """The belief after the log odds moved, rounded up or down."""
    if prior in (0, 1):
        return float(prior)
    ratio = Fraction(1 - prior) / prior
    # belief = 1/(1 + (1 - p)/p exp(-move)): a smaller second term is a larger belief.
    factor = exp_down(-log_odds) if up else exp_up(-log_odds)
    if math.isinf(factor):
        return 0.0
    exact = 1 / (1 + ratio * Fraction(factor))
    return float_up(exact) if up else float_down(exact)


def true_positive_rate(budget: Budget, false_positive_rate: Number) -> float:
    """The most a membership test of this false positive rate can detect.

    >>> import math
    >>> from tacit.loss import Budget
    >>> round(true_positive_rate(Budget(math.log(3)), "0.01"), 6)
    0.03
    """
    false = parameters.probability("false_positive_rate", false_positive_rate)
    grow = exp_up(float_up(budget.epsilon))
    steep = Fraction(grow) * false + budget.delta if math.isfinite(grow) else Fraction(1)
    shrink = Fraction(exp_down(-float_up(budget.epsilon)))
    flat = 1 - shrink * (1 - budget.delta - false)
    return float_up(min(Fraction(1), steep, flat))


def membership_advantage(budget: Budget) -> float:
    """The most that true and false positive rate of any membership test can differ.

    >>> import math
    >>> from tacit.loss import Budget
    >>> round(membership_advantage(Budget(math.log(3))), 6)  # (3 - 1) / (3 + 1)
    0.5
    """
    # (exp(eps) - 1 + 2 delta)/(exp(eps) + 1) = 1 - 2 (1 - delta)/(exp(eps) + 1)
    grow = exp_up(float_up(budget.epsilon))
    if math.isinf(grow):
        return 1.0
    return float_up(1 - 2 * (1 - budget.delta) / (Fraction(grow) + 1))


def group_budget(budget: Budget, size: int) -> Budget:
    """What `budget` for one unit promises to a group of k: (k eps, delta (exp(k eps) - 1)/(exp(eps) - 1)).

    >>> from tacit.loss import Budget
    >>> group_budget(Budget("0.1"), 5)
    Budget(epsilon=0.5)
    """
    count = parameters.whole("size", size, least=1)
    return Budget(count * budget.epsilon, group_delta(budget.epsilon, budget.delta, count))
