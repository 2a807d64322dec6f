"""Released columns as small drawings in SVG: bars with their intervals, or curves. No script, no network.

Promise: made of released values only; text that came from a table is escaped.
"""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tacit.answer.shown import safe, shown

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 220, 70, 46
_COLOURS = ("#2f6f9f", "#b3562b", "#4d8a4d", "#7a5195")
_MOST_BARS = 60


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


def drawings(columns: Sequence[Drawn], kind: str) -> list[str]:
    """The drawings of a table: one for each noisy column, or one with all curves over the first column."""
    noisy = [each for each in columns if each.low is not None and each.is_number]
    noisy = noisy or [each for each in columns if each.is_number]
    if not noisy:
        return []
    if kind == "line" and columns[0].is_number:
        return [_curves(columns[0], [each for each in noisy if each is not columns[0]])]
    keys = [each for each in columns if each not in noisy]
    rows = range(min(len(noisy[0].values), _MOST_BARS))
    labels = [", ".join(shown(each.values[row]) for each in keys) for row in rows]
    return [_bars(each, labels) for each in noisy]


def _bars(column: Drawn, labels: Sequence[str]) -> str:
    low, high = _range([column])
    count = max(len(labels), 1)
    slot = (_WIDTH - _LEFT) / count
    parts = [_frame(column.name, low, high)]
    base = _y(0.0, low, high)
    for place, label in enumerate(labels):
        value, x = column.values[place], _LEFT + slot * place
        if value is not None:
            top = _y(float(value), low, high)
            parts.append(
                f'<rect x="{x + 0.15 * slot:.1f}" y="{min(top, base):.1f}" width="{0.7 * slot:.1f}" '
                f'height="{abs(top - base):.1f}" fill="{_COLOURS[0]}" fill-opacity="0.6"/>'
            )
            ends = _ends(column, place)
            if ends is not None:
                y1, y2 = (_y(end, low, high) for end in ends)
                parts.append(_line(x + slot / 2, y1, x + slot / 2, y2, "currentColor"))
        if count <= 20:
            parts.append(_text(x + slot / 2, _HEIGHT - _BOTTOM + 16, label[:16], "middle"))
    return _whole(parts)


def _curves(first: Drawn, columns: Sequence[Drawn]) -> str:
    low, high = _range(columns)
    at = [float(each) for each in first.values if each is not None]
    left, right = min(at), max(at)
    logarithmic = left > 0 and right > 100 * left

    def x(value: float) -> float:
        start, end, here = (math.log(each) if logarithmic else each for each in (left, right, value))
        return _LEFT + (_WIDTH - _LEFT - 10) * (here - start) / ((end - start) or 1.0)

    parts = [_frame("", low, high)]
    for colour, column in zip(itertools.cycle(_COLOURS), columns, strict=False):
        points = " ".join(
            f"{x(float(a)):.1f},{_y(float(b), low, high):.1f}"
            for a, b in zip(first.values, column.values, strict=True)
            if a is not None and b is not None
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for place, (colour, column) in enumerate(zip(itertools.cycle(_COLOURS), columns, strict=False)):
        parts.append(_text(_WIDTH - 10, 28 + 14 * place, column.name, "end", colour))
    for end in (left, right):
        parts.append(_text(x(end), _HEIGHT - _BOTTOM + 16, shown(end), "middle"))
    parts.append(_text(_WIDTH / 2, _HEIGHT - 6, first.name, "middle"))
    return _whole(parts)


def _ends(column: Drawn, place: int) -> tuple[float, float] | None:
    if column.low is None or column.high is None or column.low[place] is None or column.high[place] is None:
        return None
    return float(column.low[place]), float(column.high[place])


def _range(columns: Sequence[Drawn]) -> tuple[float, float]:
    found = [0.0]
    for each in columns:
        found += [float(value) for value in each.values if value is not None]
        found += [end for place in range(len(each.values)) for end in _ends(each, place) or ()]
    low, high = min(found), max(found)
    return (low, high) if high > low else (low, low + 1.0)


def _y(value: float, low: float, high: float) -> float:
    return 18 + (_HEIGHT - _BOTTOM - 18) * (high - value) / (high - low)


def _frame(title: str, low: float, high: float) -> str:
    parts = [_text(_LEFT, 12, title, "start")]
    for value in (low, (low + high) / 2, high):
        y = _y(value, low, high)
        parts += [_line(_LEFT, y, _WIDTH, y, "#cccccc"), _text(_LEFT - 6, y + 4, f"{value:,.4g}", "end")]
    return "".join(parts)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str, colour: str = "currentColor") -> str:
    said = html.escape(safe(words))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="{colour}">{said}</text>'


def _whole(parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{"".join(parts)}</svg>'
