"""Privacy filters: stop in time, whatever is asked next, even when its *parameters* follow from earlier answers.

A dataset commits to one filter at registration. Before each release the filter prices its event; the release happens
only if the sum of all prices stays within a limit fixed in advance. Each filter below promises that the whole
conversation, with parameters chosen adaptively and stopped at any time, is (epsilon, delta)-differentially private.

A tempting rule that is NOT a filter and is not here: "recompute the tight total, stop when it passes". Gaussian noise
with mu = 0.3 first, then by its outcome randomised response at epsilon 4 or Gaussian noise with mu = 1.178, passes
(5, 5.4e-5) on both branches while the true delta of the whole is 1.07e-4. "Go on while any of several filters allows
it" is one, if their deltas together are the budget's: see `AnyFilter`. With the whole delta for each it is not a
filter.

Why sums of Renyi divergences suffice (Feldman and Zrnic, 2021; Lecuyer, 2021). Let p_i, q_i be the two densities of
answer i given the answers before, and D_i its divergence of order a, a function of those answers only. Under Q,
M_t = product over i <= t of (p_i/q_i)^a exp(-(a - 1) D_i) has conditional expectation at most 1 at every step, so
E_Q[M_t] <= 1. If the sum of the D_i never passes B, then E_Q[(P/Q)^a] <= exp((a - 1) B): the conversation has
divergence at most B, and `targets` converts it. With rho-zCDP this holds for every order at once. Nothing follows for
an order chosen afterwards or changed on the way, hence one order, fixed in advance.

Events with a delta of their own. If p_i >= (1 - d_i) p_i' and q_i >= (1 - d_i) q_i' with the divergence bound between
p_i' and q_i' (any (e, d) mechanism is such a pair), run the argument on P' = product of (1 - d_i) p_i' and Q' likewise:
the factors cancel in P'/Q', and P exceeds P' by a mass of at most the largest sum of the d_i on any path. So part of
delta is reserved for that sum, again in advance, and the rest goes into the conversion.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

from tacit import parameters
from tacit.errors import BudgetExceeded
from tacit.loss import events, guarantees, targets
from tacit.loss.accountants import renyi, zcdp
from tacit.loss.budget import Budget
from tacit.loss.curves import gaussian
from tacit.loss.events import Event
from tacit.loss.numbers.rounding import float_down, float_up, fraction_log_down
from tacit.loss.simplify import simplify
from tacit.loss.spent import NOTHING, Spent
from tacit.parameters import Number, as_text, refuse, written


@dataclass(frozen=True, slots=True)
class Shortage:
    """What a refused release would have taken, what is left, and how much there was; all in one unit."""

    unit: str
    asked: Fraction
    left: Fraction
    whole: Fraction

    @property
    def excess(self) -> Fraction:
        """The share of the whole that is missing."""
        return (self.asked - self.left) / self.whole if self.whole else Fraction(2)


@dataclass(frozen=True, slots=True)
class Filter(ABC):
    """A rule that a dataset commits to. Immutable: it holds no state, it takes one and returns the next.

    >>> from tacit.loss import Budget, Pure, Spent
    >>> BasicFilter(Budget(1)).admits(Spent(), Pure("1/2"))
    True
    """

    kind: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    budget: Budget

    @property
    @abstractmethod
    def limit(self) -> Spent:
        """What may be spent in all; a function of the fields only."""

    @abstractmethod
    def price(self, event: Event) -> Spent | None:
        """What `event` adds, rounded up; None when this rule has no finite price for it."""

    def admits(self, state: Spent, event: Event) -> bool:
        """Whether `event` may be released after `state`."""
        price = self.price(event)
        return price is not None and (state + price).within(self.limit)

    def charge(self, state: Spent, event: Event) -> Spent:
        """The state after `event`; refused, and nothing changes, when it is not admitted."""
        price = self.price(event)
        if price is None:
            raise refuse("event", f"one that a {self.kind} filter can price", event)
        after = state + price
        if not after.within(self.limit):
            short = self.shortage(state, price, self.limit)
            left = max(0.0, float_down(short.left))  # zero, rounded down, would be shown as -0
            raise BudgetExceeded(
                f"This release needs {short.unit} {float_up(short.asked):.6g}; {left:.6g} is left of {self.budget}.",
                asked=short.asked,
                remaining=short.left,
            )
        return after

    def remaining(self, state: Spent) -> Spent:
        """What is left after `state`, in the filter's unit; never negative."""
        return (self.limit - state).positive()

    def shortage(self, state: Spent, price: Spent, limit: Spent) -> Shortage:
        """What is missing for a price that is not admitted after `state`."""
        left = (limit - state).positive()
        if price.loss > left.loss:
            return Shortage(self.unit, price.loss, left.loss, limit.loss)
        return Shortage("delta", price.delta, left.delta, limit.delta)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; what `from_dict` reads."""
        return {"kind": self.kind, "budget": self.budget.to_dict()}

    def to_json(self) -> str:
        """The canonical text: sorted keys, no white space; equal filters have equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class BasicFilter(Filter):
    """Epsilons add and deltas add (Rogers, Roth, Ullman and Vadhan, 2016). Only events with a finite pure part.

    Proof: each p_i is at most exp(e_i) q_i but for a mass of d_i, so by induction from the last answer
    P(S) <= exp(sum e_i) Q(S) + sum d_i, with both sums bounded on every path.

    >>> from tacit.loss import Budget, Pure, Spent
    >>> rule = BasicFilter(Budget(1))
    >>> rule.admits(Spent(Fraction(3, 4)), Pure("1/2"))
    False
    """

    kind: ClassVar[str] = "basic"
    unit: ClassVar[str] = "epsilon"

    @property
    def limit(self) -> Spent:
        return Spent(self.budget.epsilon, self.budget.delta)

    def price(self, event: Event) -> Spent | None:
        total = NOTHING
        for leaf, count in simplify([event]).items():
            epsilon, delta = guarantees.guarantee(leaf)
            if not isinstance(epsilon, Fraction):
                return None
            total += Spent(count * epsilon, count * delta)
        return total


