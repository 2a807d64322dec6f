"""Rules: the filters that a ledger has committed to, ready to be applied while the file is locked.

Pricing an event may take a while and needs no state, so it is done before the lock is taken; under the lock there is
one exact addition and one comparison, which is all that `Filter.admits` does after pricing.

Sums are exact while their fractions are short. An analyst who picks prices with ever new denominators could make
the sum's text grow with every charge; a sum whose denominator passes 512 bits is therefore rounded *up* to a multiple
of 10^-100, which only ever counts more than was spent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from tacit.errors import BudgetExceeded
from tacit.loss.events import Event
from tacit.loss.filters import Filter, Shortage
from tacit.loss.spent import NOTHING, Spent
from tacit.parameters import refuse

_LONGEST_DENOMINATOR = 512
_GRID = 10**100
_SIX_DIGITS = Context(prec=6)


@dataclass(frozen=True, slots=True)
class Price:
    """What one event costs under one rule."""

    rule: Rule
    amount: Spent

    def after(self, state: Spent) -> Spent:
        """The state after paying; refused when it would pass the rule's limit."""
        after = total(state, self.amount)
        if after.within(self.rule.limit):
            return after
        short = self.rule.filter.shortage(state, self.amount, self.rule.limit)
        raise BudgetExceeded(_too_much(self.rule, short), asked=short.asked, remaining=short.left)


def _too_much(rule: Rule, short: Shortage) -> str:
    """The refusal in words. An epsilon is named only where epsilons add up; elsewhere shares of the budget are."""
    budget = rule.filter.budget
    promised = f"epsilon {shown(budget.epsilon)}" + (f", delta {shown(budget.delta)}" if budget.delta else "")
    if short.unit == "epsilon" or (short.unit == "delta" and rule.filter.unit == "epsilon"):
        return (
            f"This question needs {short.unit} {shown(short.asked)}; {shown(short.left)} is left of {promised} for "
            f"{rule.payer}. Ask with a smaller {short.unit}, or see the ledger."
        )
    needed = (
        f"{_percent(short.asked / short.whole, ROUND_CEILING)} of the budget" if short.whole else "more than it all"
    )
    left = _percent(short.left / short.whole, ROUND_FLOOR) if short.whole else "nothing"
    counted = "delta" if short.unit == "delta" else "epsilon"
    return (
        f"This question needs {needed} ({promised}) for {rule.payer}; {left} is left. "
        f"Ask with a smaller {counted}, or see the ledger."
    )


def _percent(share: Fraction, rounding: str) -> str:
    """Three digits, rounded against the asker: what is needed up, what is left down."""
    exact = Context(prec=40).divide(Decimal(100 * share.numerator), Decimal(share.denominator))
    short = Context(prec=3, rounding=rounding).plus(exact).normalize()
    return f"{short:,f} %" if short == 0 or Decimal("1e-6") <= short < Decimal("1e9") else f"{short:.2e} %"


@dataclass(frozen=True, slots=True)
class Rule:
    """A committed filter, its limit worked out once, and who pays by it (in the words of a refusal)."""

    payer: str
    filter: Filter
    limit: Spent

    @classmethod
    def of(cls, payer: str, committed: Filter) -> Rule:
        """The rule of a filter."""
        return cls(payer, committed, committed.limit)

    def price(self, event: Event) -> Price:
        """What `event` costs, or slightly more; refused when the filter has no finite price for it."""
        amount = self.filter.price(event)
        if amount is None:
            raise refuse("event", f"one that the {self.filter.kind} filter of {self.payer} can price", event)
        return Price(self, total(NOTHING, amount))


def total(state: Spent, amount: Spent) -> Spent:
    """The sum, never below the true one."""
    return (state + amount).map(_short)


def _short(amount: Fraction) -> Fraction:
    if amount.denominator.bit_length() <= _LONGEST_DENOMINATOR:
        return amount
    return Fraction(math.ceil(amount * _GRID), _GRID)


def shown(amount: Fraction) -> str:
    """Six digits, also for numbers that no float can hold."""
    quotient = _SIX_DIGITS.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    inside = quotient == 0 or Decimal("1e-300") < quotient < Decimal("1e300")
    return f"{float(quotient):.6g}" if inside else f"{quotient:.2e}"
