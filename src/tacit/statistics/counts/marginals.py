"""Tables over some of several columns, and the parts that they share: the algebra behind sets of tables.

A column set A is an ascending tuple of places; its table has one axis for each. For B inside A, the marginal of a table
sums out the other axes. `centred` subtracts the mean along every axis: what is left of B's marginal when everything
that smaller sets know is gone, the residual of B.

Theorem (Hoeffding's decomposition). Let n(C) be the number of cells of the columns C. Every table t over A is
    t = sum over B inside A of lift(v_B)/n(A - B),   v_B = centred(marginal of t to B),
where lift repeats along the missing axes. The terms are orthogonal, and the squared length of each is
|v_B|**2/n(A - B). A set of tables is consistent (any two have the same marginal over the columns they share) if and
only if its tables have the same v_B wherever they share B.
Proof. On each axis the identity is (mean) + (deviation from the mean), two orthogonal projections; multiply this out
over the axes. The marginal of t to B is made of the terms of subsets of B, hence the last claim.

So the consistent set nearest to given tables t_A in total squared distance has
v_B = sum_A weight(A, B) v_B(t_A) / sum_A weight(A, B) with weight 1/n(A - B): each B by itself, no solver.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Columns: TypeAlias = tuple[int, ...]
Table: TypeAlias = NDArray[np.float64]


def subsets(columns: Columns) -> Iterable[Columns]:
    """Every subset, the smaller ones first."""
    return (each for size in range(len(columns) + 1) for each in itertools.combinations(columns, size))


def cells(columns: Iterable[int], sizes: Sequence[int]) -> int:
    """n(columns)."""
    return math.prod(sizes[place] for place in columns)


def marginal(table: NDArray[Any], columns: Columns, kept: Columns) -> NDArray[Any]:
    """The table over `kept`, the other axes summed out."""
    gone = tuple(axis for axis, place in enumerate(columns) if place not in kept)
    return np.asarray(table.sum(axis=gone)) if gone else table


def centred(table: Table) -> Table:
    """The table without its mean along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


@dataclass(frozen=True, slots=True)
class Lattice:
    """The sets that were asked for, and every set inside one of them."""

    asked: tuple[Columns, ...]
    sizes: tuple[int, ...]
    closure: tuple[Columns, ...] = field(init=False)
    needs: Mapping[Columns, float] = field(init=False, compare=False)  # C_B of `measuring`

    def __post_init__(self) -> None:
        found: dict[Columns, float] = {}
        for asked in self.asked:
            whole = cells(asked, self.sizes)
            for part in subsets(asked):
                dimensions = math.prod(self.sizes[place] - 1 for place in part)
                found[part] = found.get(part, 0.0) + dimensions * cells(part, self.sizes) / whole
        object.__setattr__(self, "closure", tuple(sorted(found, key=lambda part: (len(part), part))))
        object.__setattr__(self, "needs", {part: found[part] for part in self.closure})

    def inside(self, columns: Columns) -> list[Columns]:
        """The sets of the closure that lie inside `columns`."""
        if 1 << len(columns) < len(self.closure):
            return [part for part in subsets(columns) if part in self.needs]
        held = set(columns)
        return [part for part in self.closure if held.issuperset(part)]

    def assembled(self, parts: Mapping[Columns, Table], columns: Columns) -> Table:
        """The table over `columns` that has these residuals."""
        table = np.zeros(tuple(self.sizes[place] for place in columns))
        whole = cells(columns, self.sizes)
        for part in subsets(columns):
            shape = tuple(self.sizes[place] if place in part else 1 for place in columns)
            table += parts[part].reshape(shape) * (cells(part, self.sizes) / whole)
        return table

    def tables(self, parts: Mapping[Columns, Table]) -> dict[Columns, Table]:
        """All asked tables."""
        return {each: self.assembled(parts, each) for each in self.asked}

    def nearest_consistent(self, tables: Mapping[Columns, Table], total: float) -> dict[Columns, Table]:
        """The consistent set with this total that is nearest to `tables` in total squared distance."""
        sums: dict[Columns, Table] = {}
        weights = dict.fromkeys(self.closure, 0.0)
        for columns in self.asked:
            whole = cells(columns, self.sizes)
            for part in subsets(columns):
                weight = cells(part, self.sizes) / whole
                term = marginal(tables[columns], columns, part) * weight
                sums[part] = sums[part] + term if part in sums else term
                weights[part] += weight
        parts = {part: centred(found / weights[part]) for part, found in sums.items()}
        return self.tables(parts | {(): np.asarray(total)})
