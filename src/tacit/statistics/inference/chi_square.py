"""The chi-square tests: independence of two columns, and goodness of fit of one.

Theorem. The table of counts is released with noise of scale 1/epsilon in each cell: a row is in one cell, so its L1
sensitivity is 1. The statistic is the sum of (count - expected)**2/(expected + the noise's variance), and its law under
the hypothesis is found by drawing tables: multinomial with the estimated (or given) probabilities, plus noise of the
same law, treated as the released one was. The p-value is (1 + draws at least as large)/(1 + draws), so noise is not
taken for dependence. Post-processing; the draws come from a plain generator with a fixed seed.

Assumptions: rows are independent draws, one of each unit. Neighbours: one unit's row, added or removed. As in every
parametric bootstrap the level holds as far as the estimated margins stand for the true ones.
Source: Gaboardi, Lim, Rogers, Vadhan 2016 (Monte Carlo independence and goodness-of-fit tests).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.errors import QuestionError
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.domains import Domain, counts_of, domain_of
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.moments.additive import laplace
from tacit.statistics.source import Opened, source_of

Reals = NDArray[np.float64]
_DRAWS = 1_999
_MOST_CELLS = 2_500


def chi_square(
    data: Any,
    columns: Any = None,
    *,
    epsilon: Number,
    probabilities: Any = None,
    bounds: Any = None,
    values: Any = None,
    rows_per_unit: int | None = None,
    level: Number = "0.95",
    analyst: str | None = None,
) -> Finding:
    """Two columns: whether they are independent. One column: whether its values have these `probabilities`.

    >>> facts = {"sex": ["F", "M"], "ward": ["A", "B"]}
    >>> found = chi_square({"sex": ["F", "M", "F"], "ward": ["A", "B", "B"]}, values=facts, epsilon=1)
    >>> 0 <= found["p_value"][0] <= 1
    True
    """
    source = source_of(data, columns, bounds=bounds, values=values, rows_per_unit=rows_per_unit)
    source.one_row_each("A chi-square test")
    cells = [domain_of(each) for each in source.variables]
    shape = tuple(each.size for each in cells)
    if len(cells) not in (1, 2) or min(shape) < 2 or int(np.prod(shape)) > _MOST_CELLS:
        allowed = f"one or two columns with two or more listed values, and at most {_MOST_CELLS:,} cells"
        raise QuestionError(f"A chi-square test needs {allowed}. Found: {' x '.join(map(str, shape))}.")
    stated = _probabilities(probabilities, cells)
    exact_epsilon = parameters.price("epsilon", epsilon)
    parameters.level("level", level)
    noise = laplace(1, exact_epsilon)

    def compute(opened: Opened, bits: BitSource) -> Content:
        exact = counts_of(opened, cells)
        noisy = noise.release([int(each) for each in exact.ravel()], bits)
        table = np.array([float(each) for each in noisy]).reshape(shape)
        statistic, p_value = judged(table, stated, noise.mechanism.scale)
        what = f"{cells[0].name} has the stated probabilities" if len(cells) == 1 else "independent: " + " and ".join(
            each.name for each in cells
        )  # fmt: skip
        made = (column("hypothesis", [what]), column("statistic", [statistic]), column("p_value", [p_value]))
        words = "The p-value accounts for sampling and noise: its law was found by drawing tables with both."
        return Content(f"Chi-square test: {what}", made, (words,), {"counts": table})

    asked = {"study": "chi square", "probabilities": None if stated is None else [repr(float(p)) for p in stated]}
    return source.release(asked, noise.price, compute, level=level, analyst=analyst)


def _probabilities(given: Any, cells: list[Domain]) -> Reals | None:
    if len(cells) == 2:
        if given is not None:
            raise parameters.refuse("probabilities", "left out for a test of independence", given)
        return None
    allowed = f"{cells[0].size} positive numbers that add up to 1, in the order of the column's values"
    listed = list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
    exact = [parameters.rational("probabilities", each, allowed) for each in listed]
    if len(exact) != cells[0].size or min(exact) <= 0 or abs(float(sum(exact)) - 1) > 1e-9:
        raise parameters.refuse("probabilities", allowed, given)
    found = np.array([float(each) for each in exact])
    return np.asarray(found / found.sum())


def judged(table: Reals, stated: Reals | None, scale: float) -> tuple[float, float]:
    """The statistic of a released table, and its p-value."""
    generator = np.random.default_rng(20_230_502)
    spread = 2 * scale * scale
    statistic = float(_statistics(table[None], stated, spread)[0])
    rows = min(max(round(float(table.sum())), 0), 1 << 52)
    hypothesis = (_product(table[None])[0] if stated is None else stated).ravel()
    drawn = generator.multinomial(rows, hypothesis / hypothesis.sum(), _DRAWS).astype(np.float64)
    drawn += _whole_noise(generator, scale, drawn.shape)
    others = _statistics(drawn.reshape(_DRAWS, *table.shape), stated, spread)
    # a table that cannot differ from the expected one, up to rounding, is no evidence
    return statistic, float(1 + np.count_nonzero(others >= statistic * (1 - 1e-12))) / (1 + _DRAWS)


def _whole_noise(generator: np.random.Generator, scale: float, shape: tuple[int, ...]) -> Reals:
    """Noise on the whole numbers with mass falling as exp(-|k|/scale): the difference of two geometric numbers."""
    stop = -np.expm1(-1 / scale)
    first, second = (generator.geometric(stop, shape) for _ in range(2))
    return np.asarray(first - second, dtype=np.float64)


def _statistics(tables: Reals, stated: Reals | None, spread: float) -> Reals:
    total = np.maximum(tables.reshape(len(tables), -1).sum(axis=1), 0.0)
    chances = _product(tables) if stated is None else np.broadcast_to(stated, tables.shape)
    expected = chances * total.reshape(-1, *([1] * (tables.ndim - 1)))
    apart = np.square(tables - expected) / (expected + spread)
    return np.asarray(apart.reshape(len(tables), -1).sum(axis=1))


def _product(tables: Reals) -> Reals:
    """The probabilities of independent columns with the tables' margins, none below zero."""
    lines, stacks = (_shares(tables.sum(axis=axis)) for axis in (2, 1))
    return np.asarray(lines[:, :, None] * stacks[:, None, :])


def _shares(margins: Reals) -> Reals:
    """Margins as probabilities; equal ones where nothing is left above zero."""
    kept = np.maximum(margins, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, kept / np.maximum(total, 1e-300), 1.0 / margins.shape[1]))
