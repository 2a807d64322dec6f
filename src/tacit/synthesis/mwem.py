"""`mwem`: multiplicative weights. Rounds of choosing the worst question, measuring it, and turning weights towards it.

Theorem (privacy). Weights A over the whole domain add up to N. Each of T rounds chooses a question (a cell of one of
the workload's tables, `whole_domain`) by the exponential mechanism of range eta, with whole-number scores
|GRID c_k - round(GRID A_k)| of sensitivity GRID r, and releases its count c_k with discrete Gaussian noise of
sensitivity r. N is either stated, as a public number that need not be right, or bought first with discrete Gaussian
noise of sensitivity r. So the release is the composition of T choices and T (or T + 1) noisy counts, all with
parameters fixed beforehand; that event is charged, and its noise is the least for which the accountant says (epsilon,
delta). zCDP gives the first guess: T eta**2/8 + T r**2/(2 sigma**2) (bounded range: Cesar and Rogers 2021), a factor of
order T**(1/2) less noise than adding up T epsilons. Turning weights is post-processing, and so is using measurements
again.

Theorem (error). Let e_i be the error c_k - A_k of the question of round i before it is measured, z_i what the noise
(and the difference of N to the number of rows n) did to the measurement, clipped to [0, N]. Turning the weights by
A(x) -> A(x) exp(q(x) (m - A_k)/(2N)), made to add up to N again, lowers the relative entropy of the data to A/N by at
least (e_i**2 - z_i**2)/(4 N**2), because exp(t) <= 1 + t + t**2 for |t| <= 1 (Hardt, Ligett, McSherry 2012). It starts
at ln X at most, X the size of the domain, and ends at 0 or more, so
    mean of e_i**2  <=  4 N**2 ln(X)/T + mean of z_i**2.
A past measurement is used again only where it differs from A by 2 Z or more, Z a bound on all |z_i|: then |e| >= |z|
there, and the entropy does not grow. With probability 1 - beta: all |z_i| <= Z, and each choice is within
g = (2 r/eta)(ln K + ln(T/beta')) + 1/GRID of the worst question. Then the mean of the rounds' weights, which is what is
returned, is within
    (4 N**2 ln(X)/T + Z**2)**(1/2) + g + 2 |N - n|
rows of all K counts, since its error is at most the mean of the rounds' worst errors.

Neighbours: one unit's rows, added or removed. Assumptions: the columns' facts, the workload and `rows` are public.
Source: Hardt, Ligett, McSherry 2012.
"""

from __future__ import annotations

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
from tacit.loss.numbers.rounding import sqrt_up
from tacit.mechanisms import Exponential, Gaussian
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import Bins
from tacit.statistics.source import Opened, Whole, source_of
from tacit.synthesis import scoring
from tacit.synthesis.cells import layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.model.tables import Table
from tacit.synthesis.released import Release
from tacit.synthesis.spending import rho_of, tightened
from tacit.synthesis.synthetic import Synthetic, synthesised
from tacit.synthesis.whole_domain import Questions, bounded, questions_of, released, stated_rows

_MOST_CELLS: Final = 1 << 18
_TOTAL: Final = Fraction(1, 20)  # of rho: for the number of rows, where it is not stated
_CHOOSING: Final = Fraction(1, 2)  # of a round: for the choice
_ROUNDS: Final = 20
_MOST_ROUNDS: Final = 1000
_AGAIN: Final = 4  # how often past measurements are gone through in a round
_BETA: Final = Fraction(1, 20)
_MANY: Final = 1 << 30
_HINT: Final = "Use fewer columns or bins, or aim."


@dataclass(frozen=True, slots=True)
class Plan:
    """The noise of each part, and how many rounds."""

    total: Gaussian | None
    choice: Exponential
    count: Gaussian
    rounds: int

    @property
    def event(self) -> events.Event:
        """The composition of all parts."""
        first = () if self.total is None else (self.total.event,)
        rounds = [events.Repeated(each, self.rounds) for each in (self.choice.event, self.count.event)]
        return events.Composed((*first, *rounds))


def plan_mwem(rows: int, rounds: int, epsilon: Fraction, delta: Fraction, *, bought: bool) -> Plan:
    """The noise for a budget, from public numbers."""
    rho = rho_of("mwem", epsilon, delta)
    share = rho * (1 - _TOTAL if bought else 1) / rounds

    def made(factor: Fraction) -> Plan:
        eta = 1 / (sqrt_up(1 / (8 * share * _CHOOSING)) * factor)
        return Plan(
            _gaussian(rows, rho * _TOTAL, factor) if bought else None,
            Exponential(sensitivity=scoring.sensitivity(rows), epsilon=eta),
            _gaussian(rows, share * (1 - _CHOOSING), factor),
            rounds,
        )

    return tightened(made, lambda plan: plan.event, epsilon, delta)


def _gaussian(rows: int, rho: Fraction, factor: Fraction) -> Gaussian:
    return Gaussian(sensitivity=rows, sigma=rows * sqrt_up(1 / (2 * rho)) * factor, size=_MANY)


