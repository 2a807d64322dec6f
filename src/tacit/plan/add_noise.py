"""Rule: the noise of each measure, and the rule for unknown keys, within what was asked.

Shares. Every measure has a weight w (1, or what `weights` gives the outputs that use it), unknown keys have weight 1,
and W is their sum. Laplace noise gets epsilon w/W each, which adds up to epsilon (basic composition, without delta).
Gaussian noise gets sigma = s l2 sqrt(W/w), so that the measures together are one Gaussian release of sensitivity 1 and
deviation s, calibrated to (epsilon, delta) as such; what the discrete laws cost together is then checked with the tight
accountant, and sigma raised until it fits.

Why equal weights: a measure's natural size is proportional to its sensitivity, so equal shares make all relative errors
equal; and for avg = c + S/n, of relative error sqrt(1/a**2 + 1/b**2) at shares a + b = 1, a = b = 1/2 is least.

Laplace or Gaussian: whichever has the smaller product of deviations over the measures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tacit.errors import QuestionError
from tacit.loss import compose
from tacit.loss.calibrate import gaussian_sigma
from tacit.loss.events import Composed
from tacit.loss.rounding import sqrt_up
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.draft import Draft

_CLEARANCE = 1 + Fraction(1, 10**6)


def add_noise(draft: Draft) -> Draft:
    """Mechanisms, the rule for unknown keys, and the event of all of it."""
    shares = _shares(draft)
    total = sum(shares, Fraction(1 if draft.cells is None else 0))
    selection = None if draft.cells is not None else _selection(draft, 1 / total)
    if draft.asked.rho is not None:
        mechanisms = _by_rho(draft, [share / total for share in shares])
    else:
        mechanisms = _by_epsilon(draft, [share / total for share in shares])
    chosen = () if selection is None else (selection.event,)
    event = Composed((*chosen, *(mechanism.event for mechanism in mechanisms)))
    return replace(draft, mechanisms=mechanisms, selection=selection, event=event)


def _shares(draft: Draft) -> list[Fraction]:
    """The weight of every measure."""
    weights = draft.asked.weights
    if weights is None:
        return [Fraction(1)] * len(draft.parts)
    known = {output.name for output in draft.outputs}
    unknown = sorted(set(weights) - known)
    if unknown:
        raise QuestionError(f"'weights' names {unknown[0]!r}, which is no output. Outputs: {', '.join(sorted(known))}.")
    shares = [Fraction(0)] * len(draft.parts)
    for output in draft.outputs:
        for place in output.formula.measures:
            shares[place] += weights.get(output.name, Fraction(1))
    # what only HAVING or ORDER BY looks at has weight 1
    return [share or Fraction(1) for share in shares]


def _selection(draft: Draft, share: Fraction) -> KeySelection:
    asked = draft.asked
    if asked.delta <= 0:
        unknown = [column.name for column in draft.key_columns if column.values is None]
        name = unknown[0] if unknown else draft.key_columns[0].name
        raise QuestionError(
            f"The values of the key {name!r} are not known to the policy, so they must be bought with a delta. "
            f"Ask with a delta above 0 (say 1e-6), or list the values in the policy: one_of = [...]."
        )
    if asked.rho is not None:
        epsilon = 1 / sqrt_up(1 / (2 * asked.rho * share))  # pure epsilon is epsilon**2/2 zCDP
        return KeySelection(epsilon, asked.delta, draft.rows_per_unit)
    assert asked.epsilon is not None
    delta = asked.delta if not draft.parts or not _gaussian_is_better(draft, asked.delta / 2) else asked.delta / 2
    return KeySelection(asked.epsilon * share, delta, draft.rows_per_unit)


def _by_rho(draft: Draft, shares: Sequence[Fraction]) -> tuple[Laplace | Gaussian, ...]:
    assert draft.asked.rho is not None
    found = []
    for each, share, size in zip(draft.sensitivities, shares, _sizes(draft), strict=True):
        found.append(Gaussian(each.l2, rho=draft.asked.rho * share, size=size))
    return tuple(found)


def _by_epsilon(draft: Draft, shares: Sequence[Fraction]) -> tuple[Laplace | Gaussian, ...]:
    epsilon = draft.asked.epsilon
    assert epsilon is not None
    if not draft.parts:
        return ()
    delta = draft.asked.delta if draft.cells is not None else draft.asked.delta / 2
    if _gaussian_is_better(draft, delta):
        return _gaussians(draft, shares, delta)
    return tuple(
        Laplace(each.l1, epsilon=epsilon * share) for each, share in zip(draft.sensitivities, shares, strict=True)
    )


def _gaussian_is_better(draft: Draft, delta: Fraction) -> bool:
    """Compare sum log(sqrt(2) l1 W/(w epsilon)) with sum log(s l2 sqrt(W/w))."""
    epsilon = draft.asked.epsilon
    if delta <= 0 or epsilon is None:
        return False
    weights = _shares(draft)
    total = sum(weights, Fraction(1 if draft.cells is None else 0))
    part = epsilon * sum(weights) / total
    spread = math.log(gaussian_sigma(1, part, delta))
    balance = 0.0
    for each, weight in zip(draft.sensitivities, weights, strict=True):
        laplace = math.log(2) / 2 + math.log(each.l1) - math.log(epsilon * weight / total)
        gaussian = spread + math.log(each.l2) + math.log(sum(weights) / weight) / 2
        balance += gaussian - laplace
    return balance < 0


def _gaussians(draft: Draft, shares: Sequence[Fraction], delta: Fraction) -> tuple[Laplace | Gaussian, ...]:
    """Gaussian noise for all measures together, within their part of epsilon and delta."""
    assert draft.asked.epsilon is not None
    epsilon = draft.asked.epsilon * sum(shares)
    sizes = _sizes(draft)
    if len(shares) == 1:
        return (Gaussian(draft.sensitivities[0].l2, epsilon, delta, size=sizes[0]),)
    spread = gaussian_sigma(1, epsilon, delta) * _CLEARANCE
    for _ in range(12):
        found = tuple(
            Gaussian(each.l2, sigma=each.l2 * spread * sqrt_up(sum(shares) / share), size=size)
            for each, share, size in zip(draft.sensitivities, shares, sizes, strict=True)
        )
        cost = compose([mechanism.event for mechanism in found]).epsilon(delta)
        if cost <= epsilon:
            return found
        spread *= max(Fraction(cost) / epsilon, _CLEARANCE) * _CLEARANCE
    raise QuestionError("No Gaussian noise was found for this epsilon and delta. Ask with delta 0 for Laplace noise.")


def _sizes(draft: Draft) -> list[int]:
    """How many cells each release may hold: all of them, or for unknown keys any number."""
    if draft.cells is not None:
        return [max(len(draft.cells), 1)] * len(draft.parts)
    return [int(each.l2 * each.l2) for each in draft.sensitivities]
