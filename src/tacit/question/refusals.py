"""How a question is refused: what was found, where it stands in the text, what to write instead."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from tacit.errors import QuestionError


def refused(node: exp.Expr | None, what: str, advice: str = "") -> QuestionError:
    """The error to raise about a node of the parsed text."""
    return QuestionError(f"{what}{_place(node)}.{' ' + advice if advice else ''}")


def as_sql(node: exp.Expr, **style: str) -> str:
    """A node as SQL in one line, or its kind where the parser's library cannot write what it read."""
    try:
        text = node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE, **style)  # type: ignore[arg-type]
    # half of a surrogate pair, spelled as an escape; or a function with arguments that it does not know
    except (SqlglotError, ValueError, AttributeError, TypeError, KeyError, IndexError):
        return type(node).__name__
    return " ".join(text.split())


def shown(node: exp.Expr) -> str:
    """A node as a short text of one line, in SQL where possible."""
    text = as_sql(node)
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return text if len(text) <= 60 else text[:57] + "..."


def histogram(node: exp.Anonymous) -> QuestionError:
    """The refusal of DuckDB's histogram(x), histogram(t, x), histogram_values(...): its bins are made from the data."""
    columns = [part for part in node.expressions if isinstance(part, exp.Column)]
    name = shown(columns[-1]) if columns else "x"
    bins = f"width_bucket({name}, low, high, 10) AS bin"
    advice = f"Name the ends of {name} in SELECT {bins}, count(*) FROM ... GROUP BY bin."  # noqa: S608  # words, not run
    return refused(
        node, "A histogram is a table with a row for each bin, and its bins would be taken from the data", advice
    )


def is_histogram(node: exp.Anonymous) -> bool:
    """Whether a function makes a histogram."""
    return str(node.this).lower().startswith(("histogram", "approx_histogram", "equi_width_bins"))


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node with more parts than the reader reads: nothing that was written may be dropped silently."""
    for name, value in node.args.items():
        if value and name not in allowed and not name.startswith("_"):
            word = name.strip("_").replace("_", " ").upper()
            raise refused(node, f"{word} is not understood in {shown(node)!r}", "Leave it out.")


def _place(node: exp.Expr | None) -> str:
    if node is None:
        return ""
    for part in node.walk():
        meta = part.meta
        if "line" in meta:
            column = meta["col"] - (meta["end"] - meta["start"])
            return f" (line {meta['line']}, column {max(column, 1)})"
    return ""