@passed_on
def mwem(
    data: Any,
    *,
    epsilon: Number,
    delta: Number,
    rows: int | None = None,
    rounds: int = _ROUNDS,
    workload: Any = None,
    bins: Mapping[str, Bins] | int | None = None,
    bounds: Any = None,
    values: Any = None,
    analyst: str | None = None,
) -> Synthetic:
    """Weights over the whole domain, turned towards the counts of the workload, one question in each round.

    data: rows of a curator, or arrays with `bounds` and `values`. rows: how many rows there are, if that is public; a
    share of the budget buys it otherwise. rounds: more of them fit more questions, each with more noise. workload: as
    for `aim`. The answer's `facts` have the theorem's bound on the error.

    >>> people = {"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}
    >>> mwem(people, values={"sex": ["F", "M"], "ward": ["A", "B"]}, rounds=2, epsilon=1, delta=1e-6).method
    'mwem'
    """
    source = source_of(data, bounds=bounds, values=values)
    exact_epsilon, exact_delta = parameters.budget(epsilon, delta)
    layout = layout_of(source, bins, values)
    questions = questions_of(layout, workload, _MOST_CELLS, _HINT)
    stated = stated_rows(rows)
    many = parameters.whole("rounds", rounds, least=1)
    if many > _MOST_ROUNDS:
        raise parameters.refuse("rounds", f"at most {_MOST_ROUNDS:,}", rounds)
    plan = plan_mwem(source.rows_per_unit, many, exact_epsilon, exact_delta, bought=stated is None)

    def compute(opened: Opened, bits: BitSource) -> Release:
        counts = Tables(opened, layout).table(tuple(range(len(layout.sizes))))
        weights, facts = turned_weights(plan, questions, counts, stated, bits)
        return released("mwem", layout, weights, float(facts["rows"]), facts)

    asked = {
        "study": "synthesis",
        "method": "mwem",
        "cells": layout.described(),
        "tables": [list(columns) for columns in questions.tables],
        "rows": stated,
        "rounds": many,
    }
    return synthesised(source, asked, Price(plan.event, exact_epsilon, exact_delta), compute, analyst)


def turned_weights(
    plan: Plan, questions: Questions, counts: Whole, stated: int | None, bits: BitSource
) -> tuple[Table, dict[str, Any]]:
    """The mean of the rounds' weights, as shares of the domain's cells, and what is known about them."""
    total = stated
    if total is None:
        assert plan.total is not None
        total = bounded(plan.total.release(np.array([counts.sum()]), bits=bits))
    exact = questions.counts(counts).astype(np.int64)
    members = questions.members()
    tables = np.concatenate([np.full(int(each.max()) - int(each.min()) + 1, at) for at, each in enumerate(members)])
    trusted = 2 * noise_bound(plan, _BETA)
    shares = np.full(questions.cells, 1 / questions.cells)
    mean = np.zeros(questions.cells)
    known: list[tuple[int, float]] = []
    for _ in range(plan.rounds):
        mean += shares / plan.rounds
        estimates = questions.counts(shares.reshape(questions.sizes)) * total
        scores = np.abs(exact * scoring.GRID - scoring.on_grid(estimates))
        chosen = int(plan.choice.choose(list(range(len(scores))), scores=scores, bits=bits))
        noisy = int(np.asarray(plan.count.release(exact[chosen : chosen + 1], bits=bits)).reshape(-1)[0])
        known.append((chosen, float(min(max(noisy, 0), total))))
        shares = _turned(shares, *known[-1], members[int(tables[chosen])], total)
        shares = _turned_again(shares, known[:-1], members, tables, total, trusted)
    facts = {
        "rows": total,
        "rounds": plan.rounds,
        "questions": questions.many,
        "bound": bound_of(plan, questions, total, _BETA),
        "bound_holds_with": float(1 - _BETA),
    }
    return mean / mean.sum(), facts


def _turned(shares: Table, question: int, measured: float, member: Whole, total: int) -> Table:
    inside = member == question
    off = measured - total * float(shares[inside].sum())
    turned = np.where(inside, shares * math.exp(off / (2 * total)), shares)
    return np.asarray(turned / turned.sum())


def _turned_again(
    shares: Table,
    known: list[tuple[int, float]],
    members: list[Whole],
    tables: Whole,
    total: int,
    trusted: float,
) -> Table:
    """Past measurements once more, where they differ by more than the noise can explain."""
    for _ in range(_AGAIN):
        for question, measured in known:
            member = members[int(tables[question])]
            if abs(measured - total * float(shares[member == question].sum())) >= trusted:
                shares = _turned(shares, question, measured, member, total)
    return shares


def noise_bound(plan: Plan, beta: Fraction) -> float:
    """A bound on the noise of all measurements, which fails with a third of beta; plus how far N may be off."""
    each = float(plan.count.error(1 - beta / (3 * plan.rounds)))
    return each + rows_bound(plan, beta)


def rows_bound(plan: Plan, beta: Fraction) -> float:
    """How far a bought number of rows is off at most; that fails with a third of beta."""
    return 0.0 if plan.total is None else float(plan.total.error(1 - beta / 3))


def bound_of(plan: Plan, questions: Questions, total: int, beta: Fraction) -> float:
    """The theorem's bound, in rows."""
    noise, off = noise_bound(plan, beta), rows_bound(plan, beta)
    short = plan.choice.shortfall(questions.many, confidence=1 - beta / (3 * plan.rounds)) + 1
    fitted = math.sqrt(4 * total**2 * math.log(questions.cells) / plan.rounds + noise**2)
    return fitted + short / scoring.GRID + 2 * off
