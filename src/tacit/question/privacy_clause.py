"""What a question itself says about its price: cut out of its words before they are parsed.

    SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5, delta = 1e-6, ...) sex, count(*) FROM visits GROUP BY sex
    SELECT sex, count(*) FROM visits GROUP BY sex WITH PRIVACY (epsilon = 0.5, rows_per_unit = 4)

Promise: either form is read whole or refused by name; nothing in it is dropped or guessed. What is left keeps its
places, so that messages about the rest of the text still point at the right line and column. Numbers are what was
written: 0.1 is a tenth.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from tacit.errors import QuestionError
from tacit.question import tree

_LONGEST_NUMBER = 40
_LARGEST_POWER = 300
_LARGEST_COUNT = 2**31 - 1
_OPEN, _CLOSE = TokenType.L_PAREN, TokenType.R_PAREN
_WORDS = frozenset({"PRIVACY", "DIFFERENTIAL_PRIVACY"})
"""One of these is in every form."""


def cut_privacy(tokens: Sequence[Token]) -> tuple[list[Token], tree.Privacy | None]:
    """The words of the question without its privacy clause, and the clause."""
    if _WORDS.isdisjoint([token.text.upper() for token in tokens]):
        return list(tokens), None
    rest, first = _cut_prefix(list(tokens))
    rest, last = _cut_suffix(rest)
    if first is not None and last is not None:
        raise QuestionError("The question speaks of privacy twice: after SELECT and at its end. Say it once.")
    return rest, first or last


# -- where it stands ---------------------------------------------------------------------------------------


def _cut_prefix(tokens: list[Token]) -> tuple[list[Token], tree.Privacy | None]:
    """SELECT WITH DIFFERENTIAL_PRIVACY [OPTIONS (...)], of the outermost SELECT."""
    depth, found = 0, None
    for place, token in enumerate(tokens):
        depth += (token.token_type == _OPEN) - (token.token_type == _CLOSE)
        if token.token_type == TokenType.SELECT and _spells(tokens, place + 1, "WITH", "DIFFERENTIAL_PRIVACY"):
            if depth or found is not None:
                raise QuestionError(
                    f"WITH DIFFERENTIAL_PRIVACY goes after the outermost SELECT, once{_at(tokens[place + 1])}."
                )
            found = place + 1
    if found is None:
        return tokens, None
    end = found + 2
    if not (_spells(tokens, end, "OPTIONS") and _is(tokens, end + 1, _OPEN)):
        return tokens[:found] + tokens[end:], tree.Privacy(of_select=True)
    close = _closing(tokens, end + 1)
    stated = _options(tokens[end + 2 : close], tokens[end], _BIGQUERY)
    return tokens[:found] + tokens[close + 1 :], replace(stated, of_select=True)


def _cut_suffix(tokens: list[Token]) -> tuple[list[Token], tree.Privacy | None]:
    """WITH PRIVACY (...) at the very end. `WITH privacy (a) AS (SELECT ...)` names a SELECT and is left alone."""
    for place in range(len(tokens)):
        if not (_spells(tokens, place, "WITH", "PRIVACY") and _is(tokens, place + 2, _OPEN)):
            continue
        close = _closing(tokens, place + 2)
        if _is(tokens, close + 1, TokenType.ALIAS):
            continue
        after = close + 1
        while _is(tokens, after, TokenType.SEMICOLON):
            after += 1
        if after < len(tokens) or place == 0 or _depth(tokens[:place]):
            raise QuestionError(f"WITH PRIVACY (...) goes to the very end of the question{_at(tokens[place])}.")
        stated = _options(tokens[place + 3 : close], tokens[place + 1], _OURS)
        return tokens[:place] + tokens[close + 1 :], stated
    return tokens, None


def _spells(tokens: Sequence[Token], place: int, *words: str) -> bool:
    """Whether these bare words stand there, in upper or lower case. Quoted words are names or texts."""
    if place + len(words) > len(tokens):
        return False
    quoted = (TokenType.IDENTIFIER, TokenType.STRING)
    there = tokens[place : place + len(words)]
    return all(
        token.token_type not in quoted and token.text.upper() == word for token, word in zip(there, words, strict=True)
    )


def _is(tokens: Sequence[Token], place: int, kind: TokenType) -> bool:
    return place < len(tokens) and tokens[place].token_type == kind


def _depth(tokens: Iterable[Token]) -> int:
    return sum((token.token_type == _OPEN) - (token.token_type == _CLOSE) for token in tokens)


def _closing(tokens: Sequence[Token], opening: int) -> int:
    depth = 0
    for place in range(opening, len(tokens)):
        depth += (tokens[place].token_type == _OPEN) - (tokens[place].token_type == _CLOSE)
        if depth == 0:
            return place
    raise QuestionError(f"A bracket is opened and never closed{_at(tokens[opening])}.")


# -- what it says ------------------------------------------------------------------------------------------


def _options(tokens: Sequence[Token], word: Token, known: Mapping[str, tuple[str, _Reader]]) -> tree.Privacy:
    stated: dict[str, Any] = {}
    for option in _parted(tokens, word):
        name, sign, *value = option
        called = name.text.lower()
        if name.token_type not in (TokenType.VAR, TokenType.IDENTIFIER) or sign.token_type != TokenType.EQ or not value:
            raise QuestionError(f"Options are written name = value, such as epsilon = 0.5{_at(name)}.")
        if called not in known:
            near = difflib.get_close_matches(called, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise QuestionError(
                f"The option {name.text[:40]!r} is not known here{_at(name)}. Options: {', '.join(known)}.{hint}"
            )
        field, read = known[called]
        if field in stated:
            raise QuestionError(f"The option {called!r} stands twice{_at(name)}. Say it once.")
        stated[field] = read(called, value)
    return tree.Privacy(**stated)


def _parted(tokens: Sequence[Token], word: Token) -> list[list[Token]]:
    """The options between the commas, each of at least three words."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    for part in parts:
        if len(part) < 3:
            where = part[0] if part else word
            raise QuestionError(f"Options are written name = value, with commas between them{_at(where)}.")
    return parts


