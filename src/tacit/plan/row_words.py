"""Rows as machine words: the codes of several columns side by side in one whole number, to be read by the million.

Promise: `packed` gives a query whose columns are words of 64 bits, and `Digit`s that say where each asked column stands
in them. A row's words are a function of that row; which bits a column has depends on public bounds alone. A code lies
within the bounds of its column, because every value of a plan does (`value.Number`); it is counted from the lower one,
so digits are never negative and a word stays below 2**62: nothing can overflow, on any engine.

Texts have the numbers of the listed values; a text that is not listed has the number after the last one, and is read as
-1. A column without bounds has a word of its own.

Where `grouped`, equal rows come once, with their number; otherwise every row comes. A `part` (number, of how many) has
the rows whose first word leaves that remainder, so that a long answer can be asked for in pieces: equal rows are in the
same piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from tacit.plan.plan import Query
from tacit.plan.rules.build_query import measure_column
from tacit.plan.values.value import bare, cast_to, enclosed, integer

WORD_BITS: Final = 62
_BLOCK: Final = 1 << 15  # rows that are read at a time, which stay near the processor
COUNT: Final = "n"
_MIXED: Final = 1_000_003  # a prime: remainders of words that differ in any digit are spread


@dataclass(frozen=True, slots=True)
class Code:
    """A column's code as SQL, and the public bounds of it; `unknown` is the code that means "not listed"."""

    sql: exp.Expr
    low: int
    high: int
    unknown: int | None = None

    @property
    def bits(self) -> int:
        """How many bits its digit has."""
        return (self.high - self.low).bit_length()


@dataclass(frozen=True, slots=True)
class Digit:
    """Where a column's code is stored: its word, its first bit, how many bits, and what 0 means."""

    word: int
    shift: int
    bits: int
    low: int
    high: int
    unknown: int | None

    def read(self, words: Sequence[NDArray[np.int64]]) -> NDArray[Any]:
        """The codes, in the narrowest whole numbers that the public bounds allow."""
        own = words[self.word]
        if self.bits > WORD_BITS:
            return own
        kind = np.promote_types(np.min_scalar_type(min(self.low, -1)), np.min_scalar_type(self.high))
        if self.bits == 0:
            return np.full(len(own), self._code(0), dtype=kind)
        found = np.empty(len(own), dtype=kind)
        for start in range(0, len(own), _BLOCK):
            digits = own[start : start + _BLOCK] >> self.shift
            digits &= (1 << self.bits) - 1
            if self.low:
                digits += self.low
            found[start : start + _BLOCK] = digits
        if self.unknown is not None:
            found[found == self.unknown] = -1
        return found

    def _code(self, digit: int) -> int:
        code = self.low + digit
        return -1 if code == self.unknown else code


def numbered(column: exp.Expr, values: Sequence[object]) -> Code:
    """A text as the number of the listed value that it is."""
    case = exp.Case()
    for place, value in enumerate(values):
        if isinstance(value, str):
            case = case.when(exp.EQ(this=column.copy(), expression=exp.Literal.string(value)), bare(place))
    if not case.args.get("ifs"):
        return Code(integer(0), 0, 0, 0)
    return Code(cast_to(case.else_(bare(len(values))), "BIGINT"), 0, len(values), len(values))


def laid_out(codes: Sequence[Code]) -> tuple[Digit, ...]:
    """Digits one after the other, in as many words as they need."""
    found, word, used = [], 0, 0
    for place, each in enumerate(codes):
        if place and used + each.bits > WORD_BITS:
            word, used = word + 1, 0
        found.append(Digit(word, used, each.bits, each.low, each.high, each.unknown))
        used += each.bits
    return tuple(found)


def packed(
    rows: exp.Select, codes: Sequence[Code], *, grouped: bool, part: tuple[int, int] | None = None
) -> tuple[Query, tuple[Digit, ...]]:
    """The query for the words of `rows`, a SELECT with the codes' columns, and where to find the codes."""
    digits = laid_out(codes)
    names = [measure_column(word) for word in range(digits[-1].word + 1)]
    written = [
        exp.alias_(_word([(d, c) for d, c in zip(digits, codes, strict=True) if d.word == word]), name)
        for word, name in enumerate(names)
    ]
    query = exp.select(*written).from_(rows.subquery("r0"))
    if part is not None:
        number, many = part
        first = exp.Mod(this=exp.column(names[0]), expression=integer(_MIXED))
        own = exp.EQ(this=exp.Mod(this=exp.paren(first), expression=integer(many)), expression=bare(number))
        query = exp.select(*map(exp.column, names)).from_(query.subquery("r1")).where(own)
    if not grouped:
        return Query(query, (), tuple(names), None), digits
    count = exp.alias_(exp.Count(this=exp.Star()), COUNT)
    query = exp.select(*map(exp.column, names), count).from_(query.subquery("r2"))
    query = query.group_by(*(exp.Literal.number(place + 1) for place in range(len(names))))
    return Query(query, (), (*names, COUNT), None), digits


def _word(own: Sequence[tuple[Digit, Code]]) -> exp.Expr:
    """The sum of the digits of one word, each times its power of two."""
    if len(own) == 1 and own[0][0].bits > WORD_BITS:
        return cast_to(enclosed(own[0][1].sql), "BIGINT")
    total: exp.Expr | None = None
    for digit, code in own:
        term = cast_to(enclosed(code.sql), "BIGINT")
        if code.low:
            term = exp.Sub(this=term, expression=exp.paren(integer(code.low)))
        if digit.shift:
            term = exp.Mul(this=exp.paren(term), expression=integer(1 << digit.shift))
        total = term if total is None else exp.Add(this=total, expression=term)
    assert total is not None
    return total
