"""The small models that are attacked: their private versions are calibrated for what one unit can change."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from tacit.audit.attacks import logistic, network
from tacit.audit.attacks.training_points import coefficients, last_row, row_of_gradient


def delta_of(sigma: float, sensitivity: float, epsilon: float) -> float:
    """The exact delta of continuous Gaussian noise (Balle, Wang 2018)."""
    part, whole = sensitivity / (2 * sigma), epsilon * sigma / sensitivity
    return float(norm.cdf(part - whole) - math.exp(epsilon) * norm.cdf(-part - whole))


@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_one_row_moves_the_minimiser_by_at_most_one_over_the_ridge(ridge: float) -> None:
    rng = np.random.default_rng(1)
    for size in (1, 1, 2, 10, 30):
        rows = logistic.within_unit_ball(3 * rng.standard_normal((size, 5)))
        labels = np.where(rng.integers(0, 2, size) == 1, 1.0, -1.0)
        whole, without = logistic.fit(rows, labels, ridge), logistic.fit(rows[1:], labels[1:], ridge)
        assert 0 < np.linalg.norm(whole - without) <= 1 / ridge


def test_half_of_that_bound_is_reached() -> None:
    # a great ridge keeps the weights near 0, where the loss of a row has slope 1/2
    moved = np.linalg.norm(logistic.fit(np.array([[0.6, 0.8]]), np.ones(1), 100.0))
    assert 0.49 / 100 < moved <= 0.5 / 100


@pytest.mark.parametrize("ridge", [0.5, 4.0])
def test_the_noise_on_the_weights_is_what_the_exact_curve_asks_for(ridge: float) -> None:
    sigma = logistic.noise_for(20, ridge, 1, "1e-6").scale
    assert delta_of(sigma, 1 / ridge, 1) <= 1e-6
    assert delta_of(0.99 * sigma, 1 / ridge, 1) > 1e-6


def test_private_weights_come_with_noise_of_that_scale() -> None:
    rng = np.random.default_rng(2)
    rows, labels = rng.standard_normal((30, 400)), np.ones(30)
    noise = logistic.noise_for(400, 1.0, 1, "1e-6")
    exact = logistic.fit(logistic.within_unit_ball(rows), labels, 1.0)
    spread = float(np.std(logistic.fit_privately(rows, labels, 1.0, noise) - exact))
    assert 0.7 < spread / noise.scale < 1.3  # 400 draws: eight deviations of a deviation on either side


@pytest.mark.parametrize("hidden", [0, 4])
def test_gradients_are_those_of_finite_differences(hidden: int) -> None:
    rng = np.random.default_rng(1)
    shape = network.Shape(3, hidden, 3)
    weights, rows, labels = network.begin(shape, rng), rng.standard_normal((2, 3)), np.array([0, 2])

    def loss(at: np.ndarray, of: np.ndarray) -> np.ndarray:
        shares = network._forward(shape, at, of)[1]
        return -np.log(shares[np.arange(2), labels])

    by_weights, by_inputs = network.gradients(shape, weights, rows, labels), np.zeros((2, 3))
    for place in range(shape.size):
        step = np.zeros(shape.size)
        step[place] = 1e-6
        slope = (loss(weights + step, rows) - loss(weights - step, rows)) / 2e-6
        assert by_weights[:, place] == pytest.approx(slope, abs=1e-7)
    for place in range(3):
        step = np.zeros((1, 3))
        step[0, place] = 1e-6
        by_inputs[:, place] = (loss(weights, rows + step) - loss(weights, rows - step)) / 2e-6
    assert network.input_gradient(shape, weights, rows, labels) == pytest.approx(by_inputs, abs=1e-7)


def test_clipped_gradients_are_no_longer_than_one_and_short_ones_are_left_alone() -> None:
    each = np.array([[3.0, 4.0], [0.3, 0.4]])
    found = network.clipped(each)
    assert np.linalg.norm(found, axis=1) == pytest.approx([1.0, 0.5])
    assert np.linalg.norm(found, axis=1).max() <= 1


@pytest.mark.parametrize("steps", [1, 25])
def test_the_noise_of_all_steps_together_is_what_the_exact_curve_asks_for(steps: int) -> None:
    sigma = network.noise_for(50, steps, 1, "1e-6").scale
    assert delta_of(sigma, math.sqrt(steps), 1) <= 1e-6
    assert delta_of(0.99 * sigma, math.sqrt(steps), 1) > 1e-6


def test_one_person_moves_a_private_step_by_at_most_one_however_many_pictures_they_have() -> None:
    rng = np.random.default_rng(1)
    shape = network.Shape(4, 0, 3)
    weights = network.begin(shape, rng)
    rows, labels = 50 * rng.standard_normal((9, 4)), np.repeat([0, 1, 2], 3)

    class Silent:
        def release(self, values: np.ndarray) -> np.ndarray:
            return values

    def step(kept: np.ndarray) -> np.ndarray:
        quiet: network.Gaussian = Silent()  # type: ignore[assignment]
        return network.train(
            shape, weights, rows[kept], labels[kept], labels[kept], people=3, steps=1, rate=3.0, noise=quiet
        )

    moved = np.linalg.norm(step(np.arange(9)) - step(np.arange(6)))
    assert 0.9 < moved <= 1 + 1e-12


def test_the_last_row_is_solved_from_coefficients_and_from_a_gradient() -> None:
    rng = np.random.default_rng(1)
    table = np.column_stack([np.ones(12), rng.standard_normal((12, 3))])
    assert last_row(table[:-1], coefficients(table)) == pytest.approx(table[-1], rel=1e-8)
    shape = network.Shape(5, 3, 2)
    row = rng.standard_normal((1, 5))
    gradient = network.gradients(shape, network.begin(shape, rng), row, np.array([1]))[0]
    assert row_of_gradient(shape, gradient) == pytest.approx(row[0], rel=1e-9)
