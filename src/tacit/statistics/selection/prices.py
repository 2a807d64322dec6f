"""The price that earns the most from bids, and the auction that it makes.

Setting. Prices are public, bids are not. At price p everyone who bids p or more buys one: revenue(p) = p * #(bids >=
p). A price a cent too high may earn nothing, so noise on the price itself would not do: the revenue is the score.

Theorem (privacy). A unit with at most r bids raises revenue(p) by between 0 and r p. So revenue is monotone with
sensitivity r max(prices), and permute-and-flip on it is pure epsilon.
Theorem (revenue). With m prices, Pr[revenue < best - (r P/epsilon)(ln m + t)] <= exp(-t), P the highest price; the
expected revenue is at least the best less (r P/epsilon)(ln m + 1), by integrating over t.

Theorem (truthfulness of the auction, one bid each). Whatever one bidder bids in place of the truth, the probability of
each price changes by a factor of at most exp(epsilon). Hence a bidder of value v, who gains v - p at prices p <= v when
bidding v, cannot raise the expected gain by a factor of more than exp(epsilon), i.e. by more than (exp(epsilon) - 1) v.
Proof. Going from one bid to another raises the revenue of the prices between them, or lowers it, all in the same
direction and by at most P each; for that (1) of `mechanisms.permute_and_flip` gives exp(epsilon), as for an added bid.
And with any bid the gain at price p is at most max(v - p, 0), which is the gain of the truth.

Exact. Prices are whole multiples of a common unit (a float is read as the decimal it is written as); a bid is compared
with them on the grid of the bids, on which an equal price was put too. Revenues are whole numbers.

Source: McSherry, Talwar 2007.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.curator import Price
from tacit.mechanisms import PermuteAndFlip
from tacit.mechanisms.candidates import public_candidates
from tacit.noise import BitSource
from tacit.plan.row_plan import Cut, Variable
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Source, source_of

_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True)
class Offers:
    """Public prices in ascending order: whole multiples of `unit`, and the lowest code of a bid that pays each."""

    prices: tuple[Fraction, ...]
    unit: Fraction
    whole: tuple[int, ...]
    cut: Cut

    @classmethod
    def of(cls, prices: Any, bids: Variable) -> Offers:
        """The prices as written."""
        exact = sorted({_as_written(each) for each in public_candidates(prices)})
        unit = Fraction(1, math.lcm(*(each.denominator for each in exact)))
        whole = tuple(int(each / unit) for each in exact)
        if whole[-1] >= _LARGEST:
            hint = "Write them with fewer digits."
            raise parameters.refuse("prices", f"below {_LARGEST:,} of their common unit", float(exact[-1]), hint)
        if bids.meaning == "text":
            raise parameters.refuse("bids", "a column of numbers", bids.meaning)
        place = round if bids.rounded else math.ceil  # rounded bids: a price goes where an equal bid went
        return cls(tuple(exact), unit, whole, Cut(bids.name, tuple(place(each / bids.step) for each in exact)))

    def revenues(self, opened: Opened) -> NDArray[Any]:
        """The revenue in units, at every price."""
        counts = opened.counts(self.cut, shape=(len(self.prices) + 1,))
        buyers = np.cumsum(counts[::-1])[::-1][1:]
        # in Python's own integers: a price times many buyers may be wider than a word
        return np.array([price * int(each) for price, each in zip(self.whole, buyers, strict=True)], dtype=object)


def best_price(
    data: Any,
    columns: str | None = None,
    *,
    prices: Sequence[parameters.Number],
    epsilon: parameters.Number,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The listed price that earns the most when everyone who bids at least as much buys one.

    >>> best_price([5, 9, 12], prices=[5, 10], bounds=(0, 20), epsilon=1).value in (5, 10)
    True
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    return _posted(source, "best_price", "The best price", prices, epsilon, level, analyst, ())


def digital_goods_auction(
    data: Any,
    columns: str | None = None,
    *,
    prices: Sequence[parameters.Number],
    epsilon: parameters.Number,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """One price for all, chosen from their bids, such that no bidder gains much by not bidding the truth.

    Everyone who bid at least the price gets the good and pays the price. One bid of each bidder.

    >>> digital_goods_auction([5, 9, 12], prices=[5, 10], bounds=(0, 20), epsilon=1).value in (5, 10)
    True
    """
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    source.one_row_each("An auction")
    exact = parameters.price("epsilon", epsilon)
    gain = math.expm1(min(float(exact), 700.0))
    note = f"No bidder can raise the expected gain by more than {100 * gain:.3g} % by not bidding the truth."
    return _posted(source, "digital_goods_auction", "The posted price", prices, epsilon, level, analyst, (note,))


def _posted(
    source: Source,
    study: str,
    title: str,
    prices: Any,
    epsilon: parameters.Number,
    level: parameters.Number,
    analyst: str | None,
    notes: tuple[str, ...],
) -> Finding:
    offers = Offers.of(prices, source.only)
    exact = parameters.price("epsilon", epsilon)
    mechanism = PermuteAndFlip(source.rows_per_unit * offers.whole[-1], exact, monotone=True)
    count = len(offers.prices)
    reach = mechanism.shortfall(count, confidence=level) * float(offers.unit)
    expected = mechanism.scale * (math.log(count) + 1) * float(offers.unit)

    def compute(opened: Opened, bits: BitSource) -> Content:
        place = mechanism.choose(range(count), scores=offers.revenues(opened), bits=bits)
        words = (
            f"With probability {float(parameters.rational('level', level)):g} it earns at most {reach:.4g} less than "
            f"the best of the {count:,} prices, and {expected:.4g} less on average at worst. The revenue was not "
            "released.",
            *notes,
        )
        return Content(title, (column("price", [float(offers.prices[place])]),), words)

    asked = {"study": study, "prices": [str(each) for each in offers.prices], "epsilon": str(exact)}
    return source.release(asked, Price(mechanism.event, exact), compute, level=level, analyst=analyst)


def _as_written(price: Any) -> Fraction:
    """A price as it is written: the float 9.99 is 9.99, not the binary number nearest to it."""
    return parameters.positive("prices", parameters.as_written("prices", price, "a finite number above 0"))
