"""Intervals that a share of epsilon buys: every study that has them pays for them, and they hold as often as they say.

Statistical tests state their false-alarm rate.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tacit import statistics as st
from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.statistics.order.methods import best

ROWS = np.sort(np.random.default_rng(8).normal(50, 10, 200))
KITE = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)]
ROADS = [(i, i + 1, 1.5) for i in range(9)] + [(i, (i * 7) % 10, 2.5) for i in range(10)]
BOTH = {"x": np.linspace(1, 9, 60), "y": np.linspace(2, 5, 60)}
STUDIES: dict[str, Callable[..., Any]] = {
    "median": lambda **more: st.median(ROWS, bounds=(0, 100), **more),
    "smooth median": lambda **more: st.median(ROWS, bounds=(0, 100), method="smooth", **more),
    "replaced": lambda **more: st.median(ROWS, bounds=(0, 100), method="smooth", neighbours="replace", **more),
    "quartiles": lambda **more: st.quartiles(ROWS, bounds=(0, 100), **more),
    "quantiles": lambda **more: st.quantiles(ROWS, bounds=(0, 100), q=["0.1", "0.2"], method="smooth", **more),
    "minimum": lambda **more: st.minimum(ROWS, bounds=(0, 100), **more),
    "maximum": lambda **more: st.maximum(ROWS, bounds=(0, 100), **more),
    "interquartile": lambda **more: st.interquartile_range(ROWS, bounds=(0, 100), **more),
    "smooth interquartile": lambda **more: st.interquartile_range(ROWS, bounds=(0, 100), method="smooth", **more),
    "trimmed": lambda **more: st.trimmed_mean(ROWS, bounds=(0, 100), **more),
    "winsorised": lambda **more: st.winsorised_mean(ROWS, bounds=(0, 100), **more),
    "robust": lambda **more: st.robust_regression(BOTH, bounds=(0, 10), **more),
    "triangles": lambda **more: st.triangles(KITE, nodes=8, **more),
    "stars": lambda **more: st.k_stars(KITE, nodes=8, k=2, **more),
    "tree": lambda **more: st.spanning_tree_cost(ROADS, nodes=10, bounds=(0, 5), **more),
}


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_intervals_unless_they_are_switched_off_and_costs_what_it_says(name: str) -> None:
    study = STUDIES[name]
    for found, share in ((study(epsilon=2), "0.2"), (study(epsilon=2, interval_share="0.5"), "0.5")):
        ((column, ends),) = found.intervals().items()
        assert len(ends) == len(found[column])
        for (low, high), value in zip(ends, found[column], strict=True):
            assert low <= value <= high
        assert any(word in " ".join(found.notes) for word in ("ncloses", "nclose ", "overs"))
        event = events.from_json(found.receipt["event"])
        assert compose([event]).epsilon(0) == pytest.approx(2, rel=1e-9)
        spent = [compose([each]).epsilon(0) for each in widths_in(event)]
        assert sum(spent) == pytest.approx(2 * float(Fraction(share)), rel=1e-9)
    off = study(epsilon=2, interval_share=0)
    assert off.intervals() == {}
    assert "interval_share=0" in " ".join(off.notes)
    event = events.from_json(off.receipt["event"])
    assert compose([event]).epsilon(0) == pytest.approx(2, rel=1e-9)
    for bad in (1, -0.1, "x"):
        with pytest.raises(ParameterError, match="interval_share"):
            study(epsilon=2, interval_share=bad)


def widths_in(event: events.Event) -> list[events.Event]:
    """What was paid for intervals: all but the first part of a composition, each time that it is made."""
    if isinstance(event, events.Repeated):
        return widths_in(event.event) * event.count
    assert isinstance(event, events.Composed)
    return list(event.events[1:])


def test_best_judges_by_what_remains_of_epsilon() -> None:
    """At an epsilon where all of it is enough for smooth noise, and four fifths of it are not."""
    half, rows = (Fraction(1, 2),), np.arange(50.0)
    edge = next(
        e
        for e in (Fraction(n, 10) for n in range(10, 400))
        if best(half, 1, e, Fraction(0)) == "smooth" and best(half, 1, e * 4 / 5, Fraction(0)) == "exponential"
    )
    kinds = []
    for share in (0, "0.2"):
        event = events.from_json(st.median(rows, bounds=(0, 100), epsilon=edge, interval_share=share).receipt["event"])
        kinds.append(event.events[0] if isinstance(event, events.Composed) else event)
    assert kinds == [events.Pure(edge), events.Exponential(edge * 4 / 5)]


def truth_of_the_tree() -> float:
    from scipy.sparse.csgraph import minimum_spanning_tree

    weights = np.full((10, 10), 5.0)
    for a, b, weight in ROADS:
        if a != b:
            weights[min(a, b), max(a, b)] = min(weights[min(a, b), max(a, b)], weight)
    return float(minimum_spanning_tree(np.triu(weights, 1)).sum())


QUARTILES = np.quantile(ROWS, [0.25, 0.5, 0.75], method="inverted_cdf").tolist()
TRUTHS = {
    "median": QUARTILES[1],
    "smooth median": QUARTILES[1],
    "replaced": QUARTILES[1],
    "minimum": ROWS[0],
    "maximum": ROWS[-1],
    "interquartile": QUARTILES[2] - QUARTILES[0],
    "smooth interquartile": QUARTILES[2] - QUARTILES[0],
    "trimmed": stats.trim_mean(ROWS, 0.1),
    "winsorised": np.asarray(stats.mstats.winsorize(ROWS, (0.1, 0.1))).mean(),
    "triangles": 1,
    "stars": 6,
    "tree": truth_of_the_tree(),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_hold_the_truth_at_least_as_often_as_they_say(name: str) -> None:
    """60 runs at 95 %: were each held just as often as said, more misses have a chance of 1e-11, 2e-10 for all."""
    runs = 60
    allowed = int(stats.binom.isf(1e-11, runs, 0.05)) + 1
    missed = 0
    for _ in range(runs):
        ((((low, high),),),) = (STUDIES[name](epsilon=2).intervals().values(),)
        missed += not low - 1e-9 <= TRUTHS[name] <= high + 1e-9
    assert missed <= allowed
