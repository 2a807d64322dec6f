"""The most frequent value of a column, and the k most frequent ones.

Setting. Values are listed by the policy (or the caller); a unit has at most r rows. So adding a unit raises counts, by
at most r in all (L1), hence by at most r each.

Theorem (`mode`). Permute-and-flip on the counts, monotone with sensitivity r, is pure epsilon (`mechanisms.mode`).

Theorem (`top_k`). Three ways, all at pure epsilon (or, the last two, at (epsilon, delta)):
  * "one-shot": Laplace noise of scale r/epsilon on all counts at once, as their L1 sensitivity is r; the k largest are
    shown with their noisy counts. The noise does not grow with k, nor with the number of values.
  * "gumbel": Gumbel noise of scale r/e on every count, and the names of the k largest in order. This is the very law of
    k choices by the exponential mechanism, each of what is left: given which value came first, the noise of the others
    is still independent, and the largest of independent Gumbel variables is chosen in proportion to exp(count e/r)
    (Durfee and Rogers). So it is the adaptive composition of k choices of bounded range e, monotone: k e = epsilon, or
    e from the tight composition of k such ranges at (epsilon, delta).
  * "peeling": k choices by permute-and-flip, each of what is left, composed in the same way.
The last two protect a unit that may move every count by r; they name values, and no counts. As the policy bounds rows,
"one-shot" has the least noise from k = 2 on, and is the default.

Source: Durfee, Rogers 2019; McKenna, Sheldon 2020; Dwork et al. 2006.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import noise, parameters
from tacit.curator import Price
from tacit.loss import compose, events
from tacit.mechanisms import Exponential, Laplace, Mode, PermuteAndFlip
from tacit.noise import BitSource
from tacit.statistics.domains import Domain, counts_of, domain_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, source_of

_STEPS = 24  # of the search for the share of one choice
METHODS = ("one-shot", "gumbel", "peeling")


def mode(
    data: Any,
    columns: str | None = None,
    *,
    epsilon: parameters.Number,
    values: Any = None,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The most frequent value of a column, such as the most visited site.

    >>> mode(["F", "M", "F"], values=["F", "M"], epsilon=1).value in ("F", "M")
    True
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    domain = domain_of(source.only)
    mechanism = Mode(domain.size, source.rows_per_unit, parameters.price("epsilon", epsilon))
    (reach,) = mechanism.errors(parameters.level("level", level))

    def compute(opened: Opened, bits: BitSource) -> Content:
        counts = counts_of(opened, [domain])
        (place,) = mechanism.choose(np.arange(domain.size), counts, bits=bits)
        note = (
            f"With probability {float(parameters.rational('level', level)):g} it has fewer than {reach:,} rows less "
            "than the most frequent value. How many rows it has was not released."
        )
        return Content(f"The most frequent {domain.name}", (column(domain.name, [domain.labels[place]]),), (note,))

    asked = {"study": "mode", "epsilon": str(mechanism.epsilon)}
    return source.release(asked, Price(mechanism.event, mechanism.epsilon), compute, level=level, analyst=analyst)


def top_k(
    data: Any,
    columns: str | None = None,
    *,
    k: int,
    epsilon: parameters.Number,
    delta: parameters.Number = 0,
    method: str = "one-shot",
    values: Any = None,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The k most frequent values of a column, in order; with method="one-shot" also their noisy counts.

    >>> found = top_k(["a", "b", "a"], k=2, values=["a", "b", "c"], epsilon=1)
    >>> found.names, len(found)
    (('x', 'rows'), 2)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    domain = domain_of(source.only)
    most = parameters.whole("k", k, least=1)
    if most > domain.size:
        raise parameters.refuse("k", f"at most {domain.size:,}, the number of values", k)
    exact, slip = parameters.price("epsilon", epsilon), parameters.slip("delta", delta)
    parameters.level("level", level)
    if method not in METHODS:
        raise parameters.refuse("method", f"one of {', '.join(map(repr, METHODS))}", method)
    if method == "one-shot":
        if slip:
            raise parameters.refuse("delta", "0 for method='one-shot', which has no use for more", delta)
        price, compute = _one_shot(domain, source.rows_per_unit, most, exact, level)
    else:
        price, compute = _one_by_one(domain, source.rows_per_unit, most, exact, slip, level, method)
    asked = {"study": "top_k", "k": most, "method": method, "epsilon": str(exact), "delta": str(slip)}
    return source.release(asked, price, compute, level=level, analyst=analyst)


def _one_shot(
    domain: Domain, rows: int, most: int, epsilon: Fraction, level: parameters.Number
) -> tuple[Price, Callable[[Opened, BitSource], Content]]:
    mechanism = Laplace(rows, epsilon)
    # for all values at once, because which of them are shown follows the noise
    reach = mechanism.error(1 - (1 - parameters.open_probability("level", level)) / domain.size)

    def compute(opened: Opened, bits: BitSource) -> Content:
        noisy = mechanism.release(counts_of(opened, [domain]), bits=bits)
        order = np.argsort(-noisy, kind="stable")[:most]
        found = noisy[order]
        notes = (
            "The intervals cover the noise and the choice: they hold all at once. The largest of many noisy counts "
            "tend to be too large.",
        )
        low, high = np.maximum(found - reach, 0), np.maximum(found + reach, 0)
        columns = (_labels(domain, order.tolist()), column("rows", found, np.minimum(low, found), high))
        return Content(f"The {most} most frequent of {domain.name}", columns, notes)

    return Price(mechanism.event, epsilon), compute


def _one_by_one(
    domain: Domain, rows: int, most: int, epsilon: Fraction, delta: Fraction, level: parameters.Number, method: str
) -> tuple[Price, Callable[[Opened, BitSource], Content]]:
    kind = Exponential if method == "gumbel" else PermuteAndFlip
    share = share_of(epsilon, delta, most, lambda each: kind(rows, each, monotone=True).event)
    choice = kind(rows, share, monotone=True)
    missing = (1 - parameters.level("level", level)) / most
    reach = int(choice.shortfall(domain.size, confidence=1 - missing)) + 1
    race = noise.exponential_race if method == "gumbel" else noise.one_sided_race

    def compute(opened: Opened, bits: BitSource) -> Content:
        counts = counts_of(opened, [domain])
        left, found = np.arange(domain.size), []
        for _ in range(most):
            at = race(counts[left], choice.factor, bits)
            found.append(int(left[at]))
            left = np.delete(left, at)
        note = (
            f"With probability {float(parameters.rational('level', level)):g} each has fewer than {reach:,} rows less "
            "than the most frequent one left. Counts were not released."
        )
        return Content(f"The {most} most frequent of {domain.name}", (_labels(domain, found),), (note,))

    return Price(events.Repeated(choice.event, most), epsilon, delta), compute


def share_of(epsilon: Fraction, delta: Fraction, count: int, event: Callable[[Fraction], events.Event]) -> Fraction:
    """The epsilon of each of `count` choices that together cost (epsilon, delta): the sum, or the tight composition."""
    low = epsilon / count
    if not delta or count == 1:
        return low
    step = (epsilon - low) / (1 << _STEPS)
    good, bad = 0, (1 << _STEPS)
    while bad - good > max(1, good >> 10):  # to three digits
        middle = (good + bad) // 2
        total = compose([events.Repeated(event(low + middle * step), count)]).epsilon(delta)
        good, bad = (middle, bad) if total <= epsilon else (good, middle)
    return low + good * step


def _labels(domain: Domain, places: list[int]) -> Any:
    return column(domain.name, [domain.labels[place] for place in places])
