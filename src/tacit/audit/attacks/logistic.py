"""Logistic regression, small and exact enough to be private by output perturbation.

Rows have norm at most 1 and labels are -1 or 1. The model minimises sum_i ln(1 + exp(-y_i w.x_i)) + (ridge/2) |w|**2.
Theorem. With one row more or less the minimiser moves by at most 1/ridge in L2.
Proof. F is ridge-strongly convex. Let w minimise F, and v minimise F + g, g the new row's loss. F's gradient at v is
minus that of g, of norm below |x| <= 1; and strong convexity gives ridge |v - w| <= |grad F(v) - grad F(w)| <= 1.
What Newton's method returns has a gradient of norm at most `_SLACK`, so it is within _SLACK/ridge of the minimiser, and
two of them are within (1 + 2 _SLACK)/ridge.

Source: Chaudhuri, Monteleoni, Sarwate 2011 (there for the replacement of a row; here for its addition).
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.errors import TacitError
from tacit.mechanisms import Gaussian
from tacit.parameters import Number

Reals: TypeAlias = NDArray[np.float64]
_SLACK: Final = 1e-6
_STEPS: Final = 100


def within_unit_ball(rows: Reals) -> Reals:
    """Rows scaled down to slightly below norm 1 where they are longer, so that rounding cannot pass it."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(1.0, norms * (1 + 1e-12)))


def fit(rows: Reals, labels: Reals, ridge: float) -> Reals:
    """The minimiser, by damped Newton steps, to a gradient of norm at most 1e-6."""
    signed = rows * labels[:, None]
    weights = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        wrong = _logistic(-signed @ weights)
        gradient = ridge * weights - signed.T @ wrong
        if np.linalg.norm(gradient) <= _SLACK:
            return weights
        step = _newton(signed * np.sqrt(wrong * (1 - wrong))[:, None], ridge, gradient)
        here, size = _objective(signed, weights, ridge), 1.0
        while _objective(signed, weights - size * step, ridge) > here - 1e-4 * size * float(gradient @ step):
            size /= 2
            if size < 1e-12:
                break
        weights = weights - size * step
    raise TacitError("The logistic regression did not settle. Use a larger ridge.")


def noise_for(features: int, ridge: float, epsilon: Number, delta: Number) -> Gaussian:
    """Noise for the weights of a fit with this ridge: (epsilon, delta) for the addition or removal of one row."""
    parameters.positive("ridge", ridge)
    return Gaussian((1 + 2 * _SLACK) / ridge, epsilon, delta, size=features)


def fit_privately(rows: Reals, labels: Reals, ridge: float, noise: Gaussian) -> Reals:
    """The minimiser with the noise that `noise_for` found for the same ridge."""
    return np.asarray(noise.release(fit(within_unit_ball(rows), labels, ridge)))


def margins(weights: Reals, rows: Reals, labels: Reals) -> Reals:
    """y w.x for every row: large where the model is sure of the truth. The loss is ln(1 + exp(-margin))."""
    return np.asarray(labels * (rows @ weights))


def _newton(scaled: Reals, ridge: float, gradient: Reals) -> Reals:
    """(A'A + ridge I)^-1 g = (g - A'(AA' + ridge I)^-1 A g)/ridge: a system in rows, which are fewer than features."""
    kernel = scaled @ scaled.T + ridge * np.eye(len(scaled))
    return np.asarray((gradient - scaled.T @ np.linalg.solve(kernel, scaled @ gradient)) / ridge)


def _objective(signed: Reals, weights: Reals, ridge: float) -> float:
    return float(np.logaddexp(0, -signed @ weights).sum() + ridge / 2 * (weights @ weights))


def _logistic(values: Reals) -> Reals:
    return np.asarray(0.5 * (1 + np.tanh(values / 2)))  # no overflow at either end
