"""What several releases cost together: `compose(events).epsilon(delta)`.

Promise: every epsilon and delta is a rigorous upper bound for the composition of the events, also when a later
release looked at the answers of earlier ones, **as long as the parameters of all of them were fixed beforehand**
(a batch, a training run, a published set). It is not a filter: to stop an analyst who chooses the next *parameters* by
the last answers, commit to one rule of `tacit.loss.filters` instead.

The tight total is the contour accountant's, which itself takes the least of its own bound, the sum of pure epsilons and
the best Renyi order. The others are there to compare, and to check: all bound the same truth.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, Protocol, TypeAlias, cast

from tacit import parameters
from tacit.loss.events import Event, Repeated
from tacit.loss.guarantees import Pair, adds_or_removes, basic_sum, guarantee, replaces
from tacit.loss.numbers.rounding import float_down, float_up
from tacit.loss.simplify import Entries, simplify
from tacit.parameters import Number

AccountantName: TypeAlias = Literal["basic", "advanced", "optimal", "zcdp", "rdp", "pld", "tight"]

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "basic": "basic",
        "advanced": "advanced",
        "optimal": "optimal",
        "zcdp": "zcdp",
        "rdp": "renyi",
        "pld": "pld",
        "tight": "contour",
    }
)


class _Accountant(Protocol):
    """The two functions of an accountant's module."""

    def epsilon(self, entries: Entries, delta: float) -> float: ...

    def delta(self, entries: Entries, epsilon: float) -> float: ...


def _accountant(name: str) -> _Accountant:
    # Loaded when first asked: most callers need one of them, and some need scipy.
    return cast(_Accountant, importlib.import_module(f"tacit.loss.accountants.{_MODULES[name]}"))


_FEW = 16
"""Totals of at most this many kinds of events are worth remembering: searches ask for the same prices again."""


def _epsilon(name: str, entries: Entries, delta: float) -> float:
    """What an accountant says. It depends on nothing else, so it is worked out once."""
    if len(entries) > _FEW:
        return _accountant(name).epsilon(entries, delta)
    return _epsilon_of_few(name, tuple(entries.items()), delta)


def _delta(name: str, entries: Entries, epsilon: float) -> float:
    if len(entries) > _FEW:
        return _accountant(name).delta(entries, epsilon)
    return _delta_of_few(name, tuple(entries.items()), epsilon)


@lru_cache(maxsize=1024)
def _epsilon_of_few(name: str, entries: tuple[tuple[Event, int], ...], delta: float) -> float:
    return _accountant(name).epsilon(dict(entries), delta)


@lru_cache(maxsize=1024)
def _delta_of_few(name: str, entries: tuple[tuple[Event, int], ...], epsilon: float) -> float:
    return _accountant(name).delta(dict(entries), epsilon)


@dataclass(frozen=True, slots=True)
class Account:
    """The total as one accountant sees it; upper bounds.

    >>> from tacit.loss import Pure
    >>> compose([Pure(1)] * 3).by("basic").epsilon(0)
    3.0
    """

    name: AccountantName
    entries: Entries = field(repr=False)

    def epsilon(self, delta: Number) -> float:
        """An upper bound of the least epsilon at delta; infinite when this accountant has none."""
        allowed = float_down(parameters.probability("delta", delta))
        if allowed >= 1 or not self.entries:
            return 0.0
        found = _epsilon(self.name, self.entries, allowed)
        summed, told = self._summed()
        return min(found, float_up(summed)) if isinstance(summed, Fraction) and told <= Fraction(allowed) else found

    def delta(self, epsilon: Number) -> float:
        """An upper bound of delta at epsilon; 1 when this accountant has none."""
        at_least = float_down(parameters.non_negative("epsilon", epsilon))
        if not self.entries:
            return 0.0  # exactly 0, where a search would stop slightly above
        found = _delta(self.name, self.entries, at_least)
        summed, told = self._summed()
        return min(found, float_up(told)) if summed <= Fraction(at_least) else found

    def _summed(self) -> Pair:
        """The events' own guarantees added up exactly, for the tight total: four quarters make exactly one."""
        if self.name != "tight":
            return math.inf, Fraction(0)
        return basic_sum([(*guarantee(event), count) for event, count in self.entries.items()])


@dataclass(frozen=True, slots=True)
class Total:
    """What `events` cost together, for parameters fixed beforehand. Not a filter.

    >>> from tacit.loss import Pure
    >>> compose([Pure(1)]).curve(epsilons=[1, 2])
    [(1.0, 0.0), (2.0, 0.0)]
    """

    events: tuple[Event, ...]
    entries: Entries = field(repr=False, compare=False)

    def epsilon(self, delta: Number) -> float:
        """The tight epsilon at delta, an upper bound."""
        return self.by("tight").epsilon(delta)

    def delta(self, epsilon: Number) -> float:
        """The tight delta at epsilon, an upper bound."""
        return self.by("tight").delta(epsilon)

    def by(self, name: AccountantName) -> Account:
        """The same total by one accountant: basic, advanced, optimal, zcdp, rdp, pld or tight."""
        if name not in _MODULES:
            raise parameters.refuse("name", f"one of {', '.join(_MODULES)}", name)
        return Account(name, self.entries)

    def bracket(self, delta: Number) -> tuple[float, float]:
        """(lower, upper) around the true epsilon at delta: the optimistic discretised total, and the tight bound.

        The lower end is a fact about the releases where their privacy curves are attained (added noise, responses,
        bounds as such); elsewhere it is one about the worst releases that fit the events.
        """
        from tacit.loss.accountants import pld

        allowed = parameters.probability("delta", delta)
        return pld.epsilon_lower(self.entries, float_up(allowed)), self.epsilon(allowed)

    def curve(
        self, *, epsilons: Iterable[Number] = (), deltas: Iterable[Number] = (), by: AccountantName = "tight"
    ) -> list[tuple[float, float]]:
        """Points (epsilon, delta) of the privacy curve, for plotting: one for each epsilon and each delta given."""
        account = self.by(by)
        across = [(float_down(parameters.non_negative("epsilon", one)), account.delta(one)) for one in epsilons]
        down = [(account.epsilon(one), float_down(parameters.probability("delta", one))) for one in deltas]
        return sorted([*across, *down])


def compose(events: Iterable[Event]) -> Total:
    """The total of `events`, all on the same data. For parameters fixed beforehand only; not a filter.

    >>> from tacit.loss import Pure
    >>> total = compose([Pure("1/10")] * 100)
    >>> total.epsilon(0), total.epsilon("1e-6") < 5
    (10.0, True)
    """
    released = tuple(events)
    # The same object again (`[mechanism.event] * 10_000`) is counted without being taken apart again.
    times = Counter(map(id, released))
    once = {id(event): event for event in released}
    for event in once.values():
        if not isinstance(event, Event):
            raise parameters.refuse("events", "events of tacit.loss", event, "Pass mechanism.event.")
    # Promises about different neighbours do not add up to a promise about any of them.
    if any(map(replaces, once.values())) and any(map(adds_or_removes, once.values())):
        raise parameters.refuse(
            "events",
            "stated for one neighbour relation",
            "some for adding or removing a unit (Poisson-sampled) and some for replacing one",
            "Total them apart.",
        )
    return Total(released, MappingProxyType(simplify(Repeated(event, times[key]) for key, event in once.items())))
