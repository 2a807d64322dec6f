"""Intervals of quotients, variances, products, rounded numbers and remainders hold what they say where curves bend."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from tacit.plan.answers import bends
from tacit.plan.answers.formulas import Apply, Cells, Constant, Estimate, Linear, Mean, Operation, Variance
from tacit.plan.answers.inner import InnerFormula
from tacit.plan.answers.pairs import Held
from tacit.plan.answers.roots import Root, Squared

MANY = 40_000


@pytest.mark.parametrize(("within", "level"), [(bends.WITHIN_95, 0.95), (bends.WITHIN_99, 0.99)])
def test_the_reaches_are_those_of_laplace_noise(within: float, level: float) -> None:
    """Beyond t of its deviations, which are sqrt(2) of its scale, the law has exp(-sqrt(2) t)."""
    assert np.exp(-np.sqrt(2) * within) == pytest.approx(1 - level, rel=2e-4)


def _reach(level: float) -> float:
    return -NormalDist().inv_cdf((1 - level) / 2)


def _missed(estimate: Estimate, truth: float, spreads: list[float], q: float) -> float:
    return float(np.mean(np.abs(estimate.value - truth) > q * estimate.deviation(spreads)))


@pytest.mark.statistical
@pytest.mark.parametrize("level", [0.95, 1 - 0.05 / 6])
@pytest.mark.parametrize(("above", "below"), [(3.0, 3.0), (12.0, 3.0), (32.0, 8.0), (0.0, 5.0)])
def test_a_quotient_holds_its_level_where_the_divisor_is_a_few_deviations(
    level: float, above: float, below: float
) -> None:
    """Slopes alone miss 12/3 twice as often as they say at 95 %, and five times as often at 99 %."""
    rng, q, spreads = np.random.default_rng(1), _reach(level), [1.0, 1.0]
    noisy = [above + rng.normal(size=MANY), below + rng.normal(size=MANY)]
    ratio = Operation("/", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    found = ratio.of(Cells(MANY, noisy, spreads=spreads, within=q))
    assert _missed(found, above / below, spreads, q) <= 1.1 * (1 - level)
    if above == 12.0:
        assert _missed(ratio.of(Cells(MANY, noisy)), above / below, spreads, q) > 1.5 * (1 - level)


def test_a_quotient_is_as_far_off_as_the_closed_form_says() -> None:
    """One named beforehand: sqrt(d**2 + g o**2)/(1 - g), the divisor b off by q of its deviations, g = (q/b)**2."""
    q, above, below = _reach(0.95), 32.0, 8.0
    ratio = Operation("/", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    found = ratio.of(Cells(1, [np.array([above]), np.array([below])], spreads=[1.0, 1.0], within=q))
    own, rest, g = above / below**2, 1 / below, (q / below) ** 2
    assert found.deviation([1.0, 1.0])[0] == pytest.approx(np.sqrt(own**2 + rest**2 + g * own**2) / (1 - g))


@pytest.mark.parametrize("below", [0.1, 1.0, 1.9])
def test_a_divisor_that_may_be_zero_leaves_a_quotient_unbounded(below: float) -> None:
    ratio = Operation("/", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    noisy, spreads = [np.array([3.0]), np.array([below])], [1.0, 1.0]
    found = ratio.of(Cells(1, noisy, spreads=spreads, within=_reach(0.95))).deviation(spreads)
    assert found[0] > 1e7 * ratio.of(Cells(1, noisy)).deviation(spreads)[0]
    assert np.isfinite(found[0])


@pytest.mark.statistical
@pytest.mark.parametrize("level", [0.95, 1 - 0.05 / 6])
def test_a_quotient_whose_divisor_drowns_in_noise_is_held(level: float) -> None:
    """355/2 under noise of a thousand: 25 times the slopes missed it more often than twice the level allows."""
    rng, q, spreads = np.random.default_rng(2), _reach(level), [1.0, 1.0]
    noisy = [0.355 + rng.normal(size=MANY), 0.002 + rng.normal(size=MANY)]
    ratio = Operation("/", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    found = ratio.of(Cells(MANY, noisy, spreads=spreads, within=q))
    assert _missed(found, 177.5, spreads, q) <= 1.1 * (1 - level)


@pytest.mark.parametrize("below", [1.2, 1.9])
def test_a_mean_of_hardly_any_rows_is_some_25_to_50_times_as_far_off_as_its_slopes_say(below: float) -> None:
    mean = Mean(0, 1, Fraction(1), Fraction(0), Fraction(-1000), Fraction(1000))
    noisy, spreads = [np.array([3.0]), np.array([below])], [1.0, 1.0]
    found = mean.of(Cells(1, noisy, spreads=spreads, within=_reach(0.95))).deviation(spreads)
    assert 25 <= found[0] / mean.of(Cells(1, noisy)).deviation(spreads)[0] <= 50


def test_a_product_of_two_numbers_found_to_be_zero_is_off_by_the_product_of_their_reaches() -> None:
    q, spreads = _reach(0.95), [2.0, 3.0]
    formula = Operation("*", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    found = formula.of(Cells(1, [np.zeros(1), np.zeros(1)], spreads=spreads, within=q))
    assert q * found.deviation(spreads)[0] == pytest.approx((2 * q) * (3 * q))


@pytest.mark.statistical
def test_a_variance_of_few_rows_holds_the_level_of_one_that_was_chosen() -> None:
    """Numbers within 50 of a middle, a mean 40 off it: the square of the mean's error is most of what is missed."""
    rng, level = np.random.default_rng(2), 1 - 0.05 / 6
    q, rows, mean, variance = _reach(level), 147, -40.0, 15.0
    spreads = [34.6, 1732.0, 43301.0]
    exact = [rows, rows * mean, rows * (variance + mean**2 - 1250)]
    noisy = [each + spread * rng.normal(size=MANY) for each, spread in zip(exact, spreads, strict=True)]
    one = Fraction(1)
    formula = Variance(1, 2, 0, one, one, Fraction(1250), Fraction(2500), False)
    assert _missed(formula.of(Cells(MANY, noisy, spreads=spreads, within=q)), variance, spreads, q) <= 1 - level
    assert _missed(formula.of(Cells(MANY, noisy, spreads=spreads)), variance, spreads, q) > 2 * (1 - level)