@dataclass(frozen=True, slots=True)
class _Reserving(Filter):
    """A filter that sets a share of delta aside for the events' own deltas."""

    reserve: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        share = parameters.rational("reserve", written(self.reserve))
        if not 0 <= share < 1:
            raise refuse("reserve", "a share of delta, at least 0 and below 1", self.reserve)
        if not 0 < self.budget.delta < 1:
            raise refuse("budget", "one with a delta above 0 and below 1", self.budget, "Take BasicFilter for delta 0.")
        if self.budget.epsilon == 0:
            raise refuse("budget", "one with an epsilon above 0", self.budget)
        object.__setattr__(self, "reserve", share)

    @property
    def set_aside(self) -> Fraction:
        """The most that the events' own deltas may sum to."""
        return self.reserve * self.budget.delta

    @property
    def converted(self) -> Fraction:
        """The delta of the conversion."""
        return self.budget.delta - self.set_aside

    def to_dict(self) -> dict[str, Any]:
        return {**Filter.to_dict(self), "reserve": as_text(self.reserve)}


@dataclass(frozen=True, slots=True)
class ConcentratedFilter(_Reserving):
    """Rhos add, up to the largest rho whose zCDP implies the budget (at its best order, see `targets`).

    >>> from tacit.loss import Budget, Gaussian
    >>> ConcentratedFilter(Budget(1, "1e-6")).price(Gaussian(1, 4)).loss  # 1 / (2 * 4**2)
    Fraction(1, 32)
    """

    kind: ClassVar[str] = "concentrated"
    unit: ClassVar[str] = "rho"

    @property
    def limit(self) -> Spent:
        return Spent(targets.rho_within(self.budget.epsilon, self.converted), self.set_aside)

    def price(self, event: Event) -> Spent | None:
        return _summed(event, zcdp.cost)