def _number(name: str, value: Sequence[Token]) -> Fraction:
    """A number as it was written."""
    text = "".join(token.text for token in value)
    joined = all(left.end + 1 == right.start for left, right in pairwise(value))
    kinds = tuple(token.token_type for token in value)
    if joined and kinds in ((TokenType.NUMBER,), (TokenType.DOT, TokenType.NUMBER)) and len(text) <= _LONGEST_NUMBER:
        _, _, power = text.lower().partition("e")
        try:
            if not power or abs(int(power)) <= _LARGEST_POWER:
                return Fraction(text)
        except ValueError:
            pass  # digits in another base, or a letter after them
    raise QuestionError(f"The option {name!r} takes a number such as 0.5 or 1e-6{_at(value[0])}.")


def _epsilon(name: str, value: Sequence[Token]) -> Fraction:
    found = _number(name, value)
    if found <= 0:
        raise QuestionError(f"The option {name!r} takes a number above 0{_at(value[0])}.")
    return found


def _delta(name: str, value: Sequence[Token]) -> Fraction:
    found = _number(name, value)
    if found >= 1:
        raise QuestionError(f"The option {name!r} takes a number of at least 0 and below 1{_at(value[0])}.")
    return found


def _count(name: str, value: Sequence[Token]) -> int:
    found = _number(name, value)
    if found.denominator != 1 or not 1 <= found <= _LARGEST_COUNT:
        raise QuestionError(f"The option {name!r} takes a whole number of at least 1{_at(value[0])}.")
    return int(found)


def _column(name: str, value: Sequence[Token]) -> str:
    if len(value) != 1 or value[0].token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
        raise QuestionError(f"The option {name!r} takes the plain name of a column{_at(value[0])}.")
    return value[0].text


def _at(token: Token) -> str:
    column = token.col - (token.end - token.start)
    return f" (line {token.line}, column {max(column, 1)})"


_Reader = Callable[[str, Sequence[Token]], Any]
_OURS: Mapping[str, tuple[str, _Reader]] = MappingProxyType(
    {
        "epsilon": ("epsilon", _epsilon),
        "delta": ("delta", _delta),
        "rows_per_unit": ("rows_per_unit", _count),
        "groups_per_unit": ("groups_per_unit", _count),
    }
)
_BIGQUERY: Mapping[str, tuple[str, _Reader]] = MappingProxyType(
    {
        "epsilon": ("epsilon", _epsilon),
        "delta": ("delta", _delta),
        "max_rows_contributed": ("rows_per_unit", _count),
        "max_groups_contributed": ("groups_per_unit", _count),
        "privacy_unit_column": ("unit", _column),
    }
)
