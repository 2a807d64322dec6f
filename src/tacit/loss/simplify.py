"""Events taken apart into a multiset of leaves, by identities that cost nothing or are the best closed form known.

`simplify` promises: the composition of the leaves it returns, each as often as counted, dominates the composition of
the events it was given (every accountant's bound for the leaves holds for the events). What it does:

- Composed and Repeated become their members. Key selection with m keys a unit is m independent (epsilon, delta) rules.
- A group that changes together reaches its neighbour in `size` steps of one unit. Bounds that add along such a chain
  are multiplied: epsilon of a pure bound, the range of an exponential choice, the sensitivity of added noise
  (triangle inequality); rho grows with the square (Bun and Steinke 2016, Proposition 1.9); and
  (epsilon, delta) becomes (k epsilon, delta (1 + exp(epsilon) + ... + exp((k-1) epsilon))), rounded up.
  A group of a composition is the composition of the groups, because the chain is the same for all members.
- A unit stands in one part of a Parallel only, so equal parts cost what one of them costs. A *group* may spread over
  the parts: the parts then compose, k1 + ... + kr = k. That is dominated by one part seen by all k where epsilons,
  ranges, L1 sensitivities and squared L2 sensitivities add (`_ADDITIVE`); elsewhere the group is left as it is.

Leaves that remain: everything but Composed, Repeated and KeySelection, and Groups without a closed form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import singledispatch
from typing import TypeAlias

from tacit.loss import events
from tacit.loss.events import Event
from tacit.loss.numbers import outward

Entries: TypeAlias = Mapping[Event, int]
"""Leaf events and how often each was released: what every accountant takes."""

_ADDITIVE = (
    events.Pure,
    events.Approximate,
    events.Concentrated,
    events.Laplace,
    events.DiscreteLaplace,
    events.Gaussian,
    events.Exponential,
    events.RandomizedResponse,
)


def simplify(released: Iterable[Event]) -> dict[Event, int]:
    """`released` as {leaf: count}."""
    total: dict[Event, int] = {}
    for event in released:
        _add(total, flatten(event, 1), 1)
    return total


def _add(total: dict[Event, int], part: Entries, times: int) -> None:
    for leaf, count in part.items():
        if count * times:
            total[leaf] = total.get(leaf, 0) + count * times


@singledispatch
def flatten(event: Event, size: int) -> dict[Event, int]:
    """The leaves of `event` as seen by a group of `size` units."""
    return {event if size == 1 else events.Group(event, size): 1}


@flatten.register
def _(event: events.Composed, size: int) -> dict[Event, int]:
    total: dict[Event, int] = {}
    for member in event.events:
        _add(total, flatten(member, size), 1)
    return total


@flatten.register
def _(event: events.Repeated, size: int) -> dict[Event, int]:
    total: dict[Event, int] = {}
    _add(total, flatten(event.event, size), event.count)
    return total


@flatten.register
def _(event: events.Group, size: int) -> dict[Event, int]:
    return flatten(event.event, size * event.size)


@flatten.register
def _(event: events.Parallel, size: int) -> dict[Event, int]:
    if not event.parts:
        return {}
    if len(event.parts) == 1:
        return flatten(event.parts[0], size)
    if len({frozenset(flatten(part, 1).items()) for part in event.parts}) == 1:
        seen_by_all = flatten(event.parts[0], size)
        if size == 1 or all(isinstance(leaf, _ADDITIVE) for leaf in seen_by_all):
            return seen_by_all
    return {event if size == 1 else events.Group(event, size): 1}


@flatten.register
def _(event: events.KeySelection, size: int) -> dict[Event, int]:
    if size > 1:  # each of the units may touch other keys, so this is not a composition of fixed rules
        return {events.Group(event, size): 1}
    return {events.Approximate(event.epsilon, event.delta): event.keys_per_unit}


@flatten.register
def _(event: events.Pure, size: int) -> dict[Event, int]:
    return {events.Pure(size * event.epsilon): 1}


@flatten.register
def _(event: events.Approximate, size: int) -> dict[Event, int]:
    delta = group_delta(event.epsilon, event.delta, size)
    return {events.Approximate(size * event.epsilon, delta): 1}


@flatten.register
def _(event: events.Concentrated, size: int) -> dict[Event, int]:
    return {events.Concentrated(size * size * event.rho): 1}


@flatten.register
def _(event: events.Laplace, size: int) -> dict[Event, int]:
    return {events.Laplace(size * event.sensitivity, event.scale): 1}


@flatten.register
def _(event: events.DiscreteLaplace, size: int) -> dict[Event, int]:
    return {events.DiscreteLaplace(size * event.sensitivity, event.scale): 1}


@flatten.register
def _(event: events.Gaussian, size: int) -> dict[Event, int]:
    return {events.Gaussian(size * event.sensitivity, event.sigma): 1}


@flatten.register
def _(event: events.DiscreteGaussian, size: int) -> dict[Event, int]:
    return {events.DiscreteGaussian(size * event.sensitivity, event.sigma, event.dimensions): 1}


@flatten.register
def _(event: events.Exponential, size: int) -> dict[Event, int]:
    return {events.Exponential(size * event.range): 1}


@flatten.register
def _(event: events.RandomizedResponse, size: int) -> dict[Event, int]:
    return {event if size == 1 else events.Pure(size * event.epsilon): 1}


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """The delta of a group of k at k epsilon: delta (exp(k epsilon) - 1)/(exp(epsilon) - 1), rounded up, at most 1."""
    if size == 1 or delta == 0 or epsilon == 0:
        return min(Fraction(1), size * delta)
    top = outward.expm1_up(outward.float_up(size * epsilon))
    bottom = outward.expm1_down(outward.float_down(epsilon))
    factor = outward.up(top / bottom) if bottom > 0 else float("inf")
    if factor == float("inf"):
        return Fraction(1)
    return min(Fraction(1), Fraction(factor) * delta)
