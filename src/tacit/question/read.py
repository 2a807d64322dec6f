"""Text to tree: `read(sql)`.

Promise: the text is parsed by the dialect named and never executed. What comes back is made of the kinds in `tree`
only; everything else is refused with `QuestionError`, which says where it stands and what to write instead. Reading
depends on the text alone, and takes bounded time and stack (`limits`).
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.errors import QuestionError
from tacit.question import clauses, limits, tree
from tacit.question.refusals import only, refused, shown

_DIALECTS = ("duckdb", "postgres", "bigquery", "snowflake", "mysql", "sqlite", "spark", "trino")
_CLAUSES = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit")
_ADVICE = {
    "distinct": "SELECT DISTINCT is not understood. Use GROUP BY.",
    "with_": "WITH is not understood yet. Ask about one table.",
    "offset": "OFFSET is not understood. Use ORDER BY and LIMIT.",
    "qualify": "QUALIFY and window functions show single rows. Use HAVING.",
    "windows": "WINDOW and window functions show single rows. Use GROUP BY.",
    "into": "A question only reads: INTO is not understood.",
    "sample": "Sampling is not understood. Questions read all rows that the policy allows.",
}


def read(sql: str, dialect: str = "duckdb") -> tree.Question:
    """The question that `sql` asks."""
    select = _parsed(limits.check_text(sql), dialect)
    for name, value in select.args.items():
        if value and name not in _CLAUSES:
            raise refused(None, _ADVICE.get(name, f"{name.strip('_').upper()} is not understood").rstrip("."))
    if select.args.get("from_") is None:
        raise QuestionError("The question reads from no table. Ask something like SELECT count(*) FROM a_table.")
    only(select.args["from_"], "this")
    table, alias, rows = clauses.table_of(select.args["from_"].this)
    outputs = clauses.outputs_of(select)
    if not outputs:
        raise QuestionError("SELECT names no output. Ask for count(*), sum(a_column) or avg(a_column).")
    question = tree.Question(
        table=table,
        alias=alias,
        joins=clauses.joins_of(select),
        where=clauses.where_of(select),
        keys=clauses.keys_of(select, outputs),
        outputs=outputs,
        having=clauses.having_of(select, outputs),
        order=clauses.order_of(select, outputs),
        limit=clauses.limit_of(select),
        rows_per_unit=rows,
    )
    _no_raw_rows(question, select)
    return question


def _parsed(text: str, dialect: str) -> exp.Select:
    if dialect not in _DIALECTS:
        raise QuestionError(f"The dialect {dialect!r} is not known. Known: {', '.join(_DIALECTS)}.")
    try:
        tokens = sqlglot.tokenize(text, read=dialect)
        limits.check_tokens(tokens)
        statements = sqlglot.Dialect.get_or_raise(dialect).parser(error_level=ErrorLevel.RAISE).parse(tokens, text)
    except SqlglotError as bad:
        raise QuestionError(
            f"The question could not be parsed{_where(bad)}. Check commas, brackets and quotes."
        ) from None
    except RecursionError:  # the parser takes some twenty calls for one level
        raise QuestionError("The question nests too deep to be parsed. Make it flatter.") from None
    except (ValueError, AttributeError, TypeError, KeyError, IndexError):
        # the parser stumbling over odd text is the text's fault and depends on nothing else
        raise QuestionError("The question could not be parsed. Write it in plainer SQL.") from None
    statements = [statement for statement in statements if statement is not None]
    if len(statements) != 1:
        raise QuestionError(f"A question is one statement. This text has {len(statements)}.")
    statement = statements[0]
    assert statement is not None
    limits.check_tree(statement)
    if isinstance(statement, exp.SetOperation):
        raise QuestionError("UNION, INTERSECT and EXCEPT are not understood. Ask two questions.")
    if not isinstance(statement, exp.Select):
        kind = "This statement" if isinstance(statement, exp.Command) else shown(statement).split(" ")[0].upper()
        raise QuestionError(f"{kind} is no question. Only SELECT is understood.")
    return statement


def _where(bad: SqlglotError) -> str:
    for detail in getattr(bad, "errors", None) or ():
        if detail.get("line") is not None:
            return f" near line {detail['line']}, column {detail['col']}"
    return ""


def _no_raw_rows(question: tree.Question, select: exp.Select) -> None:
    if question.keys:
        return
    for output, node in zip(question.outputs, select.expressions, strict=True):
        if not any(isinstance(part, tree.Aggregate) for part in tree.walk(output.expression)):
            advice = "Rows themselves never leave: use count, sum or avg, or GROUP BY this column."
            raise refused(node, f"{shown(node)!r} shows a single row's value", advice)
