"""Words that mean something else than in DuckDB: `explain` says so, once for each word that a question uses.

A missing value is NULL here and never an error, an infinity or NaN, because an error would reveal something about a
row. And a word means the same on every engine, even where engines differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from tacit.question import tree

_ROUND = (
    "round, and CAST to whole numbers, take halves upwards: 2.5 becomes 3, and -2.5 becomes -2 (DuckDB rounds away "
    "from zero, to -3, and its CAST of a real to the even one, to 2 and -2)."
)
_WHOLE = "x // y is the quotient without its fraction, of real numbers too: 7.5 // 2 is 3 (DuckDB: 3.75)."
_ZERO = "Dividing by zero gives NULL, and so does 0 / 0 (DuckDB: infinity, NaN, or an error)."


def meanings(question: tree.Question) -> Iterator[str]:
    """The sentences that this question needs."""
    nodes = [node for each in _scalars(question) for node in tree.walk(each)]
    rounds = any(isinstance(node, tree.Call) and node.function == "round" for node in nodes)
    if rounds or any(isinstance(node, tree.Cast) and node.kind == "integer" for node in nodes):
        yield _ROUND
    signs = {node.op for node in nodes if isinstance(node, tree.Arithmetic) and not _by_constant(node)}
    if any(isinstance(node, tree.Arithmetic) and node.op == "//" for node in nodes):
        yield _WHOLE
    if signs & {"/", "//", "%"}:
        yield _ZERO


def _by_constant(node: tree.Arithmetic) -> bool:
    return isinstance(node.right, tree.Literal)


def _scalars(question: tree.Question) -> Iterator[tree.Scalar]:
    yield from (output.expression for output in question.outputs)
    yield from (key.expression for key in question.keys)
    yield from (each.expression for each in question.order)
    yield from (each for each in (question.where, question.having, question.qualify) if each is not None)
