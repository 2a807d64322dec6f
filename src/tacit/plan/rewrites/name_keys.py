"""GROUP BY c, where an output is named c too: the column is meant if a source has one so called, as in PostgreSQL and
DuckDB, and the output otherwise. The same in HAVING.

Promise: pure rewriting by the policy's names. Afterwards no key has a `written` name; everything else stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from tacit.policy import ColumnUnit, Policy
from tacit.question import tree

T = TypeVar("T", tree.Question, tree.Rows)


def name_keys(question: tree.Question, policy: Policy) -> tree.Question:
    """The question with every name in GROUP BY replaced by what it means, in the SELECTs inside too."""

    def scalar(expression: tree.Scalar) -> tree.Scalar:
        return tree.rewrite(expression, change)

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if isinstance(node, (tree.InRows, tree.Exists)):
            inside = replace(node, rows=rows_of(node.rows))
            return replace(inside, operand=scalar(inside.operand)) if isinstance(inside, tree.InRows) else inside
        return tree.Inner(name_keys(node.question, policy)) if isinstance(node, tree.Inner) else None

    def source(each: tree.Source) -> tree.Source:
        return replace(each, rows=rows_of(each.rows)) if isinstance(each, tree.Derived) else each

    def rows_of(rows: tree.Rows | tree.Union) -> tree.Rows | tree.Union:
        if isinstance(rows, tree.Union):
            return tree.Union(tuple(_meant(inside(part), policy) for part in rows.parts))
        return _meant(inside(rows), policy)

    def inside(select: T) -> T:
        joins = tuple(
            replace(join, source=source(join.source), on=None if join.on is None else scalar(join.on))
            for join in select.joins
        )
        where = None if select.where is None else scalar(select.where)
        first = source(select.source)
        if first is select.source and where is select.where and not joins:
            return select
        return replace(select, source=first, joins=joins, where=where)

    def questions(expression: tree.Scalar | None) -> tree.Scalar | None:
        return None if expression is None else scalar(expression)

    named = _meant(inside(question), policy)
    return replace(
        named,
        outputs=tuple(tree.Output(output.name, scalar(output.expression)) for output in named.outputs),
        having=questions(named.having),
        qualify=questions(named.qualify),
        order=tuple(replace(each, expression=scalar(each.expression)) for each in named.order),
    )


def _meant(select: T, policy: Policy) -> T:
    if all(key.written is None for key in select.keys):
        return select
    columns = {name.casefold() for each in _sources(select) for name in columns_of(each, policy)}
    outputs: dict[str, tree.Scalar] = {}
    keys = []
    for key in select.keys:
        if key.written is None:
            keys.append(key)
        elif key.written.column.casefold() in columns:
            keys.append(tree.Key(key.written.column, key.written))
        else:
            outputs[key.written.column.casefold()] = key.expression
            keys.append(tree.Key(key.name, key.expression))

    def change(node: tree.Scalar) -> tree.Scalar | None:
        if isinstance(node, tree.Aggregate):
            return node
        if isinstance(node, tree.Name) and node.table is None:
            return outputs.get(node.column.casefold())
        return None

    having = None if select.having is None else tree.rewrite(select.having, change)
    return replace(select, keys=tuple(keys), having=having)


def _sources(select: tree.Question | tree.Rows) -> tuple[tree.Source, ...]:
    return (select.source, *(join.source for join in select.joins))


def columns_of(source: tree.Source, policy: Policy) -> Iterator[str]:
    """The names of a source's columns, with that of the unit."""
    if isinstance(source, tree.Named):
        table = policy.table(source.table)
        if table is not None:
            yield from table.columns
            if not table.public:
                unit = policy.unit_of(table.name).unit
                if isinstance(unit, ColumnUnit):
                    yield unit.column
    elif isinstance(source, tree.Derived):
        yield from _shown(source.rows.parts[0] if isinstance(source.rows, tree.Union) else source.rows, policy)


def _shown(rows: tree.Rows, policy: Policy) -> Iterator[str]:
    for output in rows.outputs:
        if isinstance(output, tree.Output):
            yield output.name
            continue
        but = {name.casefold() for name in output.but}
        for each in _named(_sources(rows), output.table):
            yield from (name for name in columns_of(each, policy) if name.casefold() not in but)


def _named(sources: Sequence[tree.Source], alias: str | None) -> Iterator[tree.Source]:
    for each in sources:
        own = each.alias if isinstance(each, (tree.Named, tree.Derived)) else ""
        if alias is None or own.casefold() == alias.casefold():
            yield each
