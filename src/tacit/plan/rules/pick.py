"""Rule: aggregates that are a value of the column: quantiles, min, max, mode. Each is a choice from a public grid.

    median, quantile     the value whose rank is nearest to q n; all quantiles of one column are planned together
    min, max             the value that about k rows lie beyond, k public: the very last row cannot be shown
    mode                 the most frequent of known values

The grid points are those between the policy's bounds; a grid of more than 2**40 points is made coarser, row by row.
Rows within one step of the grid are one point: a rank is promised on that grid, and the words say how wide a step is.
percentile_cont is answered like percentile_disc, by a point of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.mechanisms import Extreme, Mode, Quantiles
from tacit.plan.answers.formulas import KeyFormula
from tacit.plan.answers.listing import Listing
from tacit.plan.columns import KeyColumn, RawKey
from tacit.plan.draft import Draft, changed
from tacit.plan.picks.part import PickMechanism, PickPart
from tacit.plan.picks.rank_query import LEAF, POINT, ROWS, Keyed, RankWindow, rank_query
from tacit.plan.plan import Pick, Query
from tacit.plan.rules.build_query import from_sources, key_column
from tacit.plan.rules.measure import PICKS, aggregates_of
from tacit.plan.values import arithmetic
from tacit.plan.values.hints import bound_here
from tacit.plan.values.translate import number_of, value_of
from tacit.plan.values.value import Number, Text, Truth, cast_to, constant, floor_division, truth_as_number
from tacit.question import tree

_MOST_VALUES = 10_000
# rows of likely leaves are read one by one, so smaller leaves would cost more than they save
_LEAF_ROWS = 200


def pick(draft: Draft) -> Draft:
    """The picks, and the formulas that show them."""
    if any(inner.pick_parts for inner in draft.inner):
        raise QuestionError("Quantiles, min, max and mode are not understood in a SELECT inside. Ask for them apart.")
    wanted = [each for each in aggregates_of(draft.question) if each.kind in PICKS]
    if not wanted:
        return draft
    if draft.levels is not None:
        raise QuestionError("Quantiles, min, max and mode do not add up over groups: ask for each set of keys apart.")
    groups: dict[tuple[object, ...], list[tree.Aggregate]] = {}
    for each in wanted:
        together = (each.kind, each.argument) if each.kind == "quantile" else (each,)
        groups.setdefault(together, []).append(each)
    parts = tuple(_part(group, draft) for group in groups.values())
    formulas = dict(draft.formulas)
    place = len(draft.key_columns)
    for part in parts:
        if len(part.columns) > len(part.aggregates):
            formulas[part.aggregates[0]] = Listing(tuple(range(place, place + len(part.columns))))
            place += len(part.columns)
            continue
        for aggregate, column in zip(part.aggregates, part.columns, strict=True):
            formulas[aggregate] = KeyFormula(place, column.meaning in ("number", "boolean"))
            place += 1
    return changed(draft, pick_parts=parts, formulas=formulas)


def _part(group: Sequence[tree.Aggregate], draft: Draft) -> PickPart:
    first = group[0]
    assert first.argument is not None
    if first.kind == "mode":
        return _mode_part(first, draft)
    number = number_of(first.argument, draft.scope, first.kind)
    if not number.stated:
        raise QuestionError(
            f"{first.kind} needs a column with bounds, because the answer is chosen between them. "
            f"State them in the policy: between = [low, high]. Or bound it here: {bound_here(0, 100)}."
        )
    low, width = number.bounds.low, number.bounds.high - number.bounds.low
    shift = max(0, (width + 1).bit_length() - 40)
    lifted = arithmetic.subtract(number, constant(low, number.step)) if low else number
    sql, _, wide = floor_division(lifted, 1 << shift)
    if wide:
        sql = cast_to(exp.paren(sql), "BIGINT")
    asked = sorted(group, key=_share_of)
    column = KeyColumn(first.kind, number.meaning, number.step, None)
    return PickPart(
        kind=first.kind,  # type: ignore[arg-type]
        sql=sql,
        nullable=number.nullable,
        points=(width >> shift) + 1,
        low=low + ((1 << shift) >> 1),
        stride=1 << shift,
        values=None,
        shares=tuple(_share_of(each) for each in asked) if first.kind == "quantile" else (),
        columns=(column,) * len(asked),
        aggregates=tuple(asked),
        step=number.step * (1 << shift) if shift or number.rounded else None,
    )


def _share_of(aggregate: tree.Aggregate) -> Fraction:
    if aggregate.second is None:
        return Fraction(0)
    assert isinstance(aggregate.second, tree.Literal)
    assert isinstance(aggregate.second.value, Fraction)
    return aggregate.second.value


def _mode_part(aggregate: tree.Aggregate, draft: Draft) -> PickPart:
    assert aggregate.argument is not None
    value = value_of(aggregate.argument, draft.scope)
    if isinstance(value, Truth):
        value = truth_as_number(value)
    known: tuple[RawKey, ...] | None = None
    column = KeyColumn("mode", "text", Fraction(1), None)
    if isinstance(value, Text):
        known = value.values
    elif isinstance(value, Number):
        column = KeyColumn("mode", value.meaning, value.step, None)
        known = _points(value)
    if not known:
        raise QuestionError(
            "mode chooses from known values, and these are not. List them in the policy: one_of = [...]. "
            "Or take buckets: mode(floor(x / 10) * 10)."
        )
    most = _most(aggregate)
    if most > len(known):
        raise QuestionError(f"approx_top_k asks for {most} values, and there are {len(known)} known ones.")
    columns = (column,) * most
    return PickPart("mode", value.sql, value.nullable, len(known), 0, 1, known, (), columns, (aggregate,))


def _most(aggregate: tree.Aggregate) -> int:
    """How many of the most frequent values are asked for."""
    if aggregate.second is None:
        return 1
    assert isinstance(aggregate.second, tree.Literal)
    assert isinstance(aggregate.second.value, int)
    return aggregate.second.value


def _points(value: Number) -> tuple[int, ...] | None:
    if value.points is not None:
        return value.points
    if not value.stated or value.rounded or value.bounds.high - value.bounds.low >= _MOST_VALUES:
        return None
    return tuple(range(value.bounds.low, value.bounds.high + 1))


def picks_of(draft: Draft) -> tuple[Pick, ...]:
    """The picks with their mechanisms and queries."""
    return tuple(
        _planned(part, mechanism, draft)
        for part, mechanism in zip(draft.pick_parts, draft.pick_mechanisms, strict=True)
    )


def _planned(part: PickPart, mechanism: PickMechanism, draft: Draft) -> Pick:
    keys = tuple(key_column(place) for place in range(len(draft.key_sql)))
    nullable = tuple(column.values is None or None in column.values for column in draft.key_columns)
    selected = [exp.alias_(sql.copy(), name, copy=False) for sql, name in zip(draft.key_sql, keys, strict=True)]
    known = [exp.not_(exp.Is(this=exp.paren(part.sql.copy()), expression=exp.Null()))] if part.nullable else []
    rows = from_sources(draft, [*selected, exp.alias_(part.sql.copy(), POINT, copy=False)], known)
    if isinstance(mechanism, Mode):
        counted = [*(exp.column(name) for name in (*keys, POINT)), exp.alias_(exp.Count(this=exp.Star()), ROWS)]
        places = (exp.Literal.number(place + 1) for place in range(len(keys) + 1))
        grouped = exp.select(*counted).from_(rows.subquery("r0")).group_by(*places)
        query = Query(grouped, (*keys, POINT), (ROWS,), None)
        return Pick(mechanism, query, None, part.columns, part.low, part.stride, part.values)

    texts = tuple(column.meaning == "text" for column in draft.key_columns)
    ranked = Keyed(rows, keys, texts, nullable, part.points)
    query = Query(rank_query(ranked, _windows(mechanism), max(mechanism.grain, _LEAF_ROWS)), keys, LEAF, None)
    return Pick(mechanism, query, ranked, part.columns, part.low, part.stride, None, part.step)


def _windows(mechanism: Quantiles | Extreme) -> list[RankWindow]:
    if isinstance(mechanism, Extreme):
        cap, likely = 2 * mechanism.rank, mechanism.likely
        return [RankWindow(1, 2, mechanism.reach, cap=cap, from_top=mechanism.greatest, likely=likely)]
    return [
        RankWindow(share.numerator, share.denominator, reach, likely=likely)
        for (share, reach), likely in zip(mechanism.windows(), mechanism.likely(), strict=True)
    ]
