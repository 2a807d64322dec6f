"""Robust regression: pairs of rows, how far a row moves them, and lines that outliers do not bend."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import ParameterError
from tacit.loss import events
from tacit.noise import SeededBitsForTestsOnly
from tacit.statistics.order.robust_regression import Heights, heights, line_through, pairs, robust_regression


def planned(rows_per_unit: int, matchings: int) -> Heights:
    return Heights.of(rows_per_unit, matchings, Fraction(1), Fraction(1, 5), Fraction(19, 20))


def pairings(rows: tuple[int, ...]) -> Iterator[frozenset[frozenset[int]]]:
    """All ways to pair rows off, one left over where their number is odd."""
    if len(rows) % 2:
        for place in range(len(rows)):
            yield from pairings(rows[:place] + rows[place + 1 :])
    elif not rows:
        yield frozenset()
    else:
        for place in range(1, len(rows)):
            pair = frozenset({frozenset({rows[0], rows[place]})})
            for rest in pairings(rows[1:place] + rows[place + 1 :]):
                yield pair | rest


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_row_more_replaces_one_pair_at_most_and_keeps_the_pairing_uniform(n: int) -> None:
    """The joint law of the proof, enumerated: its second side is uniform, and its sides differ as stated."""
    law: Counter[frozenset[frozenset[int]]] = Counter()
    worst = 0
    for before in pairings(tuple(range(n))):
        left = set(range(n)) - set(itertools.chain(*before))
        if left:
            afters = [before | {frozenset({*left, n})}]
        else:
            afters = [before]
            for out in range(n):
                (old,) = (pair for pair in before if out in pair)
                afters.append((before - {old}) | {(old - {out}) | {n}})
        for after in afters:
            law[after] += Fraction(1, len(afters))  # type: ignore[assignment]
            worst = max(worst, len(before ^ after))
    assert set(law) == set(pairings(tuple(range(n + 1))))
    assert len(set(law.values())) == 1
    assert worst <= planned(1, 1).choice.sensitivity
    assert worst == (1 if n % 2 else 2)


def test_all_rows_of_a_unit_and_all_pairings_count() -> None:
    for rows, matchings, moved in ((3, 1, 6), (1, 5, 10)):
        plan = planned(rows, matchings)
        assert plan.choice.sensitivity == moved
        assert plan.choice.epsilon == Fraction(4, 5) / 2
        assert plan.interval is not None
        assert plan.interval.choice.factor == Fraction(1, 5) / (2 * moved)
    found = robust_regression(np.zeros((4, 2)), bounds=(0, 1), epsilon="0.8", matchings=2, interval_share="0.25")
    both = events.Repeated(events.Exponential(Fraction(3, 10)), 2)
    assert found.receipt["event"] == events.Composed((both, events.Exponential(Fraction(1, 5)))).to_json()
    plain = robust_regression(np.zeros((4, 2)), bounds=(0, 1), epsilon="0.8", interval_share=0)
    assert plain.receipt["event"] == events.Repeated(events.Exponential(Fraction(2, 5)), 2).to_json()
    assert plain.intervals() == {}


def test_a_line_is_enclosed_by_all_lines_whose_heights_are_in_their_intervals() -> None:
    random = np.random.default_rng(5)
    for _ in range(50):
        places = tuple(np.sort(random.normal(size=2)).tolist())
        first, second = (np.sort(random.normal(size=3))[[1, 0, 2]].tolist() for _ in range(2))
        shown = line_through(places, first, second)
        corners = []
        for one, other in itertools.product(first, second):
            slope = (other - one) / (places[1] - places[0])
            corners.append((one - slope * places[0], slope, one, other))
        for part, (value, low, high) in enumerate(shown):
            assert value == pytest.approx(corners[0][part])
            assert low == pytest.approx(min(each[part] for each in corners))
            assert high == pytest.approx(max(each[part] for each in corners))


@pytest.mark.statistical
def test_pairings_are_uniform() -> None:
    """3,000 seeded pairings of 4 rows: a chi-square beyond 45 (2 degrees) has a probability of 2e-10."""
    bits = SeededBitsForTestsOnly(4)
    seen: Counter[frozenset[frozenset[int]]] = Counter()
    for _ in range(3000):
        first, second = pairs(4, bits)
        seen[frozenset(frozenset(map(int, pair)) for pair in zip(first, second, strict=True))] += 1
    assert set(seen) == set(pairings((0, 1, 2, 3)))
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 45
    for n in range(6):
        first, second = pairs(n, bits)
        assert len(first) == len(second) == n // 2
        assert len({*first.tolist(), *second.tolist()}) == 2 * (n // 2)


def test_what_a_pair_says_does_not_depend_on_which_row_comes_first() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 100))
    x[:10] = x[10:20]
    one, other = np.arange(50), np.arange(50, 100)
    for a, b in zip(heights(x, y, one, other, (0.1, 0.7)), heights(x, y, other, one, (0.1, 0.7)), strict=True):
        assert a.tolist() == b.tolist()
    flat = heights(np.array([1.0, 1.0]), np.array([2.0, 4.0]), np.array([0]), np.array([1]), (0.0, 5.0))
    assert [each.tolist() for each in flat] == [[3.0], [3.0]]


def test_the_line_is_found_although_a_fifth_of_the_rows_lies_elsewhere() -> None:
    random = np.random.default_rng(1)
    x = random.uniform(0, 100, 4000)
    y = np.clip(10 + 0.5 * x + random.normal(0, 2, 4000), 0, 100)
    y[:800] = 100 * (x[:800] < 30)
    found = robust_regression({"x": x, "y": y}, bounds=(0, 100), epsilon=20)
    assert found["part"][:2] == ("intercept", "slope")
    assert found["value"][1] == pytest.approx(0.5, abs=0.05)
    assert found["value"][0] == pytest.approx(10, abs=4)
    curator = tacit.protect(
        pd.DataFrame({"who": np.arange(4000) // 2, "x": x, "y": y}),
        unit="who",
        rows_per_unit=2,
        columns={"x": tacit.between(0, 100), "y": tacit.between(0, 100)},
        budget=tacit.Budget(epsilon=100),
    )
    first = robust_regression(curator, ["data.x", "data.y"], epsilon=40)
    assert first["value"][1] == pytest.approx(0.5, abs=0.05)
    assert robust_regression(curator, ["data.x", "data.y"], epsilon=40).repeated


@pytest.mark.parametrize("rows", [np.zeros((0, 2)), np.zeros((1, 2)), np.ones((9, 2)), np.full((5, 2), math.nan)])
def test_any_data_get_a_private_result(rows: Any) -> None:
    found = robust_regression(rows, bounds=(0, 1), epsilon=1)
    assert all(-0.5 <= height <= 1.5 for height in found["value"][2:])


def test_public_mistakes_are_refused() -> None:
    with pytest.raises(ParameterError, match="two"):
        robust_regression(np.ones(4), bounds=(0, 1), epsilon=1)
    for matchings in (0, 101, 1.5):
        with pytest.raises(ParameterError, match="matchings"):
            robust_regression(np.ones((4, 2)), bounds=(0, 1), epsilon=1, matchings=matchings)  # type: ignore[arg-type]
