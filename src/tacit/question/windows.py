"""Window functions over the rows of an answer: rank of a group, running total, share of the total, the one before.

They use only what has been released, so they show no single row and cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

from tacit.question import tree
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader, scalar

_RANKS: Mapping[type[exp.Expr], tree.WindowFunction] = MappingProxyType(
    {
        exp.RowNumber: "row_number",
        exp.Rank: "rank",
        exp.DenseRank: "dense_rank",
        exp.PercentRank: "percent_rank",
        exp.CumeDist: "cume_dist",
    }
)
_TOTALS: Mapping[type[exp.Expr], tree.WindowFunction] = MappingProxyType(
    {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Count: "count"}
)
_NEIGHBOURS: Mapping[type[exp.Expr], tree.WindowFunction] = MappingProxyType(
    {exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first_value", exp.LastValue: "last_value"}
)
_FARTHEST = 10_000


def _window(node: exp.Expr) -> tree.Scalar:
    only(node, "this", "partition_by", "order", "spec", "over")
    if isinstance(node.this, exp.Filter):
        raise refused(node, "FILTER in a window function is not understood", "Use CASE inside it.")
    function, argument, offset = _called(node.this)
    partition = tuple(scalar(part) for part in node.args.get("partition_by") or ())
    order = _order(node.args.get("order"))
    if not order and function in ("rank", "dense_rank", "percent_rank", "cume_dist", "row_number", "lag", "lead"):
        raise refused(node, f"{function}() OVER needs ORDER BY", "Write OVER (ORDER BY count(*) DESC).")
    return tree.Over(function, argument, offset, partition, order, _frame(node.args.get("spec"), node))


def _called(node: exp.Expr) -> tuple[tree.WindowFunction, tree.Scalar | None, int]:
    kind = type(node)
    if kind in _RANKS:
        only(node)
        return _RANKS[kind], None, 0
    if kind is exp.Count and (node.args.get("this") is None or isinstance(node.this, exp.Star)):
        return "count", None, 0
    if kind in _TOTALS:
        only(node, "this", "big_int")
        if isinstance(node.this, exp.Distinct):
            raise refused(node, "DISTINCT in a window function is not understood")
        return _TOTALS[kind], scalar(node.this), 0
    if kind in _NEIGHBOURS:
        only(node, "this", "offset")
        return _NEIGHBOURS[kind], scalar(node.this), _whole(node.args.get("offset"), 1)
    known = ", ".join([*_RANKS.values(), *_TOTALS.values(), *_NEIGHBOURS.values()])
    raise refused(node, f"{shown(node)!r} is not understood with OVER", f"Known: {known}.")


def _order(clause: exp.Expr | None) -> tuple[tree.Order, ...]:
    if clause is None:
        return ()
    only(clause, "expressions")
    found = []
    for node in clause.expressions:
        only(node, "this", "desc", "nulls_first")
        found.append(tree.Order(scalar(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first"))))
    return tuple(found)


def _frame(spec: exp.Expr | None, node: exp.Expr) -> tree.Frame | None:
    if spec is None:
        return None
    only(spec, "kind", "start", "start_side", "end", "end_side")
    if str(spec.args.get("kind") or "").upper() != "ROWS":
        raise refused(node, "A window frame is given in ROWS", "Write ROWS BETWEEN ... AND ...")
    start = _edge(spec.args.get("start"), spec.args.get("start_side"))
    end = _edge(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    return tree.Frame(start, end)


def _edge(value: object, side: object) -> int | None:
    if isinstance(value, str):
        return 0 if value.upper() == "CURRENT ROW" else None
    number = _whole(value if isinstance(value, exp.Expr) else None, 0)
    return -number if str(side or "").upper() == "PRECEDING" else number


def _whole(node: exp.Expr | None, default: int) -> int:
    if node is None:
        return default
    value = scalar(node)
    if not isinstance(value, tree.Literal) or type(value.value) is not int or not 0 <= value.value <= _FARTHEST:
        raise refused(node, f"A whole number from 0 to {_FARTHEST:,} is needed here")
    return value.value


READERS: Mapping[type[exp.Expr], Reader] = MappingProxyType({exp.Window: _window})