@dataclass(frozen=True, slots=True)
class RenyiFilter(_Reserving):
    """Divergences of one order add, up to the largest that implies the budget.

    Without an order it takes the one at which the budget leaves most room for zCDP. There it admits whatever the
    concentrated filter of the same budget admits (a divergence is at most order times rho), and usually more.

    >>> from tacit.loss import Budget
    >>> RenyiFilter(Budget(1, "1e-6")).order > 1
    True
    """

    kind: ClassVar[str] = "renyi"
    unit: ClassVar[str] = "divergence"
    order: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        _Reserving.__post_init__(self)
        if self.order == 0:
            order = targets.best_order(self.budget.epsilon, self.converted)
        else:
            order = parameters.rational("order", self.order, "a number above 1")
        if not (1 < order <= 2**60 and Fraction(float(order)) == order):
            raise refuse("order", "a number above 1 that is exactly a double", self.order, "7/2 or 16, for example.")
        object.__setattr__(self, "order", order)

    @property
    def limit(self) -> Spent:
        room = targets.divergence_within(self.order, self.budget.epsilon, self.converted)
        return Spent(max(room, Fraction(0)), self.set_aside)

    def price(self, event: Event) -> Spent | None:
        return _summed(event, lambda leaf: renyi.at_order(leaf, float(self.order)))

    def to_dict(self) -> dict[str, Any]:
        return {**_Reserving.to_dict(self), "order": as_text(self.order)}


@dataclass(frozen=True, slots=True)
class GaussianFilter(Filter):
    """Squares of mu = sensitivity/sigma add, for Gaussian noise only (Smith and Thakurta, 2022).

    Proof: given the past, the loss of answer i under P is normal with variance m_i^2 and mean m_i^2/2, where
    m_i <= mu_i follows from the past: it is an increment of a Brownian motion with drift 1/2, run for the time m_i^2.
    Let a last Gaussian release use up what is left of the time mu*^2. The total loss is then that motion at the fixed
    time mu*^2, which is the loss of a single Gaussian release with mu*, and what was really shown is a part of it.

    >>> from tacit.loss import Budget, Gaussian
    >>> GaussianFilter(Budget(1, "1e-6")).price(Gaussian(1, 10)).loss  # (1 / 10)**2
    Fraction(1, 100)
    """

    kind: ClassVar[str] = "gaussian"
    unit: ClassVar[str] = "mu squared"

    def __post_init__(self) -> None:
        if self.budget.epsilon == 0 or not 0 < self.budget.delta < 1:
            raise refuse("budget", "one with an epsilon above 0 and a delta between 0 and 1", self.budget)

    @property
    def limit(self) -> Spent:
        mu = gaussian.largest_mu(float_down(self.budget.epsilon), fraction_log_down(self.budget.delta))
        return Spent(Fraction(mu) ** 2)

    def price(self, event: Event) -> Spent | None:
        total = Fraction(0)
        for leaf, count in simplify([event]).items():
            if not isinstance(leaf, events.Gaussian):
                return None
            total += count * (leaf.sensitivity / leaf.sigma) ** 2
        return Spent(total)


@dataclass(frozen=True, slots=True)
class AnyFilter(Filter):
    """Goes on while any of several filters admits. Their deltas together are at most the budget's.

    Every filter counts every release, also after its own limit is passed; the sums are kept side by side
    (`Spent.beside`).
    Theorem. If filter k alone promises (epsilon, delta_k) for every k, this promises (epsilon, sum of delta_k).
    Proof. Sums only grow, and the last release of a finished transcript was admitted by some filter k: all along it
    k's sum stayed within k's limit. So every transcript lies in some A_k, the set of those on which filter k admitted
    every release. Compare with the same conversation under filter k alone: what is refused here is refused by every
    filter, and so by k. Along a transcript of A_k the two conversations ask and answer the same, so P and Q give it the
    probabilities P_k and Q_k that it has there. Cut a set S of transcripts into disjoint
    S_k, each within A_k. Then P(S) = sum P_k(S_k) <= sum (exp(epsilon) Q_k(S_k) + delta_k) = exp(epsilon) Q(S) +
    sum delta_k. A delta that an event has of its own is part of each filter's promise, and counted by each.
    A basic filter over pure events has delta_k = 0: so adding it to another filter costs nothing.

    >>> from tacit.loss import Budget
    >>> rules = (BasicFilter(Budget(1)), GaussianFilter(Budget(1, "1e-6")))
    >>> AnyFilter(Budget(1, "1e-6"), rules).kind
    'any'
    """

    kind: ClassVar[str] = "any"
    unit: ClassVar[str] = "share"
    rules: tuple[Filter, ...] = ()

    def __post_init__(self) -> None:
        if len(self.rules) < 2 or any(isinstance(rule, AnyFilter) for rule in self.rules):
            raise refuse("rules", "two or more filters, none of them made of several", self.rules)
        if any(rule.budget.epsilon > self.budget.epsilon for rule in self.rules):
            raise refuse("rules", f"filters whose epsilon is at most {self.budget.epsilon}", self.rules)
        if sum(rule.budget.delta for rule in self.rules) > self.budget.delta:
            raise refuse("rules", f"filters whose deltas add up to at most {self.budget.delta}", self.rules)

    @property
    def limit(self) -> Spent:
        first, *rest = (rule.limit for rule in self.rules)
        return Spent(first.loss, first.delta, tuple(rest))

    def price(self, event: Event) -> Spent | None:
        first, *rest = (rule.price(event) for rule in self.rules)
        return None if first is None else Spent(first.loss, first.delta, tuple(rest))

    def shortage(self, state: Spent, price: Spent, limit: Spent) -> Shortage:
        """What is missing for the rule that comes closest to admitting it."""
        states = (*state.each, *(NOTHING,) * (len(self.rules) - len(state.each)))
        parts = zip(self.rules, states, price.each, limit.each, strict=True)
        return min(
            (
                rule.shortage(before, asked, most)
                for rule, before, asked, most in parts
                if before is not None and asked is not None and most is not None
            ),
            key=lambda short: short.excess,
        )

    def to_dict(self) -> dict[str, Any]:
        return {**Filter.to_dict(self), "rules": [rule.to_dict() for rule in self.rules]}


