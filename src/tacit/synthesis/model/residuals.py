"""Tables from residuals: what noisy tables say about any number of overlapping pairs, without a graphical model.

Algebra. A table t over the columns A is sum over B inside A of lift(v_B)/n(A - B), where v_B, the residual of B, is the
marginal over B without its mean along every axis, and n counts cells (`statistics.counts.marginals`: Hoeffding's
decomposition). Tables of one data set agree in every residual that they share.

Theorem 1 (least squares). Let y_A = t_A + noise, independent, of variance s_A**2 in every cell. The centred marginal of
y_A over B is v_B plus noise that is isotropic on centred tables with variance s_A**2 n(A - B): along each axis of B
centring is an orthogonal projection, and n(A - B) cells are added up for each of B. Residuals of different B are
orthogonal parts of y_A, so their noise is independent for normal noise. Hence the likelihood falls apart into one
problem for each B, and the least-squares estimate is
    v_B = sum_A w(A, B) v_B(y_A) / sum_A w(A, B),   w(A, B) = 1/(s_A**2 n(A - B)),
the tables' own residuals weighted by their precision. No system is solved, and no tree limits the choice of tables.

Theorem 2 (local non-negativity). Let d_B be the sum of the weights. The tables nearest to the estimates in
sum_B d_B |v_B - v^_B|**2/2 with no negative cell in any t_A have, with multipliers l_A >= 0,
    v_B = v^_B + (1/d_B) sum_A centred(marginal of l_A over B)/n(A - B),
and the dual's slope at l_A is -t_A(v): projected ascent, accelerated, reaches them; the step is 1/L with L the largest
eigenvalue of the linear map from l to t, found by power iteration (Beck and Teboulle 2009).

Shrinking. A pair's residual that is mostly noise is drawn towards that of independent columns, v_a v_b/N, by the factor
of James and Stein 1961: max(0, 1 - (k - 2)/(d |v^ - v_a v_b/N|**2)), k its dimension.

All of it is post-processing. Source: Mullins, Fuentes, Xiao, Kifer, Musco, Sheldon 2024 ("Efficient and private
marginal reconstruction with local non-negativity") for ReM and GReM-LNN; the derivation and the shrinking are argued
here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.statistics.counts.marginals import centred, subsets
from tacit.synthesis.model.fitting import nearest
from tacit.synthesis.model.tables import Columns, Table, beside, cells, shape_of, summed

_STEPS = 200
_POWER_STEPS = 12
_ENOUGH = 1e-4  # of the rows in negative cells


@dataclass(slots=True)
class Residuals:
    """What all tables so far say about each residual: sums of weighted residuals, and of weights."""

    sizes: tuple[int, ...]
    sums: dict[Columns, Table] = field(default_factory=dict)
    weights: dict[Columns, float] = field(default_factory=dict)

    def add(self, columns: Columns, noisy: Table, variance: float) -> None:
        """One more table, with noise of this variance in every cell."""
        for part in subsets(columns):
            weight = 1 / (variance * (cells(columns, self.sizes) / cells(part, self.sizes)))
            own = centred(np.asarray(summed(noisy, columns, part), dtype=np.float64)) * weight
            self.sums[part] = self.sums.get(part, 0.0) + own
            self.weights[part] = self.weights.get(part, 0.0) + weight

    @property
    def total(self) -> float:
        """The number of rows; at least 1."""
        return max(float(self.sums[()] / self.weights[()]), 1.0)

    def residual(self, part: Columns) -> Table:
        """The estimate."""
        return np.asarray(self.sums[part] / self.weights[part])

    def singles(self) -> list[Table]:
        """Every column by itself: counts that are not negative, with the same sum."""
        found = []
        for place, size in enumerate(self.sizes):
            table = self.residual((place,)) + self.total / size
            found.append(nearest(table, self.total, 1 / math.sqrt(self.weights[(place,)])))
        return found

    def shrunk(self, pair: Columns, singles: Sequence[Table]) -> Table:
        """The residual of a pair, drawn towards that of independent columns as far as it may be noise."""
        a, b = pair
        apart = np.multiply.outer(_off(singles[a]), _off(singles[b])) / self.total
        if pair not in self.sums:
            return apart
        moved = self.residual(pair) - apart
        degrees = (self.sizes[a] - 1) * (self.sizes[b] - 1)
        length = float((moved**2).sum()) * self.weights[pair]
        return np.asarray(apart + max(0.0, 1 - max(degrees - 2, 0) / max(length, 1e-30)) * moved)

    def pair(self, pair: Columns, singles: Sequence[Table]) -> Table:
        """A pair's table by itself, in counts: negative cells are cut off, and the sum is kept."""
        a, b = pair
        table = self.shrunk(pair, singles) + self._lifted(pair, _off(singles[a]), _off(singles[b]))
        kept = np.maximum(table, 0.0)
        return np.asarray(kept * (self.total / max(float(kept.sum()), 1e-30)))

    def _lifted(self, pair: Columns, first: Table, second: Table) -> Table:
        rows, across = (self.sizes[place] for place in pair)
        return first[:, None] / across + second[None, :] / rows + self.total / (rows * across)

    def together(self, pairs: Sequence[Columns]) -> dict[Columns, Table]:
        """The tables of these pairs, none with a negative cell (up to a small part of the rows), which agree."""
        singles = self.singles()
        wanted: dict[Columns, Table] = {(place,): _off(own) for place, own in enumerate(singles)}
        wanted |= {pair: self.shrunk(pair, singles) for pair in pairs}
        problem = _Problem(self.sizes, tuple(pairs), self.weights, wanted, self.total)
        return {pair: np.maximum(own, 0.0) for pair, own in problem.solved().items()}


