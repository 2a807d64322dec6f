"""`Synthetic.ask`: the SQL that a curator reads, answered on the model.

Promise: everything is computed from the release, so it is free, and the same question has the same answer every time.
The text passes the reader of `tacit.question`: it refuses here what it does not understand, in the same words. Then
count, sum and avg become sums of weights over the model's points (`points`), and an engine with an empty memory and no
access to files does the rest. Each count, sum and mean whose columns a measured table holds has an interval for the
noise (`promises`); the notes name the figures without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import duckdb
import numpy as np
from sqlglot import exp

from tacit.errors import QuestionError
from tacit.question import tree
from tacit.statistics.finding import Column, Finding, column
from tacit.synthesis.asking import promises
from tacit.synthesis.asking.points import Points, points_of
from tacit.synthesis.asking.reading import ELSEWHERE, ModelQuestion, constants_of, read_for_model
from tacit.synthesis.asking.totals import WEIGHT, needs_rows, total_of, weighted
from tacit.synthesis.cells import Field
from tacit.synthesis.drawn import for_duckdb
from tacit.synthesis.model.tables import Columns

if TYPE_CHECKING:
    from tacit.synthesis.synthetic import Synthetic

_PLACE, _GROUP = "tacit_place", "tacit_group"
_REPEATED: Final = 1 << 18
_ENGINE: Final[dict[str, str | bool | int | float | list[str]]] = {
    "enable_external_access": "false",
    "threads": "1",  # sums are then added in one order
}
_PROMISED: Final = ("count_rows", "count", "sum", "avg")


def answered(synthetic: Synthetic, sql: str, level: float, dialect: str) -> Finding:
    """The answer of the model, one line for each group."""
    fields = synthetic._release.fields
    asked = read_for_model(sql, dialect, fields)
    points = points_of(synthetic, asked.places, constants_of(asked.question))
    try:
        with duckdb.connect(config=_ENGINE) as connection:
            connection.execute("SET enable_progress_bar = false")
            _lay_out(connection, points, asked)
            names, kinds, lines, groups = _outputs(connection, asked, points)
            parts = _parts(connection, asked, fields, len(points.weights))
    except duckdb.Error as problem:
        said = str(problem).splitlines()[0]
        raise QuestionError(f"The model cannot answer this: {said}. {ELSEWHERE}") from None
    columns, notes = [], _notes(synthetic, asked, points, parts)
    for place, name in enumerate(names):
        values = [line[place] for line in lines]
        ends = _ends(synthetic, asked, points, parts[place], level, groups, values)
        columns.append(column(name, values, *(ends or ())) if values else Column(name, kinds[place], ()))
    return Finding("Answer of synthetic data", tuple(columns), notes, {}, level, synthetic.receipt, repeated=True)


# -- computing ---------------------------------------------------------------------------------------------


def _lay_out(connection: duckdb.DuckDBPyConnection, points: Points, asked: ModelQuestion) -> None:
    """The points that the question's WHERE keeps, numbered by their group."""
    arrays: dict[str, Any] = {f"c{place}": for_duckdb(own) for place, own in enumerate(points.values.values())}
    arrays |= {WEIGHT: points.weights, _PLACE: np.arange(len(points.weights))}
    connection.register("tacit_arrays", arrays)
    named = [
        exp.alias_(_typed(own, place), name, quoted=True) for place, (name, own) in enumerate(points.values.items())
    ]
    query = exp.select(*named, WEIGHT, _PLACE).from_("tacit_arrays")
    connection.execute(f"CREATE TABLE tacit_points AS {query.sql('duckdb')}")
    order = ", ".join(each.sql("duckdb") for each in asked.keys)
    group = f"dense_rank() OVER (ORDER BY {order}) - 1" if order else "0"
    where = "" if asked.where is None else f" WHERE {asked.where.sql('duckdb')}"
    connection.execute(f"CREATE TABLE tacit_chosen AS SELECT *, {group} AS {_GROUP} FROM tacit_points{where}")  # noqa: S608  # read before
    if needs_rows(asked.select):
        total = float(points.weights.sum())
        ends = np.floor(np.cumsum(points.weights) * (_REPEATED / total) + 0.5).astype(np.int64)
        connection.register("tacit_repeats", {"tacit_at": np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))})
        columns = f"SELECT tacit_chosen.* REPLACE ({total / _REPEATED!r} AS {WEIGHT})"
        joined = f"tacit_repeats JOIN tacit_chosen ON {_PLACE} = tacit_at"
        connection.execute(f"CREATE TABLE tacit_rows AS {columns} FROM {joined}")
    else:
        connection.execute(f"CREATE VIEW tacit_rows AS FROM tacit_chosen WHERE {WEIGHT} > 0")


