"""Released columns as drawings made of HTML and a little SVG: bars with their intervals, or curves. No script.

Promise: made of released values only; text that came from a table is escaped. Words are HTML, so they stay as large on
a phone as on a wide screen; only bars and lines stretch. Zero is on every axis. All values are drawn, or a sentence
says how many are not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tacit.answer.shown import in_html, key_text, label, rounded

_MOST_BARS: Final = 40
_MOST_COLUMNS: Final = 500
_COLOURS: Final = ("var(--bar)", "var(--second)", "var(--third)", "var(--fourth)")
_TICKS: Final = 5
_BEYOND: Final = 1.0
_BRIEF: Final = 10
"""Labels of this many characters, at most, stand next to their bars even on a phone; longer ones stand above them."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A column of a table; `low` and `high` are None for a key."""

    name: str
    values: Sequence[Any]
    low: Sequence[Any] | None = None
    high: Sequence[Any] | None = None

    @property
    def is_number(self) -> bool:
        """Whether there is something to draw, and nothing that is not a number."""
        known = [each for each in self.values if each is not None]
        return bool(known) and all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in known)

    def ends(self, place: int) -> tuple[float, float] | None:
        """The interval of a value, if it has one."""
        if self.low is None or self.high is None or self.low[place] is None or self.high[place] is None:
            return None
        return float(self.low[place]), float(self.high[place])

    def said(self, place: int) -> str:
        """The value, with as many digits as its interval makes meaningful."""
        return rounded(self.values[place], self.ends(place))


def drawings(columns: Sequence[Drawn], kind: str) -> list[str]:
    """The drawings of a table: one for each noisy column, or one with all curves over the first column."""
    noisy = [each for each in columns if each.low is not None and each.is_number]
    noisy = noisy or [each for each in columns if each.is_number]
    if not noisy:
        return []
    if kind == "line" and columns[0].is_number:
        return [_curves(columns[0], [each for each in noisy if each is not columns[0]])]
    keys = [each for each in columns if all(each is not other for other in noisy)]
    count = len(noisy[0].values)
    if count > _MOST_BARS and len(keys) == 1 and keys[0].is_number:
        return [_steps(keys[0], each) for each in noisy]
    labels = [", ".join(label(each.values[row]) for each in keys) for row in range(count)]
    return [_bars(each, labels) for each in noisy]


def share_bars(title: str, rows: Sequence[tuple[str, float]]) -> str:
    """Shares from 0 to 1 as bars, each with its percentage."""
    lines = [_line(label, _bar(share, None, 0.0, 1.0), f"{share:.1%}") for label, share in rows]
    kind = _kind([label for label, _ in rows])
    return _figure(title, f'<div class="{kind}">{"".join(lines)}{_under(0.0, 1.0, percent=True)}</div>')


def _bars(column: Drawn, labels: Sequence[str]) -> str:
    """A bar for each row, one below the other."""
    drawn = range(min(len(labels), _MOST_COLUMNS))
    low, high = _range([column], drawn)
    lines = []
    for place in drawn:
        value = column.values[place]
        inside = "" if value is None else _bar(float(value), column.ends(place), low, high)
        lines.append(_line(labels[place], inside + _zero(low, high), column.said(place)))
    cut = _cut_ranges([column], drawn, low, high) + _cut(len(labels))
    kind = _kind([labels[place] for place in drawn])
    return _figure(column.name, f'<div class="{kind}">{"".join(lines)}{_under(low, high)}</div>{cut}')


def _kind(labels: Sequence[str]) -> str:
    return "bars brief" if all(len(label) <= _BRIEF for label in labels) else "bars"


def _line(label: str, track: str, value: str) -> str:
    return (
        f'<span class="label">{in_html(label)}</span><span class="track">{track}</span>'
        f'<span class="value">{in_html(value)}</span>'
    )


def _bar(value: float, ends: tuple[float, float] | None, low: float, high: float) -> str:
    left, right = sorted((_share(0.0, low, high), _share(value, low, high)))
    parts = [f'<i class="bar" style="left:{left:.2f}%;width:{right - left:.2f}%"></i>']
    if ends is not None:
        start, stop = (_share(end, low, high) for end in ends)
        parts.append(f'<i class="reach" style="left:{start:.2f}%;width:{stop - start:.2f}%"></i>')
        parts += [f'<i class="end" style="left:{end:.2f}%"></i>' for end in (start, stop)]
    return "".join(parts)


def _zero(low: float, high: float) -> str:
    return f'<i class="zero" style="left:{_share(0.0, low, high):.2f}%"></i>'


def _under(low: float, high: float, *, percent: bool = False) -> str:
    """The axis below bars: a line of the grid of its own."""
    texts = [(f"{tick:.0%}" if percent else tick_text(tick), _share(tick, low, high)) for tick in ticks(low, high)]
    zero = next((place for place, tick in enumerate(ticks(low, high)) if tick == 0), 0)
    return f'<span class="over"></span>{_axis(texts, zero)}<span class="over"></span>'


def _axis(texts: Sequence[tuple[str, float]], zero: int = 0) -> str:
    """Texts under their places. On a phone every second one is left out, counted from zero, so that none overlap."""

    def kind(number: int, place: float) -> str:
        side = "first" if place < 4 else "last" if place > 96 else ""
        words = " ".join(filter(None, (side, "second" if (number - zero) % 2 else "")))
        return f' class="{words}"' if words else ""

    spans = (
        f'<span{kind(number, place)} style="left:{place:.2f}%">{in_html(text)}</span>'
        for number, (text, place) in enumerate(texts)
    )
    return f'<div class="axis">{"".join(spans)}</div>'