def _off(table: Table) -> Table:
    return np.asarray(table - table.mean())


@dataclass(frozen=True, slots=True)
class _Problem:
    """Theorem 2, for pairs and the columns in them."""

    sizes: tuple[int, ...]
    pairs: tuple[Columns, ...]
    weights: Mapping[Columns, float]
    wanted: Mapping[Columns, Table]
    total: float

    def solved(self) -> dict[Columns, Table]:
        """The tables."""
        step = 1 / self._largest()
        held = {pair: np.zeros(shape_of(pair, self.sizes)) for pair in self.pairs}
        ahead, mixing = dict(held), 1.0
        tables = self._tables(self._pulled(held))
        for _ in range(_STEPS):
            tables = self._tables(self._pulled(ahead))
            if sum(float(np.minimum(own, 0.0).sum()) for own in tables.values()) >= -_ENOUGH * self.total * len(
                self.pairs
            ):
                return tables
            moved = {pair: np.maximum(ahead[pair] - step * tables[pair], 0.0) for pair in self.pairs}
            after = (1 + math.sqrt(1 + 4 * mixing**2)) / 2
            ahead = {pair: moved[pair] + (mixing - 1) / after * (moved[pair] - held[pair]) for pair in self.pairs}
            held, mixing = moved, after
        return tables

    def _pulled(self, multipliers: Mapping[Columns, Table]) -> dict[Columns, Table]:
        """The residuals that belong to multipliers."""
        pull = self._parts(multipliers)
        return {part: own + pull[part] / self.weights[part] for part, own in self.wanted.items()}

    def _parts(self, tables: Mapping[Columns, Table]) -> dict[Columns, Table]:
        """For every residual the sum over tables of its own, each over n(A - B)."""
        found = {part: np.zeros(shape_of(part, self.sizes)) for part in self.wanted}
        for pair, own in tables.items():
            for part in (pair, pair[:1], pair[1:]):
                found[part] += centred(summed(own, pair, part)) * (cells(part, self.sizes) / cells(pair, self.sizes))
        return found

    def _tables(self, residuals: Mapping[Columns, Table], total: float | None = None) -> dict[Columns, Table]:
        rows = self.total if total is None else total
        found = {}
        for pair in self.pairs:
            table = residuals[pair] + rows / cells(pair, self.sizes)
            for part in (pair[:1], pair[1:]):
                share = cells(part, self.sizes) / cells(pair, self.sizes)
                table = table + beside(residuals[part], part, pair) * share
            found[pair] = table
        return found

    def _largest(self) -> float:
        """The largest eigenvalue of the map from multipliers to tables, a little more than found."""
        generator = np.random.default_rng(0)
        vector = {pair: generator.standard_normal(shape_of(pair, self.sizes)) for pair in self.pairs}
        value = 1.0
        for _ in range(_POWER_STEPS):
            pull = self._parts(vector)
            turned = self._tables({part: own / self.weights[part] for part, own in pull.items()}, 0.0)
            value = math.sqrt(sum(float((own**2).sum()) for own in turned.values()))
            vector = {pair: own / max(value, 1e-30) for pair, own in turned.items()}
        return max(value * 1.1, 1e-30)
