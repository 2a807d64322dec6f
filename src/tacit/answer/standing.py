"""How a budget stands, in words: what the answers so far are worth, and how many more like the last one fit.

    The dataset: 7 answers so far are worth epsilon 0.7 at delta 1e-06, of epsilon 1; about 3 more like the last fit.

The committed filter counts in a unit of its own (a divergence, say), of which only shares mean something, and shares of
single answers do not add up. So three things are shown: the price of each answer as it was asked for, one tight epsilon
for all of them (`loss.worth`), and the rest as the number of answers like the last one that the filter will admit.
The tight epsilon holds for prices that were fixed beforehand. Where earlier answers decided later prices, only the
whole budget is promised: so both are shown.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tacit.answer.pages import fragment
from tacit.answer.shown import as_decimal, readable
from tacit.ledger import Entry
from tacit.loss.budget import Budget
from tacit.loss.filters import Filter
from tacit.loss.spent import Spent
from tacit.loss.worth import AskedPrice, how_many_like, worth
from tacit.parameters import as_text

Payer = Literal["dataset", "analyst"]


@dataclass(frozen=True, slots=True, repr=False)
class Standing:
    """What one payer has spent of a budget. Prints as a sentence.

    >>> clinic.budget().payer, str(clinic.budget().budget)
    ('The dataset', 'epsilon 5')
    """

    payer: str
    budget: Budget
    share: Fraction
    failed: int | None = None
    """The ledger's entry of a failure that stops the payer, or someone who asks, until the owner has looked."""
    answers: int = 0
    worth: Fraction = field(default=Fraction(0))
    """The tight epsilon of all answers at the budget's delta, at most the budget's epsilon.

    An upper bound where no price followed from earlier answers; where one did, only the budget's epsilon is promised.
    """
    more: int | None = None
    """How many answers at the price of the last one the filter still admits; None before the first."""
    last: AskedPrice | None = None

    @classmethod
    def of(
        cls,
        payer: str,
        committed: Filter,
        spent: Spent,
        charges: Sequence[Entry] = (),
        failed: int | None = None,
        of: Payer = "dataset",
    ) -> Standing:
        """The standing under a committed filter, after these charges, which are all that this payer paid for."""
        budget, limit = committed.budget, committed.limit
        if not charges:
            return cls(payer, budget, share_of(spent, limit), failed)
        counted = Counter(event for event in (each.event for each in charges) if event is not None)
        last = charges[-1]
        price = Spent.from_dict(last.details["cost"][of])
        return cls(
            payer,
            budget,
            share_of(spent, limit),
            failed,
            len(charges),
            worth(counted.items(), budget),
            how_many_like(spent, price, limit),
            last.asked,
        )

    @property
    def left(self) -> Fraction:
        """The share that is left."""
        return 1 - self.share

    def __str__(self) -> str:
        return " ".join(self._sentences())

    __repr__ = __str__

    def _sentences(self) -> list[str]:
        delta = f" at delta {as_decimal(self.budget.delta)}" if self.budget.delta else ""
        whole = f"epsilon {as_decimal(self.budget.epsilon)}"
        if not self.answers:
            told = [f"{self.payer}: nothing is spent of {whole}{delta}."]
        else:
            many = f"{self.answers:,} answers so far are" if self.answers > 1 else "1 answer so far is"
            worth = f"worth epsilon {three_digits(self.worth)}{delta}, of {whole}"
            told = [f"{self.payer}: {many} {worth}; {self._more()}."]
        if self.failed is not None:
            told.append(
                f"Stopped by a failure, entry {self.failed} of the ledger. "
                f"Look at it, then: tacit ledger resume --entry {self.failed}."
            )
        return told

    @property
    def for_readers(self) -> str:
        """The same for readers of a publication, for whom the next question and failures do not matter."""
        most = f"all that may ever be released of them is worth epsilon {as_decimal(self.budget.epsilon)}"
        if self.answers <= 1:
            return f"Nothing else has been released of these data so far; {most}."
        delta = f" at delta {as_decimal(self.budget.delta)}" if self.budget.delta else ""
        return (
            f"Of these data there have been {self.answers:,} releases so far, this page included, worth epsilon "
            f"{three_digits(self.worth)}{delta} together; {most}."
        )

    def _more(self) -> str:
        price = "" if self.last is None else f" ({price_of(self.last)})"
        if self.more is None:
            return f"the last{price} took nothing"
        if self.more == 0:
            return f"another one like the last{price} does not fit, a cheaper one may"
        return f"about {self.more:,} more like the last{price} fit{'s' if self.more == 1 else ''}"

    def _repr_html_(self) -> str:
        first, *rest = self._sentences()
        share = min(float(self.worth / self.budget.epsilon), 1.0) if self.budget.epsilon else 0.0
        bar = (
            '<div class="bars"><span class="label">spent</span><span class="track">'
            f'<i class="bar" style="left:0;width:{100 * share:.1f}%"></i><i class="end" style="left:100%"></i></span>'
            f'<span class="value">{three_digits(self.worth)} of {as_decimal(self.budget.epsilon)}</span></div>'
        )
        words = "".join(f"<p>{html.escape(each)}</p>" for each in (first, *rest))
        return fragment(f"{words}{bar}")


def charges_of(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries that paid for something: those that readers count, 1, 2, 3, ..."""
    return tuple(each for each in entries if each.kind == "charged")


def three_digits(epsilon: Fraction) -> str:
    """An epsilon to three digits, rounded up."""
    return readable(as_text(epsilon), digits=3)


def price_of(asked: AskedPrice) -> str:
    """A price in the asker's words."""
    delta = f", delta {as_decimal(asked.delta)}" if asked.delta else ""
    if asked.epsilon is not None:
        return f"epsilon {as_decimal(asked.epsilon)}{delta}"
    return f"rho {three_digits(asked.rho)}{delta}" if asked.rho is not None else f"no finite epsilon{delta}"


def share_of(amount: Spent, limit: Spent) -> Fraction:
    """The share of a limit: of the loss or of the deltas, whichever is used up sooner. May exceed 1 for a price.

    Of several rules, the one that leaves most counts: it admits the next release.
    """
    return min(
        max(
            part / whole if whole else Fraction(2 if part else 0)
            for part, whole in ((spent.loss, most.loss), (spent.delta, most.delta))
        )
        for spent, most in zip(amount.each, limit.each, strict=False)
        if spent is not None and most is not None
    )
