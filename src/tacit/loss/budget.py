"""Budgets: how much privacy loss an owner allows, as an exact pair (epsilon, delta).

A budget is written by a person, in decimals. A float is therefore read by its shortest decimal text: `Budget(0.1)` is
exactly one tenth, and ten releases of `Budget(0.1)` cost exactly `Budget(1)`, neither more nor less. This is right
for budgets because a budget is a promise, and the promise is what the owner wrote and every reader sees printed.
Mechanisms read floats the other way, as the binary rationals they are: there the number *is* the noise that will be
drawn, and what was drawn must be what is accounted for. A mechanism is charged to a budget by its exact event.

Promise: frozen, exact, one canonical JSON text. Order is by both parts: a <= b means that b covers a, and two budgets
may be in no order.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.parameters import Number, as_digits, as_text, refuse, written


@dataclass(frozen=True, slots=True, repr=False)
class Budget:
    """A bound (epsilon, delta) on privacy loss. `Budget(3, 1e-6)`, `Budget("1/3")`.

    >>> from tacit import Budget
    >>> Budget(0.1).epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number = 0) -> None:
        object.__setattr__(self, "epsilon", _epsilon(epsilon))
        object.__setattr__(self, "delta", _delta(delta))

    @classmethod
    def from_rho(cls, rho: Number, delta: Number) -> Budget:
        """The (epsilon, delta) that rho-zCDP implies at this delta, epsilon rounded up to twelve digits."""
        from tacit.loss.targets import epsilon_of_concentrated

        exact_rho = parameters.non_negative("rho", written(rho))
        exact_delta = parameters.open_probability("delta", written(delta))
        return cls(_twelve_digits_up(epsilon_of_concentrated(exact_rho, exact_delta)), exact_delta)

    def rho(self) -> Fraction:
        """The largest rho whose zCDP implies this budget, rounded down; 0 when delta is 0."""
        from tacit.loss.targets import rho_within

        return rho_within(self.epsilon, self.delta)

    def covers(self, other: Budget) -> bool:
        """Whether spending `other` stays within this budget."""
        return other.epsilon <= self.epsilon and other.delta <= self.delta

    def __le__(self, other: Budget) -> bool:
        return other.covers(self)

    def __ge__(self, other: Budget) -> bool:
        return self.covers(other)

    def __lt__(self, other: Budget) -> bool:
        return other.covers(self) and self != other

    def __gt__(self, other: Budget) -> bool:
        return self.covers(other) and self != other

    def __add__(self, other: Budget) -> Budget:
        """Basic composition: both spent on the same data."""
        return Budget(self.epsilon + other.epsilon, min(self.delta + other.delta, Fraction(1)))

    def __sub__(self, other: Budget) -> Budget:
        """What is left after `other`; refused when it does not cover it."""
        if not self.covers(other):
            raise refuse("spent budget", f"at most {self}", other)
        return Budget(self.epsilon - other.epsilon, self.delta - other.delta)

    def __mul__(self, times: int) -> Budget:
        """`times` spends of this budget, by basic composition."""
        count = parameters.whole("times", times, least=0)
        return Budget(count * self.epsilon, min(count * self.delta, Fraction(1)))

    __rmul__ = __mul__

    def __truediv__(self, parts: int) -> Budget:
        """One of `parts` equal shares, which together cost this budget exactly."""
        count = parameters.whole("parts", parts, least=1)
        return Budget(self.epsilon / count, self.delta / count)

    def __repr__(self) -> str:
        content = _shown(self.epsilon) + (f", delta={_shown(self.delta)}" if self.delta else "")
        return f"Budget(epsilon={content})"

    def __str__(self) -> str:
        """As a sentence says it: epsilon 3, delta 1e-06."""
        return f"epsilon {as_digits(self.epsilon)}" + (f", delta {as_digits(self.delta)}" if self.delta else "")

    def _repr_html_(self) -> str:
        return f"<p>A budget of <b>{self}</b>.</p>"  # made of numbers and these words alone

    def to_dict(self) -> dict[str, str]:
        """Plain JSON values: rationals as text."""
        return {"epsilon": as_text(self.epsilon), "delta": as_text(self.delta)}

    def to_json(self) -> str:
        """The canonical text: sorted keys, no white space; equal budgets have equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_dict(cls, content: Any) -> Budget:
        """The budget that `to_dict` wrote."""
        if not isinstance(content, dict) or set(content) != {"epsilon", "delta"}:
            raise refuse("budget", "an object with the keys 'delta' and 'epsilon'", content)
        return cls(content["epsilon"], content["delta"])

    @classmethod
    def from_json(cls, text: str) -> Budget:
        """The budget that `to_json` wrote."""
        try:
            content = json.loads(text)
        except json.JSONDecodeError:
            raise refuse("text", "the JSON text of a budget", text) from None
        return cls.from_dict(content)


def _epsilon(value: Any) -> Fraction:
    return parameters.non_negative("epsilon", written(value))


def _delta(value: Any) -> Fraction:
    return parameters.probability("delta", written(value))


def _twelve_digits_up(exact: Fraction) -> Fraction:
    """The least decimal of twelve significant digits that is at least `exact`: a budget should be readable."""
    if exact == 0:
        return exact
    unit = Fraction(10) ** (math.floor(math.log10(exact)) - 11)
    return math.ceil(exact / unit) * unit


def _shown(exact: Fraction) -> str:
    """A short text that reads back as the same number: a float's decimal where that is exact, else a quoted ratio."""
    if exact.denominator == 1:
        return str(exact.numerator)
    try:
        short = repr(float(exact))
    except OverflowError:
        return repr(as_text(exact))
    return short if Fraction(short) == exact else repr(as_text(exact))
