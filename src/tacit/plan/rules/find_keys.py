"""Rule: the keys of the cells. Known ones are all listed, even empty ones; unknown ones must be bought privately.

A key is known where the policy lists its values, or bounds it so that its values on the grid can be listed: one_of
columns, truth values, whole numbers between bounds, buckets such as floor(age / 10) * 10, parts of dates. WHERE narrows
them (`narrow_keys`).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.columns import KeyColumn, RawKey
from tacit.plan.draft import Draft, changed
from tacit.plan.levels import Levels
from tacit.plan.sources.narrow_keys import narrowed
from tacit.plan.values.translate import value_of
from tacit.plan.values.value import Number, Text, Truth, truth_as_number
from tacit.question import tree

MOST_CELLS = 100_000
_MOST_VALUES = 10_000


def find_keys(draft: Draft) -> Draft:
    """The keys as columns of the query, and all cells where they are known."""
    found = [_key(key, draft) for key in draft.question.keys]
    columns = narrowed([column for column, _ in found], draft.question.keys, draft.question.where)
    cells: tuple[tuple[RawKey, ...], ...] | None = None
    listed = [column.values for column in columns if column.values is not None]
    if draft.question.sets:
        return _with_levels(draft, columns, listed, found)
    if len(listed) == len(columns) and math.prod(len(values) for values in listed) <= MOST_CELLS:
        cells = tuple(itertools.product(*listed))
    return changed(draft, key_columns=columns, key_sql=tuple(sql for _, sql in found), cells=cells)


def _with_levels(
    draft: Draft,
    columns: tuple[KeyColumn, ...],
    listed: list[tuple[RawKey, ...]],
    found: list[tuple[KeyColumn, exp.Expr]],
) -> Draft:
    """ROLLUP and the like: every level's cells, from keys that are all known."""
    if len(listed) < len(columns):
        unknown = next(column.name for column in columns if column.values is None)
        raise QuestionError(
            f"ROLLUP, CUBE and GROUPING SETS need keys that are known, and {unknown!r} is not. "
            f"List its values in the policy (one_of = [...]), or group by buckets of it."
        )
    levels = Levels(tuple(len(values) for values in listed), draft.question.sets)
    if max(sum(levels.lengths), math.prod(levels.sizes)) > MOST_CELLS:
        raise QuestionError(f"The levels of this GROUP BY have more than {MOST_CELLS:,} cells. Use fewer keys.")
    cells = tuple(levels.cells(listed))
    return changed(draft, key_columns=columns, key_sql=tuple(sql for _, sql in found), cells=cells, levels=levels)


def _key(key: tree.Key, draft: Draft) -> tuple[KeyColumn, exp.Expr]:
    value = value_of(key.expression, draft.scope)
    if isinstance(value, Truth):
        value = truth_as_number(value)
    if isinstance(value, Text):
        return KeyColumn(key.name, "text", Fraction(1), _with_null(value.values, value.nullable)), value.sql
    if not isinstance(value, Number):
        raise QuestionError(f"The key {key.name!r} is always NULL. Leave it out of GROUP BY.")
    if value.rounded:
        raise QuestionError(
            f"The key {key.name!r} is a real number, of which hardly two are alike. "
            f"Group by buckets of it, e.g. floor(x / 10) * 10."
        )
    return KeyColumn(key.name, value.meaning, value.step, _with_null(_points(value), value.nullable)), value.sql


def _points(value: Number) -> tuple[int, ...] | None:
    if value.points is not None:
        return value.points
    if not value.stated or value.bounds.high - value.bounds.low >= _MOST_VALUES:
        return None
    return tuple(range(value.bounds.low, value.bounds.high + 1))


def _with_null(values: tuple[int, ...] | tuple[str, ...] | None, nullable: bool) -> tuple[RawKey, ...] | None:
    if values is None:
        return None
    return (*values, None) if nullable else tuple(values)
