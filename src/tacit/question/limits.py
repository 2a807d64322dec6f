"""Limits on a text before and after it is parsed, so that reading it takes bounded time, room and stack.

Promise: what passes `check_text` is at most 64 KB; what passes `check_tokens` nests its brackets, CASEs and runs of
prefix signs at most 100 deep (INTERVAL is such a sign); what passes `check_tree` has at most 5,000 nodes, a depth of at
most 100 (brackets that only group do not count) and at most 10 joins; and what passes `check_written_out` still has at
most 5,000 nodes where COALESCE, NULLIF and the like, which name an operand once, are written out with it twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import is_dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuestionError
from tacit.question import tree
from tacit.question.nodes import PLAIN, field_names
from tacit.question.sql_nodes import below

MOST_BYTES = 64 * 1024
MOST_DEPTH = 100
MOST_NODES = 5_000
MOST_JOINS = 10
_MOST_TOKENS = 3 * MOST_NODES

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.INTERVAL})


def check_text(text: object) -> str:
    """The text; refused where it is too long or has characters that no SQL needs."""
    if not isinstance(text, str):
        raise QuestionError(f"A question is a text in SQL. Got a value of type {type(text).__name__} instead.")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise QuestionError("The question holds half of a surrogate pair, which is no character.") from None
    if size > MOST_BYTES:
        raise QuestionError(f"A question may be {MOST_BYTES:,} bytes long. This one has {size:,}.")
    control = _CONTROL.search(text)
    if control is not None:
        raise QuestionError(f"The question holds a control character at place {control.start() + 1}. Leave it out.")
    if not text.strip():
        raise QuestionError("The question is empty. Ask something like SELECT count(*) FROM a_table.")
    return text


def check_tokens(tokens: Sequence[Token]) -> None:
    """Refuse what the parser would recurse into too deeply."""
    if len(tokens) > _MOST_TOKENS:
        raise QuestionError(f"A question may have {_MOST_TOKENS:,} words and signs. This one has {len(tokens):,}.")
    depth = run = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        run = run + 1 if token.token_type in _PREFIXES else 0  # NOT NOT NOT and - - - recurse like brackets
        if depth + run > MOST_DEPTH:
            place = f"line {token.line}, column {max(token.col - (token.end - token.start), 1)}"
            raise QuestionError(f"The question nests more than {MOST_DEPTH} deep ({place}). Make it flatter.")


def check_tree(root: exp.Expr) -> set[type[exp.Expr]]:
    """Refuse a tree that is too large or too deep for the reader. AND and OR chains count as one level.

    Returns the kinds of nodes in it.
    """
    nodes, joins = 0, 0
    kinds: set[type[exp.Expr]] = set()
    stack: list[tuple[exp.Expr, int]] = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        kinds.add(type(node))
        joins += isinstance(node, exp.Join)
        if nodes > MOST_NODES:
            raise QuestionError(f"A question may have {MOST_NODES:,} parts. This one has more.")
        if depth > MOST_DEPTH:
            raise QuestionError(f"The question nests more than {MOST_DEPTH} deep. Make it flatter.")
        if joins > MOST_JOINS:
            raise QuestionError(f"A question may have {MOST_JOINS} joins. This one has more.")
        for child in below(node):
            chained = type(child) is type(node) and isinstance(node, (exp.And, exp.Or))
            stack.append((child, depth if chained or isinstance(child, exp.Paren) else depth + 1))
    return kinds


def check_written_out(question: tree.Question | tree.United) -> None:
    """Refuse a question whose tree, walked node by node, is much larger than its text.

    Equal operands are one object there, so the sizes are added up from below without walking any of them twice.
    """
    sizes: dict[int, int] = {}

    def size(node: object) -> int:
        if isinstance(node, tuple):
            return sum(map(size, node))
        if type(node) in PLAIN or not is_dataclass(node):
            return 0
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum([size(getattr(node, name)) for name in field_names(node)])
        return sizes[id(node)]

    if size(question) > MOST_NODES:
        raise QuestionError(
            f"A question may have {MOST_NODES:,} parts, also where COALESCE, NULLIF, BETWEEN and CASE are written out: "
            "each repeats its operand. Nest them less deep."
        )
