"""A model as a small table with weights: what a question is computed on.

Over the columns that a question names, the model's table is exact: every cell is a point with the expected number of
rows as its weight. A bin is cut further at the constants of the question, so that no comparison with one of them falls
inside a piece; a piece holds a few points, spread evenly and symmetric to its middle, because a value inside a bin is
drawn evenly. Both ends of a piece are points too, without weight: between them lies every value that it can hold.

Where the columns have more cells than a table can hold, rows are drawn instead, with a public seed that is always the
same: equal questions must get equal answers.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.policy.dates import DAY, EPOCH
from tacit.statistics.source import Whole
from tacit.synthesis.cells import Field
from tacit.synthesis.drawn import read_codes, read_values, with_missing
from tacit.synthesis.model.tables import Columns, Table

if TYPE_CHECKING:
    from tacit.synthesis.synthetic import Synthetic

_MOST_POINTS: Final = 1 << 20
_EACH: Final = (64, 16, 8, 4, 2)  # points of a piece: as many as there is room for
_ROWS: Final = 1 << 19
SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Values of some columns, the expected number of rows at each, and which cells they lie in.

    `cells` is None where rows were drawn: then nothing is promised about answers.
    """

    values: dict[str, NDArray[Any]]
    weights: Table
    cells: Whole | None


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """The points of one column: each in a cell, with its share of the cell."""

    cells: Whole
    values: NDArray[Any]
    shares: Table


def points_of(synthetic: Synthetic, places: Columns, constants: Iterable[Any]) -> Points:
    """The points over these columns (ascending)."""
    release = synthetic._release
    fields = [release.fields[place] for place in places]
    listed = list(constants)
    for each in _EACH:
        axes = [axis_of(field, listed, each) for field in fields]
        if math.prod(len(axis.cells) for axis in axes) <= _MOST_POINTS:
            return _product(synthetic, places, fields, axes)
    drawn = synthetic.sample(_ROWS, seed=SEED)
    weights = np.full(_ROWS, release.fitted.total / _ROWS)
    return Points({field.name: drawn[field.name] for field in fields}, weights, None)


def _product(synthetic: Synthetic, places: Columns, fields: Sequence[Field], axes: Sequence[Axis]) -> Points:
    if not axes:
        return Points({}, np.array([synthetic._release.fitted.total]), np.zeros((1, 0), dtype=np.int64))
    grid = np.indices(tuple(len(axis.cells) for axis in axes)).reshape(len(axes), -1)
    cells = np.stack([axis.cells[own] for axis, own in zip(axes, grid, strict=True)], axis=1)
    weights = synthetic._table(places)[tuple(cells.T)] * synthetic._release.fitted.total
    values = {}
    for field, axis, own in zip(fields, axes, grid, strict=True):
        weights *= axis.shares[own]
        values[field.name] = axis.values[own]
    return Points(values, weights, cells)


def axis_of(field: Field, constants: Sequence[Any], many: int) -> Axis:
    """The points of a column, cut at constants, `many` in each piece."""
    if field.values is not None:
        cells = np.arange(field.size, dtype=np.int64)
        return Axis(cells, read_values(field, cells), np.ones(field.size))
    cuts = {cut for constant in constants for code in (code_of(field, constant),) if code for cut in code}
    found: list[tuple[int, int, float]] = []
    for cell, (low, high) in enumerate(pieces_of(field)):
        inner = sorted({low, high, *(cut for cut in cuts if low < cut < high)})
        for start, end in itertools.pairwise(inner):
            found += [(cell, code, share * (end - start) / (high - low)) for code, share in _spread(start, end, many)]
    if field.nullable:
        found.append((field.known, field.edges[0], 1.0))
    codes = np.array([code for _, code, _ in found], dtype=np.int64)
    cells = np.array([cell for cell, _, _ in found], dtype=np.int64)
    return Axis(cells, with_missing(field, read_codes(field, codes), cells), np.array([share for _, _, share in found]))


def pieces_of(field: Field) -> list[tuple[int, int]]:
    """The codes of each bin: from the first to one beyond the last."""
    ends = [*field.edges[1:-1], field.edges[-1] + 1]
    return list(zip(field.edges[:-1], ends, strict=True))


def _spread(start: int, end: int, many: int) -> list[tuple[int, float]]:
    """Codes of a piece with their shares: all of them, or some that are symmetric to the middle and the two ends."""
    width = end - start
    if width <= many:
        return [(start + each, 1 / width) for each in range(width)]
    first = [(2 * each + 1) * width // (2 * many) for each in range(many // 2)]
    inner = [*first, *(width - 1 - each for each in reversed(first))]
    return [(start, 0.0), *((start + each, 1 / many) for each in inner), (end - 1, 0.0)]


def code_of(field: Field, constant: Any) -> tuple[int, ...] | None:
    """Where a constant cuts a binned column: before it and behind it. None where it is of another kind."""
    if field.kind in ("date", "timestamp"):
        moment = _moment(constant)
        if moment is None:
            return None
        exact = Fraction((moment - EPOCH) // datetime.timedelta(microseconds=1))
        exact = exact / DAY if field.kind == "date" else exact
    elif isinstance(constant, (int, Fraction)) and not isinstance(constant, bool):
        exact = Fraction(constant) / field.step
    else:
        return None
    low = math.ceil(exact)
    return (low, math.floor(exact) + 1) if abs(exact) < 1 << 62 else None


def _moment(constant: Any) -> datetime.datetime | None:
    if isinstance(constant, str):
        try:
            constant = datetime.datetime.fromisoformat(constant)
        except ValueError:
            return None
    if isinstance(constant, datetime.datetime):
        return constant.replace(tzinfo=None)
    if isinstance(constant, datetime.date):
        return datetime.datetime(constant.year, constant.month, constant.day)
    return None
