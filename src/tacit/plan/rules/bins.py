"""Rule: histogram, a count for every bin of every cell, as one measure.

Theorem. The bins of a cell are disjoint, and a row lies in one of them, or in none where the value is NULL. So a row
adds 1 to one number of the vector over cells and bins, and the r rows of a unit change it by at most r in L1 (in L2 and
Linf as well: all may lie in one bin), in at most r places. Bins are public: the values that the policy lists, truth
values, the whole numbers between narrow bounds, or between the ends that the question names; all of them are shown,
even empty ones. Beyond the last end the bin up to the column's own upper bound follows, where that is greater.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.answers.formulas import Formula
from tacit.plan.answers.nested import MapFormula
from tacit.plan.columns import KeyColumn, RawKey, read_key
from tacit.plan.draft import Binned, Draft, Part, changed
from tacit.plan.plan import Bins, Query
from tacit.plan.rules.build_query import from_sources, key_column, measure_column
from tacit.plan.rules.find_keys import MOST_CELLS
from tacit.plan.rules.measure import HISTOGRAM, aggregates_of
from tacit.plan.values.hints import bound_here
from tacit.plan.values.translate import number_of, value_of
from tacit.plan.values.value import Number, Text, Truth, truth_as_number
from tacit.question import tree

BIN = "tacit_bin"
_MOST_BINS = 1_000
_ADVICE = (
    "List its values in the policy (one_of = [...]), or name the ends of the bins: histogram(x, [10, 20, 50]). "
    "Bins that the data decide would tell about single rows."
)


def bins(draft: Draft) -> Draft:
    """The histograms as measures, each with a query of its own."""
    wanted = [each for each in aggregates_of(draft.question) if each.kind == HISTOGRAM]
    if not wanted:
        return draft
    if draft.levels is not None:
        raise QuestionError("histogram does not go with ROLLUP, CUBE or GROUPING SETS: ask for each set of keys apart.")
    parts = list(draft.parts)
    formulas: dict[tree.Aggregate, Formula] = dict(draft.formulas)
    for block, aggregate in enumerate(wanted, start=len(draft.inner) + 1):
        binned = _binned(aggregate, draft)
        cells = 1 if draft.cells is None else max(len(draft.cells), 1)
        if len(binned.values) > _MOST_BINS or cells * len(binned.values) > MOST_CELLS:
            raise QuestionError(
                f"This histogram has {len(binned.values):,} bins in each of {cells:,} cells. At most {_MOST_BINS:,} "
                f"bins, and {MOST_CELLS:,} in all cells, are understood: name fewer ends."
            )
        formulas[aggregate] = MapFormula(len(parts), binned.labels)
        counted = exp.Count(this=exp.Star())
        reason = "each row that has a value adds 1 to one bin"
        # not additive: other rules do not know bins in their sums over cells
        parts.append(
            Part(
                "histogram",
                counted,
                Fraction(0),
                Fraction(1),
                1,
                reason,
                typical=Fraction(1, len(binned.values)),
                additive=False,
                block=block,
                bins=binned,
            )
        )
    return changed(draft, parts=tuple(parts), formulas=formulas)


def _binned(aggregate: tree.Aggregate, draft: Draft) -> Binned:
    assert aggregate.argument is not None
    if isinstance(aggregate.second, tree.Several):
        ends = [each.value for each in aggregate.second.items if isinstance(each, tree.Literal)]
        return _between(aggregate.argument, ends, draft)
    value = value_of(aggregate.argument, draft.scope)
    if isinstance(value, Truth):
        value = truth_as_number(value)
    known: tuple[RawKey, ...] | None = None
    column = KeyColumn("", "text", Fraction(1), None)
    if isinstance(value, Text):
        known = value.values
    elif isinstance(value, Number):
        column = KeyColumn("", value.meaning, value.step, None)
        known = _points(value)
    if not known:
        raise QuestionError(f"The bins of a histogram must be known, and the values of this column are not. {_ADVICE}")
    kind, labels = _read(column, known)
    return Binned(value.sql, value.sql if value.nullable else None, known, labels, kind)


def _points(value: Number) -> tuple[int, ...] | None:
    if value.points is not None:
        return value.points
    if not value.stated or value.rounded or value.bounds.high - value.bounds.low >= _MOST_BINS:
        return None
    return tuple(range(value.bounds.low, value.bounds.high + 1))


def _between(argument: tree.Scalar, ends: list[tree.Constant], draft: Draft) -> Binned:
    """A row's bin is the number of the first end that is not below it; DuckDB's bins hold their upper ends."""
    number = number_of(argument, draft.scope, HISTOGRAM)
    if not number.stated:
        raise QuestionError(
            "histogram needs a column with bounds, because the last bin ends there. State them in the policy: "
            f"between = [low, high]. Or bound it here: {bound_here(0, 100)}."
        )
    if not all(_fits(number.meaning, end) for end in ends):
        found = ", ".join(dict.fromkeys(type(end).__name__ for end in ends))
        raise QuestionError(f"The ends of a histogram's bins are of its column's kind, {number.meaning}; got {found}.")
    branches = tuple(
        tree.Branch(tree.Compare("<=", argument, tree.Literal(end)), tree.Literal(place))
        for place, end in enumerate(ends)
    )
    place = value_of(tree.Case(branches, tree.Literal(len(ends))), draft.scope)
    assert isinstance(place, Number)
    column = KeyColumn("", number.meaning, number.step, None)
    highest = read_key(column, number.bounds.high)
    last: Any = ends[-1]
    if highest > last:
        ends = [*ends, highest]
    kind, labels = _labels(column, ends)
    return Binned(place.sql, number.sql if number.nullable else None, tuple(range(len(ends))), labels, kind)


def _fits(meaning: str, end: tree.Constant) -> bool:
    if meaning == "timestamp":
        return isinstance(end, datetime.datetime)
    if meaning == "date":
        return isinstance(end, datetime.date) and not isinstance(end, datetime.datetime)
    return meaning == "number" and isinstance(end, (int, Fraction)) and not isinstance(end, bool)


def _read(column: KeyColumn, values: tuple[RawKey, ...]) -> tuple[str, tuple[Any, ...]]:
    return _labels(column, [read_key(column, value) for value in values])


def _labels(column: KeyColumn, values: list[Any]) -> tuple[str, tuple[Any, ...]]:
    """The names of the bins, and their kind."""
    if column.meaning != "number":
        return column.meaning, tuple(values)
    if column.step.denominator == 1 and all(Fraction(value).denominator == 1 for value in values):
        return "integer", tuple(map(int, values))
    labels = tuple(map(float, values))
    if len(set(labels)) < len(labels):
        raise QuestionError("Two ends of bins are so near to each other that they read alike. Name fewer ends.")
    return "real", labels


def bins_of(part: Part, place: int, draft: Draft) -> Bins | None:
    """The query of a histogram: keys, bin, number of rows."""
    binned = part.bins
    if binned is None:
        return None
    keys = tuple(key_column(number) for number in range(len(draft.key_sql)))
    known = []
    if binned.counted is not None:
        known = [exp.not_(exp.Is(this=exp.paren(binned.counted.copy()), expression=exp.Null()))]
    query = from_sources(draft, list(_selected(binned, keys, place, draft)), known)
    query = query.group_by(*(exp.Literal.number(number + 1) for number in range(len(keys) + 1)), copy=False)
    return Bins(Query(query, (*keys, BIN), (measure_column(place),), None), binned.values)


def _selected(binned: Binned, keys: tuple[str, ...], place: int, draft: Draft) -> Iterator[exp.Expr]:
    for sql, name in zip(draft.key_sql, keys, strict=True):
        yield exp.alias_(sql.copy(), name, copy=False)
    yield exp.alias_(binned.sql.copy(), BIN, copy=False)
    yield exp.alias_(exp.Count(this=exp.Star()), measure_column(place), copy=False)
