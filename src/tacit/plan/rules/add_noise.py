"""Rule: the noise of each measure, and the rule for unknown keys, within what was asked.

Shares. Every measure has a weight w (1, or what `weights` gives the outputs that use it), unknown keys have weight 1,
and W is their sum. Laplace noise gets epsilon w/W each, which adds up to epsilon (basic composition, without delta).
Gaussian noise gets sigma = s l2 sqrt(W/w), so that the measures together are one Gaussian release of sensitivity 1 and
deviation s, calibrated to (epsilon, delta) as such; what the discrete laws cost together is then checked with the tight
accountant, and sigma raised until it fits.

Why equal weights: a measure's natural size is proportional to its sensitivity, so equal shares make all relative errors
equal; and for avg = c + S/n, of relative error sqrt(1/a**2 + 1/b**2) at shares a + b = 1, a = b = 1/2 is least.

Picks have weight 1 for every choice that a unit's rows are part of, and stay pure.

Laplace or Gaussian: whichever has the smaller product of deviations over the measures.

Measures that are released together (`together`) have one share, that of all of them, and one event: the parts are one
vector, and Laplace noise on it is paid for once. `make_plan` also plans such a question with separate shares, where
Gaussian noise may be less.

Unknown keys with a count of units among the measures (or of rows, where a unit has one): the rule for keys adds noise
to that very number, so with Laplace noise both are one release (`KeySelection.release_counts`) that is paid for once,
with the count's share, and the keys have no weight of their own. Gaussian noise cannot do this: with it, the rule is a
release of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from tacit.errors import QuestionError
from tacit.loss import compose
from tacit.loss.calibrate import gaussian_sigma
from tacit.loss.events import Composed, Event
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Gaussian, KeySelection, Laplace
from tacit.plan.draft import Draft, Part, changed
from tacit.plan.picks.part import PickMechanism
from tacit.question import tree

_CLEARANCE = 1 + Fraction(1, 10**6)


def add_noise(draft: Draft) -> Draft:
    """Mechanisms, the rule for unknown keys, and the event of all of it."""
    weights = _shares(draft)
    counted = _counted(draft)
    if counted is not None and not _gaussian_is_better(draft, draft.asked.delta / 2):
        return _counting_keys(draft, counted, weights)
    total = sum(weights, _picks_weight(draft) + (1 if draft.cells is None else 0))
    selection = None if draft.cells is not None else _selection(draft, 1 / total)
    if draft.asked.rho is not None:
        mechanisms = _by_rho(draft, [weight / total for weight in weights])
    else:
        mechanisms = _by_epsilon(draft, [weight / total for weight in weights])
    chosen = () if selection is None else (selection.event,)
    picks = _picks(draft, total)
    event = Composed((*chosen, *_events(draft, mechanisms), *(pick.event for pick in picks)))
    return changed(draft, mechanisms=mechanisms, pick_mechanisms=picks, selection=selection, event=event)


def _counted(draft: Draft) -> int | None:
    """The measure that is what the rule for unknown keys counts: the units of each key."""
    if draft.cells is not None or draft.asked.rho is not None:
        return None
    kinds = ("count_units", "count_rows") if draft.rows_per_unit == 1 else ("count_units",)
    counts = [place for place, part in enumerate(draft.parts) if part.kind in kinds and part.block == 0]
    return next((place for place in counts if draft.parts[place].together is None), None)


def _events(draft: Draft, mechanisms: Sequence[Laplace | Gaussian | KeySelection]) -> Iterator[Event]:
    """The event of each release: one for every measure, and one for measures that are released together."""
    for place, (part, mechanism) in enumerate(zip(draft.parts, mechanisms, strict=True)):
        if part.together is None or part.together.places[0] == place:
            yield mechanism.event


def _laplaces(draft: Draft, shares: Sequence[Fraction]) -> list[Laplace]:
    """Laplace noise on every measure, or part of measures that are released together, each within its share."""
    assert draft.asked.epsilon is not None
    found = []
    for place, (part, each) in enumerate(zip(draft.parts, draft.sensitivities, strict=True)):
        own = (place,) if part.together is None else part.together.places
        share = sum((shares[member] for member in own), Fraction(0))
        found.append(_laplace(each.l1, draft.asked.epsilon * share))
    return found


@lru_cache(maxsize=256)
def _laplace(sensitivity: int, epsilon: Fraction) -> Laplace:
    """A frozen value of public numbers, which are the same for most questions."""
    return Laplace(sensitivity, epsilon=epsilon)


def _counting_keys(draft: Draft, counted: int, weights: Sequence[Fraction]) -> Draft:
    """The keys and their counts in one release, Laplace noise on the other measures."""
    assert draft.asked.epsilon is not None
    total = sum(weights, _picks_weight(draft))
    shares = [weight / total for weight in weights]
    selection = _rule(draft, draft.asked.epsilon * shares[counted], draft.asked.delta)
    mechanisms: list[Laplace | Gaussian | KeySelection] = [*_laplaces(draft, shares)]
    others = [event for event in _events(draft, mechanisms) if event is not mechanisms[counted].event]
    mechanisms[counted] = selection
    picks = _picks(draft, total)
    event = Composed((selection.counts_event, *others, *(each.event for each in picks)))
    return changed(draft, mechanisms=tuple(mechanisms), pick_mechanisms=picks, selection=selection, event=event)


def _shares(draft: Draft) -> list[Fraction]:
    """The weight of every measure."""
    weights = draft.asked.weights
    # a measure on several levels is several releases: each of them gets the share that one alone would
    levels = [1 if part.levels is None else len(part.levels.sets) for part in draft.parts]
    if weights is None:
        return [_weight(part) * count for part, count in zip(draft.parts, levels, strict=True)]
    known = {output.name for output in draft.outputs}
    unknown = sorted(set(weights) - known)
    if unknown:
        raise QuestionError(f"'weights' names {unknown[0]!r}, which is no output. Outputs: {', '.join(sorted(known))}.")
    shares = [Fraction(0)] * len(draft.parts)
    for output in draft.outputs:
        for place in output.formula.measures:
            shares[place] += weights.get(output.name, Fraction(1))
    # measures that only HAVING or ORDER BY uses have weight 1
    shares = [share or Fraction(1) for share in shares]
    return [share * _weight(part) * count for share, part, count in zip(shares, draft.parts, levels, strict=True)]


def _weight(part: Part) -> Fraction:
    """The weight of a measure: 1, or its part of the weight of what is released together with it."""
    return Fraction(1) if part.together is None else part.together.weight / len(part.together.places)


def wants_apart(draft: Draft) -> bool:
    """Whether the asker gave one of several measures so much weight that it has less noise with a share of its own."""
    if draft.asked.weights is None:
        return False
    shares = _shares(draft)
    bundles = {part.together for part in draft.parts if part.together is not None}
    weighed = [(each, [shares[place] for place in each.places]) for each in bundles]
    return any(max(weights) > each.largest_share * sum(weights) for each, weights in weighed)


def _pick_weights(draft: Draft) -> list[Fraction]:
    """The weight of every pick: one for each choice that a unit's rows are part of, times what the asker gave."""
    weights = draft.asked.weights or {}
    found = []
    for part in draft.pick_parts:
        named = [
            weights.get(output.name, Fraction(1))
            for output in draft.question.outputs
            if any(node in part.aggregates for node in tree.walk(output.expression))
        ]
        found.append(part.levels * (sum(named, Fraction(0)) / len(named) if named else Fraction(1)))
    return found


