"""Training-point reconstruction: what an exact model reveals about the one row that an attacker does not know.

Informed attacker (Balle, Cherubin, Hayes 2022): knows all rows but one. For a linear regression with an intercept the
normal equations say that the residuals r sum to zero and so do r x: with the known rows' part subtracted, the last row
is x = -(sum r_i x_i)/(-sum r_i), exactly, and its y follows. For a network the gradient of one row at the first layer
is the outer product d x' and at its bias d, so x is their quotient (Zhu, Liu, Han 2019; Geiping et al. 2020).

Private versions. Regression: second moments of rows z = c (1, x, y) of norm at most 1, with Gaussian noise; the entries
on and above the diagonal of z z' have L2 norm at most |z|**2 = 1. Network: gradients clipped to norm 1, summed, with
Gaussian noise. The attacker subtracts what they know and picks, out of a line-up of rows drawn by the same law,
the one whose moments or gradient is nearest, which is the likeliest.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.audit.attacks.attempt import Attempt, Rates, attempted, ceiling, replacing
from tacit.audit.attacks.network import Reals, Shape, begin, clipped, gradients
from tacit.loss import Budget
from tacit.mechanisms import Gaussian
from tacit.parameters import Number

_AIM = "pick the one unknown training row out of a line-up"


def training_point_of_regression(
    epsilon: Number = 1,
    delta: Number = "1e-9",
    *,
    trials: int = 300,
    rows: int = 100,
    features: int = 6,
    line_up: int = 20,
    seed: int = 1,
) -> Attempt:
    """Rebuild the last row behind the coefficients of a linear regression.

    >>> done = training_point_of_regression(epsilon=1, trials=3)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.28)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        upper = np.triu_indices(features + 2)
        noise = Gaussian(1.0, epsilon, delta, size=upper[0].size)
        right, picked, errors = 0, 0, []
        for _ in range(trials):
            data, unknown = (_made_up(rng, size, features) for size in (rows, line_up))
            everything = np.vstack([data, unknown[:1]])
            rebuilt = last_row(data, coefficients(everything))
            errors.append(float(np.linalg.norm(rebuilt - unknown[0]) / np.linalg.norm(unknown[0])))
            right += int(np.argmin(np.linalg.norm(unknown - rebuilt, axis=1))) == 0
            seen = np.asarray(noise.release((everything.T @ everything)[upper])) - (data.T @ data)[upper]
            moments = np.einsum("li,lj->lij", unknown, unknown)[:, upper[0], upper[1]]
            picked += int(np.argmin(np.linalg.norm(moments - seen, axis=1))) == 0
        words = f"From exact coefficients the row is rebuilt with a relative error of {np.median(errors):.1g}."
        return Rates(right / trials, picked / trials, 1 / line_up, trials, words)

    return _attempted("training point of a regression", run, epsilon, delta, line_up)


def training_point_of_network(
    epsilon: Number = 1,
    delta: Number = "1e-9",
    *,
    trials: int = 200,
    rows: int = 7,
    line_up: int = 20,
    seed: int = 1,
) -> Attempt:
    """Rebuild the last row behind one gradient of a network with a hidden layer.

    >>> done = training_point_of_network(epsilon=1, trials=3)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.28)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        shape = Shape(inputs=20, hidden=16, classes=3)
        noise = Gaussian(1.0, epsilon, delta, size=shape.size)
        right, picked, errors = 0, 0, []
        for _ in range(trials):
            weights = begin(shape, rng)
            known, unknown = (rng.standard_normal((size, shape.inputs)) for size in (rows, line_up))
            labels = [np.asarray(rng.integers(0, shape.classes, size)) for size in (rows, line_up)]
            others, candidates = (
                gradients(shape, weights, each, which) for each, which in zip((known, unknown), labels, strict=True)
            )
            rebuilt = row_of_gradient(shape, (others.sum(axis=0) + candidates[0]) - others.sum(axis=0))
            errors.append(float(np.linalg.norm(rebuilt - unknown[0]) / np.linalg.norm(unknown[0])))
            right += int(np.argmin(np.linalg.norm(unknown - rebuilt, axis=1))) == 0
            mine, theirs = clipped(candidates), clipped(others).sum(axis=0)
            seen = np.asarray(noise.release(theirs + mine[0])) - theirs
            picked += int(np.argmin(np.linalg.norm(mine - seen, axis=1))) == 0
        words = f"From an exact gradient the row is rebuilt with a relative error of {np.median(errors):.1g}."
        return Rates(right / trials, picked / trials, 1 / line_up, trials, words)

    return _attempted("training point of a network", run, epsilon, delta, line_up)


def coefficients(table: Reals) -> Reals:
    """Least squares: the last column from the others, of which the first is the intercept's own."""
    found, *_ = np.linalg.lstsq(_design(table), table[:, -1], rcond=None)
    return np.asarray(found)


def last_row(known: Reals, weights: Reals) -> Reals:
    """The one row that, with the known ones, makes these the least-squares coefficients."""
    design = _design(known)
    missing = -(design.T @ (design @ weights - known[:, -1]))  # the last row's residual times its (1, x)
    residual = missing[0] / known[0, 0]  # the intercept's own column is the same in all rows
    features = missing / residual
    return np.append(features, features @ weights - residual)


def row_of_gradient(shape: Shape, gradient: Reals) -> Reals:
    """The input behind one row's gradient: a row of the first layer over its bias, where that is largest."""
    first = gradient[: shape.hidden * shape.inputs].reshape(shape.hidden, shape.inputs)
    bias = gradient[shape.hidden * shape.inputs :][: shape.hidden]
    place = int(np.argmax(np.abs(bias)))
    return np.asarray(first[place] / bias[place])


def _design(table: Reals) -> Reals:
    return table[:, :-1]


def _made_up(rng: np.random.Generator, size: int, features: int) -> Reals:
    """Rows (1, x, y) where y depends on x, all within [-1, 1] and then scaled by a public number to norm 1 at most."""
    x = rng.uniform(-1, 1, (size, features))
    y = np.clip(x @ np.linspace(-1, 1, features) + rng.uniform(-0.5, 0.5, size), -1, 1)
    return np.asarray(np.column_stack([np.ones(size), x, y]) / (np.sqrt(features + 2) * (1 + 1e-12)))


def _attempted(name: str, run: Callable[[], Rates], epsilon: Number, delta: Number, line_up: int) -> Attempt:
    def most(budget: Budget) -> float:
        return ceiling(replacing(budget), candidates=line_up)

    return attempted(name, _AIM, run, epsilon=epsilon, delta=delta, most=most)
