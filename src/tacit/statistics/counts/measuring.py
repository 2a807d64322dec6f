"""What to measure so that a set of tables comes out with the least noise: planned from public facts alone.

Setting. One unit has r rows, added or removed; each adds 1 to one cell of every table. A strategy measures parts, each
an integer vector with a whole weight w, all joined to one vector under one mechanism's equal noise of variance V:
  * a table over A, w times its counts: a row moves it by w in L1 and by w in L2;
  * the residual of B, w times X t for the table t over B, where X multiplies along each axis of size d by (d I - J), J
    all ones. A row moves it by w prod 2(d - 1) in L1, and by w prod sqrt(d (d - 1)) in L2, as a column of d I - J holds
    d - 1 once and -1 d - 1 times. X t is prod(d) times `centred(t)`, so everything is whole until the noise is added.
Rows of one unit add up, so with r rows the L1 and L2 norms of the joined vector are r times those of one row, at most.

Precision. Let u_B be the precision (inverse variance, per dimension) with which a strategy knows the residual v_B of
the lattice (see `marginals`): a table over A gives w**2/(V n(A - B)) for every B inside A, for its v_B is a projection
of a sum of n(A - B) cells; the residual of B gives w**2 prod(d**2)/V. Noises are uncorrelated, so precisions add up,
and the best unbiased linear estimate is the mean weighted by them. The asked tables' expected squared error in all is
    E = sum_B C_B/u_B,  C_B = prod_B(d - 1) * (sum over asked A containing B of 1/n(A - B)),
since the residual of B has prod(d - 1) dimensions and stands in the table over A with squared length |v_B|**2/n(A - B).

Gaussian noise: the L2 price of u_B is p_B u_B with p_B = prod (d - 1)/d. Minimising sum C_B/u_B for a given sum p_B u_B
gives u_B proportional to sqrt(C_B/p_B) (Cauchy and Schwarz), and no linear Gaussian mechanism does better for a set of
tables (Xiao, He, Wang, Ding, Kifer 2023, "ResidualPlanner"). Weights are rounded to whole numbers of at least 32, which
costs less than a thousandth.

Laplace noise: residuals cost too much in L1. Tables over unions of the asked sets pay one share for several of them, at
the price of adding up more cells; which unions is the covering question of Qardaji, Yang, Li 2014 ("PriView"). Covers
of growing size are tried, from the asked tables to the joint table of all columns, each with equal weights and with
weights improved by a few steps of a fixed-point rule, and the one with the least E is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.statistics.counts.counting_noise import Noise, least_noise, variance_of
from tacit.statistics.counts.covers import covers
from tacit.statistics.counts.marginals import Columns, Lattice, Table, cells, centred, marginal, subsets
from tacit.statistics.source import Whole

_LEAST_WEIGHT = 32
_STEPS = 25


@dataclass(frozen=True, slots=True)
class Part:
    """One measured part: a table, or its residual, times a whole weight."""

    columns: Columns
    residual: bool
    weight: int

    def l1(self, sizes: Sequence[int]) -> int:
        """How far one row moves it in L1."""
        return self.weight * (math.prod(2 * (sizes[place] - 1) for place in self.columns) if self.residual else 1)

    def squared_l2(self, sizes: Sequence[int]) -> int:
        """How far one row moves it in L2, squared."""
        once = math.prod(sizes[place] * (sizes[place] - 1) for place in self.columns) if self.residual else 1
        return self.weight**2 * once

    def exact(self, table: Whole) -> NDArray[np.object_] | Whole:
        """The vector to be measured, from the exact table over its columns."""
        scale = self.weight * (math.prod(table.shape) if self.residual else 1)
        # a word holds it unless there are more rows than anyone has; then Python's own integers do
        moved = table if int(table.sum()) * scale < 1 << 61 else table.astype(object)
        if self.residual:
            for axis, size in enumerate(table.shape):
                moved = size * moved - moved.sum(axis=axis, keepdims=True)
        return np.asarray(self.weight * moved).reshape(-1)


@dataclass(frozen=True, slots=True)
class Strategy:
    """What is measured, and under which noise."""

    name: str
    lattice: Lattice
    parts: tuple[Part, ...]
    noise: Noise

    def precisions(self) -> dict[Columns, float]:
        """u_B for every B of the lattice."""
        return _precisions(self.lattice, self.parts, variance_of(self.noise))

    def expected(self) -> float:
        """E: the expected total squared error of the asked tables, estimated by `residuals`."""
        known = self.precisions()
        return sum(need / known[part] for part, need in self.lattice.needs.items() if need)

    def cell_variance(self, columns: Columns) -> float:
        """The variance of a cell of the asked table, the same for each of them."""
        known, sizes = self.precisions(), self.lattice.sizes
        found = 0.0
        for part in subsets(columns):
            share = math.prod((sizes[place] - 1) / sizes[place] for place in part)
            rest = cells(columns, sizes) / cells(part, sizes)
            found += share / known[part] / rest**2 if share else 0.0
        return found

    def vector(self, table: Callable[[Columns], Whole]) -> Whole:
        """The exact vector that gets the noise."""
        pieces = [part.exact(table(part.columns)) for part in self.parts]
        wide = any(piece.dtype == object for piece in pieces)
        joined = np.concatenate([piece.astype(object) for piece in pieces] if wide else pieces)
        # clamping moves two numbers no further apart
        return np.asarray(np.clip(joined, -(1 << 62), 1 << 62), dtype=np.int64)

    def residuals(self, noisy: Whole) -> dict[Columns, Table]:
        """The best unbiased linear estimate of every v_B from the released vector."""
        sizes = self.lattice.sizes
        sums: dict[Columns, Table] = {}
        weights = dict.fromkeys(self.lattice.closure, 0.0)
        start = 0
        for part in self.parts:
            shape = tuple(sizes[place] for place in part.columns)
            whole = math.prod(shape)
            measured = noisy[start : start + whole].astype(np.float64).reshape(shape) / part.weight
            start += whole
            if part.residual:
                _add(sums, weights, part.columns, measured / whole, 1.0)
                continue
            for inner in self.lattice.inside(part.columns):
                weight = part.weight**2 * cells(inner, sizes) / whole
                _add(sums, weights, inner, marginal(measured, part.columns, inner), weight)
        nothing = {each: np.zeros(tuple(sizes[place] for place in each)) for each in self.lattice.closure}
        return nothing | {part: centred(total / weights[part]) for part, total in sums.items()}


def _add(sums: dict[Columns, Table], weights: dict[Columns, float], part: Columns, term: Table, weight: float) -> None:
    sums[part] = sums[part] + weight * term if part in sums else weight * term
    weights[part] += weight


def asked_tables(lattice: Lattice, rows: int, epsilon: Fraction, delta: Fraction) -> Strategy:
    """Every asked table by itself, under equal noise."""
    return _strategy("asked", lattice, [Part(each, False, 1) for each in lattice.asked], rows, epsilon, delta)


def joint_table(lattice: Lattice, rows: int, epsilon: Fraction, delta: Fraction) -> Strategy:
    """The table of all columns together."""
    whole = tuple(range(len(lattice.sizes)))
    return _strategy("joint", lattice, [Part(whole, False, 1)], rows, epsilon, delta)


def residual_tables(lattice: Lattice, rows: int, epsilon: Fraction, delta: Fraction) -> Strategy:
    """The residual of every set inside an asked one, with the weights that are best for Gaussian noise."""
    ideal: dict[Columns, float] = {}
    for part, need in lattice.needs.items():
        if need:
            cost = math.prod((lattice.sizes[place] - 1) / lattice.sizes[place] for place in part)
            ideal[part] = (need / cost) ** 0.25 / cells(part, lattice.sizes)
    least = min(ideal.values())
    parts = [Part(part, True, round(_LEAST_WEIGHT * weight / least)) for part, weight in ideal.items()]
    return _strategy("residuals", lattice, parts, rows, epsilon, delta)


def best(lattice: Lattice, rows: int, epsilon: Fraction, delta: Fraction) -> Strategy:
    """The strategy with the least expected total squared error."""
    tried = [asked_tables(lattice, rows, epsilon, delta)]
    if delta > 0:
        tried.append(residual_tables(lattice, rows, epsilon, delta))
    for blocks in covers(lattice.asked, lattice.sizes):
        for weights in ([1] * len(blocks), _improved(lattice, blocks)):
            parts = [Part(block, False, weight) for block, weight in zip(blocks, weights, strict=True)]
            tried.append(_strategy(_cover_name(blocks, lattice), lattice, parts, rows, epsilon, delta))
    return min(tried, key=lambda each: each.expected())  # the first of equal ones


def _cover_name(blocks: Sequence[Columns], lattice: Lattice) -> str:
    if set(blocks) <= set(lattice.asked):
        return "asked"
    return "joint" if len(blocks) == 1 and len(blocks[0]) == len(lattice.sizes) else "unions"


def _strategy(
    name: str, lattice: Lattice, parts: Sequence[Part], rows: int, epsilon: Fraction, delta: Fraction
) -> Strategy:
    l1 = rows * sum(part.l1(lattice.sizes) for part in parts)
    squared_l2 = rows**2 * sum(part.squared_l2(lattice.sizes) for part in parts)
    size = sum(cells(part.columns, lattice.sizes) for part in parts)
    return Strategy(name, lattice, tuple(parts), least_noise(l1, squared_l2, size, epsilon, delta))


def _precisions(lattice: Lattice, parts: Sequence[Part], variance: float) -> dict[Columns, float]:
    sizes = lattice.sizes
    found = dict.fromkeys(lattice.closure, 0.0)
    tables = [part for part in parts if not part.residual]
    if tables:
        inside = _inside(lattice.closure, [part.columns for part in tables])
        whole = np.array([part.weight**2 / cells(part.columns, sizes) for part in tables])
        own = np.array([float(cells(each, sizes)) for each in lattice.closure])
        found = dict(zip(lattice.closure, (own * (inside @ whole) / variance).tolist(), strict=True))
    for part in parts:
        if part.residual:
            found[part.columns] += part.weight**2 * float(cells(part.columns, sizes)) ** 2 / variance
    return found


def _inside(parts: Sequence[Columns], blocks: Sequence[Columns]) -> NDArray[np.float64]:
    """1 where the part (row) lies inside the block (column)."""
    width = 1 + max((place for block in blocks for place in block), default=0)
    held = np.zeros((len(blocks), width))
    for row, block in enumerate(blocks):
        held[row, list(block)] = 1
    wanted = np.zeros((len(parts), width))
    for row, part in enumerate(parts):
        wanted[row, list(part)] = 1
    return np.asarray(wanted @ held.T == wanted.sum(axis=1)[:, None], dtype=np.float64)


def _improved(lattice: Lattice, blocks: Sequence[Columns]) -> list[int]:
    """Whole weights for tables under Laplace noise that make (sum of weights)**2 * E small: see the module.

    With one table for each asked set and nothing shared, E is sum_A c_A/w_A**2 and the best weights are c_A**(1/3): one
    step of the rule. In general it is repeated, and the best weights seen are kept.
    """
    sizes = lattice.sizes
    inside = _inside(lattice.closure, blocks)
    per_cell = inside / np.array([float(cells(block, sizes)) for block in blocks])
    own = np.array([float(cells(each, sizes)) for each in lattice.closure])[:, None] * per_cell
    need = np.array(list(lattice.needs.values()))
    weights = best_seen = np.full(len(blocks), 1.0 / len(blocks))
    least = math.inf
    for _ in range(_STEPS):
        known = own @ weights**2
        error = float(np.sum(need / known))
        if error < least:
            least, best_seen = error, weights
        moved = np.cbrt(weights**4 * (own.T @ (need / known**2)))  # theta**2 times theta * |dE/dtheta|, up to a factor
        weights = moved / moved.sum()
    scaled = _LEAST_WEIGHT * best_seen / best_seen.min()
    return [round(each) for each in scaled]


def tables_of(strategy: Strategy, noisy: Whole) -> Mapping[Columns, Table]:
    """The asked tables, consistent and unbiased: real numbers, some of them below zero."""
    return strategy.lattice.tables(strategy.residuals(noisy))