@pytest.mark.statistical
def test_a_product_of_two_small_noisy_numbers_holds_its_level() -> None:
    rng, q, spreads = np.random.default_rng(3), _reach(0.95), [1.0, 1.0]
    noisy = [rng.normal(size=MANY), rng.normal(size=MANY)]
    formula = Operation("*", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    assert _missed(formula.of(Cells(MANY, noisy, spreads=spreads, within=q)), 0.0, spreads, q) <= 0.05


@pytest.mark.parametrize(
    "formula",
    [
        Apply("round", Linear(((0, Fraction(1)),))),
        Apply("round", Linear(((0, Fraction(1)),)), 1),
        Apply("floor", Linear(((0, Fraction(1)),))),
        Apply("ceil", Linear(((0, Fraction(1)),))),
        Apply("trunc", Linear(((0, Fraction(1)),))),
        Apply("sign", Linear(((0, Fraction(1)),))),
        Apply("abs", Linear(((0, Fraction(1)),))),
        Operation("//", Linear(((0, Fraction(1)),)), Constant(10)),
        Operation("%", Linear(((0, Fraction(1)),)), Constant(7)),
    ],
)
@pytest.mark.parametrize("spread", [0.01, 0.3, 2.0])
def test_a_step_is_off_by_no_more_than_it_says_wherever_the_number_inside_is_held(
    formula: object, spread: float
) -> None:
    """Certain: whenever the number inside is within two deviations, so is what is made of it."""
    truths = np.linspace(-20.3, 20.3, 407)
    assert isinstance(formula, (Apply, Operation))
    exact = formula.of(Cells(len(truths), [truths])).value
    for off in np.linspace(-2, 2, 21) * spread:
        found = formula.of(Cells(len(truths), [truths + off], spreads=[spread], within=2.0))
        assert np.all(np.abs(found.value - exact) <= 2 * found.deviation([spread]) + 1e-9)


def test_what_is_made_of_a_value_carries_all_of_its_deviation() -> None:
    inside = Operation("*", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    cells = Cells(1, [np.array([0.0]), np.array([5.0])], spreads=[1.0, 2.0], within=2.0)
    alone = inside.of(cells)
    assert alone.far
    for outside in (Held(inside, -9.0, 9.0), InnerFormula(inside, 0, 2)):
        assert outside.of(cells).deviation([1.0, 2.0]) == pytest.approx(alone.deviation([1.0, 2.0]))
    # the root of 0 that is off by at most 2 d is off by at most its root; the square by at most (2 d)**2
    off = 2 * alone.deviation([1.0, 2.0])
    assert 2 * Root(inside).of(cells).deviation([1.0, 2.0]) == pytest.approx(np.sqrt(off))
    assert 2 * Squared(inside).of(cells).deviation([1.0, 2.0]) == pytest.approx(off**2)


def test_where_no_reach_is_asked_for_slopes_are_all() -> None:
    ratio = Operation("/", Linear(((0, Fraction(1)),)), Linear(((1, Fraction(1)),)))
    cells = Cells(1, [np.array([3.0]), np.array([2.0])], spreads=[1.0, 1.0])
    assert not ratio.of(cells).far
    assert bends.quotient(({}, {}), (np.ones(1), {}, {}), [1.0], 2.0) == {}
