"""Texts put together, cut and searched; whole numbers, truth values and dates as texts.

Promise: every function keeps the invariants of `value`, and means the same on every engine: texts to search for or to
insert are constants, characters are code points, and trimming removes only the plain space unless other characters are
named. Before a text grows it is cut to its first 1,000 characters, so that no row's text can grow beyond what an engine
can hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic, dates
from tacit.plan.values.intervals import Interval
from tacit.plan.values.value import Number, Text, Truth, Value, bare, cast_to, constant, described, enclosed, scaled
from tacit.plan.values.value import truth_as_number as numbered
from tacit.policy.columns import LONGEST_TEXT
from tacit.question.forms import Letters, Trimmed

LONGEST = LONGEST_TEXT
_MOST_VALUES = 2_000
_MOST_DAYS = 40_000
_PIECES = {"Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "j": ("dayofyear", 3)}
_CLOCK_PIECES = {"H": ("hour", 2), "M": ("minute", 2), "S": ("second", 2)}


def concat(values: list[Value]) -> Text:
    """One after the other; NULL where one of them is."""
    texts = [as_text(value, "||") for value in values]
    known = None
    if all(text.values is not None for text in texts) and math.prod(len(t.values or ()) for t in texts) <= _MOST_VALUES:
        known = tuple(dict.fromkeys(map("".join, itertools.product(*(text.values or () for text in texts)))))
    first, *rest = (enclosed(_cut(text)) for text in texts)
    for part in rest:
        first = exp.DPipe(this=first, expression=part, safe=True)
    only = known[0] if known is not None and len(known) == 1 else None
    nullable = any(text.nullable for text in texts)
    return Text(first, nullable, known, None if nullable else only)


def trimmed(function: str, form: Trimmed, text: Text, characters: Text | None) -> Text:
    """trim, ltrim, rtrim."""
    taken = " " if characters is None else _constant("trim", characters)
    if len(taken) != 1:
        raise QuestionError(f"{function} takes off one character, written in quotes. Nest it for several.")
    sql = exp.Trim(this=text.sql, expression=exp.Literal.string(taken), position=form.side)
    return _mapped(text, sql, lambda value: form.word(value, taken))


def right(text: Text, count: int) -> Text:
    """The last characters."""
    if count == 0:
        return _mapped(text, exp.Substring(this=text.sql, start=bare(1), length=bare(0)), lambda _: "")
    return _mapped(text, exp.Right(this=text.sql, expression=bare(count)), lambda value: value[-count:])


def replaced(text: Text, old: Text, new: Text) -> Text:
    """Every place of one constant text by another."""
    before, after = _constant("replace", old), _constant("replace", new)
    if not before:
        raise QuestionError("replace needs a text to look for; '' is nowhere and everywhere.")
    sql = exp.Replace(this=_cut(text), expression=exp.Literal.string(before), replacement=exp.Literal.string(after))
    return _mapped(text, sql, lambda value: value.replace(before, after))


def position(text: Text, part: Text) -> Number:
    """The first place of a constant text, from 1, at most 1,000; 0 where it does not occur."""
    wanted = _constant("position", part)
    if not wanted:
        raise QuestionError("position needs a text to look for; '' is nowhere and everywhere.")
    place = cast_to(exp.StrPosition(this=text.sql, substr=exp.Literal.string(wanted)), "BIGINT")
    far = exp.GT(this=place.copy(), expression=bare(LONGEST))
    sql = exp.Case().when(far, cast_to(bare(LONGEST), "BIGINT")).else_(place)
    return Number(sql, Interval(0, LONGEST), nullable=text.nullable)


def letters(form: Letters, text: Text) -> Text:
    """lower and upper."""
    known = None
    # outside ASCII the engine's letters may differ from Python's, so the result is not claimed to be known
    if text.values is not None and all(value.isascii() for value in text.values):
        known = tuple(dict.fromkeys(map(form.word, text.values)))
    return Text(form.node(this=text.sql), text.nullable, known)


def length(text: Text) -> Number:
    """The number of characters, at most 1,000: a longer text may not count more."""
    whole = cast_to(exp.Length(this=text.sql), "BIGINT")
    cut = exp.GT(this=whole.copy(), expression=bare(LONGEST))
    sql = exp.Case().when(cut, cast_to(bare(LONGEST), "BIGINT")).else_(whole)
    return Number(sql, Interval(0, LONGEST), nullable=text.nullable)


def substring(text: Text, start: int, count: int) -> Text:
    """This many characters from a place on; the first place is 1."""
    known = None
    if text.values is not None and all(value.isascii() for value in text.values):
        known = tuple(dict.fromkeys(value[start - 1 : start - 1 + count] for value in text.values))
    sql = exp.Substring(this=text.sql, start=bare(start), length=bare(count))
    return Text(sql, text.nullable, known)


def as_text(value: Value, user: str) -> Text:
    """A text; a whole number, a truth value or a date as people write it."""
    if isinstance(value, Text):
        return value
    if isinstance(value, Truth):
        value = numbered(value)
    if isinstance(value, Number):
        if value.meaning == "boolean":
            return _truth_text(value)
        if value.meaning == "date":
            return formatted(value, "%Y-%m-%d")
        if value.meaning == "number" and value.step.denominator == 1 and not value.rounded:
            return _digits(scaled(value, value.step.numerator))
    raise QuestionError(f"{user} needs a text or a whole number, and {described(value)} was found. Use floor or round.")


def _digits(number: Number) -> Text:
    points = number.points
    if points is None and number.bounds.high - number.bounds.low < _MOST_VALUES:
        points = tuple(range(number.bounds.low, number.bounds.high + 1))
    return Text(cast_to(number.sql, "TEXT"), number.nullable, None if points is None else tuple(map(str, points)))


def _truth_text(number: Number) -> Text:
    sql = exp.Case()
    for value, word in ((1, "true"), (0, "false")):
        sql = sql.when(exp.EQ(this=enclosed(number.sql), expression=bare(value)), exp.Literal.string(word))
    return Text(sql, number.nullable, ("true", "false"))


def formatted(number: Number, pattern: str) -> Text:
    """A date or time by a pattern of %Y, %m, %d, %j, %H, %M, %S and plain characters."""
    pieces: list[Value] = []
    rest = pattern
    while rest:
        plain, sign, rest = rest.partition("%")
        if plain:
            pieces.append(_literal(plain))
        if sign:
            pieces.append(_piece(number, rest[:1]))
            rest = rest[1:]
    if not pieces:
        raise QuestionError("strftime needs a pattern such as '%Y-%m'.")
    return replace(concat(pieces), values=_formats(number, pattern), nullable=number.nullable, constant=None)


def _piece(number: Number, letter: str) -> Text:
    if letter == "%":
        return _literal("%")
    if letter not in {**_PIECES, **_CLOCK_PIECES}:
        known = " ".join(f"%{each}" for each in (*_PIECES, *_CLOCK_PIECES))
        raise QuestionError(f"%{letter} in a pattern of dates is not understood. Known: {known}.")
    if letter in _CLOCK_PIECES and number.meaning == "date":
        return _literal("00")
    name, width = {**_PIECES, **_CLOCK_PIECES}[letter]
    # a one in front, which is removed again, keeps leading zeros
    lifted = arithmetic.add(dates.part(name, number), constant(10**width))
    sql = exp.Substring(this=cast_to(lifted.sql, "TEXT"), start=bare(2), length=bare(width))
    return Text(sql, number.nullable)


def _formats(number: Number, pattern: str) -> tuple[str, ...] | None:
    """All possible texts, where the pattern is about days and there are not too many."""
    dated = dates.as_date(number, "strftime")
    letters = {after[:1] for after in pattern.replace("%%", "").split("%")[1:]}
    timed = number.meaning == "timestamp" and letters & set(_CLOCK_PIECES)
    if timed or dated.bounds.high - dated.bounds.low > _MOST_DAYS:
        return None
    every = (dates.calendar_date(day) for day in range(dated.bounds.low, dated.bounds.high + 1))
    found = tuple(dict.fromkeys(_python_format(day, pattern) for day in every))
    return found if len(found) <= _MOST_VALUES else None


def _python_format(day: object, pattern: str) -> str:
    import datetime

    assert isinstance(day, datetime.date)
    parts = {
        "Y": f"{day.year:04}",
        "m": f"{day.month:02}",
        "d": f"{day.day:02}",
        "j": f"{day.timetuple().tm_yday:03}",
        "%": "%",
        **dict.fromkeys(_CLOCK_PIECES, "00"),
    }
    found, rest = "", pattern
    while rest:
        plain, sign, rest = rest.partition("%")
        found += plain
        if sign:
            found, rest = found + parts[rest[:1]], rest[1:]
    return found


def _literal(text: str) -> Text:
    return Text(exp.Literal.string(text), nullable=False, values=(text,), constant=text)


def _cut(text: Text) -> exp.Expr:
    if text.values is not None or isinstance(text.sql, (exp.Literal, exp.Cast)):
        return text.sql
    return exp.Substring(this=text.sql, start=bare(1), length=bare(LONGEST))


def _mapped(text: Text, sql: exp.Expr, change: Callable[[str], str]) -> Text:
    known = None
    if text.values is not None and all(value.isascii() for value in text.values):
        known = tuple(dict.fromkeys(map(change, text.values)))
    return Text(sql, text.nullable, known)


def _constant(function: str, text: Text) -> str:
    if text.constant is None:
        raise QuestionError(f"{function} needs a constant text here, written in quotes.")
    return text.constant
