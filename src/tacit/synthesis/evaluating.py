"""`evaluate`: how far a synthetic table is off, measured privately on rows, for a price.

Theorem. Let p be the model's shares of the cells of a table, in whole numbers P_j of 1/G that add up to G, and c the
exact counts of n rows. Then D = sum_j |G c_j - n P_j| is 2 G n times the total variation between the rows' shares and
the model's. One more row in cell j moves G c_j by G and every n P_i by P_i, so D by at most
(G - P_j) + sum_{i != j} P_i = 2 (G - P_j) <= 2 G. A unit with at most r rows moves D by at most 2 G r, the sum of D
over T tables by at most 2 G r T, and the largest of them by at most 2 G r. Sum, largest and n (moved by r at most) get
discrete Laplace noise in shares of epsilon that add up to epsilon.

Intervals. Sum, largest and n each lie within the error of their Laplace noise with probability 1 - (1 - level)/2; both
ends of a quotient follow, and hold together with the stated probability by the union bound. Shares are rounded to 1/G,
which moves a total variation by at most cells/(2 G); intervals are widened by that.

Neighbours: one unit's rows, added or removed. Assumptions: the model is public (it was released), so are the tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np

from tacit import parameters
from tacit.curator import Price
from tacit.errors import QuestionError
from tacit.loss import events
from tacit.mechanisms import Laplace
from tacit.noise import BitSource
from tacit.parameters import Number
from tacit.statistics.finding import Content, Finding, column
from tacit.statistics.source import Opened, Source, Whole, source_of
from tacit.synthesis.cells import Field, Layout, layout_of
from tacit.synthesis.counting import Tables
from tacit.synthesis.model.tables import Columns, Table
from tacit.synthesis.synthetic import Synthetic

GRID: Final = 1 << 26
_SHARES: Final = (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))  # of epsilon: for the sum, the largest, the rows
_MOST_TABLES: Final = 5_000
_MOST_CELLS: Final = 1 << 20


def evaluate(
    synthetic: Synthetic,
    data: Any,
    *,
    epsilon: Number,
    tables: Any = 2,
    level: Number = "0.95",
    bounds: Any = None,
    values: Any = None,
    analyst: str | None = None,
) -> Finding:
    """How far a model's tables are from those of private rows: mean and largest total variation, with intervals.

    data: rows of a curator with the model's columns, or arrays with `bounds` and `values`. tables: a number of columns
    (2: all pairs), or a list of sets of columns. A total variation is the share of rows that lie in wrong cells.

    >>> from tacit import synthesis
    >>> people, facts = {"sex": ["F", "M", "F"]}, {"sex": ["F", "M"]}
    >>> twin = synthesis.independent(people, values=facts, epsilon=1)
    >>> evaluate(twin, people, values=facts, epsilon=1)["over_tables"]
    ('mean', 'largest')
    """
    source = source_of(data, bounds=bounds, values=values)
    exact_epsilon = parameters.price("epsilon", epsilon)
    layout = layout_like(source, synthetic, values)
    wanted = _tables(tables, layout, synthetic)
    inside = float(parameters.level("level", level))
    unit = source.rows_per_unit
    noises = noises_for(exact_epsilon, unit, len(wanted))
    models = [on_grid(_model_table(synthetic, layout, columns)) for columns in wanted]
    price = Price(events.Composed(tuple(each.event for each in noises)), exact_epsilon)

    def content(opened: Opened, bits: BitSource) -> Content:
        exact = Tables(opened, layout)
        exact.prepare(wanted)
        counts = [exact.table(columns) for columns in wanted]
        found = distances(counts, models)
        rows = int(counts[0].sum())
        noisy = [
            int(np.asarray(noise.release(np.array([value]), bits=bits))[0])
            for noise, value in zip(noises, (sum(found), max(found), rows), strict=True)
        ]
        return _content(noisy, noises, len(wanted), max(each.size for each in models), inside)

    asked = {
        "study": "synthesis evaluation",
        "model": synthetic._finding.to_bytes().decode(),
        "tables": [list(columns) for columns in wanted],
    }
    return source.release(asked, price, content, level=level, analyst=analyst)


def layout_like(source: Source, synthetic: Synthetic, values: Any) -> Layout:
    """The rows' columns cut as the model's are; refused where they cannot be."""
    fields = {each.name.casefold(): each for each in synthetic._release.fields}
    cut = {
        each.name: [own.value(edge) for edge in own.edges]
        for each in source.variables
        for own in (fields.get(each.name.casefold()),)
        if own is not None and own.values is None
    }
    kept = [each.name for each in source.variables if getattr(fields.get(each.name.casefold()), "nullable", False)]
    layout = layout_of(source, cut, values, nulls=kept)
    for each in layout.fields:
        own = fields.get(each.name.casefold())
        if own is None or _cut(own) != _cut(each):
            names = ", ".join(synthetic.columns)
            hint = "Evaluate with rows that have the model's columns, with the same public facts."
            raise QuestionError(f"Column {each.name!r} is not one of the model's, or is cut otherwise: {names}. {hint}")
    return layout


def _cut(field: Field) -> tuple[Any, ...]:
    return field.values, field.edges, field.step, field.nullable


def noises_for(epsilon: Fraction, rows_per_unit: int, tables: int) -> tuple[Laplace, Laplace, Laplace]:
    """Noise for the sum of all distances, for the largest, and for the number of rows."""
    moved = (2 * GRID * rows_per_unit * tables, 2 * GRID * rows_per_unit, rows_per_unit)
    first, second, third = (
        Laplace(sensitivity=each, epsilon=epsilon * share) for each, share in zip(moved, _SHARES, strict=True)
    )
    return first, second, third


def on_grid(shares: Table) -> Whole:
    """Shares as whole numbers of 1/GRID that add up to GRID: sums are rounded, and differences taken."""
    rising = np.cumsum(np.maximum(shares.reshape(-1), 0.0))
    ends = np.rint(rising * (GRID / rising[-1])).astype(np.int64)
    return np.asarray(np.diff(ends, prepend=0), dtype=np.int64).reshape(shares.shape)


def distances(counts: Sequence[Whole], models: Sequence[Whole]) -> list[int]:
    """For each table sum_j |G c_j - n P_j|."""
    return [int(np.abs(GRID * own - int(own.sum()) * model).sum()) for own, model in zip(counts, models, strict=True)]


def _model_table(synthetic: Synthetic, layout: Layout, columns: Columns) -> Table:
    return synthetic.probabilities(*(layout.names[place] for place in columns))


def _tables(tables: Any, layout: Layout, synthetic: Synthetic) -> list[Columns]:
    names = [each.casefold() for each in layout.names]
    if isinstance(tables, int) and not isinstance(tables, bool):
        degree = min(parameters.whole("tables", tables, least=1), len(names))
        found: list[Columns] = list(itertools.combinations(range(len(names)), degree))
    elif isinstance(tables, str) or not hasattr(tables, "__iter__"):
        raise parameters.refuse("tables", "a number of columns, or a list of sets of columns", tables)
    else:
        found = []
        for each in tables:
            listed = [each] if isinstance(each, str) else list(each)
            for name in listed:
                if str(name).casefold() not in names:
                    raise parameters.refuse("tables", f"sets of columns: {', '.join(layout.names)}", name)
            found.append(tuple(sorted({names.index(str(name).casefold()) for name in listed})))
    if not found or () in found or len(found) > _MOST_TABLES:
        raise parameters.refuse("tables", f"1 to {_MOST_TABLES:,} sets of columns", len(found))
    for columns in found:
        if np.prod([float(layout.sizes[place]) for place in columns]) > _MOST_CELLS:
            raise parameters.refuse("tables", f"such that each has at most {_MOST_CELLS:,} cells", columns)
    return found


def _content(
    noisy: Sequence[int], noises: tuple[Laplace, Laplace, Laplace], tables: int, cells: int, level: float
) -> Content:
    each = (1 + Fraction(str(level))) / 2  # the two parts of a quotient share the chance of a miss
    reaches = [float(noise.error(each)) for noise in noises]
    least, most = max(noisy[2] - reaches[2], 1.0), max(noisy[2] + reaches[2], 1.0)
    rounding = cells / (2 * GRID)
    lines = []
    for value, reach, many in ((noisy[0], reaches[0], tables), (noisy[1], reaches[1], 1)):
        scale = 2 * GRID * many
        middle = min(max(value / scale / max(noisy[2], 1), 0.0), 1.0)
        low = max((value - reach) / scale, 0.0) / most - rounding
        high = max((value + reach) / scale, 0.0) / least + rounding
        lines.append((middle, min(max(low, 0.0), middle), max(min(high, 1.0), middle)))
    note = (
        f"Total variation between the model and the rows over {tables:,} tables: the share of rows in wrong cells. "
        "Intervals are for what the noise of this measurement did."
    )
    figures = column("total_variation", *(np.array(part) for part in zip(*lines, strict=True)))
    return Content("How far synthetic data is off", (column("over_tables", ["mean", "largest"]), figures), (note,))
