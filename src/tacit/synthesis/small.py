"""`small_database`: the best database of a few rows, chosen among all of them by the exponential mechanism.

Theorem (privacy). Let c_k be the exact counts of the K questions (`whole_domain`), N a public number, and for a
database y of m rows let y_k be its counts. The loss of y is
    max_k | N y_k - m c_k |,
a whole number. A unit with at most r rows, added or removed, moves every c_k by at most r, so a maximum of such
differences by at most m r: the sensitivity is m r, whatever the number of rows is. N is public: it is stated, and may
be wrong (then only the choice is worse), or it was bought before with discrete Laplace noise of sensitivity r. After
the choice the loss of what was chosen, in rows, is released with discrete Laplace noise of sensitivity r: neighbours
move floor(loss/m) by at most r, because |floor(a) - floor(b)| <= r where |a - b| is at most the whole number r. The
three shares of epsilon add up to epsilon, and the choice is pure (`tacit.mechanisms.exponential`).

Theorem (error). Among samples of m rows of the data there is one with |y_k/m - c_k/n| <= (ln(2K)/(2m))**(1/2) for all k
(Hoeffding's inequality and a union bound: the chance of failure of a random sample is at most 1, and below 1 just above
that distance). So with n rows and N = n the least loss/m is at most N a, a that root, and the chosen one is, with
probability 1 - beta, within N a + (2 r/epsilon_1)(ln C + ln(1/beta)) rows of all K counts, where C is the number of
databases. Where N is bought, |N - n| is added, which is below the error of Laplace noise with the stated probability.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts, the workload and `rows` are public.
Source: Blum, Ligett, Roth 2008; Dwork, Roth 2014, chapter 4.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.curator.elsewhere import passed_on
from tacit.loss import events
from tacit.mechanisms import Exponential, Laplace
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, Whole, source_of
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.released import Release
from tacit.synthesis.synthetic import Synthetic, synthesised
from tacit.synthesis.whole_domain import Questions, bounded, questions_of, released, stated_rows

MOST_DATABASES: Final = 1 << 17
_MOST_CELLS: Final = 1 << 12
_TOTAL: Final = Fraction(1, 10)  # of epsilon: for the number of rows, where it is not stated
_ERROR: Final = Fraction(1, 10)  # of epsilon: for the error that occurred
_BETA: Final = Fraction(1, 20)
_HINT: Final = "Use fewer columns or bins, or mwem."


@dataclass(frozen=True, slots=True)
class Plan:
    """Which noise, among how many databases."""

    total: Laplace | None
    choice: Exponential
    error: Laplace
    size: int
    databases: int

    @property
    def event(self) -> events.Event:
        """The composition of all parts."""
        first = () if self.total is None else (self.total.event,)
        return events.Composed((*first, self.choice.event, self.error.event))


def plan_small(epsilon: Fraction, rows_per_unit: int, size: int, databases: int, *, bought: bool) -> Plan:
    """The noise for a budget, from public numbers."""
    left = 1 - _ERROR - (_TOTAL if bought else 0)
    return Plan(
        Laplace(sensitivity=rows_per_unit, epsilon=epsilon * _TOTAL) if bought else None,
        Exponential(sensitivity=size * rows_per_unit, epsilon=epsilon * left),
        Laplace(sensitivity=rows_per_unit, epsilon=epsilon * _ERROR),
        size,
        databases,
    )


@passed_on
def small_database(
    data: Any,
    *,
    epsilon: Number,
    rows: int | None = None,
    size: int | None = None,
    workload: Any = None,
    bins: Mapping[str, Bins] | int | None = None,
    bounds: Any = None,
    values: Any = None,
    analyst: str | None = None,
) -> Synthetic:
    """The best database of `size` rows for the counts of the workload, chosen by the exact exponential mechanism.

    data: rows of a curator, or arrays with `bounds` and `values`. rows: how many rows there are, if that is public; a
    tenth of epsilon buys it otherwise. workload: as for `aim`. The answer's `facts` have the theorem's bound on the
    error, and the error that occurred, which a tenth of epsilon buys.

    >>> found = small_database({"sex": ["F", "M", "F"]}, size=2, values={"sex": ["F", "M"]}, epsilon=1)
    >>> len(found.sample(5))
    5
    """
    source = source_of(data, bounds=bounds, values=values)
    exact_epsilon = parameters.price("epsilon", epsilon)
    layout = layout_of(source, bins, values)
    questions = questions_of(layout, workload, _MOST_CELLS, _HINT)
    stated = stated_rows(rows)
    many = _size(questions.cells, size)
    databases = math.comb(questions.cells + many - 1, many)
    plan = plan_small(exact_epsilon, source.rows_per_unit, many, databases, bought=stated is None)

    def compute(opened: Opened, bits: BitSource) -> Release:
        counts = Tables(opened, layout).table(tuple(range(len(layout.sizes))))
        chosen, total, occurred = chosen_database(plan, questions, counts, stated, bits)
        shares = np.bincount(chosen, minlength=questions.cells) / many
        return released("small_database", layout, shares, float(total), facts_of(plan, questions, total, occurred))

    asked = {
        "study": "synthesis",
        "method": "small_database",
        "cells": layout.described(),
        "tables": [list(columns) for columns in questions.tables],
        "rows": stated,
        "size": many,
    }
    return synthesised(source, asked, Price(plan.event, exact_epsilon), compute, analyst)


def _size(cells: int, size: int | None) -> int:
    """The stated number of rows, or the largest for which all databases can be listed."""
    if size is None:
        fits = itertools.takewhile(lambda many: math.comb(cells + many - 1, many) <= MOST_DATABASES, itertools.count(1))
        return max(itertools.islice(fits, 64), default=1)
    many = parameters.whole("size", size, least=1)
    if math.comb(cells + many - 1, many) > MOST_DATABASES:
        found = math.comb(cells + many - 1, many)
        raise parameters.refuse("size", f"such that there are at most {MOST_DATABASES:,} databases", found, _HINT)
    return many


def chosen_database(
    plan: Plan, questions: Questions, counts: Whole, stated: int | None, bits: BitSource
) -> tuple[Whole, int, int]:
    """The cells of the chosen rows, the number of rows that they stand for, and their error, which was bought."""
    total = stated
    if total is None:
        assert plan.total is not None
        total = bounded(plan.total.release(np.array([counts.sum()]), bits=bits))
    listed = databases_of(questions.cells, plan.size)
    losses = losses_of(listed, questions, counts, total)
    place = int(plan.choice.choose(list(range(len(listed))), losses=losses, bits=bits))
    occurred = np.asarray(plan.error.release(losses[place : place + 1] // plan.size, bits=bits))
    return listed[place], total, max(int(occurred[0]), 0)


def facts_of(plan: Plan, questions: Questions, total: int, occurred: int) -> dict[str, Any]:
    """What is released in addition to the rows: the theorem's bound, and the error that occurred."""
    return {
        "rows": total,
        "size": plan.size,
        "databases": plan.databases,
        "questions": questions.many,
        "bound": bound_of(plan, questions.many, total, _BETA),
        "bound_holds_with": float(1 - _BETA),
        "error": occurred,
        "error_within": float(plan.error.error(1 - _BETA)),
    }


