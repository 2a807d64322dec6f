"""Text to tree: `read(sql)`, and `read_asked(sql)` where the answers of several SELECTs may be put together.

Promise: the text is parsed by the dialect named and never executed. What comes back is made of the kinds in `tree`
only; everything else is refused with `QuestionError`, which says where it stands and what to write instead. Reading
depends on the text alone, and takes bounded time and stack (`limits`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.errors import QuestionError
from tacit.question import clauses, limits, tree
from tacit.question.arguments import check_arguments
from tacit.question.groups import groups_of
from tacit.question.inner_selects import joins_of, source_of
from tacit.question.named_selects import written_out
from tacit.question.over_answers import over_answer
from tacit.question.privacy_clause import cut_privacy
from tacit.question.refusals import only, refused, shown
from tacit.question.scalars import Reader
from tacit.question.semi_joins import as_exists
from tacit.question.stack import room, roomy
from tacit.question.united import over_union, united_of

_DIALECTS = ("duckdb", "postgres", "bigquery", "snowflake", "mysql", "sqlite", "spark", "trino")
_CLAUSES = (
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "order",
    "limit",
    "offset",
    "distinct",
    "qualify",
)
_ADVICE = {
    "windows": "WINDOW is not understood. Write the window out: OVER (PARTITION BY ... ORDER BY ...).",
    "into": "A question only reads: INTO is not understood.",
    "sample": "Sampling is not understood. Questions read all rows that the policy allows.",
}


def read(sql: str, dialect: str = "duckdb") -> tree.Question:
    """The one question that `sql` asks.

    >>> read("SELECT count(*) FROM visits WHERE age > 30").where
    Compare(op='>', left=Name(table=None, column='age'), right=Literal(value=30))
    """
    return read_with_select(sql, dialect)[0]


def read_with_select(sql: str, dialect: str = "duckdb") -> tuple[tree.Question, exp.Select]:
    """As `read`, and the parser's SELECT too, without brackets around it or words about privacy."""
    asked, statement = _read(sql, dialect)
    if isinstance(asked, tree.United):
        raise QuestionError(
            f"UNION ALL puts the answers of {len(asked.parts)} SELECTs together, and one question is needed here. "
            "Ask them one by one."
        )
    assert isinstance(statement, exp.Select)  # anything else has several parts
    return asked, statement


def read_asked(sql: str, dialect: str = "duckdb") -> tree.Question | tree.United:
    """What `sql` asks: a question, or the answers of several, one below the other."""
    return _read(sql, dialect)[0]


def _read(sql: str, dialect: str) -> tuple[tree.Question | tree.United, exp.Select | exp.SetOperation]:
    text = limits.check_text(sql)
    with room():
        statement, privacy = _parsed(text, dialect)
        asked: tree.Question | tree.United
        if isinstance(statement, exp.SetOperation):
            asked = united_of(statement, question_of)
        else:
            asked = over_union(statement) or question_of(statement)
        asked = replace(asked, privacy=privacy)
        limits.check_written_out(asked)
        if isinstance(asked, tree.United) and privacy is not None and privacy.of_select:
            raise QuestionError(
                "The SELECTs of a UNION ALL have one price: write it at the end, WITH PRIVACY (epsilon = ...)."
            )
    return asked, statement


def question_of(select: exp.Select) -> tree.Question:
    """The question of a SELECT."""
    for name, value in select.args.items():
        if value and name not in _CLAUSES:
            raise refused(None, _ADVICE.get(name, f"{name.strip('_').upper()} is not understood").rstrip("."))
    if select.args.get("from_") is None:
        raise QuestionError("The question reads from no table. Ask something like SELECT count(*) FROM a_table.")
    only(select.args["from_"], "this")
    answered = over_answer(select)
    if answered is not None:
        return answered
    outputs = clauses.outputs_of(select)
    if not outputs:
        raise QuestionError("SELECT names no output. Ask for count(*), sum(a_column) or avg(a_column).")
    keys, sets = groups_of(select, outputs)
    question = tree.Question(
        source=source_of(select.args["from_"].this),
        joins=joins_of(select),
        where=clauses.where_of(select),
        keys=_distinct(select, outputs, keys) or keys,
        outputs=outputs,
        having=clauses.having_of(select, outputs, keys),
        order=clauses.order_of(select, outputs),
        limit=clauses.limit_of(select),
        offset=clauses.offset_of(select),
        rows_per_unit=None,
        sets=sets,
        qualify=clauses.qualify_of(select, outputs),
    )
    _no_raw_rows(question, select)
    return question


