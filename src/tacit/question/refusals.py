"""How a question is refused: what was found, where it stands in the text, what to write instead."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import ErrorLevel

from tacit.errors import QuestionError


def refused(node: exp.Expr | None, what: str, advice: str = "") -> QuestionError:
    """The error to raise about a node of the parsed text."""
    return QuestionError(f"{what}{_place(node)}.{' ' + advice if advice else ''}")


def shown(node: exp.Expr) -> str:
    """A node as short text of one line, as SQL where it can be said."""
    try:
        text = " ".join(node.sql(dialect="duckdb", unsupported_level=ErrorLevel.IGNORE).split())
    except UnicodeError:  # half of a surrogate pair, spelled as an escape
        text = type(node).__name__
    text = "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
    return text if len(text) <= 60 else text[:57] + "..."


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that says more than the reader reads: nothing that was written may be dropped silently."""
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
