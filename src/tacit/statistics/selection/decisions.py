"""A decision that costs the least, for any loss; and the date that suits the most.

Setting (`decide`). There is a finite list of decisions and a loss for each of them and each row, which depends on the
row's cell alone: on listed values, whole numbers, or bins. The loss function is called on all public cells, before
anything is paid, and never on a row.

Theorem. Let R be the largest, over cells, of the difference between the highest and the lowest loss of that cell. With
at most r rows of a unit, permute-and-flip on total losses, monotone with sensitivity r R, is pure epsilon.
Proof. Adding the same number to all losses changes no choice. So the lowest loss of every cell may be taken off its
losses, after which a row adds between 0 and R to each decision's total: a unit adds between 0 and r R, all in one
direction. Losses are rounded to 2**20 steps of R, which is public arithmetic; totals are whole numbers and R is taken
from the rounded losses.

Theorem (`meeting_date`). Each person says of each date how welcome it is, from 0 to a public h (0 or 1 for no and yes).
A unit with at most r rows raises every date's total by between 0 and r h: monotone with sensitivity r h.

Source: McSherry, Talwar 2007; McKenna, Sheldon 2020.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tacit import parameters
from tacit.curator import Curator, Price, Rows
from tacit.errors import QuestionError
from tacit.mechanisms import PermuteAndFlip
from tacit.mechanisms.candidates import public_candidates
from tacit.noise import BitSource
from tacit.statistics.domains import Domain, counts_of, domain_of
from tacit.statistics.finding import Content, Finding, as_shown, column
from tacit.statistics.source import Opened, Source, Whole, source_of

_FINENESS = 1 << 20
_MOST_LOSSES = 1 << 22


def decide(
    data: Any,
    columns: str | Sequence[str] | None = None,
    *,
    decisions: Sequence[Any],
    loss: Callable[..., Any],
    epsilon: parameters.Number,
    bins: Mapping[str, Any] | None = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The decision with the smallest total of loss(decision, value, ...), the values those of a row's columns.

    `bins` cuts columns of many values (their number or edges, by column); the loss then gets the middle of a bin.

    >>> def cost(decision, answer):
    ...     return float(decision != answer)
    >>> decide(["tea", "tea"], decisions=["tea", "milk"], loss=cost, values=["tea", "milk"], epsilon=1).names
    ('decision',)
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    options = list(public_candidates(decisions))
    domains = [domain_of(each, (bins or {}).get(each.name)) for each in source.variables]
    if len(options) * math.prod(each.size for each in domains) > _MOST_LOSSES:
        hint = "Give `bins` to cut columns into fewer cells."
        raise parameters.refuse("columns", f"such that there are at most {_MOST_LOSSES:,} losses", "more", hint)
    losses, step = whole_losses(options, domains, loss)
    exact = parameters.price("epsilon", epsilon)
    mechanism = PermuteAndFlip(source.rows_per_unit * int(losses.max()), exact, monotone=True)
    reach = mechanism.shortfall(len(options), confidence=level) * float(step)

    def compute(opened: Opened, bits: BitSource) -> Content:
        counts = counts_of(opened, domains).ravel()
        place = mechanism.choose(range(len(options)), losses=losses @ counts, bits=bits)
        note = (
            f"With probability {float(parameters.rational('level', level)):g} its total loss is at most {reach:.4g} "
            "above the smallest. The total was not released."
        )
        return Content("The decision", (column("decision", [as_shown(options[place])]),), (note,))

    asked = {
        "study": "decide",
        "decisions": [str(each) for each in options],
        "losses": [str(step), hashlib.sha256(losses.tobytes()).hexdigest()],
        "cells": [[repr(each.asked), each.first, each.size] for each in domains],
        "epsilon": str(exact),
    }
    return source.release(asked, Price(mechanism.event, exact), compute, level=level, analyst=analyst)


def whole_losses(options: Sequence[Any], domains: Sequence[Domain], loss: Callable[..., Any]) -> tuple[Whole, Fraction]:
    """For every decision and cell the loss above the cell's lowest one, in whole steps; and the step."""
    cells = list(itertools.product(*(_middles(each) for each in domains)))
    table = [[_finite(loss(option, *cell)) for cell in cells] for option in options]
    lowest = [min(row[place] for row in table) for place in range(len(cells))]
    above = [[value - low for value, low in zip(row, lowest, strict=True)] for row in table]
    largest = max(max(row) for row in above)
    if largest <= 0:
        raise parameters.refuse("loss", "a function that tells the decisions apart", "equal losses for all of them")
    step = largest / _FINENESS
    return np.array([[round(value / step) for value in row] for row in above], dtype=np.int64), step


def meeting_date(
    data: Any,
    columns: Sequence[str] | None = None,
    *,
    epsilon: parameters.Number,
    bounds: Any = None,
    rows_per_unit: int | None = None,
    level: parameters.Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """The date that suits the most: each column is a date, each row says of each date how welcome it is (0 or 1).

    >>> days = {"monday": [1, 0], "tuesday": [1, 1]}
    >>> meeting_date(days, bounds=(0, 1), epsilon=1).value in days
    True
    """
    if bounds is None and not isinstance(data, (Curator, Rows, Source)):
        bounds = (0, 1)
    source = source_of(data, columns, bounds=bounds, rows_per_unit=rows_per_unit)
    names = [each.name for each in source.variables]
    highest, step = _welcome(source)
    exact = parameters.price("epsilon", epsilon)
    mechanism = PermuteAndFlip(source.rows_per_unit * highest, exact, monotone=True)
    reach = mechanism.shortfall(len(names), confidence=level) * float(step)

    def compute(opened: Opened, bits: BitSource) -> Content:
        # one by one: a person who said nothing of one date still counts for the others
        totals = [opened.totals([[name]])[1][0] for name in names]
        place = mechanism.choose(range(len(names)), scores=totals, bits=bits)
        note = (
            f"With probability {float(parameters.rational('level', level)):g} its total is at most {reach:.4g} below "
            "the best. The total was not released."
        )
        return Content("The date that suits", (column("date", [names[place]]),), (note,))

    asked = {"study": "meeting_date", "epsilon": str(exact)}
    return source.release(asked, Price(mechanism.event, exact), compute, level=level, analyst=analyst)


def _welcome(source: Source) -> tuple[int, Fraction]:
    """The highest code that a date can be given, and the step of codes, the same for all dates."""
    if len({each.step for each in source.variables}) != 1:
        raise QuestionError("All dates must be rated on the same grid.")
    highest = 0
    for each in source.variables:
        low, high = (0, 1) if each.meaning == "boolean" else (each.low, each.high)
        if each.meaning not in ("boolean", "number") or low is None or high is None or low < 0 or high < 1:
            raise QuestionError(f"The date {each.name!r} must be rated from 0 up, or true and false, with bounds.")
        highest = max(highest, high)
    return highest, source.variables[0].step


def _middles(domain: Domain) -> Sequence[Any]:
    if domain.edges is None:
        return domain.labels
    return [float((low + high) / 2) for low, high in itertools.pairwise(domain.edges)]


def _finite(value: Any) -> Fraction:
    return parameters.rational("loss", value, "a function that gives finite numbers")
