"""Second moments around a released mean: what one unit moves, what is charged, and what lines and intervals follow."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit import learning
from tacit.learning.calibrated import Part, calibrated
from tacit.learning.centred import centred, weights_of_products
from tacit.learning.margin_losses import FINE
from tacit.learning.rounds import grid_rows, moved, products, products_part, sums_by_class
from tacit.loss import compose
from tacit.mechanisms import Gaussian, Laplace
from tests.learning.test_gram import cells, columns
from tests.learning.test_logistic import size_of

CASES = int(os.environ.get("TACIT_CASES", "800"))  # 5,000 for a soak


def test_a_units_rows_move_both_releases_by_at_most_their_sensitivities() -> None:
    rng = np.random.default_rng()
    closest = np.zeros((2, 2))
    for turn in range(CASES):
        if turn % 20 == 0:
            features, rows = columns(rng), int(rng.integers(1, 4))
            made = centred(features, rows, Fraction(1), Fraction(turn // 20 % 2, 100))
        codes = np.stack([cells(each, rows, rng) for each in features], axis=1)
        if rng.random() < 0.5:
            codes[:] = codes[0]  # the same row again moves them farthest
        vectors = grid_rows(codes, features, ["number"] * len(features))
        none = np.zeros(rows, dtype=np.int64)
        sums = sums_by_class(vectors, none, 1, made.first_constant, made.first_reach)
        whole = moved(vectors, rng.integers(-FINE, FINE + 1, len(vectors)), made.reach, made.constant)
        upper = np.triu_indices(len(whole))
        crossed = products(whole)[upper] * weights_of_products(upper, made.noises[1])
        sizes = [size_of(sums, made.noises[0]), size_of(crossed, made.noises[1])]
        assert max(sizes) <= 1
        kind = int(isinstance(made.noises[0], Laplace))
        closest[kind] = np.maximum(closest[kind], sizes)
    assert (closest[0] > 0.9).all()  # no budget is given away


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_both_releases_together_cost_the_price(delta: str) -> None:
    rng = np.random.default_rng(1)
    made = centred(columns(rng), 2, Fraction(1), Fraction(delta))
    assert compose([made.price.event]).delta(Fraction(1)) <= float(Fraction(delta))
    assert compose([made.price.event]).epsilon(Fraction(delta)) > 0.999


def test_weights_do_not_make_gaussian_noise_look_larger_than_it_is() -> None:
    """Eleven coordinates: Laplace noise on all products is four times as large, whatever they are multiplied with."""
    part = products_part(1, 500, 1000, 11, Fraction(1))
    (noise,), _ = calibrated([part], Fraction(1), Fraction(1, 10**5))
    assert isinstance(noise, Gaussian)
    plain = Part(part.taxicab, part.squared, part.size, part.share)
    (other,), _ = calibrated([plain], Fraction(1), Fraction(1, 10**5))
    assert isinstance(other, Laplace)


def some_line(rng: Any, count: int = 3_000) -> tuple[Any, Any]:
    X = rng.normal(0.2, 0.3, (count, 2)).clip(-1, 1)
    return X, X @ [0.5, -1.0] + 0.1 + rng.normal(0, 0.3, count)


def test_with_hardly_any_noise_the_line_is_the_plain_one() -> None:
    X, y = some_line(np.random.default_rng())
    model = learning.LinearRegression(epsilon=1e6, delta=1e-6, bounds=(-1, 1), target_bounds=(-9, 9)).fit(X, y)
    plain = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
    assert np.allclose([model.intercept_, *model.coef_], plain, atol=1e-2)  # some rows are shrunk to the ball
    # and the intervals are those of textbooks: 1.96 deviations of the errors over the spread and the root of the count
    left = y - X @ plain[1:] - plain[0]
    inverse = np.linalg.inv(np.cov(X.T))
    textbook = 1.96 * np.std(left) * np.sqrt(np.diag(inverse) / len(X))
    assert np.allclose(np.diff(model.coef_interval_, axis=1)[:, 0] / 2, textbook, rtol=0.05)


@pytest.mark.statistical
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (3, 0)])
def test_intervals_count_both_noises(epsilon: float, delta: float) -> None:
    """Of 60 runs with three intervals each, at 0.95: fewer than 78 % held has a chance below 1e-9."""
    rng = np.random.default_rng()
    held = 0
    for _ in range(60):
        X, y = some_line(rng, 5_000)
        facts: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "bounds": (-1, 1), "target_bounds": (-3, 3)}
        model = learning.LinearRegression(**facts).fit(X, y)
        ends = np.vstack([model.intercept_interval_, model.coef_interval_])
        held += int(((ends[:, 0] <= [0.1, 0.5, -1.0]) & (ends[:, 1] >= [0.1, 0.5, -1.0])).sum())
    assert held >= 0.78 * 180


def test_where_noise_hides_a_direction_there_is_no_interval() -> None:
    X, y = some_line(np.random.default_rng(), 40)
    model = learning.LinearRegression(epsilon=0.1, delta=1e-6, bounds=(-1, 1), target_bounds=(-9, 9)).fit(X, y)
    assert model.coef_interval_ is None
    assert model.intercept_interval_ is None
    assert model.ridge_ > 0
    held = learning.Ridge(alpha=1.0, epsilon=1000, bounds=(-1, 1), target_bounds=(-9, 9)).fit(
        *some_line(np.random.default_rng())
    )
    assert held.coef_interval_ is None


def test_a_line_of_bought_moments_has_intervals_too() -> None:
    X, y = some_line(np.random.default_rng())
    bounds = {0: (-1, 1), 1: (-1, 1), 2: (-9, 9)}
    bought = learning.SecondMoments(epsilon=100, delta=1e-6, bounds=bounds).fit(np.column_stack([X, y]))
    model = learning.LinearRegression().fit(bought, "x2")
    assert model.coef_interval_.shape == (2, 2)
    assert (model.coef_interval_[:, 0] < [0.5, -1.0]).all()
    assert (model.coef_interval_[:, 1] > [0.5, -1.0]).all()
    assert np.diff(model.coef_interval_).max() < 0.2


@pytest.mark.statistical
def test_directions_around_the_mean_are_found_far_from_the_middle_of_the_bounds() -> None:
    """Rows near a corner of their bounds: the first direction is found with noise that would hide it around 0."""
    rng = np.random.default_rng()
    X = 0.8 + 0.1 * rng.normal(size=(2_000, 1)) * np.ones((1, 20)) + 0.02 * rng.normal(size=(2_000, 20))
    model = learning.PCA(1, epsilon=1, delta=1e-5, bounds=(-1, 1)).fit(X.clip(-1, 1))
    assert abs(model.components_[0].sum()) / np.sqrt(20) > 0.9
    assert np.allclose(model.mean_, X.clip(-1, 1).mean(axis=0), atol=0.1)