def _distinct(
    select: exp.Select, outputs: tuple[tree.Output, ...], grouped: tuple[tree.Key, ...]
) -> tuple[tree.Key, ...]:
    """SELECT DISTINCT a, b is GROUP BY a, b; with aggregates and their keys it changes nothing."""
    distinct = select.args.get("distinct")
    if distinct is None:
        return ()
    only(distinct)
    keys: list[tree.Key] = []
    if select.args.get("group") is not None:
        shown_outputs = {output.expression for output in outputs}
        if all(key.expression in shown_outputs and key.written is None for key in grouped):
            return ()  # every row of the answer shows its keys, so no two are alike
        raise refused(None, "SELECT DISTINCT with GROUP BY must show all its keys")
    for output in outputs:
        if not any(isinstance(part, tree.Aggregate) for part in tree.walk(output.expression)):
            keys.append(tree.Key(output.name, output.expression))
        elif len(outputs) > 1:
            raise refused(select, "SELECT DISTINCT with aggregates is not understood", "Use GROUP BY.")
    return tuple(keys)


def _inner(node: exp.Expr) -> tree.Scalar:
    only(node, "this")
    if not isinstance(node.this, exp.Select):
        raise refused(node, f"A SELECT with one number is needed here, and {shown(node.this)!r} is none")
    question = question_of(node.this)
    beside = (question.keys, question.having, question.order, question.qualify)
    if len(question.outputs) != 1 or any(beside) or question.limit is not None or question.offset:
        raise refused(
            node, "A SELECT that stands for a number has one output, and no GROUP BY, HAVING, condition on it or LIMIT"
        )
    if any(isinstance(part, tree.Over) for part in tree.walk(question.outputs[0].expression)):
        raise refused(node, "A SELECT that stands for a number has one row, and no window function")
    return tree.Inner(question)


READERS_OF_SELECTS: Mapping[type[exp.Expr], Reader] = MappingProxyType({exp.Subquery: _inner})


def syntax_of(text: str, dialect: str = "duckdb") -> tuple[list[exp.Expr], tree.Privacy | None]:
    """The statements of a text within the limits, as the parser has them, and the price that is written at its end."""
    if dialect not in _DIALECTS:
        raise QuestionError(f"The dialect {dialect!r} is not known. Known: {', '.join(_DIALECTS)}.")
    try:
        tokens = _dialect(dialect).tokenize(text)
        limits.check_tokens(tokens)
        check_arguments(tokens)
        tokens, privacy = cut_privacy(tokens)
        parser = _dialect(dialect).parser(error_level=ErrorLevel.RAISE)
        statements = roomy(len(tokens), lambda: parser.parse(tokens, text))
    except SqlglotError as bad:
        raise QuestionError(
            f"The question could not be parsed{_where(bad)}. It is one SELECT: check words, commas, brackets, quotes."
        ) from None
    except RuntimeError:  # a construct that the limits do not count as nesting, or no thread could be started
        raise QuestionError("The question nests too deep to be parsed. Make it flatter.") from None
    except (ValueError, AttributeError, TypeError, KeyError, IndexError):
        # the parser's other errors depend on the text alone, so they may be reported
        raise QuestionError("The question could not be parsed. Write it in plainer SQL.") from None
    return [statement for statement in statements if statement is not None], privacy


def _parsed(text: str, dialect: str) -> tuple[exp.Select | exp.SetOperation, tree.Privacy | None]:
    statements, privacy = syntax_of(text, dialect)
    if len(statements) != 1:
        raise QuestionError(f"A question is one statement. This text has {len(statements)}.")
    statement = statements[0]
    if limits.check_tree(statement) & {exp.With, exp.Join}:
        statement = as_exists(written_out(statement))
        limits.check_tree(statement)
    while isinstance(statement, exp.Subquery):  # brackets around all of it
        only(statement, "this")
        statement = statement.this
    if not isinstance(statement, (exp.Select, exp.SetOperation)):
        kind = "This statement" if isinstance(statement, exp.Command) else shown(statement).split(" ")[0].upper()
        raise QuestionError(f"{kind} is no question. Only SELECT is understood.")
    return statement, privacy


@cache
def _dialect(name: str) -> sqlglot.Dialect:
    return sqlglot.Dialect.get_or_raise(name)


def _where(bad: SqlglotError) -> str:
    for detail in getattr(bad, "errors", None) or ():
        if detail.get("line") is not None:
            return f" near line {detail['line']}, column {detail['col']}"
    return ""


def _no_raw_rows(question: tree.Question, select: exp.Select) -> None:
    if question.keys:
        return
    for output, node in zip(question.outputs, select.expressions, strict=True):
        if isinstance(output.expression, tree.Literal) and len(question.outputs) > 1:
            continue  # a word about the answer; alone it would ask for nothing
        if not any(isinstance(part, (tree.Aggregate, tree.Inner)) for part in tree.walk(output.expression)):
            advice = "Rows themselves never leave: use count, sum or avg, or GROUP BY this column."
            raise refused(node, f"{shown(node)!r} shows a single row's value", advice)
