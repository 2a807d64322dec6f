"""histogram(x), and histogram(x, [10, 20, 50]) with the ends of its bins: one map from a bin to its number of rows.

As in DuckDB a bin is called by its upper end, which belongs to it, and NULLs are in none. Ends are constants: the
values of a column, and the ends of bins that would fit them, are not known before it is paid for.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from tacit.question import tree
from tacit.question.aggregates import contains_aggregate
from tacit.question.refusals import histogram, refused, shown
from tacit.question.scalars import scalar

_MOST_ENDS = 999


def read_histogram(node: exp.Anonymous) -> tree.Scalar:
    """The aggregate; the ends of its bins in order, each once."""
    if not 1 <= len(node.expressions) <= 2:
        raise histogram(node)
    inner = contains_aggregate(node.expressions[0])
    if inner is not None:
        raise refused(inner, f"An aggregate inside an aggregate ({shown(node)!r}) is not understood")
    column = scalar(node.expressions[0])
    if len(node.expressions) == 1:
        return tree.Aggregate("histogram", column)
    listed = node.expressions[1]
    if not isinstance(listed, exp.Array):
        raise histogram(node)
    if not 1 <= len(listed.expressions) <= _MOST_ENDS:
        raise refused(node, f"A histogram takes from 1 to {_MOST_ENDS} ends of bins")
    ends = [_end(each, node) for each in listed.expressions]
    if len({_sort(end) for end in ends}) > 1:
        raise refused(node, "The ends of bins must be of one kind: numbers, dates or times")
    return tree.Aggregate("histogram", column, tree.Several(tuple(map(tree.Literal, sorted(set(ends))))))


def _end(node: exp.Expr, whole: exp.Expr) -> Any:
    value = scalar(node)
    negative = isinstance(value, tree.Negate)
    inside = value.operand if isinstance(value, tree.Negate) else value
    exact = inside.value if isinstance(inside, tree.Literal) else None
    if _sort(exact) == "number" and isinstance(exact, (int, Fraction)):
        return -exact if negative else exact
    if negative or _sort(exact) == "":
        raise refused(whole, f"{shown(node)!r} is no end of a bin", "Write constant numbers, or DATE '2024-05-31'.")
    return exact


def _sort(value: object) -> str:
    if isinstance(value, bool):
        return ""
    for kind, name in (((int, Fraction), "number"), (datetime.datetime, "timestamp"), (datetime.date, "date")):
        if isinstance(value, kind):
            return name
    return ""