def _picks_weight(draft: Draft) -> Fraction:
    return sum(_pick_weights(draft), Fraction(0))


def _picks(draft: Draft, total: Fraction) -> tuple[PickMechanism, ...]:
    """The mechanisms of the picks. They are pure, whatever noise the measures have.

    For rho: a choice of bounded range e costs e**2/8, one that is pure e costs e**2/2.
    """
    asked = draft.asked
    found = []
    for part, weight in zip(draft.pick_parts, _pick_weights(draft), strict=True):
        if asked.rho is not None:
            each = asked.rho * weight / total / part.levels
            epsilon = part.levels / sqrt_up(1 / ((2 if part.kind == "mode" else 8) * each))
        else:
            assert asked.epsilon is not None
            epsilon = asked.epsilon * weight / total
        found.append(part.mechanism(draft.rows_per_unit, epsilon))
    return tuple(found)


def _selection(draft: Draft, share: Fraction) -> KeySelection:
    asked = draft.asked
    if asked.rho is not None:
        epsilon = 1 / sqrt_up(1 / (2 * asked.rho * share))  # pure epsilon is epsilon**2/2 zCDP
        return _rule(draft, epsilon, asked.delta)
    assert asked.epsilon is not None
    delta = asked.delta if not draft.parts or not _gaussian_is_better(draft, asked.delta / 2) else asked.delta / 2
    return _rule(draft, asked.epsilon * share, delta)


def _rule(draft: Draft, epsilon: Fraction, delta: Fraction) -> KeySelection:
    if delta <= 0:
        unknown = [column.name for column in draft.key_columns if column.values is None]
        name = unknown[0] if unknown else draft.key_columns[0].name
        raise QuestionError(
            f"The values of the key {name!r} are not known to the policy, so they must be bought with a delta. "
            f"{_which_delta(draft.policy.budget.delta)}, or list the values in the policy: one_of = [...]."
        )
    return KeySelection(epsilon, delta, draft.groups_per_unit or draft.rows_per_unit)


def _which_delta(whole: Fraction) -> str:
    """A delta that the budget can afford several times: events' own deltas may use only a part of it."""
    if whole == 0:
        return "The policy's budget has no delta: give it one"
    return f"Ask with a delta above 0, well below the budget's {float(whole):.3g} (say {float(whole / 100):.0e})"


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
    return tuple(_laplaces(draft, shares))


def _gaussian_is_better(draft: Draft, delta: Fraction) -> bool:
    """Compare sum log(sqrt(2) l1 W/(w epsilon)) with sum log(s l2 sqrt(W/w)).

    W holds the weight of unknown keys, except with Laplace noise where a count pays for them.
    """
    epsilon = draft.asked.epsilon
    if delta <= 0 or epsilon is None or any(part.together is not None for part in draft.parts):
        return False
    weights = _shares(draft)
    total = sum(weights, _picks_weight(draft) + (1 if draft.cells is None else 0))
    alone = total if _counted(draft) is None else sum(weights, _picks_weight(draft))
    part = epsilon * sum(weights) / total
    spread = math.log(gaussian_sigma(1, part, delta))
    balance = 0.0
    for each, weight in zip(draft.sensitivities, weights, strict=True):
        laplace = math.log(2) / 2 + math.log(each.l1) - math.log(epsilon * weight / alone)
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
    found = []
    for part, each in zip(draft.parts, draft.sensitivities, strict=True):
        cells = draft.block(part).cells
        size = 1 if cells is None else len(cells) if part.levels is None else sum(part.levels.lengths)
        size *= 1 if part.bins is None else len(part.bins.values)
        found.append(int(each.l2 * each.l2) if cells is None else max(size, 1))
    return found
