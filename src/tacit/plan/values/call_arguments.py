"""Further functions of `question.functions`: how their arguments are read, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tacit.errors import QuestionError
from tacit.plan.values import arithmetic, clock, float_functions, texts
from tacit.plan.values.value import Number, Text, Truth, Value, described, truth_as_number


def _number(function: str, value: Value) -> Number:
    if isinstance(value, Truth):
        value = truth_as_number(value)
    if not isinstance(value, Number):
        raise QuestionError(f"{function} needs a number, and {described(value)} was found.")
    return value


def _plain(function: str, value: Value) -> Number:
    number = _number(function, value)
    if number.meaning in ("date", "timestamp"):
        raise QuestionError(f"{function} cannot be taken of a {number.meaning}.")
    return number


def _text(function: str, value: Value) -> Text:
    if not isinstance(value, Text):
        raise QuestionError(f"{function} needs a text, and {described(value)} was found.")
    return value


def _word(value: Value) -> str:
    assert isinstance(value, Text)
    assert value.constant is not None
    return value.constant


def _count(function: str, value: Value) -> int:
    count = _plain(function, value)
    if count.constant is None or count.step != 1 or not 0 <= count.constant <= texts.LONGEST:
        raise QuestionError(f"{function} needs a constant whole number from 0 to {texts.LONGEST:,} here.")
    return count.constant


def _trim(function: str) -> Callable[[list[Value]], Value]:
    def trim(given: list[Value]) -> Value:
        characters = _text(function, given[1]) if len(given) > 1 else None
        return texts.trimmed(function, _text(function, given[0]), characters)

    return trim


def _curve(function: str) -> Callable[[list[Value]], Value]:
    return lambda given: float_functions.curve(function, _plain(function, given[0]))


def _width_bucket(given: list[Value]) -> Value:
    x, low, high, count = (_plain("width_bucket", value) for value in given)
    return float_functions.width_bucket(x, low, high, count)


def _interval(given: list[Value]) -> Value:
    raise QuestionError("An interval goes beside a date or a time: day + INTERVAL 7 DAY.")


MORE: Mapping[str, Callable[[list[Value]], Value]] = MappingProxyType(
    {
        "width_bucket": _width_bucket,
        "sqrt": _curve("sqrt"),
        "ln": _curve("ln"),
        "log10": _curve("log10"),
        "log2": _curve("log2"),
        "exp": _curve("exp"),
        "trunc": lambda given: arithmetic.whole_part(_plain("trunc", given[0])),
        "date_diff": lambda given: clock.difference(
            _word(given[0]), _number("date_diff", given[1]), _number("date_diff", given[2])
        ),
        "epoch": lambda given: clock.epoch(_number("epoch", given[0])),
        "last_day": lambda given: clock.last_day(_number("last_day", given[0])),
        "strftime": lambda given: texts.formatted(_number("strftime", given[0]), _word(given[1])),
        "interval": _interval,
        "concat": texts.concat,
        "trim": _trim("trim"),
        "ltrim": _trim("ltrim"),
        "rtrim": _trim("rtrim"),
        "right": lambda given: texts.right(_text("right", given[0]), _count("right", given[1])),
        "replace": lambda given: texts.replaced(*(_text("replace", value) for value in given)),
        "position": lambda given: texts.position(*(_text("position", value) for value in given)),
    }
)
