"""A finding as a Vega-Lite chart: bars with their intervals, or curves with a band. Made of released values only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tacit.answer.chart import SCHEMA
from tacit.answer.shown import safe, shown
from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.statistics.finding import Column, Finding


def chart_spec(finding: Finding) -> dict[str, Any]:
    """The chart that the study chose."""
    return _curves(finding) if finding.drawing == "line" else _bars(finding)


def _drawn(finding: Finding) -> list[Column]:
    """The columns with intervals; without any, the columns that are numbers."""
    noisy = [each for each in finding.columns if each.low is not None]
    noisy = noisy or [each for each in finding.columns if each.kind in ("integer", "real")]
    if not noisy:
        raise TacitError(f"{finding.title}: there is no number to draw.")
    return noisy


def _points(columns: list[Column], labels: list[Any]) -> list[dict[str, Any]]:
    return [
        {
            "column": safe(each.name),
            "label": label,
            "value": each.values[place],
            "low": None if each.low is None else each.low[place],
            "high": None if each.high is None else each.high[place],
        }
        for each in columns
        for place, label in enumerate(labels)
        if each.values[place] is not None
    ]


def _bars(finding: Finding) -> dict[str, Any]:
    drawn = _drawn(finding)
    keys = [each for each in finding.columns if each not in drawn]
    labels = [", ".join(shown(each.values[place]) for each in keys) or finding.title for place in range(len(finding))]
    x = {"field": "label", "type": "nominal", "sort": None, "title": None}
    y = {"type": "quantitative", "title": None}
    bar = {"mark": "bar", "encoding": {"x": x, "y": {"field": "value", **y}}}
    rule = {"mark": "rule", "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}}}
    return {
        "$schema": SCHEMA,
        "title": safe(finding.title),
        "data": {"values": _points(drawn, labels)},
        "facet": {"row": {"field": "column", "type": "nominal", "sort": None, "title": None}},
        "spec": {"layer": [bar, rule]},
        "resolve": {"scale": {"y": "independent"}},
    }


def _curves(finding: Finding) -> dict[str, Any]:
    first = finding.columns[0]
    drawn = [each for each in _drawn(finding) if each is not first]
    x = {"field": "label", "type": "quantitative", "title": safe(first.name)}
    colour = {"field": "column", "type": "nominal", "title": None}
    y = {"type": "quantitative", "title": None}
    line = {"mark": "line", "encoding": {"x": x, "y": {"field": "value", **y}, "color": colour}}
    band = {
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, "color": colour},
    }
    return {
        "$schema": SCHEMA,
        "title": safe(finding.title),
        "data": {"values": _points(drawn, list(first.values))},
        "layer": [band, line],
    }
