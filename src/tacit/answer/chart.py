"""An answer as a chart, in Vega-Lite: a bar for every value, and a line for where the exact one lies.

Promise: made of released values only. Every value has a bar of its own: equal names and labels are made different,
because bars of one name would be stacked into a number that was never released.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

from tacit.answer.shown import safe, shown
from tacit.plan.answers.bends import UNKNOWN

SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"

Drawn: TypeAlias = tuple[str, Sequence[Any], Sequence[float] | None]
"""A column: its name, its values, and how far each may be off; None for a key."""


def chart_spec(columns: Sequence[Drawn]) -> dict[str, Any]:
    """One small chart below the other for the noisy columns, with a bar for each row."""
    keys = [values for _, values, reaches in columns if reaches is None]
    rows = len(columns[0][1]) if columns else 0
    labels = _told_apart([", ".join(shown(part) for part in key) for key in zip(*keys, strict=True)] or [""] * rows)
    noisy = [(name, values, reaches) for name, values, reaches in columns if reaches is not None]
    names = _told_apart([safe(name) for name, _, _ in noisy])
    values = [
        {"column": name, "label": label, "value": value, "low": value - reach, "high": value + reach}
        for name, (_, column, reaches) in zip(names, noisy, strict=True)
        for label, value, reach in zip(labels, column, reaches, strict=True)
        if value is not None and reach <= UNKNOWN
    ]
    x = {"field": "label", "type": "nominal", "sort": None, "title": None}
    ends = {"y": {"field": "low", "type": "quantitative", "title": None}, "y2": {"field": "high"}}
    bar = {"mark": "bar", "encoding": {"x": x, "y": {"field": "value", "type": "quantitative", "title": None}}}
    return {
        "$schema": SCHEMA,
        "data": {"values": values},
        "facet": {"row": {"field": "column", "type": "nominal", "sort": names, "title": None}},
        "spec": {"layer": [bar, {"mark": "rule", "encoding": {"x": x, **ends}}]},
        "resolve": {"scale": {"y": "independent"}},
    }


def _told_apart(texts: Iterable[str]) -> list[str]:
    """The texts; a repeated one gets a number that makes it different."""
    taken: Counter[str] = Counter()
    found: list[str] = []
    for text in texts:
        name = text
        while taken[name]:
            taken[text] += 1
            name = f"{text} ({taken[text]})"
        taken[name] += 1
        found.append(name)
    return found
