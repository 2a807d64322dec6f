"""UNION ALL: the columns of several SELECTs inside, one below the other on a common grid; rows of a unit add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic
from tacit.plan.values.scope import UNIT, Opened, quoted
from tacit.plan.values.value import Number, Text, Value, described, widened
from tacit.plan.work import union_of_rows


def union_of(parts: Sequence[Opened]) -> Opened:
    """All rows of all parts. The names are those of the first."""
    first = parts[0]
    width = len(first.columns)
    if any(len(part.columns) != width for part in parts):
        raise QuestionError("The SELECTs of a UNION ALL must have the same number of columns.")
    if any(part.rows is None for part in parts) or any(part.kind != first.kind for part in parts):
        raise QuestionError("The SELECTs of a UNION ALL must all read private tables with the same kind of unit.")
    if any((part.unit is None) != (first.unit is None) for part in parts):
        raise QuestionError("The unit's column stands in some SELECTs of the UNION ALL and not in all.")
    rows = sum(part.rows for part in parts if part.rows is not None)
    columns = list(zip(*(part.columns.values() for part in parts), strict=True))
    common = [_one_kind(list(column)) for column in columns]
    names = list(first.columns)
    selects: list[exp.Query] = []
    for place, part in enumerate(parts):
        selected: list[exp.Expr] = [exp.column(UNIT)]
        selected += [
            exp.alias_(values[place].sql.copy(), quoted(name)) for name, (_, values) in zip(names, common, strict=True)
        ]
        source = part.query.subquery("tacit_part", copy=False)
        selects.append(exp.select(*selected, copy=False).from_(source, copy=False))
    query: exp.Query = reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), selects)
    found = {name: replace(value, sql=exp.column(quoted(name))) for name, (value, _) in zip(names, common, strict=True)}
    sources = tuple(dict.fromkeys(source for part in parts for source in part.sources))
    work = union_of_rows([part.work for part in parts], rows)
    return Opened(query, found, rows, first.unit, first.kind, sources, work)


def _one_kind(values: list[Value]) -> tuple[Value, list[Value]]:
    """A column over all parts together, and the column of each part on the common grid."""
    nullable = any(value.nullable for value in values)
    if all(isinstance(value, Text) for value in values):
        texts = [value for value in values if isinstance(value, Text)]
        known = (
            None
            if any(text.values is None for text in texts)
            else tuple(dict.fromkeys(item for text in texts for item in text.values or ()))
        )
        return Text(texts[0].sql, nullable, known, longest=max(text.length for text in texts)), list(values)
    numbers = [value for value in values if isinstance(value, Number)]
    if len(numbers) != len(values) or len({number.meaning for number in numbers}) > 1:
        kinds = " and ".join(dict.fromkeys(described(value) for value in values))
        raise QuestionError(f"A column of a UNION ALL must be of one kind in all its SELECTs. Found {kinds}.")
    fine = reduce(lambda left, right: arithmetic.common(left, right)[0], numbers)
    gridded = [arithmetic.common(number, fine)[0] for number in numbers]
    bounds = reduce(lambda left, right: left.hull(right), (number.bounds for number in gridded))
    wide = any(number.wide for number in gridded)
    if wide:
        gridded = [replace(number, sql=widened(number), wide=True) for number in gridded]
    points = None
    if all(number.points is not None for number in gridded):
        points = tuple(sorted({point for number in gridded for point in number.points or ()}))
    whole = replace(
        gridded[0],
        bounds=bounds,
        nullable=nullable,
        rounded=any(number.rounded for number in gridded),
        stated=all(number.stated for number in gridded),
        wide=wide,
        points=points,
    )
    return whole, list(gridded)
