"""The matrix against dense linear algebra, and its encoder on neighbouring streams."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import toeplitz

from tacit.mechanisms.continual.matrix import BLOCK, FINE, Decoder, Encoder, Matrix, matrix_for
from tacit.mechanisms.continual.poles import LONGEST, poles_for
from tests.mechanisms.continual.neighbours import worst_distance


def dense(steps: int, below: np.ndarray) -> np.ndarray:
    return np.asarray(toeplitz(below, np.zeros(steps)))


def image(matrix: Matrix, stream: np.ndarray) -> np.ndarray:
    return Encoder(matrix, stream.shape[1]).extend(stream).astype(object)


@pytest.mark.parametrize("steps", [1, 2, 7, 33, 100, 365, 900])
def test_the_closed_forms_are_those_of_the_dense_matrix(steps: int) -> None:
    poles = poles_for(steps)
    lags = np.arange(steps, dtype=np.float64)
    c = dense(steps, poles.below(lags))
    b = np.tril(np.ones((steps, steps))) @ np.linalg.inv(c)
    assert np.allclose(b[-1, ::-1], poles.error_below(lags), atol=1e-9)
    assert poles.variance(steps) == pytest.approx(float(b[-1] @ b[-1]), rel=1e-9)
    for apart in {0, min(1, steps - 1), steps // 2}:
        assert poles.inner(np.array([float(apart)]), steps)[0] >= c[:, 0] @ c[:, apart] * (1 - 1e-12)
    assert poles.inner(np.zeros(1), steps)[0] == pytest.approx(float(c[:, 0] @ c[:, 0]), rel=1e-12)


@pytest.mark.parametrize("steps", [4, 16, 50, 365, 1 << 10, 5_000, 1 << 20])
def test_the_mean_squared_error_is_below_that_of_the_square_root(steps: int) -> None:
    """The square root of the matrix of running totals has the coefficients of (1 - x)**(-1/2)."""
    root = np.concatenate([[1.0], np.cumprod((2 * np.arange(1, steps) - 1) / (2 * np.arange(1, steps)))])
    known = (root @ root) * (root**2 @ (1 - np.arange(steps) / steps))
    poles, lags = poles_for(steps), np.arange(steps, dtype=np.float64)
    ours = (poles.below(lags) ** 2).sum() * (poles.error_below(lags) ** 2 @ (1 - lags / steps))
    assert ours < known * 0.985
    if steps == 1 << 20:
        assert ours == pytest.approx(27.734, rel=1e-3)  # 12 free poles by descent: 27.708


@pytest.mark.parametrize("steps", [*(1 << power for power in range(33)), 3, 365, 10_000, 10**9])
def test_every_matrix_is_positive_falling_and_has_falling_states(steps: int) -> None:
    matrix = matrix_for(steps)
    assert all(weight > 0 for weight in (*matrix.poles.weights, *matrix.poles.inverse))
    assert list(matrix.near) == sorted(matrix.near, reverse=True)
    assert sum(matrix.poles.weights) < 1
    assert all(0 <= fade < 1 << 62 for fade in matrix.fade)
    assert matrix.rounding < 16
    assert steps <= LONGEST


@pytest.mark.parametrize("steps", [5, 40, 100, 200])
def test_every_column_is_at_most_the_ideal_one_entry_by_entry(steps: int) -> None:
    """The whole matrix in whole numbers: a large impulse at each step, so that rounding shows as nothing."""
    matrix = matrix_for(steps)
    large = 1 << 60
    ideal = dense(steps, matrix.poles.below(np.arange(steps, dtype=np.float64)))
    for place in range(steps):
        stream = np.zeros((steps, 1), dtype=object)
        stream[place] = large
        column = np.array([Fraction(int(each), large << FINE) for each in image(matrix, stream)[:, 0]], dtype=object)
        assert all(each >= 0 for each in column)
        differences = [float(true) - float(each) for each, true in zip(column, ideal[:, place], strict=True)]
        assert min(differences) >= -1e-15
        assert max(differences) < 1e-6  # and it is no other matrix


def test_neighbouring_streams_lie_within_the_sensitivity() -> None:
    closest = worst_distance(100, seed=1)
    assert closest <= 1
    assert closest > 0.95  # the bound is nearly reached, so that a smaller one would be found out


def test_the_numbers_do_not_depend_on_how_the_stream_is_cut_into_calls() -> None:
    rng = np.random.default_rng(2)
    matrix = matrix_for(1_000)
    stream = rng.integers(-(10**6), 10**6, (1_000, 3))
    whole = Encoder(matrix, 3, fast=True).extend(stream)
    assert (whole == image(matrix, stream)).all()
    for cuts in ([1, 31, 32, 33, 500], [64, 70, 999], list(range(1, 1_000, 7))):
        encoder = Encoder(matrix, 3, fast=True)
        parts = [encoder.extend(part) for part in np.split(stream, cuts)]
        assert (np.concatenate(parts) == whole).all()


def test_whole_blocks_are_right_up_to_the_largest_values() -> None:
    matrix = matrix_for(1 << 14)
    largest = 1 << 25
    assert matrix.is_fast(largest)
    for sign in (1, -1):
        stream = np.full((1 << 14, 1), sign * largest)
        fast = Encoder(matrix, 1, fast=True).extend(stream)
        assert (fast[-BLOCK * 40 :] == image(matrix, stream)[-BLOCK * 40 :]).all()
    assert not matrix_for(1 << 32).is_fast(largest)
    assert not matrix.is_fast(None)


def test_the_decoder_undoes_the_encoder() -> None:
    rng = np.random.default_rng(3)
    for steps in (10, 64, 333, 5_000):
        matrix = matrix_for(steps)
        stream = rng.integers(0, 1_000, (steps, 2))
        hidden = Encoder(matrix, 2, fast=True).extend(stream)
        one, many = Decoder(matrix, 2), Decoder(matrix, 2)
        totals = many.extend(hidden)
        assert np.abs(totals - np.cumsum(stream, axis=0)).max() < 1e-3
        assert np.allclose([one.step(row) for row in hidden.tolist()], totals, atol=1e-6)


def test_a_coarse_grid_fits_large_changes() -> None:
    matrix = matrix_for(100, Fraction(10**6))
    assert math.log2(10**6) - 1 < matrix.coarse <= math.log2(10**6)
    assert 2**22 < matrix.sensitivity(Fraction(10**6)) / 2 < 2**26
    stream = np.full((100, 1), 10**9, dtype=object)
    totals = Decoder(matrix, 1).extend(image(matrix, stream))
    assert np.abs(totals[:, 0] / np.cumsum(stream[:, 0]).astype(float) - 1).max() < 1e-6
