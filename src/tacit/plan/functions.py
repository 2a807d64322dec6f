"""What each function of `question.functions` is: on a row of the working copy, and on an answer.

One line for each function, in the order of that table. On a row it is a value with exact bounds (`values`); on an
answer it is a formula over noisy numbers and released keys (`answers`), which costs nothing. Most have no meaning
there: dates and texts are keys by then, and a noisy number is not a date.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
from tacit.question import tree

OnRow: TypeAlias = Callable[[list[Value]], Value]


class Reads(Protocol):
    """How the arguments of a function on an answer are read."""

    def number(self, node: tree.Scalar) -> Formula:
        """A number."""

    def word(self, node: tree.Scalar) -> Formula:
        """A key or a constant, as a text."""


OnAnswer: TypeAlias = Callable[[tree.Call, Reads], Formula]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a function is on a row (its arguments are not NULL constants), and on an answer, if it exists there."""

    name: str
    on_row: OnRow
    on_answer: OnAnswer | None = None


def on_answer(node: tree.Call, reads: Reads) -> Formula:
    """The formula of a call; refused where the function has no meaning on an answer."""
    found = MEANINGS[node.function].on_answer
    if found is None:
        known = ", ".join(each.name for each in TABLE if each.on_answer is not None)
        raise QuestionError(f"{node.function} is not understood on aggregates and keys. Known: {known}.")
    return found(node, reads)


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


def _of_number(function: str, value: Callable[[Number], Value]) -> OnRow:
    return lambda given: value(_plain(function, given[0]))


def _of_time(function: str, value: Callable[[Number], Value]) -> OnRow:
    return lambda given: value(_number(function, given[0]))


def _of_text(function: str, value: Callable[[Text], Value]) -> OnRow:
    return lambda given: value(_text(function, given[0]))


def _part(function: str) -> OnRow:
    return _of_time(function, lambda moment: dates.part(function, moment))


def _rising(function: str) -> OnRow:
    return _of_number(function, lambda number: float_functions.rising(function, number))


def _letters(function: str) -> OnRow:
    return _of_text(function, lambda text: texts.letters(function, text))


def _trim(function: str) -> OnRow:
    def trim(given: list[Value]) -> Value:
        characters = _text(function, given[1]) if len(given) > 1 else None
        return texts.trimmed(function, _text(function, given[0]), characters)

    return trim


def _round(given: list[Value]) -> Value:
    decimals = _whole("round", given[1], -12, 12) if len(given) > 1 else 0
    return arithmetic.rounded_to(_plain("round", given[0]), decimals)


def _date_trunc(given: list[Value]) -> Value:
    unit, moment = _word(given[0]), _number("date_trunc", given[1])
    return clock.truncated_time(unit, moment) if unit in clock.CLOCK else dates.truncated(unit, moment)


def _date_diff(given: list[Value]) -> Value:
    return clock.difference(_word(given[0]), *(_number("date_diff", moment) for moment in given[1:]))


def _width_bucket(given: list[Value]) -> Value:
    x, low, high, count = (_plain("width_bucket", value) for value in given)
    return float_functions.width_bucket(x, low, high, count)


def _interval(given: list[Value]) -> Value:
    raise QuestionError("An interval goes with a date or a time: day + INTERVAL 7 DAY.")


def _substring(given: list[Value]) -> Value:
    start = _whole("substring", given[1], 1, texts.LONGEST)
    length = _whole("substring", given[2], 0, texts.LONGEST) if len(given) > 2 else texts.LONGEST
    return texts.substring(_text("substring", given[0]), start, length)


# -- on an answer ------------------------------------------------------------------------------------------


def _bent(node: tree.Call, reads: Reads) -> Formula:
    return Rising(node.function, reads.number(node.arguments[0]))


