"""Conditions on finished cells, and their possible true values where noise leaves them open.

Promise: as for every formula, nothing but noisy measures and released keys is seen, so they cost nothing.

Theorem. Where every noise is within its reach, a - b is off by at most the reach r of that difference. So a < b may
hold in truth only if a - b < r, and fail only if a - b >= -r; likewise for the others. AND may hold only if all of its
parts may, and so on: `verdict_of` says for each cell what a condition may be, and is wrong only where a noise is beyond
its reach, which happens as rarely as an interval misses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.plan.answers.bends import reach_of, reaching
from tacit.plan.answers.formulas import (
    Bools,
    Cells,
    Constant,
    Estimate,
    Floats,
    Formula,
    KeyFormula,
    Operation,
    as_it_reads,
)


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a cell: 1 where it holds, 0 where not, NaN where a part of it does not exist.

    As a number it is off by 1 where its true value may be the other one.
    """

    op: str
    parts: tuple[Formula, ...]

    @property
    def measures(self) -> frozenset[int]:
        return frozenset().union(*(part.measures for part in self.parts))

    def of(self, cells: Cells) -> Estimate:
        value = self.values(cells)
        if not self.measures or not cells.spreads or not cells.within:
            return Estimate(value)
        verdict = verdict_of(self, cells)
        off = (verdict.holds & verdict.fails).astype(np.float64)
        far = reaching(({}, {}), off, cells.spreads, cells.within, cells.steps, self.measures)
        return Estimate(value, {}, far, doubtful=verdict.missing & (verdict.holds | verdict.fails), decided=True)

    def values(self, cells: Cells) -> Floats:
        """Its value according to the noisy numbers."""
        # keys and constants among themselves are compared exactly; compared with a noisy number all are floats
        exact = all(isinstance(part, (KeyFormula, Constant)) for part in self.parts)
        parts = [
            as_it_reads(part, cells)
            if exact
            else part.values(cells)
            if isinstance(part, Test)
            else part.of(cells).value
            for part in self.parts
        ]
        return np.asarray(_TESTS[self.op](parts), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the true value of a condition may be, cell by cell: true, false, or NULL."""

    holds: Bools
    fails: Bools
    missing: Bools


def verdict_of(condition: Formula, cells: Cells) -> Verdict:
    """What the true value of a condition may be, where each noise is within its reach."""
    if not condition.measures or not cells.spreads or not cells.within:
        return _exactly(condition.of(cells).value)
    if isinstance(condition, Test):
        return _VERDICTS[condition.op](condition, cells)
    anything = np.ones(cells.size, dtype=np.bool_)
    return Verdict(anything, anything, anything)


def _exactly(value: Floats) -> Verdict:
    missing = np.isnan(value)
    return Verdict(value == 1, ~missing & (value != 1), missing)


def _compared(test: Test, cells: Cells) -> Verdict:
    left, right = test.parts
    sides = [part.of(cells) for part in test.parts]
    if any(each.value.dtype == object for each in sides):  # texts that noise chose
        anything = np.ones(cells.size, dtype=np.bool_)
        return Verdict(anything, anything, anything)
    apart = Operation("-", left, right).of(cells)
    off = reach_of((apart.slopes, apart.far), cells.spreads, cells.within, cells.steps)
    missing = np.isnan(apart.value)
    open_ = missing if apart.doubtful is None else missing | apart.doubtful
    may_hold, may_fail = _MAY[test.op]
    with np.errstate(invalid="ignore"):
        return Verdict(~missing & may_hold(apart.value, off), ~missing & may_fail(apart.value, off), open_)


def _joined(test: Test, cells: Cells) -> Verdict:
    parts = [verdict_of(part, cells) for part in test.parts]
    holds, fails, missing = ([getattr(each, name) for each in parts] for name in ("holds", "fails", "missing"))
    if test.op == "and":
        return Verdict(_every(holds), _some(fails), _some(missing))
    return Verdict(_some(holds), _every(fails), _some(missing))


def _every(parts: list[Bools]) -> Bools:
    return np.asarray(np.all(np.stack(parts), axis=0))


def _some(parts: list[Bools]) -> Bools:
    return np.asarray(np.any(np.stack(parts), axis=0))


def _denied(test: Test, cells: Cells) -> Verdict:
    inside = verdict_of(test.parts[0], cells)
    return Verdict(inside.fails, inside.holds, inside.missing)


def _absent(test: Test, cells: Cells) -> Verdict:
    inner = test.parts[0].of(cells)
    absent = _missing(inner.value)
    open_ = np.zeros(cells.size, dtype=np.bool_) if inner.doubtful is None else inner.doubtful
    return Verdict(absent | open_, ~absent | open_, np.zeros(cells.size, dtype=np.bool_))


_VERDICTS: Mapping[str, Callable[[Test, Cells], Verdict]] = MappingProxyType(
    {
        **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _compared),
        **dict.fromkeys(("and", "or"), _joined),
        "not": _denied,
        "null": _absent,
    }
)
_MAY: Mapping[str, tuple[Callable[[Floats, Floats], Any], Callable[[Floats, Floats], Any]]] = MappingProxyType(
    {
        "=": (lambda x, r: np.abs(x) <= r, lambda x, r: (r > 0) | (x != 0)),
        "<>": (lambda x, r: (r > 0) | (x != 0), lambda x, r: np.abs(x) <= r),
        "<": (lambda x, r: x - r < 0, lambda x, r: x + r >= 0),
        "<=": (lambda x, r: x - r <= 0, lambda x, r: x + r > 0),
        ">": (lambda x, r: x + r > 0, lambda x, r: x - r <= 0),
        ">=": (lambda x, r: x + r >= 0, lambda x, r: x - r < 0),
    }
)
"""Whether a comparison may hold, and whether it may fail, where the difference x is off by at most r."""


def comparisons(condition: Formula) -> int:
    """How many noisy numbers it uses."""
    if not condition.measures:
        return 0
    if isinstance(condition, Test) and condition.op in ("and", "or", "not"):
        return sum(comparisons(part) for part in condition.parts)
    return 1


def _compare(check: Callable[[Any, Any], Any]) -> Callable[[list[NDArray[Any]]], Floats]:
    def compare(values: list[NDArray[Any]]) -> Floats:
        left, right = values
        missing = _missing(left) | _missing(right)
        held = [False if absent else bool(check(a, b)) for a, b, absent in zip(left, right, missing, strict=True)]
        return np.where(missing, np.nan, np.array(held, dtype=np.float64))

    return compare


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([item is None for item in values], dtype=np.bool_)
    return np.asarray(np.isnan(values))


def _all(values: list[NDArray[Any]]) -> Floats:
    stacked = np.stack(values)
    unsure = np.isnan(stacked).any(axis=0)
    return np.where((stacked == 0).any(axis=0), 0.0, np.where(unsure, np.nan, 1.0))


def _any(values: list[NDArray[Any]]) -> Floats:
    return 1.0 - _all([1.0 - value for value in values])


_TESTS: Mapping[str, Callable[[list[NDArray[Any]]], Floats]] = MappingProxyType(
    {
        "=": _compare(lambda a, b: a == b),
        "<>": _compare(lambda a, b: a != b),
        "<": _compare(lambda a, b: a < b),
        "<=": _compare(lambda a, b: a <= b),
        ">": _compare(lambda a, b: a > b),
        ">=": _compare(lambda a, b: a >= b),
        "and": _all,
        "or": _any,
        "not": lambda values: 1.0 - values[0],
        "null": lambda values: _missing(values[0]).astype(np.float64),
    }
)
