"""Trimmed and winsorised means: scipy's values, and bounds that hold for all small data sets."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tacit
from tacit.errors import ParameterError
from tacit.statistics.order.methods import Frame
from tacit.statistics.order.trimmed import (
    trimmed_bound,
    trimmed_mean,
    trimmed_value,
    winsorised_bound,
    winsorised_mean,
    winsorised_value,
)

BOTH = [(trimmed_value, trimmed_bound), (winsorised_value, winsorised_bound)]


def by_definition(rows: list[int], trim: Fraction) -> Fraction:
    """The mean of the quantile function over [t, 1 - t], stretch by stretch."""
    n, total = len(rows), Fraction(0)
    for place, value in enumerate(sorted(rows)):
        low, high = max(Fraction(place, n), trim), min(Fraction(place + 1, n), 1 - trim)
        total += max(high - low, Fraction(0)) * value
    return total / (1 - 2 * trim)


def test_the_values_are_those_of_the_definition_and_of_scipy() -> None:
    random = np.random.default_rng(1)
    frame = Frame(-50, 10**6, 1, False)
    for n in (1, 2, 7, 10, 40, 60):
        rows = np.sort(random.integers(-50, 10**6, n))
        for trim in (Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(49, 100)):
            assert trimmed_value(frame, rows, trim) == by_definition(rows.tolist(), trim)
            if (trim * n).denominator == 1:
                cut = int(trim * n)
                assert float(trimmed_value(frame, rows, trim)) == pytest.approx(rows[cut : n - cut].mean())
                moved = np.asarray(stats.mstats.winsorize(rows, (float(trim), float(trim)))).mean()
                assert float(winsorised_value(frame, rows, trim)) == pytest.approx(moved)
    wide = np.full(1000, 2**61)
    assert trimmed_value(Frame(0, 2**61, 1, False), wide, Fraction(1, 10)) == 2**61


@pytest.mark.parametrize(("value", "bound"), BOTH)
@pytest.mark.parametrize(("span", "r"), [(2**61, 4), (2**62 - 1, 2), (2**40, 2**25)])
def test_the_widest_columns_and_the_largest_units_have_the_bound_of_narrow_ones(
    value: Any, bound: Any, span: int, r: int
) -> None:
    """The bound is proportional to the range, but for rounding; a product of 64 bits would not be."""
    narrow, trim = 2**20, Fraction(1, 10)
    few = min(r, 4)
    rows = np.repeat(np.array([0, 1]), [210, 190])
    small = bound(Frame(0, narrow, few, False), rows * narrow, trim, Fraction(1, 4))
    large = bound(Frame(0, span, few, False), rows * span, trim, Fraction(1, 4))
    assert large / span == pytest.approx(small / narrow, rel=1e-6)
    frame = Frame(0, span, r, False)
    more = np.sort(np.append(rows * span, np.full(min(r, 300), span)))
    moved = abs(value(frame, rows * span, trim) - value(frame, more, trim))
    assert moved <= bound(frame, rows * span, trim, Fraction(1, 4)) * (1 + 1e-9)


@pytest.mark.parametrize(("value", "bound"), BOTH)
@pytest.mark.parametrize("r", [1, 2])
def test_the_bound_is_smooth_and_above_every_move_of_every_small_data_set(value: Any, bound: Any, r: int) -> None:
    values, smoothness = (0, 1, 9), Fraction(1, 4)
    frame = Frame(0, 9, r, False)
    tables = [each for each in itertools.product(range(8), repeat=3) if sum(each) <= 8]
    for trim in (Fraction(1, 10), Fraction(2, 5)):
        found = {}
        for table in tables:
            rows = np.repeat(np.array(values), table)
            found[table] = value(frame, rows, trim), bound(frame, rows, trim, smoothness)
        for table in tables:
            for more in itertools.product(range(r + 1), repeat=3):
                other = tuple(a + b for a, b in zip(table, more, strict=True))
                if 1 <= sum(more) <= r and other in found:
                    (first, one), (second, two) = found[table], found[other]
                    assert abs(first - second) <= min(one, two) * (1 + 1e-12)
                    assert abs(math.log(one / two)) <= float(smoothness) * (1 + 1e-12)


@pytest.mark.parametrize(("value", "bound"), BOTH)
def test_neighbours_of_larger_data_move_within_the_bound(value: Any, bound: Any) -> None:
    random = np.random.default_rng(6)
    for _ in range(80):
        r = int(random.integers(1, 4))
        frame, trim = Frame(0, 1000, r, False), Fraction(int(random.integers(1, 9)), 20)
        rows = np.sort(random.integers(400, 600, random.integers(10, 80)))
        ends = random.choice([0, 1000, 500], random.integers(1, r + 1))
        more = np.sort(np.append(rows, ends))
        one, two = (bound(frame, each, trim, Fraction(1, 5)) for each in (rows, more))
        assert abs(value(frame, rows, trim) - value(frame, more, trim)) <= min(one, two) * (1 + 1e-12)
        assert abs(math.log(one / two)) <= 0.2 * (1 + 1e-12)


def test_released_means_are_near_the_truth_on_both_sources() -> None:
    rows = np.random.default_rng(2).integers(30, 70, 3000)
    for study in (trimmed_mean, winsorised_mean):
        assert study(rows, bounds=(0, 110), epsilon=50).value == pytest.approx(rows.mean(), abs=2)
        assert study(rows, bounds=(0, 110), epsilon=50, delta=1e-6).value == pytest.approx(rows.mean(), abs=2)
    curator = tacit.protect(
        pd.DataFrame({"who": np.arange(3000) // 3, "age": rows}),
        unit="who",
        rows_per_unit=3,
        columns={"age": tacit.between(0, 110)},
        budget=tacit.Budget(epsilon=200),
    )
    first = trimmed_mean(curator, "data.age", trim="0.25", epsilon=90)
    assert first.value == pytest.approx(rows.mean(), abs=2)
    assert trimmed_mean(curator, "data.age", trim="0.25", epsilon=90).repeated


@pytest.mark.parametrize("rows", [[], [5.0], [math.nan], [3.0] * 9])
def test_any_data_get_a_private_result(rows: list[float]) -> None:
    for study in (trimmed_mean, winsorised_mean):
        assert 0 <= study(np.array(rows), bounds=(0, 10), epsilon=1).value <= 10


@pytest.mark.parametrize("trim", [0, "0.5", -1, math.nan, "1/3000001"])
def test_what_cannot_be_trimmed_is_refused(trim: Any) -> None:
    for study in (trimmed_mean, winsorised_mean):
        with pytest.raises(ParameterError, match="trim"):
            study(np.ones(4), bounds=(0, 1), epsilon=1, trim=trim)