def _typed(own: Any, place: int) -> exp.Expr:
    value = exp.column(f"c{place}")
    return exp.cast(value, "DATE") if own.dtype == np.dtype("datetime64[D]") else value


def _outputs(
    connection: duckdb.DuckDBPyConnection, asked: ModelQuestion, points: Points
) -> tuple[list[str], list[str], list[tuple[Any, ...]], list[int]]:
    """The answer's names, kinds and lines, and the group of each line."""
    written = asked.select.copy()
    for each, output in zip(written.expressions, asked.question.outputs, strict=True):
        each.replace(exp.alias_(each.unalias().copy(), output.name, quoted=True))
    names = [each.name for each in asked.question.outputs]
    select = written.transform(weighted)
    assert isinstance(select, exp.Select)
    for part in ("where", "group", "distinct", "joins"):
        select.set(part, None)
    select = select.from_("tacit_rows", copy=False)
    if asked.keys:
        select = select.select(_GROUP).group_by(*(each.copy() for each in asked.keys), _GROUP)
    found = connection.execute(select.sql("duckdb"))
    kinds = [_KINDS.get(str(each[1]).split("(")[0], "text") for each in found.description or ()]
    lines = found.fetchall()
    groups = [int(line[-1]) for line in lines] if asked.keys else [0] * len(lines)
    return names, kinds, [tuple(map(_plain, line[: len(names)])) for line in lines], groups