def _steps(key: Drawn, column: Drawn) -> str:
    """Many values over numbers, as columns side by side in the order of the table."""
    drawn = range(min(len(column.values), _MOST_COLUMNS))
    low, high = _range([column], drawn)
    parts = []
    for place in drawn:
        value, x = column.values[place], place + 0.5
        if value is not None:
            top, base = sorted((_down(float(value), low, high), _down(0.0, low, high)))
            parts.append(
                f'<rect x="{place + 0.1:.1f}" y="{top:.2f}" width="0.8" height="{base - top:.2f}" fill="var(--bar)"/>'
            )
        ends = column.ends(place)
        if ends is not None:
            y1, y2 = (_down(end, low, high) for end in ends)
            parts.append(_stroke(f"M{x},{y1:.2f}V{y2:.2f}", "var(--mark)", 1))
    shown = sorted({round(step * (len(drawn) - 1) / 5) for step in range(6)})
    below = [(label(key.values[place]), 100 * (place + 0.5) / len(drawn)) for place in shown]
    cut = _cut_ranges([column], drawn, low, high) + _cut(len(column.values))
    return _figure(column.name, _plot(parts, len(drawn), low, high, below, key.name) + cut)


def _curves(first: Drawn, columns: Sequence[Drawn]) -> str:
    low, high = _range(columns, range(len(first.values)))
    at = [float(each) for each in first.values if each is not None]
    left, right = min(at), max(at)
    logarithmic = left > 0 and right > 100 * left

    def x(value: float) -> float:
        start, end, here = (math.log(each) if logarithmic else each for each in (left, right, value))
        return 100 * (here - start) / ((end - start) or 1.0)

    parts, key = [], []
    for number, column in enumerate(columns):
        colour = _COLOURS[number % len(_COLOURS)]
        points = " ".join(
            f"{x(float(a)):.2f},{_down(float(b), low, high):.2f}"
            for a, b in zip(first.values, column.values, strict=True)
            if a is not None and b is not None
        )
        parts.append(_stroke(f"M{points}", colour, 2))
        key.append(f'<b style="--of:{colour}">{in_html(column.name)}</b>')
    below = [(key_text(value), x(value)) for value in dict.fromkeys((left, right))]
    said = f'<div class="key">{"".join(key)}</div>'
    return _figure("", said + _plot(parts, 100, low, high, below, first.name))


def _plot(
    parts: Sequence[str], width: int, low: float, high: float, below: Sequence[tuple[str, float]], under: str
) -> str:
    """Shapes in a stretched SVG, and around it the words, which are not stretched."""
    lines = [
        _stroke(f"M0,{_down(tick, low, high):.2f}H{width}", "var(--soft)" if tick == 0 else "var(--rule)", 1)
        for tick in ticks(low, high)
    ]
    up = "".join(
        f'<span style="top:{_down(tick, low, high):.2f}%">{in_html(tick_text(tick))}</span>'
        for tick in ticks(low, high)
    )
    widest = max(len(tick_text(tick)) for tick in ticks(low, high))
    svg = f'<svg viewBox="0 0 {width} 100" preserveAspectRatio="none" role="img">{"".join([*lines, *parts])}</svg>'
    return (
        f'<div class="plot"><div class="up" style="min-width:{widest}ch">{up}</div>{svg}{_axis(below)}</div>'
        f'<p class="soft">{in_html(under)}</p>'
    )


def _stroke(path: str, colour: str, width: int) -> str:
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" vector-effect="non-scaling-stroke"/>'


def _figure(title: str, inside: str) -> str:
    caption = f"<figcaption>{in_html(title)}</figcaption>" if title else ""
    return f"<figure>{caption}{inside}</figure>"


def _cut(count: int) -> str:
    if count <= _MOST_COLUMNS:
        return ""
    return f'<p class="soft">The first {_MOST_COLUMNS:,} of {count:,} are drawn; all of them are in the CSV file.</p>'


# -- scales ------------------------------------------------------------------------------------------------


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, zero among them: a few, 1, 2 or 5 times a power of ten apart."""
    width = high - low
    if not math.isfinite(width) or width <= 0:
        return [0.0]
    rough = width / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((times * power for times in (1, 2, 5) if times * power >= rough), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(tick: float) -> str:
    """A number of an axis: whole ones in full, large ones grouped, without rounding errors of binary fractions."""
    near = float(f"{tick:.6g}")
    if abs(near) >= 1e15:
        return f"{near:.3g}"
    return f"{int(near):,}" if near == int(near) else f"{near:,.6g}"


def _range(columns: Sequence[Drawn], rows: range) -> tuple[float, float]:
    """The range from the least to the greatest drawn value, zero included.

    An interval much wider than all values together would leave them no room: it is drawn as far as there is room.
    """
    values = [0.0, *(float(each.values[row]) for each in columns for row in rows if each.values[row] is not None)]
    ends = [end for each in columns for row in rows for end in each.ends(row) or () if math.isfinite(end)]
    room = _BEYOND * (max(values) - min(values)) or math.inf
    low = min([*values, *(max(end, min(values) - room) for end in ends)])
    high = max([*values, *(min(end, max(values) + room) for end in ends)])
    return (low, high) if high > low else (low, low + 1.0)


def _is_cut(columns: Sequence[Drawn], rows: range, low: float, high: float) -> bool:
    return any(end < low or end > high for each in columns for row in rows for end in each.ends(row) or ())


def _cut_ranges(columns: Sequence[Drawn], rows: range, low: float, high: float) -> str:
    if not _is_cut(columns, rows, low, high):
        return ""
    return '<p class="soft">A range that reaches the edge goes on beyond it: see the table.</p>'


def _share(value: float, low: float, high: float) -> float:
    return 100 * (min(max(value, low), high) - low) / (high - low)


def _down(value: float, low: float, high: float) -> float:
    return 100 - _share(value, low, high)
