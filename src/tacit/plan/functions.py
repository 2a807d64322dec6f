"""What a function of `question.functions` is here: a value on a row of the working copy, a formula on an answer.

Promise: this is the one place where the descriptions of that table become values with exact bounds (`values`), and
formulas over noisy numbers and released keys (`answers`), which cost nothing. What a description tells in full is made
for every function of its kind alike; what the table leaves to the plan is listed here by the name that stands there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import singledispatch
from types import MappingProxyType
from typing import Protocol, TypeAlias

from sqlglot import exp

from tacit.errors import QuestionError
from tacit.plan.answers.applied import Extreme, Rising, Wording
from tacit.plan.answers.formulas import Apply, Formula
from tacit.plan.values import arithmetic, clock, dates, float_functions, texts
from tacit.plan.values.choices import extreme
from tacit.plan.values.magnitude import magnitude
from tacit.plan.values.value import Number, Text, Truth, Value, described, truth_as_number
from tacit.question import forms, tree
from tacit.question.functions import FUNCTIONS, TABLE

Row: TypeAlias = Callable[[str, list[Value]], Value]
"""What a function of this name is of values, which are not NULL constants."""


class Reads(Protocol):
    """How the arguments of a function on an answer are read."""

    def number(self, node: tree.Scalar) -> Formula:
        """A number."""

    def word(self, node: tree.Scalar) -> Formula:
        """A key or a constant, as a text."""


Answer: TypeAlias = Callable[[tree.Call, Reads], Formula]


def on_row(function: str, given: list[Value]) -> Value:
    """The value of a call; its arguments are not NULL constants."""
    return _value(FUNCTIONS[function].on_row, function, given)


def on_answer(node: tree.Call, reads: Reads) -> Formula:
    """The formula of a call; refused where the function has no meaning on an answer."""
    form = FUNCTIONS[node.function].on_answer
    if form is None:
        known = ", ".join(each.name for each in TABLE if each.on_answer is not None)
        raise QuestionError(f"{node.function} is not understood on aggregates and keys. Known: {known}.")
    return _formula(form, node, reads)


# -- arguments on a row ------------------------------------------------------------------------------------


def _number(function: str, value: Value) -> Number:
    if isinstance(value, Truth):
        value = truth_as_number(value)
    if not isinstance(value, Number):
        raise QuestionError(f"{function} needs a number, and {described(value)} was found.")
    return value


def _plain(function: str, value: Value) -> Number:
    number = _number(function, value)
    if number.meaning in ("date", "timestamp"):
        raise QuestionError(f"{function} cannot be taken of a {number.meaning}. Use year, month, day or date_trunc.")
    return replace(number, meaning="number")


def _text(function: str, value: Value) -> Text:
    if not isinstance(value, Text):
        raise QuestionError(f"{function} needs a text, and {described(value)} was found.")
    return value


def _word(value: Value) -> str:
    assert isinstance(value, Text)
    assert value.constant is not None
    return value.constant


def _whole(function: str, value: Value, least: int, most: int) -> int:
    number = _plain(function, value)
    if number.constant is None or number.step != 1 or not least <= number.constant <= most:
        raise QuestionError(f"{function} needs a constant whole number from {least} to {most:,} here.")
    return number.constant


# -- on a row ----------------------------------------------------------------------------------------------


@singledispatch
def _value(form: forms.OnRow, function: str, given: list[Value]) -> Value:
    raise NotImplementedError(type(form).__name__)


@_value.register
def _(form: forms.Curve, function: str, given: list[Value]) -> Value:
    return float_functions.curved(function, form, _plain(function, given[0]))


@_value.register
def _(form: forms.Outermost, function: str, given: list[Value]) -> Value:
    return extreme(form.node, given)


@_value.register(forms.CalendarPart)
@_value.register(forms.ClockPart)
def _(form: forms.OnRow, function: str, given: list[Value]) -> Value:
    return dates.part(function, _number(function, given[0]))


@_value.register
def _(form: forms.Letters, function: str, given: list[Value]) -> Value:
    return texts.letters(form, _text(function, given[0]))


@_value.register
def _(form: forms.Trimmed, function: str, given: list[Value]) -> Value:
    characters = _text(function, given[1]) if len(given) > 1 else None
    return texts.trimmed(function, form, _text(function, given[0]), characters)


@_value.register
def _(form: forms.InPlan, function: str, given: list[Value]) -> Value:
    return ROWS[form.name](function, given)


def _of_number(value: Callable[[Number], Value]) -> Row:
    return lambda function, given: value(_plain(function, given[0]))


def _of_time(value: Callable[[Number], Value]) -> Row:
    return lambda function, given: value(_number(function, given[0]))


def _of_texts(value: Callable[..., Value]) -> Row:
    return lambda function, given: value(*(_text(function, each) for each in given))


def _rounded(function: str, given: list[Value]) -> Value:
    decimals = _whole(function, given[1], -12, 12) if len(given) > 1 else 0
    return arithmetic.rounded_to(_plain(function, given[0]), decimals)


def _truncated(function: str, given: list[Value]) -> Value:
    unit, moment = _word(given[0]), _number(function, given[1])
    return clock.truncated_time(unit, moment) if unit in clock.CLOCK else dates.truncated(unit, moment)


def _difference(function: str, given: list[Value]) -> Value:
    return clock.difference(_word(given[0]), *(_number(function, moment) for moment in given[1:]))


def _width_bucket(function: str, given: list[Value]) -> Value:
    x, low, high, count = (_plain(function, value) for value in given)
    return float_functions.width_bucket(x, low, high, count)


def _interval(function: str, given: list[Value]) -> Value:
    raise QuestionError("An interval goes with a date or a time: day + INTERVAL 7 DAY.")


def _substring(function: str, given: list[Value]) -> Value:
    start = _whole(function, given[1], 1, texts.LONGEST)
    length = _whole(function, given[2], 0, texts.LONGEST) if len(given) > 2 else texts.LONGEST
    return texts.substring(_text(function, given[0]), start, length)


def _right(function: str, given: list[Value]) -> Value:
    return texts.right(_text(function, given[0]), _whole(function, given[1], 0, texts.LONGEST))


ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "arithmetic.absolute": _of_number(arithmetic.absolute),
        "arithmetic.sign": _of_number(arithmetic.sign),
        "arithmetic.whole_floor": _of_number(arithmetic.whole_floor),
        "arithmetic.whole_ceil": _of_number(arithmetic.whole_ceil),
        "arithmetic.whole_part": _of_number(arithmetic.whole_part),
        "arithmetic.rounded_to": _rounded,
        "float_functions.width_bucket": _width_bucket,
        "magnitude.magnitude": lambda _, given: magnitude(given[0]),
        "dates.truncated": _truncated,
        "date_arithmetic.interval_of": _interval,
        "clock.difference": _difference,
        "clock.last_day": _of_time(clock.last_day),
        "clock.epoch": _of_time(clock.epoch),
        "texts.formatted": lambda function, given: texts.formatted(_number(function, given[0]), _word(given[1])),
        "texts.length": _of_texts(texts.length),
        "texts.substring": _substring,
        "texts.right": _right,
        "texts.concat": lambda _, given: texts.concat(given),
        "texts.replaced": _of_texts(texts.replaced),
        "texts.position": _of_texts(texts.position),
    }
)

# -- on an answer ------------------------------------------------------------------------------------------


@singledispatch
def _formula(form: forms.OnAnswer, node: tree.Call, reads: Reads) -> Formula:
    raise NotImplementedError(type(form).__name__)


@_formula.register
def _(form: forms.Curve, node: tree.Call, reads: Reads) -> Formula:
    return Rising(node.function, reads.number(node.arguments[0]))


@_formula.register
def _(form: forms.Straight, node: tree.Call, reads: Reads) -> Formula:
    decimals = 0
    if len(node.arguments) > 1:
        second = node.arguments[1]
        if not isinstance(second, tree.Literal) or type(second.value) is not int or abs(second.value) > 12:
            raise QuestionError(f"{node.function} needs a constant number of decimals from -12 to 12.")
        decimals = second.value
    return Apply(node.function, reads.number(node.arguments[0]), decimals)


@_formula.register
def _(form: forms.Outermost, node: tree.Call, reads: Reads) -> Formula:
    return Extreme(form.node is exp.Least, tuple(map(reads.number, node.arguments)))


@_formula.register
def _(form: forms.Letters, node: tree.Call, reads: Reads) -> Formula:
    return _worded(node, reads)


@_formula.register
def _(form: forms.InPlan, node: tree.Call, reads: Reads) -> Formula:
    return ANSWERS[form.name](node, reads)


def _worded(node: tree.Call, reads: Reads) -> Formula:
    return Wording(node.function, tuple(map(reads.word, node.arguments)))


def _cut(node: tree.Call, reads: Reads) -> Formula:
    text, *places = node.arguments
    given = [place.value for place in places if isinstance(place, tree.Literal) and type(place.value) is int]
    if len(given) != len(places) or any(place < 0 for place in given):
        raise QuestionError("substring needs constant whole numbers as places.")
    chosen = (given[0], given[1] if len(given) > 1 else texts.LONGEST)
    return Wording(node.function, (reads.word(text),), chosen)


ANSWERS: Mapping[str, Answer] = MappingProxyType({"applied.Wording": _worded, "applied.Wording.places": _cut})
