"""How a released number, name or interval is written in a terminal, in a notebook, in a sentence.

Promise: text that came from a table or a question cannot rewrite a terminal; numbers are grouped and short, but never
rounded by more than their interval allows.
"""

from __future__ import annotations

import html
import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any

from tacit.plan.answers.bends import UNKNOWN

_FEWEST, _MOST = 6, 15  # digits of a number; a double has between 15 and 17


def shown(value: Any, reach: float | None = None) -> str:
    """A value of a cell; one that may be off by `reach` has every digit that this makes meaningful."""
    if value is None:
        return "NULL"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key_text(key)}: {shown(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.{_digits(value, reach)}g}" if isinstance(value, float) else safe(str(value))


def _digits(value: float, reach: float | None) -> int:
    """Six, or as many as reach to the second digit of `reach`: 1,708,735,134.78 +/- 0.26 is not 1.70874e+09.

    Without one, as many as reach to the second decimal of a number of a million or more.
    """
    if not math.isfinite(value) or value == 0 or (reach is not None and math.isnan(reach)):
        return _FEWEST
    if reach == 0:
        return _MOST
    first = math.floor(math.log10(abs(value)))
    if reach is None:
        return _FEWEST if first < _FEWEST else min(_MOST, first + 3)
    last = math.floor(math.log10(reach)) if math.isfinite(reach) else first
    return max(_FEWEST, min(_MOST, first - last + 2))


def _exactly(value: float) -> str:
    """A number that stands for itself, a key or a value that was picked: six decimals of a large one too."""
    size = math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
    return f"{value:.{max(_FEWEST, min(_MOST, _FEWEST + size))}g}"


def key_text(key: Any) -> str:
    """The name of a group or a bin: a year has no thousands separator."""
    if isinstance(key, float) and key.is_integer() and abs(key) < 1e15:
        key = int(key)
    if isinstance(key, tuple):
        return "[" + ", ".join(map(key_text, key)) + "]"
    return str(key) if isinstance(key, int) else _exactly(key) if isinstance(key, float) else shown(key)


def label(key: Any) -> str:
    """The same for readers who do not know SQL."""
    return "missing" if key is None else key_text(key)


def places_of(ends: tuple[float, float] | None) -> int | None:
    """How many decimals an interval makes meaningful: two digits of its half width. None where it says nothing."""
    if ends is None or not all(map(math.isfinite, ends)) or ends[1] <= ends[0]:
        return None
    return max(0, min(12, 1 - math.floor(math.log10((ends[1] - ends[0]) / 2))))


def rounded(value: Any, ends: tuple[float, float] | None) -> str:
    """A number with as many digits as its interval makes meaningful."""
    places = places_of(ends)
    if places is None or not isinstance(value, float) or not math.isfinite(value) or abs(value) >= 1e15:
        return shown(value)
    return f"{round(value, places) + 0.0:,.{places}f}"


def safe(text: str) -> str:
    """Text from a table or a question as it can be printed: control characters could rewrite a terminal."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def in_html(text: str) -> str:
    """The same as part of a page."""
    return html.escape(safe(text))


def off(reach: float) -> str:
    """How far a value may be off; a question mark where nothing is known."""
    if not reach <= UNKNOWN:
        return "?"
    return f"{reach:,}" if isinstance(reach, int) and reach < 10**6 else f"{reach:.3g}"


def bars(column: tuple[Any, ...], reaches: list[float] | None) -> list[str]:
    """For each value a small drawing of its interval, all on one scale that holds zero; nothing for keys."""
    if reaches is None:
        return [""] * len(column)
    drawn = [value is not None and reach <= UNKNOWN for value, reach in zip(column, reaches, strict=True)]
    ends = [
        end
        for value, reach, draw in zip(column, reaches, drawn, strict=True)
        if draw
        for end in (value - reach, value + reach)
    ]
    low, high = min([0.0, *ends]), max([0.0, *ends])

    def place(number: float) -> str:
        return f"{2 + 96 * (number - low) / ((high - low) or 1.0):.1f}"

    def drawing(value: float, reach: float) -> str:
        line = f'<line x1="{place(value - reach)}" x2="{place(value + reach)}" y1="5" y2="5" stroke="currentColor"/>'
        return f'<br><svg width="100" height="10">{line}<circle cx="{place(value)}" cy="5" r="2.5"/></svg>'

    return [drawing(value, reach) if draw else "" for value, reach, draw in zip(column, reaches, drawn, strict=True)]


def as_decimal(exact: Fraction) -> str:
    """An exact loss as a person writes it: 1/10 is 0.1."""
    return readable(f"{exact.numerator}/{exact.denominator}")


def readable(exact: str, *, digits: int = 6) -> str:
    """The text of an exact loss as a person writes it, six digits, rounded up: 1/10 is 0.1, 1/3 is 0.333334."""
    number = Fraction(exact)
    upward = Context(prec=digits, rounding=ROUND_CEILING)
    return f"{float(upward.divide(Decimal(number.numerator), Decimal(number.denominator))):.6g}"
