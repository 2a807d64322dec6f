"""Pieces of SQL text that a program puts together: names, and expressions that stay inside their brackets.

Promise: a name that comes back means itself, whatever characters it has. An expression that comes back is one run of
words whose brackets close, without comments and without a semicolon, so that between two brackets it can neither end
them early nor swallow what follows. The reader decides what it means, as it does for any text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuestionError

_WORD = re.compile(r"[^\W\d]\w*")
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def name(text: str) -> str:
    """A name in quotes."""
    if not isinstance(text, str) or not text:
        raise QuestionError(f"A name is needed here. Got {text!r} instead.")
    return '"' + text.replace('"', '""') + '"'


def expression(text: str) -> str:
    """An expression as text. A single word is the name of a column, even where SQL has another use for the word."""
    if not isinstance(text, str) or not text.strip():
        raise QuestionError(f"An expression is needed here, as text. Got {text!r} instead.")
    if is_word(text):
        return name(text.strip())
    try:
        tokens = sqlglot.tokenize(text, read="duckdb")
    except SqlglotError:
        raise QuestionError(f"The expression {text[:60]!r} could not be read. Check its quotes.") from None
    if not _stands_alone(tokens):
        raise QuestionError(
            f"The expression {text[:60]!r} does not stand by itself. Close its brackets, without ; and comments."
        )
    return text.strip()


def _stands_alone(tokens: Sequence[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth < 0 or token.token_type == TokenType.SEMICOLON or token.comments:
            return False
    return depth == 0 and len(tokens) > 0


def is_word(text: str) -> bool:
    """Whether the text is one plain word."""
    return _WORD.fullmatch(text.strip()) is not None
