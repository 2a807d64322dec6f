"""WITH name AS (SELECT ...): every use of the name becomes the SELECT itself, and nothing later sees a WITH.

Promise: what comes back has no WITH, and no more parts than a question may have: a name used many times, or names
built on names, cannot blow it up, because the parts are counted before anything is copied.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.question.limits import MOST_NODES
from tacit.question.refusals import only, refused
from tacit.question.sql_nodes import every_node


def written_out(statement: exp.Expr) -> exp.Expr:
    """The statement with every named SELECT in the place of its name."""
    return _expanded(statement, {})


def _expanded(statement: exp.Expr, known: Mapping[str, exp.Expr]) -> exp.Expr:
    known = dict(known)
    clause = statement.args.get("with_")
    if clause is not None:
        if clause.args.get("recursive"):
            raise refused(clause, "WITH RECURSIVE is not understood", "Leave out RECURSIVE.")
        only(clause, "expressions")
        for named in clause.expressions:
            only(named, "this", "alias")
            only(named.args["alias"], "this")
            known[named.alias.lower()] = _expanded(named.this, known)
        statement.set("with_", None)
    _replace(statement, known)
    return statement


def _replace(statement: exp.Expr, known: Mapping[str, exp.Expr]) -> None:
    size = len(every_node(statement))
    for table in list(statement.find_all(exp.Table)):
        if _has_names_of_its_own(table, statement):
            continue  # below: a name that is given again there means the other SELECT
        inner = None if table.args.get("db") else known.get(table.name.lower())
        if inner is None or isinstance(table.this, exp.Anonymous):
            continue
        size += len(every_node(inner))
        if size > MOST_NODES:
            raise QuestionError(f"With its WITH written out, the question has more than {MOST_NODES:,} parts.")
        only(table, "this", "alias")
        alias = table.args.get("alias")
        name = exp.to_identifier(table.name, quoted=True) if alias is None else alias.this
        copied = exp.Subquery(this=inner.copy(), alias=exp.TableAlias(this=name))
        table.replace(copied)
    for nested in list(statement.find_all(exp.Query)):
        if nested is not statement and nested.args.get("with_"):
            _expanded(nested, known)


def _has_names_of_its_own(table: exp.Expr, statement: exp.Expr) -> bool:
    above = table.parent
    while above is not None and above is not statement:
        if above.args.get("with_"):
            return True
        above = above.parent
    return False
