"""Reading a question to a model: the reader of `tacit.question` decides what is understood.

Promise: what comes back is one SELECT over the model's columns, without joins, SELECTs inside, windows or prices, and
the keys it groups by written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.policy.check import did_you_mean
from tacit.question import read_with_select, tree
from tacit.synthesis.cells import Field
from tacit.synthesis.model.tables import Columns

ELSEWHERE: Final = "Draw rows with sample() and ask any engine about them."


@dataclass(frozen=True, slots=True, eq=False)
class ModelQuestion:
    """A question that was read, and the same question as a tree of SQL."""

    question: tree.Question
    select: exp.Select
    keys: tuple[exp.Expr, ...]
    places: Columns

    @property
    def where(self) -> exp.Expr | None:
        """The condition on rows."""
        node = self.select.args.get("where")
        return None if node is None else node.this

    @property
    def chooses_groups(self) -> bool:
        """Whether the figures of a group decide if it is shown."""
        return self.question.having is not None or self.question.limit is not None or self.question.offset > 0


def read_for_model(sql: str, dialect: str, fields: Sequence[Field]) -> ModelQuestion:
    """The question, or a refusal."""
    question, select = read_with_select(sql, dialect)
    _must_be_simple(question)
    known = {each.name.casefold(): place for place, each in enumerate(fields)}
    outputs = {each.name.casefold() for each in question.outputs if not _names_itself(each)}
    touched = set()
    for node in scalars_of(question):
        if isinstance(node, tree.Name):
            place = known.get(node.column.casefold())
            if place is not None:
                touched.add(place)
            elif node.column.casefold() not in outputs:
                names = [each.name for each in fields]
                hint = did_you_mean(node.column, names)
                raise QuestionError(f"Column {node.column!r} is not in this model. Columns: {', '.join(names)}.{hint}")
    keys = tuple(_keys(select, set(known)))
    for key in question.keys:
        if isinstance(key.expression, tree.Name):
            place = known.get(key.expression.column.casefold())
            if place is not None and fields[place].values is None:
                hint = "Group by a CASE over ranges of it, or take marginal(...), which shows its bins."
                raise QuestionError(f"Column {fields[place].name!r} is cut into {fields[place].size} bins. {hint}")
    for each in list(select.find_all(exp.Column)):
        each.set("table", None)
    return ModelQuestion(question, select, keys, tuple(sorted(touched)))


def _names_itself(output: tree.Output) -> bool:
    """Whether an output is a column under its own name, so that it gives no other thing a name."""
    own = output.expression
    return isinstance(own, tree.Name) and own.column.casefold() == output.name.casefold()


def _must_be_simple(question: tree.Question) -> None:
    if not isinstance(question.source, tree.Named) or question.joins:
        raise QuestionError(f"A model is one table: joins and SELECTs inside are not understood here. {ELSEWHERE}")
    if question.privacy is not None or question.source.rows_per_unit is not None:
        raise QuestionError("An answer of a model is free: leave out what the question says about its price.")
    if question.sets or question.qualify is not None or question.summary is not None:
        raise QuestionError(f"ROLLUP, QUALIFY and totals of an answer are not understood here. {ELSEWHERE}")
    for node in scalars_of(question):
        if isinstance(node, (tree.InRows, tree.Inner, tree.Exists, tree.Over, tree.Total)):
            raise QuestionError(f"Windows and SELECTs inside a question are not understood here. {ELSEWHERE}")


def scalars_of(question: tree.Question) -> Iterator[object]:
    """Every node of the question's expressions."""
    written: list[tree.Scalar | None] = [question.where, question.having]
    written += [each.expression for each in question.keys]
    written += [each.expression for each in question.outputs]
    written += [each.expression for each in question.order]
    for each in written:
        if each is not None:
            yield from tree.walk(each)


def constants_of(question: tree.Question) -> list[Any]:
    """Every constant that is written in it."""
    return [node.value for node in scalars_of(question) if isinstance(node, tree.Literal)] + [
        value.value for node in scalars_of(question) if isinstance(node, tree.In) for value in node.values
    ]


def _keys(select: exp.Select, known: set[str]) -> Iterator[exp.Expr]:
    """What is grouped by, written out: a number or a name may stand for an output."""
    outputs = [each.unalias() for each in select.expressions]
    named = {each.alias.casefold(): each.unalias() for each in select.expressions if each.alias}
    group = select.args.get("group")
    if select.args.get("distinct") is not None and group is None:
        yield from (each.copy() for each in outputs if each.find(exp.AggFunc) is None)
        return
    if group is None:
        return
    if group.args.get("all"):
        yield from (each.copy() for each in outputs if each.find(exp.AggFunc) is None)
    for each in group.expressions:
        if isinstance(each, exp.Literal) and each.is_int:
            yield outputs[int(each.this) - 1].copy()
        elif isinstance(each, exp.Column) and each.name.casefold() not in known:
            yield named.get(each.name.casefold(), each).copy()
        else:
            yield each.copy()
