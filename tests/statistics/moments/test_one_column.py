"""Mean and variance: what is released, how far a unit moves it, and what is made of it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from tacit.errors import ParameterError, QuestionError
from tacit.loss import events
from tacit.noise import secure
from tacit.statistics.moments import additive, noise_sum, one_column
from tacit.statistics.moments.bounded import Bounded, bounded
from tacit.statistics.moments.mean import interval, mean
from tacit.statistics.moments.variance import pairs, variance
from tacit.statistics.source import source_of
from tests.statistics.test_source import looked_at


def sums(column: Bounded, degree: int, codes: list[int]) -> tuple[int, ...]:
    shifted = [code - column.low for code in codes]
    powers = [sum(a**power for a in shifted) for power in range(1, degree + 1)]
    return one_column.parts(column, degree, len(codes), powers)


@given(
    st.integers(-50, 50),
    st.integers(1, 40),
    st.data(),
    st.sampled_from([1, 2]),
    st.integers(1, 3),
)
def test_a_unit_moves_the_parts_by_exactly_its_rows_times_the_width_to_the_degree(
    low: int, width: int, data: st.DataObject, degree: int, rows: int
) -> None:
    column = Bounded("x", low, width, Fraction(1))
    codes = data.draw(st.lists(st.integers(low, low + width), max_size=6))
    more = data.draw(st.lists(st.integers(low, low + width), min_size=rows, max_size=rows))
    before, after = sums(column, degree, codes), sums(column, degree, codes + more)
    moved = [b - a for a, b in zip(before, after, strict=True)]
    noise = one_column.plan(column, degree, rows, Fraction(1, 3), Fraction(0))
    assert isinstance(noise.price.event, events.DiscreteLaplace)
    assert sum(map(abs, moved)) == noise.price.event.sensitivity
    assert noise.price.event.scale == noise.price.event.sensitivity * 3
    euclidean = additive.gaussian(noise.price.event.sensitivity**2, degree + 1, Fraction(1, 3), Fraction(1, 10**6))
    assert isinstance(euclidean.price.event, events.DiscreteGaussian)
    assert sum(each * each for each in moved) <= euclidean.price.event.sensitivity**2
    assert sum(after) == (len(codes) + rows) * width**degree


def test_on_a_curator_the_parts_are_those_of_at_most_so_many_rows_of_a_unit() -> None:
    frame = pd.DataFrame({"who": [1, 1, 1, 2, 2, 3], "x": [0, 3, 9, 9, 1, 4]})

    def clinic(without: int) -> Any:
        return tacit.protect(
            frame[frame["who"] != without],
            unit="who",
            rows_per_unit=3,
            columns={"x": tacit.between(0, 9)},
            budget=tacit.Budget(epsilon=99),
        )

    def found(without: int) -> tuple[int, ...]:
        source = source_of(clinic(without), "data.x")
        assert source.rows_per_unit == 3
        return looked_at(source, lambda opened: one_column.opened_parts(opened, bounded(source.only), 2))

    whole = found(-1)
    assert whole == (0 + 9 + 81 + 81 + 1 + 16, 2 * (3 * 6 + 1 * 8 + 4 * 5), 81 + 36 + 64 + 25)
    for who, rows in ((1, 3), (2, 2), (3, 1)):
        assert sum(abs(a - b) for a, b in zip(whole, found(who), strict=True)) == 81 * rows <= 81 * 3


@given(st.lists(st.integers(0, 7) | st.none(), min_size=2, max_size=7), st.data())
def test_replacing_a_row_moves_the_pairs_by_at_most_one_less_than_the_rows_times_the_squared_width(
    rows: list[int | None], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(rows) - 1))
    other = [*rows]
    other[place] = data.draw(st.integers(0, 7) | st.none())

    def exact(values: list[int | None]) -> tuple[int, int]:
        source = source_of(np.array(values, dtype=object), bounds=(0, 7))
        known = bounded(source.only)
        return looked_at(source, lambda opened: pairs(opened, known, len(values))), known.width

    (before, width), (after, _) = exact(rows), exact(other)
    assert abs(before - after) <= 4 * (len(rows) - 1) * width**2
    full = [3.5 if value is None else value for value in rows]
    assert before / (4 * (len(rows) * width) ** 2) * 49 == pytest.approx(np.var(full), abs=1e-6)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("size", [None, 500])
def test_with_a_huge_epsilon_mean_and_variance_are_the_plain_ones(delta: float, size: int | None) -> None:
    values = np.random.default_rng(1).normal(30, 12, 500)
    kept = np.clip(values, 0, 100)
    facts: dict[str, Any] = {"bounds": (0, 100), "epsilon": 1e9, "delta": delta, "size": size}
    assert mean(values, **facts).value == pytest.approx(kept.mean(), abs=1e-5)
    found = variance(values, **facts)
    assert found.value == pytest.approx(kept.var(), abs=1e-4)
    assert found["deviation"] == pytest.approx(kept.std(), abs=1e-4)


@pytest.mark.parametrize("study", [mean, variance])
@pytest.mark.parametrize("values", [[], [5.0], [7.0] * 9, [math.nan] * 4, [math.inf, -math.inf, None]])
def test_any_data_get_a_result_between_the_bounds(study: Any, values: list[Any]) -> None:
    for epsilon in (0.01, 1000):
        finding = study(np.array(values, dtype=object), bounds=(0, 10), epsilon=epsilon)
        ((low, high),) = next(iter(finding.intervals().values()))
        assert 0 <= low <= finding.value <= high <= (10 if study is mean else 25)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -0.1}, "delta"),
        ({"epsilon": 1, "bounds": (3, 1)}, "bounds"),
        ({"epsilon": 1, "level": 1}, "level"),
        ({"epsilon": 1, "size": 4}, "length, 3"),
        ({"epsilon": 1, "size": 1.5}, "whole"),
        ({"epsilon": 1, "analyst": "ana"}, "analyst"),
    ],
)
@pytest.mark.parametrize("study", [mean, variance])
def test_wrong_public_parameters_are_refused(study: Any, facts: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        study(np.zeros(3), **{"bounds": (0, 1), **facts})


def test_on_a_curator_a_study_is_charged_once_and_a_public_size_or_a_text_is_refused() -> None:
    frame = pd.DataFrame({"who": range(50), "age": range(20, 70), "sex": ["F", "M"] * 25})
    clinic = tacit.protect(
        frame,
        unit="who",
        columns={"age": tacit.between(0, 110), "sex": tacit.one_of("F", "M")},
        budget=tacit.Budget(epsilon=200),
    )
    first = mean(clinic, "data.age", epsilon=1)
    spent = clinic.spent()
    again = mean(clinic, "data.age", epsilon=1)
    assert again == first
    assert again.repeated
    assert clinic.spent() == spent
    assert variance(clinic, "data.age", epsilon=1) != first
    assert clinic.spent() != spent
    assert events.from_json(first.receipt["event"]) == events.DiscreteLaplace(110, Fraction(110))
    with pytest.raises(ParameterError, match="left out with a curator"):
        mean(clinic, "data.age", epsilon=1, size=50)
    with pytest.raises(QuestionError, match="needs numbers"):
        mean(clinic, "data.sex", epsilon=1)
    wide = mean(clinic.rows("SELECT age FROM data"), epsilon=100)
    assert wide.value == pytest.approx(44.5, abs=3)


def test_with_a_public_size_the_finding_says_that_neighbours_replace_a_row() -> None:
    for study in (mean, variance):
        finding = study(np.arange(10), bounds=(0, 9), epsilon=1, size=10)
        assert finding.receipt["neighbours"] == "one row, replaced by another"
        assert "replaced" in finding.card()
    event = events.from_json(mean(np.arange(10), bounds=(0, 9), epsilon=1, size=10).receipt["event"])
    assert event == events.DiscreteLaplace(18, Fraction(18))
    event = events.from_json(variance(np.arange(10), bounds=(0, 9), epsilon=1, size=10).receipt["event"])
    assert event == events.DiscreteLaplace(4 * 9 * 81, Fraction(4 * 9 * 81))


def test_numbers_wider_than_a_word_are_released_whole() -> None:
    values = np.random.default_rng(2).uniform(0, 1e6, 200)  # squares of 2**32 steps, 200 of them
    found = variance(values, bounds=(0, 1e6), epsilon=1e6)
    assert found.value == pytest.approx(values.var(), rel=1e-3)


def test_the_law_of_a_sum_of_noises_is_that_of_closed_forms() -> None:
    for x in (0.1, 1.0, 4.0):
        assert noise_sum.NoiseSum((2.0,)).beyond(x) == pytest.approx(math.exp(-x / 2), abs=1e-6)
        both = (0.49 * math.exp(-x / 0.7) - 0.09 * math.exp(-x / 0.3)) / 0.4
        assert noise_sum.NoiseSum((0.7, 0.3)).beyond(x) == pytest.approx(both, abs=1e-6)
        assert noise_sum.NoiseSum((), 4.0).beyond(x) == pytest.approx(math.erfc(x / 2 / math.sqrt(2)), abs=1e-9)
        assert noise_sum.NoiseSum((0.7, 0.3), 1.0).above(-x) == pytest.approx(
            1 - noise_sum.NoiseSum((0.7, 0.3), 1.0).above(x), abs=1e-9
        )
    assert noise_sum.NoiseSum((2.0,)).quantile(0.95) == pytest.approx(2 * math.log(20), rel=1e-5)


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "epsilon", "delta"), [(60, 1.0, 0.0), (1_000, 0.1, 0.0), (400, 1.0, 1e-3)])
def test_the_means_interval_covers_the_rows_mean_as_often_as_it_says(rows: int, epsilon: float, delta: float) -> None:
    """400 draws at 0.9: outside 0.79 .. 0.98 with probability below 1e-10 (binomial), each of three cases."""
    values = np.random.default_rng(3).integers(0, 101, rows)
    values[: rows // 2] //= 10
    source = source_of(values, bounds=(0, 100))
    known = bounded(source.only)
    exact = looked_at(source, lambda opened: one_column.opened_parts(opened, known, 1))
    noise = one_column.plan(known, 1, 1, Fraction(epsilon), Fraction(delta))
    share = float(values.mean()) / 100
    held, errors = 0, []
    for _ in range(400):
        moments = one_column.release(known, 1, noise, exact, secure())
        low, high = interval(moments, 0.01, 0.9)
        held += low <= share <= high
        errors.append(moments.mean - share)
    assert 0.79 <= held / 400 <= 0.98
    # the noise's own deviation, to first order; that of 400 draws errs by 6 %, ten times that: 1e-11 (Chernoff)
    expected = noise.deviation / 100 * math.hypot(share, 1 - share) / rows
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(expected, rel=0.6)


@pytest.mark.statistical
def test_the_variances_interval_covers_the_rows_variance_about_as_often_as_it_says() -> None:
    """400 draws at 0.9: below 0.79 with probability below 1e-10 (binomial)."""
    values = np.random.default_rng(4).beta(2, 5, 1_000) * 50
    held = 0
    for _ in range(400):
        ((low, high),) = variance(values, bounds=(0, 50), epsilon=0.5, level="0.9").intervals()["variance"]
        held += low <= values.var() <= high
    assert 0.79 <= held / 400 <= 0.99


def test_gaussian_noise_is_taken_only_where_it_is_smaller() -> None:
    assert additive.least_noise(5, 5, 2, Fraction(1), Fraction(1, 10**6)).is_laplace
    assert not additive.least_noise(100, 10, 100, Fraction(1), Fraction(1, 10**6)).is_laplace
    chosen = additive.least_noise(100, 10, 100, Fraction(1), Fraction(1, 10**6))
    assert chosen.price.delta == Fraction(1, 10**6)
    assert additive.least_noise(5, 5, 2, Fraction(1), Fraction(1, 10**6)).price.delta == 0


def test_columns_that_are_too_wide_or_a_single_point_are_refused_before_anything_is_paid() -> None:
    with pytest.raises(QuestionError, match=r"2\*\*43"):
        mean(np.zeros(3, dtype=np.int64), bounds=(0, 1 << 43), epsilon=1)
    known = source_of(np.zeros(3, dtype=np.int64), bounds=(0, (1 << 43) - 1)).only
    assert bounded(known).width == (1 << 43) - 1
    found = variance(np.array([0, (1 << 43) - 1] * 50), bounds=(0, (1 << 43) - 1), epsilon=1e6)
    assert found.value == pytest.approx(2.0**84, rel=1e-3)


def test_what_becomes_of_missing_values_is_said_on_the_finding() -> None:
    values = np.array([np.nan, 5.0] * 20)
    for study in (mean, variance):
        assert "Rows without a value are left out." in study(values, bounds=(0, 10), epsilon=1).notes
        assert any("mid-way" in note for note in study(values, bounds=(0, 10), epsilon=1, size=40).notes)
