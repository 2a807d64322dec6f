"""The exact epsilon of a mechanism whose masses are known.

Theorem. Let P and Q be laws on finitely many outcomes, sorted by falling P/Q. The least epsilon at delta for this
ordered pair is ln of the greatest (P(S) - delta)/Q(S) over the first outcomes S = {1..k}, k = 1, 2, ...; infinite where
Q(S) = 0 and P(S) > delta.
Proof. The least e = exp(epsilon) is the one with sup over S of P(S) - e Q(S) <= delta. For given e the greatest such
difference is over the outcomes with P > e Q, which are the first k for some k. So the condition is
P(S_k) - e Q(S_k) <= delta for all k, that is e >= (P(S_k) - delta)/Q(S_k) for all k.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeAlias

from tacit import parameters
from tacit.parameters import Number

Masses: TypeAlias = Mapping[Hashable, Number]


def exact_epsilon(masses: Masses, neighbour_masses: Masses, delta: Number = 0) -> float:
    """The epsilon at `delta` of two laws given by their masses, whichever of the two inputs is first.

    >>> round(exact_epsilon({"yes": "3/4", "no": "1/4"}, {"yes": "1/4", "no": "3/4"}), 4)  # log 3
    1.0986
    """
    allowed = parameters.probability("delta", delta)
    first, second = _read("masses", masses), _read("neighbour_masses", neighbour_masses)
    return max(_one_way(first, second, allowed), _one_way(second, first, allowed))


def _read(name: str, masses: Masses) -> dict[Hashable, Fraction]:
    exact = {outcome: parameters.non_negative(name, mass) for outcome, mass in masses.items()}
    total = sum(exact.values(), Fraction(0))
    # floats that were rounded one by one do not add up to exactly one
    if abs(total - 1) > Fraction(1, 10**9):
        raise parameters.refuse(name, "masses that add up to 1", float(total), "Leave no outcome out.")
    return exact


def _falling_ratio(pair: tuple[Fraction, Fraction]) -> tuple[int, Fraction]:
    """A key to sort by: outcomes that are impossible under the other law come first."""
    return (0, -pair[0]) if pair[1] == 0 else (1, -pair[0] / pair[1])


def _one_way(likelier: Mapping[Hashable, Fraction], other: Mapping[Hashable, Fraction], delta: Fraction) -> float:
    pairs = [(mass, other.get(outcome, Fraction(0))) for outcome, mass in likelier.items() if mass > 0]
    pairs.sort(key=_falling_ratio)
    worst, mass, other_mass = Fraction(1), Fraction(0), Fraction(0)
    for each, beside in pairs:
        mass += each
        other_mass += beside
        if mass <= delta:
            continue
        if other_mass == 0:
            return math.inf
        worst = max(worst, (mass - delta) / other_mass)
    return math.log(worst) if worst < Fraction(10) ** 300 else math.log(worst.numerator) - math.log(worst.denominator)