def _summed(event: Event, cost: Callable[[Event], tuple[float, float]]) -> Spent | None:
    """The costs (loss, own delta) of all leaves of `event`, summed exactly."""
    total = NOTHING
    for leaf, count in simplify([event]).items():
        loss, aside = cost(leaf)
        if not math.isfinite(loss):
            return None
        total += Spent(count * Fraction(loss), count * exact_delta(leaf, aside))
    return total


def exact_delta(leaf: Event, aside: float) -> Fraction:
    """The delta that an accountant set aside: the event's own where `aside` is just that rounded up."""
    own = guarantees.guarantee(leaf)[1]
    return own if float_up(own) == aside else Fraction(aside)


def choose_filter(budget: Budget, reserve: Number = Fraction(1, 2)) -> Filter:
    """The default rule of a dataset: one Renyi order or plain addition, whichever lasts longer; basic when delta is 0.

    `reserve` is the share of delta kept for events that have a delta of their own, half of it by each of the two. A
    half costs the Renyi filter little: its limit depends on the logarithm of the rest.

    >>> from tacit.loss import Budget
    >>> choose_filter(Budget(1)).kind, choose_filter(Budget(1, "1e-6")).kind
    ('basic', 'any')
    """
    if budget.delta == 0:
        return BasicFilter(budget)
    share = parameters.rational("reserve", written(reserve))
    if not 0 <= share < 1:
        raise refuse("reserve", "a share of delta, at least 0 and below 1", reserve)
    added = BasicFilter(Budget(budget.epsilon, budget.delta * share / 2))
    divergence = RenyiFilter(Budget(budget.epsilon, budget.delta - added.budget.delta), share / (2 - share))
    return AnyFilter(budget, (divergence, added))


def from_dict(content: Any) -> Filter:
    """The filter that `to_dict` wrote."""
    if not isinstance(content, dict) or content.get("kind") not in _KINDS:
        raise refuse("filter", f"an object whose kind is one of {', '.join(_KINDS)}", content)
    filter_class = _KINDS[content["kind"]]
    names = {field.name for field in fields(filter_class)}
    if set(content) != names | {"kind"}:
        raise refuse("filter", f"an object with the keys {sorted(names | {'kind'})}", content)
    budget = Budget.from_dict(content["budget"])
    if filter_class is AnyFilter:
        if not isinstance(content["rules"], list):
            raise refuse("rules", "a list of filters", content["rules"])
        return AnyFilter(budget, tuple(from_dict(rule) for rule in content["rules"]))
    values = {name: parameters.rational(name, content[name]) for name in names - {"budget"}}
    return filter_class(budget=budget, **values)


def from_json(text: str) -> Filter:
    """The filter that `to_json` wrote."""
    try:
        return from_dict(json.loads(text))
    except json.JSONDecodeError:
        raise refuse("text", "the JSON text of a filter", text) from None


_KINDS: dict[str, type[Filter]] = {
    kind.kind: kind for kind in (BasicFilter, ConcentratedFilter, RenyiFilter, GaussianFilter, AnyFilter)
}