def _stepped(node: tree.Call, reads: Reads) -> Formula:
    decimals = 0
    if len(node.arguments) > 1:
        second = node.arguments[1]
        if not isinstance(second, tree.Literal) or type(second.value) is not int or abs(second.value) > 12:
            raise QuestionError("round needs a constant number of decimals from -12 to 12.")
        decimals = second.value
    return Apply(node.function, reads.number(node.arguments[0]), decimals)


def _extreme(node: tree.Call, reads: Reads) -> Formula:
    return Extreme(node.function == "least", tuple(map(reads.number, node.arguments)))


def _worded(node: tree.Call, reads: Reads) -> Formula:
    return Wording(node.function, tuple(map(reads.word, node.arguments)))


def _cut(node: tree.Call, reads: Reads) -> Formula:
    text, *places = node.arguments
    given = [place.value for place in places if isinstance(place, tree.Literal) and type(place.value) is int]
    if len(given) != len(places) or any(place < 0 for place in given):
        raise QuestionError("substring needs constant whole numbers as places.")
    chosen = (given[0], given[1] if len(given) > 1 else texts.LONGEST)
    return Wording(node.function, (reads.word(text),), chosen)


TABLE: tuple[Meaning, ...] = (
    Meaning("abs", _of_number("abs", arithmetic.absolute), _stepped),
    Meaning("sign", _of_number("sign", arithmetic.sign), _stepped),
    Meaning("floor", _of_number("floor", arithmetic.whole_floor), _stepped),
    Meaning("ceil", _of_number("ceil", arithmetic.whole_ceil), _stepped),
    Meaning("round", _round, _stepped),
    Meaning("least", lambda given: extreme(exp.Least, given), _extreme),
    Meaning("greatest", lambda given: extreme(exp.Greatest, given), _extreme),
    Meaning("year", _part("year")),
    Meaning("quarter", _part("quarter")),
    Meaning("month", _part("month")),
    Meaning("day", _part("day")),
    Meaning("dayofweek", _part("dayofweek")),
    Meaning("isodow", _part("isodow")),
    Meaning("dayofyear", _part("dayofyear")),
    Meaning("hour", _part("hour")),
    Meaning("minute", _part("minute")),
    Meaning("second", _part("second")),
    Meaning("week", _part("week")),
    Meaning("date_trunc", _date_trunc),
    Meaning("date_diff", _date_diff),
    Meaning("last_day", _of_time("last_day", clock.last_day)),
    Meaning("epoch", _of_time("epoch", clock.epoch)),
    Meaning("strftime", lambda given: texts.formatted(_number("strftime", given[0]), _word(given[1]))),
    Meaning("interval", _interval),
    Meaning("width_bucket", _width_bucket),
    Meaning("trunc", _of_number("trunc", arithmetic.whole_part), _bent),
    Meaning("sqrt", _rising("sqrt"), _bent),
    Meaning("ln", _rising("ln"), _bent),
    Meaning("log10", _rising("log10"), _bent),
    Meaning("log2", _rising("log2"), _bent),
    Meaning("exp", _rising("exp"), _bent),
    Meaning("magnitude", lambda given: magnitude(given[0])),
    Meaning("lower", _letters("lower"), _worded),
    Meaning("upper", _letters("upper"), _worded),
    Meaning("length", _of_text("length", texts.length)),
    Meaning("substring", _substring, _cut),
    Meaning("right", lambda given: texts.right(_text("right", given[0]), _whole("right", given[1], 0, texts.LONGEST))),
    Meaning("concat", texts.concat, _worded),
    Meaning("trim", _trim("trim")),
    Meaning("ltrim", _trim("ltrim")),
    Meaning("rtrim", _trim("rtrim")),
    Meaning("replace", lambda given: texts.replaced(*(_text("replace", value) for value in given))),
    Meaning("position", lambda given: texts.position(*(_text("position", value) for value in given))),
)
MEANINGS: Mapping[str, Meaning] = MappingProxyType({each.name: each for each in TABLE})