_KINDS: Final = {
    "DOUBLE": "real",
    "FLOAT": "real",
    "DECIMAL": "real",
    "BIGINT": "integer",
    "INTEGER": "integer",
    "HUGEINT": "integer",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value


# -- promising ---------------------------------------------------------------------------------------------


def _parts(
    connection: duckdb.DuckDBPyConnection, asked: ModelQuestion, fields: Sequence[Field], count: int
) -> list[promises.Part | None]:
    """For each output that is a plain count, sum or mean, what it asks of every point."""
    binned = {each.name.casefold() for each in fields if each.values is None}
    settled = [asked.question.where, *(each.expression for each in asked.question.keys)]
    if not all(each is None or _is_settled(each, binned) for each in settled):
        return [None] * len(asked.question.outputs)
    known = {each.name.casefold(): place for place, each in enumerate(fields)}
    return [
        _part(connection, node.unalias(), _touched([*settled, output.expression], known), count)
        if _is_plain(output.expression, binned)
        else None
        for node, output in zip(asked.select.expressions, asked.question.outputs, strict=True)
    ]


def _touched(nodes: Sequence[tree.Scalar | None], known: Mapping[str, int]) -> Columns:
    """The columns that these name, ascending."""
    names = [each for node in nodes if node is not None for each in tree.walk(node) if isinstance(each, tree.Name)]
    return tuple(sorted({known[each.column.casefold()] for each in names if each.column.casefold() in known}))


def _is_plain(node: tree.Scalar, binned: set[str]) -> bool:
    """Whether it is a count, sum or mean whose values inside a bin lie between those at its ends."""
    if not isinstance(node, tree.Aggregate) or node.kind not in _PROMISED or node.second is not None:
        return False
    return node.argument is None or _is_settled(node.argument, binned, value=True)


def _is_settled(node: object, binned: set[str], *, value: bool = False) -> bool:
    """Whether pieces of bins are all inside or all outside; with `value`, also whether it only rises or falls there."""
    if not any(isinstance(each, tree.Name) and each.column.casefold() in binned for each in tree.walk(node)):
        return True
    if isinstance(node, (tree.Compare, tree.In, tree.IsNull)):
        sides = [each for each in tree.children(node) if not isinstance(each, tree.Literal)]
        return len(sides) == 1 and isinstance(sides[0], tree.Name)
    if isinstance(node, (tree.And, tree.Or, tree.Not)):
        return all(_is_settled(each, binned) for each in tree.children(node))
    if isinstance(node, tree.Case):
        values = (node.otherwise, *(each.value for each in node.branches))
        conditions = all(_is_settled(each.condition, binned) for each in node.branches)
        return conditions and all(_is_settled(each, binned, value=value) for each in values)
    if value and isinstance(node, tree.Negate):
        return _is_settled(node.operand, binned, value=True)
    if value and isinstance(node, tree.Arithmetic) and node.op in ("+", "-", "*"):
        constant = [each for each in (node.left, node.right) if isinstance(each, tree.Literal)]
        return len(constant) == 1 and all(_is_settled(each, binned, value=True) for each in (node.left, node.right))
    return value and isinstance(node, tree.Name)


def _part(connection: duckdb.DuckDBPyConnection, node: exp.Expr, places: Columns, count: int) -> promises.Part | None:
    found = total_of(node)
    if found is None:
        return None
    argument = "1.0" if found.value is None else exp.cast(found.value, "DOUBLE").sql("duckdb")
    condition = found.condition.sql("duckdb")
    query = f"SELECT {_PLACE}, {_GROUP}, {argument} AS tacit_value FROM tacit_chosen WHERE {condition}"  # noqa: S608  # read before
    at = connection.execute(query).fetchnumpy()
    most = connection.execute(f"SELECT coalesce(max({_GROUP}), 0) FROM tacit_chosen").fetchall()[0][0]  # noqa: S608
    chosen = np.asarray(at[_PLACE], dtype=np.int64)
    groups = np.full(count, -1, dtype=np.int64)
    groups[chosen] = np.asarray(at[_GROUP], dtype=np.int64)
    if found.value is None:
        return promises.Part("count", places, groups, None, int(most) + 1)
    values = np.full(count, np.nan)
    values[chosen] = np.ma.filled(np.ma.asarray(at["tacit_value"], dtype=np.float64), np.nan)
    return promises.Part(found.kind, places, groups, values, int(most) + 1)


def _ends(
    synthetic: Synthetic,
    asked: ModelQuestion,
    points: Points,
    part: promises.Part | None,
    level: float,
    groups: Sequence[int],
    values: Sequence[Any],
) -> tuple[Any, Any] | None:
    if part is None or points.cells is None or not values:
        return None
    estimates = np.full(part.many, np.nan)
    estimates[list(groups)] = [np.nan if each is None else each for each in values]
    reach = promises.reach_of(synthetic._release, level, part.many if asked.chooses_groups else 1)
    axes = [asked.places.index(place) for place in part.places]
    ends = promises.ends_of(synthetic._release, points.cells[:, axes], part, reach, estimates)
    if ends is None:
        return None
    shown = np.where(np.isnan(estimates), np.nan, 0.0)[list(groups)]  # a mean of nothing has no interval
    return ends[0][list(groups)] + shown, ends[1][list(groups)] + shown


def _notes(
    synthetic: Synthetic, asked: ModelQuestion, points: Points, parts: Sequence[promises.Part | None]
) -> tuple[str, ...]:
    """What the intervals are about, and which figures have none, and why."""
    told, unmeasured, beyond = [], [], []
    rows = [asked.question.where, *(each.expression for each in asked.question.keys)]
    known = {name.casefold(): place for place, name in enumerate(synthetic.columns)}
    for output, part in zip(asked.question.outputs, parts, strict=True):
        if not any(isinstance(node, tree.Aggregate) for node in tree.walk(output.expression)):
            continue
        if points.cells is None or not promises.is_told(
            synthetic._release, _touched([*rows, output.expression], known)
        ):
            unmeasured.append(output.name)
        elif part is None:
            beyond.append(output.name)
        else:
            told.append(output.name)
    notes = []
    if told:
        notes.append(
            "Intervals are for what the noise did to a measured table, and for what its bins and merged values hide. "
            "They are about the rows that the release counted."
        )
    if told and asked.chooses_groups:
        notes.append("HAVING and LIMIT pick groups by their figures, so the intervals hold for all groups together.")
    if unmeasured:
        columns = ", ".join(synthetic.columns[place] for place in asked.places)
        notes.append(
            f"Warning: no promise is made for {', '.join(unmeasured)}. The model never measured {columns} together: "
            "the figures follow from other tables, and how far they are off is not known."
        )
    if beyond:
        notes.append(
            f"Warning: no promise is made for {', '.join(beyond)}. Intervals are for counts, sums and means, "
            "and for columns in bins where they are compared with constants."
        )
    return tuple(notes)
