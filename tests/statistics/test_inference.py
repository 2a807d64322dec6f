"""Intervals and tests for populations: they account for sampling and noise, measured against both."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tacit
from tacit.errors import ParameterError, QuestionError
from tacit.loss import events
from tacit.statistics.inference.ab_test import Arm, ab_test, chance, difference, lift, together
from tacit.statistics.inference.binomial_noise import chance_of_proportion
from tacit.statistics.inference.chi_square import chi_square, judged
from tacit.statistics.inference.compare import compare, t_test
from tacit.statistics.inference.mean_interval import mean_interval
from tacit.statistics.inference.proportion import proportion
from tacit.statistics.inference.sampling import chance_of_difference, chance_of_mean
from tacit.statistics.inference.two_groups import exact_parts, groups_of
from tacit.statistics.moments.bounded import bounded
from tacit.statistics.moments.noise_sum import two_above
from tacit.statistics.moments.one_column import Moments
from tacit.statistics.source import source_of
from tests.statistics.test_source import looked_at

RUNS = 1_500
# 95 % intervals over 1,500 runs: the share is outside 0.915 .. 0.98 with probability below 1e-7 (binomial)
LEAST, MOST = 0.915, 0.98


def whole_noise(rng: np.random.Generator, scale: float, size: int) -> Any:
    stop = 1 - math.exp(-1 / scale)
    return rng.geometric(stop, size) - rng.geometric(stop, size)


def moments_of(rng: np.random.Generator, values: Any, scale: float) -> Moments:
    parts = np.array([(values**2).sum(), 2 * (values * (1 - values)).sum(), ((1 - values) ** 2).sum()])
    return Moments(tuple((parts + rng.laplace(0, scale, 3)).tolist()), True, scale)


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "p", "epsilon"), [(25, 0.3, 1.0), (300, 0.05, 0.2), (5_000, 0.5, 0.1)])
def test_the_proportions_test_rejects_the_truth_once_in_twenty(rows: int, p: float, epsilon: float) -> None:
    """See LEAST and MOST; for few rows the law is a little wide, so only the lower end could err."""
    rng = np.random.default_rng(rows)
    kept = 0
    for _ in range(RUNS):
        yes = rng.binomial(rows, p)
        with_it, without = np.array([yes, rows - yes]) + whole_noise(rng, 1 / epsilon, 2)
        kept += with_it + without <= 4 / epsilon or chance_of_proportion(with_it, without, 1 / epsilon, p) >= 0.05
    assert LEAST < kept / RUNS < MOST


@pytest.mark.statistical
@pytest.mark.parametrize(("rows", "epsilon"), [(100, 1.0), (1_000, 0.1)])
def test_tests_of_means_reject_the_truth_once_in_twenty(rows: int, epsilon: float) -> None:
    """See LEAST and MOST, for one mean and for a difference."""
    rng = np.random.default_rng(rows)
    one = two = 0
    for _ in range(RUNS):
        first = moments_of(rng, rng.beta(2, 5, rows), 1 / epsilon)
        second = moments_of(rng, rng.beta(2, 2, rows), 1 / epsilon)
        one += chance_of_mean(first, 2 / 7, 0.0) >= 0.05
        two += chance_of_difference(first, second, 2 / 7 - 1 / 2) >= 0.05
    assert LEAST < one / RUNS < MOST
    assert LEAST < two / RUNS < MOST


@pytest.mark.statistical
def test_the_ab_test_covers_and_rejects_as_often_as_it_says() -> None:
    """See LEAST and MOST, for the interval of the difference and for the p-value of no difference."""
    rng = np.random.default_rng(7)
    covered = kept = 0
    for _ in range(RUNS):
        yes = rng.binomial(800, [0.1, 0.15, 0.1])
        arms = [Arm(*(np.array([k, 800 - k]) + whole_noise(rng, 5.0, 2)).astype(float), 5.0) for k in yes]
        law = together(arms[0].law(), arms[1].law())
        covered += law.beyond(abs(arms[1].rate - arms[0].rate - 0.05)) >= 0.05
        kept += chance(arms[0], arms[2]) >= 0.05
    assert LEAST < covered / RUNS < MOST
    assert LEAST < kept / RUNS < MOST


@pytest.mark.statistical
def test_the_chi_square_test_does_not_take_noise_for_dependence_and_sees_dependence() -> None:
    """300 tables at level 0.05: more than 38 rejections with probability below 1e-7 (binomial)."""
    rng = np.random.default_rng(8)
    chances = np.outer([0.6, 0.4], [0.5, 0.3, 0.2])
    rejected = fit = 0
    for _ in range(300):
        table = rng.multinomial(400, chances.ravel()) + whole_noise(rng, 5.0, 6)
        rejected += judged(table.reshape(2, 3).astype(float), None, 5.0)[1] < 0.05
        fit += judged(table.astype(float), chances.ravel(), 5.0)[1] < 0.05
    assert rejected <= 38
    assert fit <= 38
    apart = np.array([[180.0, 20, 50], [20, 120, 10]])
    assert judged(apart, None, 5.0)[1] < 0.001
    assert judged(apart.ravel(), chances.ravel(), 5.0)[1] < 0.001


def test_without_noise_the_tests_are_the_textbooks() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(50, 10, 400).clip(0, 100)
    group = np.array(["a", "b"])[rng.integers(0, 2, 400)]
    facts: dict[str, Any] = {"epsilon": 1e9, "bounds": {"x": (0, 100)}}
    plain = stats.ttest_1samp(values, 51)
    found = t_test({"x": values}, mean=51, **facts)
    assert found["p_value"][0] == pytest.approx(plain.pvalue, abs=0.02)
    assert found["statistic"][0] == pytest.approx(plain.statistic, rel=0.02)
    pair = {"x": values, "g": group}
    welch = stats.ttest_ind(values[group == "a"], values[group == "b"], equal_var=False)
    two = t_test(pair, by="g", values={"g": ["a", "b"]}, **facts)
    assert two["p_value"][0] == pytest.approx(welch.pvalue, abs=0.01)
    gap = compare(pair, by="g", values={"g": ["a", "b"]}, **facts)
    textbook = welch.confidence_interval(0.95)
    assert gap.intervals()["difference"][0] == pytest.approx((textbook.low, textbook.high), abs=0.05)
    assert gap["p_value"] == pytest.approx(welch.pvalue, abs=0.01)
    mean = mean_interval(values, epsilon=1e9, bounds=(0, 100))
    low, high = stats.t.interval(0.95, 399, values.mean(), values.std(ddof=1) / 20)
    assert mean.intervals()["mean"][0] == pytest.approx((low, high), abs=0.05)
    table = np.array([[30.0, 50, 20], [40, 40, 20]])
    assert judged(table, None, 1e-6)[1] == pytest.approx(stats.chi2_contingency(table).pvalue, abs=0.05)
    assert judged(table, None, 1e-6)[0] == pytest.approx(stats.chi2_contingency(table).statistic, rel=1e-6)
    assert judged(table[0], np.array([0.4, 0.4, 0.2]), 1e-6)[0] == pytest.approx(
        stats.chisquare(table[0], [40, 40, 20]).statistic, rel=1e-6
    )
    some = (rng.random(300) < 0.2).astype(int)
    exact = stats.binomtest(int(some.sum()), 300).proportion_ci(method="wilson")
    share = proportion(some, epsilon=1e9, bounds=(0, 1))
    assert share.value == some.mean()
    assert share.intervals()["proportion"][0] == pytest.approx((exact.low, exact.high), abs=0.01)


def test_the_tail_of_two_laplace_numbers_is_that_of_their_convolution() -> None:
    grid = np.arange(-400_000, 400_001) * 1e-4
    for s, t in ((1.0, 0.3), (0.5, 0.5), (0.5, 0.4999), (2.0, 0.0)):
        for x in (0.0, 0.7, 3.0, -1.2):
            tails = np.where(x - grid >= 0, np.exp(-np.abs(x - grid) / s) / 2, 1 - np.exp(-np.abs(x - grid) / s) / 2)
            if t > 0:
                density = np.exp(-np.abs(grid) / t) / (2 * t)
                expected = float((tails * density).sum() * 1e-4)
            else:
                expected = math.exp(-x / s) / 2 if x >= 0 else 1 - math.exp(x / s) / 2
            assert float(two_above(np.float64(x), s, t)) == pytest.approx(expected, abs=2e-4)


def test_counts_and_parts_of_groups_move_by_one_rows_worth() -> None:
    rng = np.random.default_rng(10)
    values, group = rng.integers(0, 11, 30), rng.integers(0, 3, 30)

    def found(kept: Any) -> Any:
        source = source_of({"x": values[kept], "g": group[kept]}, bounds={"x": (0, 10), "g": (0, 2)})
        known, chosen = bounded(source.variable("x")), groups_of(source, "g", (0, 2))
        return np.array(looked_at(source, lambda opened: exact_parts(opened, known, chosen)), dtype=object).ravel()

    whole = found(np.arange(30) >= 0)
    inside = values[group == 2]
    assert whole[3:].tolist() == [
        int((inside**2).sum()),
        int(2 * (inside * (10 - inside)).sum()),
        int(((10 - inside) ** 2).sum()),
    ]
    for row in range(30):
        moved = np.abs(whole - found(np.arange(30) != row)).sum()
        assert moved == (0 if group[row] == 1 else 100)


def event_of(finding: Any) -> Any:
    return events.from_json(finding.receipt["event"])


def test_every_study_states_the_noise_that_its_theorem_asks_for() -> None:
    pair = {"x": np.arange(20), "g": np.arange(20) % 2}
    bounds = {"x": (0, 19), "g": (0, 1)}
    squared = events.DiscreteLaplace(361, Fraction(361 * 2))
    assert event_of(compare(pair, by="g", bounds=bounds, epsilon="0.5")) == squared
    assert event_of(t_test(pair, by="g", bounds=bounds, epsilon="0.5")) == squared
    assert event_of(t_test(np.arange(20), mean=3, bounds=(0, 19), epsilon="0.5")) == squared
    assert event_of(mean_interval(np.arange(20), bounds=(0, 19), epsilon="0.5")) == squared
    one = events.DiscreteLaplace(1, Fraction(2))
    assert event_of(proportion(pair["g"], bounds=(0, 1), epsilon="0.5")) == one
    assert event_of(chi_square(pair, bounds=bounds, epsilon="0.5")) == one
    yes = {"x": np.arange(20) % 2, "g": np.arange(20) % 2}
    assert event_of(ab_test(yes, by="g", bounds=(0, 1), epsilon="0.5")) == one


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_any_data_get_a_result(rows: int) -> None:
    pair = {"x": np.ones(rows, dtype=int), "g": np.zeros(rows, dtype=int)}
    for epsilon in (0.01, 50):
        facts: dict[str, Any] = {"bounds": (0, 1), "epsilon": epsilon}
        for finding in (compare(pair, by="g", **facts), ab_test(pair, by="g", **facts)):
            ((low, high),) = finding.intervals()["difference"]
            assert -1 <= low <= high <= 1
        for tested_ in (t_test(pair, by="g", **facts), chi_square(pair, **facts), t_test(pair["x"], mean=0, **facts)):
            assert 0 <= tested_["p_value"][0] <= 1
        for finding in (proportion(pair["x"], **facts), mean_interval(pair["x"], **facts)):
            ((low, high),) = next(iter(finding.intervals().values()))
            assert 0 <= low <= finding.value <= high <= 1


def test_where_the_noise_hides_the_count_nothing_is_claimed() -> None:
    arms = Arm(3.0, 2.0, 10.0), Arm(4.0, 1.0, 10.0)
    assert difference(*arms, 0.95) == (-1.0, 1.0)
    assert chance(*arms) == 1.0
    assert lift(*arms, 0.95) == (None, None, None)


def test_lift_and_difference_say_the_same_thing_in_words() -> None:
    group = np.repeat([0, 1], 20_000)
    rng = np.random.default_rng(11)
    yes = (rng.random(40_000) < np.where(group == 0, 0.1, 0.2)).astype(int)
    found = ab_test({"yes": yes, "g": group}, by="g", bounds=(0, 1), epsilon=1)
    assert found["difference"][0] == pytest.approx(0.1, abs=0.03)
    assert found["lift"][0] == pytest.approx(1.0, abs=0.3)
    assert found["p_value"][0] < 1e-6
    assert found.notes[0].startswith("1 does better than 0")
    (low, high), (least, most) = found.intervals()["difference"][0], found.intervals()["lift"][0]
    assert low > 0
    assert least > 0
    assert (high - low) / 0.1 == pytest.approx((most - least), rel=0.7)


@pytest.fixture(scope="module")
def clinic() -> tacit.Curator:
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(
        {"who": np.arange(400) // 2, "age": rng.integers(0, 111, 400), "sex": rng.choice(["F", "M"], 400)}
    )
    return tacit.protect(
        frame,
        unit="who",
        rows_per_unit=2,
        columns={"age": tacit.between(0, 110), "sex": tacit.one_of("F", "M")},
        budget=tacit.Budget(epsilon=1_000),
    )


def test_on_a_curator_inference_takes_one_row_of_each_unit_and_is_stored(clinic: tacit.Curator) -> None:
    with pytest.raises(QuestionError, match="one row of each unit"):
        proportion(clinic, "data.sex", value="F", epsilon=1)
    rows = clinic.rows("SELECT age, sex FROM data", rows_per_unit=1)
    first = proportion(rows, "sex", value="F", epsilon=50)
    assert proportion(rows, "sex", value="F", epsilon=50) == first
    assert first.value == pytest.approx(0.5, abs=0.2)
    assert float(first["count"]) == pytest.approx(200, abs=3)
    gap = compare(rows, by="sex", epsilon=50)
    assert sum(gap["counts"]) == pytest.approx(200, abs=3)
    assert 0 <= t_test(rows, "age", mean=55, epsilon=1)["p_value"][0] <= 1
    old = clinic.rows("SELECT age > 50 AS old, sex FROM data", rows_per_unit=1)
    assert chi_square(old, epsilon=1).title == "Chi-square test: independent: old and sex"
    assert ab_test(old, by="sex", epsilon=1)["second - first"] == ("M - F",)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: proportion(np.array(["a"]), values=["a", "b"], epsilon=1), "value"),
        (lambda: proportion(np.array(["a"]), values=["a", "b"], value="c", epsilon=1), "no value"),
        (lambda: proportion(np.zeros(3), bounds=(0, 1), epsilon=1), "bins"),
        (lambda: mean_interval(np.zeros(3), bounds=(0, 1), epsilon=0), "epsilon"),
        (lambda: t_test(np.zeros(3), bounds=(0, 1), epsilon=1), "exactly one"),
        (lambda: t_test(np.zeros(3), bounds=(0, 1), epsilon=1, mean=2), "between the bounds"),
        (lambda: compare(np.zeros((3, 2), dtype=int), ["a", "b"], by="c", bounds=(0, 1), epsilon=1), "two columns|not"),
        (lambda: compare(np.zeros((3, 2), dtype=int), ["a", "b"], by="b", bounds=(0, 2), epsilon=1), "groups"),
        (
            lambda: compare(np.zeros((3, 2), dtype=int), ["a", "b"], by="b", groups=(1, 1), bounds=(0, 2), epsilon=1),
            "groups",
        ),
        (lambda: chi_square(np.zeros(3, dtype=int), bounds=(0, 1), epsilon=1), "probabilities"),
        (lambda: chi_square(np.zeros(3, dtype=int), bounds=(0, 1), epsilon=1, probabilities=[0.5, 0.6]), "add up"),
        (lambda: chi_square(np.zeros((3, 3), dtype=int), bounds=(0, 1), epsilon=1), "one or two columns"),
        (lambda: chi_square(np.zeros(3, dtype=int), bounds=(0, 1), epsilon=1, probabilities=[1, 0]), "positive"),
    ],
)
def test_wrong_public_parameters_are_refused(call: Any, words: str) -> None:
    with pytest.raises((ParameterError, QuestionError), match=words):
        call()