def databases_of(cells: int, size: int) -> Whole:
    """Every database of this many rows: which cells its rows lie in, ascending."""
    many = math.comb(cells + size - 1, size)
    flat = itertools.chain.from_iterable(itertools.combinations_with_replacement(range(cells), size))
    return np.fromiter(flat, dtype=np.int64, count=many * size).reshape(many, size)


def losses_of(listed: Whole, questions: Questions, counts: Whole, total: int) -> Whole:
    """For each database the largest |N y_k - m c_k|, in whole numbers."""
    exact = questions.counts(counts).astype(np.int64)
    size = listed.shape[1]
    worst = np.zeros(len(listed), dtype=np.int64)
    for member in questions.members():
        own = member[listed]
        for question in np.unique(member):
            inside = np.count_nonzero(own == question, axis=1)
            np.maximum(worst, np.abs(total * inside - size * exact[question]), out=worst)
    return worst


def bound_of(plan: Plan, questions: int, total: int, beta: Fraction) -> float:
    """The theorem's bound, in rows: beta is shared by the choice and, where it is bought, the number of rows."""
    parts = 1 if plan.total is None else 2
    sampled = total * math.sqrt(math.log(2 * questions) / (2 * plan.size))
    chosen = plan.choice.shortfall(plan.databases, confidence=1 - beta / parts) / plan.size
    off = 0.0 if plan.total is None else float(plan.total.error(1 - beta / parts))
    return sampled + chosen + off
