"""The functions of `question.functions`, one line each: what they are on the grid."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic, dates
from tacit.plan.values.call_arguments import MORE
from tacit.plan.values.clock import CLOCK, truncated_time
from tacit.plan.values.intervals import Interval
from tacit.plan.values.magnitude import magnitude
from tacit.plan.values.value import Number, Text, Truth, Value, bare, cast_to, truth_as_number
from tacit.question.functions import DATE_PARTS

_LONGEST = 1_000


def call(function: str, arguments: list[Value]) -> Value:
    """The value of a function; its arguments are not NULL constants."""
    if function in DATE_PARTS:
        return dates.part(function, _number(function, arguments[0]))
    if function == "date_trunc":
        unit, moment = arguments
        assert isinstance(unit, Text)
        assert unit.constant is not None
        if unit.constant in CLOCK:
            return truncated_time(unit.constant, _number(function, moment))
        return dates.truncated(unit.constant, _number(function, moment))
    if function == "magnitude":
        return magnitude(arguments[0])
    if function in MORE:
        return MORE[function](arguments)
    if function in ("lower", "upper", "length", "substring"):
        return _text_call(function, arguments)
    return _number_call(function, [_plain(function, argument) for argument in arguments])


def _number_call(function: str, numbers: list[Number]) -> Number:
    if function == "round":
        decimals = numbers[1] if len(numbers) > 1 else None
        return arithmetic.rounded_to(numbers[0], 0 if decimals is None else _constant(function, decimals, -12, 12))
    simple = {
        "abs": arithmetic.absolute,
        "sign": arithmetic.sign,
        "floor": arithmetic.whole_floor,
        "ceil": arithmetic.whole_ceil,
    }
    return simple[function](numbers[0])


def _text_call(function: str, arguments: list[Value]) -> Value:
    text = arguments[0]
    if not isinstance(text, Text):
        raise QuestionError(f"{function} needs a text.")
    if function == "length":
        return _length(text)
    if function == "substring":
        return _substring(text, arguments[1:])
    kind = exp.Lower if function == "lower" else exp.Upper
    known = None
    # outside ASCII the engine's letters may differ from Python's, so what comes out is not claimed to be known
    if text.values is not None and all(value.isascii() for value in text.values):
        known = tuple(dict.fromkeys(value.lower() if function == "lower" else value.upper() for value in text.values))
    return Text(kind(this=text.sql), text.nullable, known)


def _length(text: Text) -> Number:
    """The number of characters, at most 1,000: a longer text may not weigh more."""
    length = cast_to(exp.Length(this=text.sql), "BIGINT")
    cut = exp.GT(this=length.copy(), expression=bare(_LONGEST))
    sql = exp.Case().when(cut, cast_to(bare(_LONGEST), "BIGINT")).else_(length)
    return Number(sql, Interval(0, _LONGEST), nullable=text.nullable)


def _substring(text: Text, places: list[Value]) -> Text:
    start = _constant("substring", _number("substring", places[0]), 1, _LONGEST)
    length = _constant("substring", _number("substring", places[1]), 0, _LONGEST) if len(places) > 1 else _LONGEST
    known = None
    if text.values is not None and all(value.isascii() for value in text.values):
        known = tuple(dict.fromkeys(value[start - 1 : start - 1 + length] for value in text.values))
    sql = exp.Substring(this=text.sql, start=bare(start), length=bare(length))
    return Text(sql, text.nullable, known)


def _number(function: str, value: Value) -> Number:
    if isinstance(value, Truth):
        value = truth_as_number(value)
    if not isinstance(value, Number):
        raise QuestionError(f"{function} cannot be taken of a text.")
    return value


def _plain(function: str, value: Value) -> Number:
    number = _number(function, value)
    if number.meaning in ("date", "timestamp"):
        raise QuestionError(f"{function} cannot be taken of a {number.meaning}. Use year, month, day or date_trunc.")
    return replace(number, meaning="number")


def _constant(function: str, number: Number, least: int, most: int) -> int:
    value = number.constant
    if value is None or number.step != 1 or not least <= value <= most:
        raise QuestionError(f"{function} needs a constant whole number from {least} to {most} here.")
    return value
