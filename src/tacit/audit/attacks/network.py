"""A small classifier in numpy, linear or with one hidden layer, trained plainly or by noisy gradients.

Logits are W2 tanh(W1 x + b1) + b2, or W2 x + b2 without a hidden layer; the loss is the cross entropy. Weights are one
flat vector, so that a gradient is a row of numbers that can be clipped and summed.

Private training (Abadi et al. 2016, on all rows at once): every unit's gradient is scaled down to norm 1 at most, so
their sum has L2 sensitivity 1 when a unit is added or removed; each step adds Gaussian noise to it, and the steps
compose. `noise_for` finds the noise and proves its price with `compose`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.loss import compose
from tacit.mechanisms import Gaussian
from tacit.parameters import Number

Reals: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]
_GROW: Final = 1.001


@dataclass(frozen=True, slots=True)
class Shape:
    """Inputs, hidden units (0 for a linear model) and classes."""

    inputs: int
    hidden: int
    classes: int

    @property
    def size(self) -> int:
        """How many weights there are."""
        below = self.hidden or self.inputs
        return self.hidden * (self.inputs + 1) + self.classes * (below + 1)


def begin(shape: Shape, rng: np.random.Generator) -> Reals:
    """Small random weights, which are public, since they depend on no row."""
    return np.asarray(rng.standard_normal(shape.size) / np.sqrt(shape.inputs))


def _parts(shape: Shape, weights: Reals) -> tuple[Reals, Reals, Reals, Reals]:
    first = shape.hidden * shape.inputs
    below = shape.hidden or shape.inputs
    w1, b1, w2, b2 = np.split(weights, [first, first + shape.hidden, first + shape.hidden + shape.classes * below])
    return w1.reshape(shape.hidden, shape.inputs), b1, w2.reshape(shape.classes, below), b2


def _forward(shape: Shape, weights: Reals, rows: Reals) -> tuple[Reals, Reals]:
    """What the last layer sees, and the shares it gives to the classes."""
    w1, b1, w2, b2 = _parts(shape, weights)
    below = np.tanh(rows @ w1.T + b1) if shape.hidden else rows
    logits = below @ w2.T + b2
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return below, shares / shares.sum(axis=1, keepdims=True)


def gradients(shape: Shape, weights: Reals, rows: Reals, labels: Labels) -> Reals:
    """The gradient of every row's loss with respect to the weights: rows by weights."""
    below, shares = _forward(shape, weights, rows)
    last = shares - np.eye(shape.classes)[labels]
    parts = [np.einsum("ic,ib->icb", last, below).reshape(len(rows), -1), last]
    if shape.hidden:
        _, _, w2, _ = _parts(shape, weights)
        first = (last @ w2) * (1 - below**2)
        parts = [np.einsum("ih,ix->ihx", first, rows).reshape(len(rows), -1), first, *parts]
    return np.hstack(parts)


def input_gradient(shape: Shape, weights: Reals, rows: Reals, labels: Labels) -> Reals:
    """The gradient of every row's loss with respect to the row itself."""
    below, shares = _forward(shape, weights, rows)
    w1, _, w2, _ = _parts(shape, weights)
    back = (shares - np.eye(shape.classes)[labels]) @ w2
    return np.asarray((back * (1 - below**2)) @ w1 if shape.hidden else back)


def clipped(each: Reals) -> Reals:
    """Rows scaled down to slightly below norm 1 where they are longer, so that rounding cannot pass it."""
    return np.asarray(each / np.maximum(1.0, np.linalg.norm(each, axis=1, keepdims=True) * (1 + 1e-12)))


def train(
    shape: Shape,
    weights: Reals,
    rows: Reals,
    labels: Labels,
    units: Labels,
    *,
    people: int,
    steps: int,
    rate: float,
    noise: Gaussian | None = None,
) -> Reals:
    """Gradient descent on all rows; with `noise`, on clipped gradients of units with noise added at every step.

    Units are numbered below `people`, a public number that does not depend on who is in the rows.
    """
    for _ in range(steps):
        each = gradients(shape, weights, rows, labels)
        if noise is None:
            weights = weights - rate * each.mean(axis=0)
        else:
            summed = np.zeros((people, shape.size))
            np.add.at(summed, units, each)
            weights = weights - rate * np.asarray(noise.release(clipped(summed).sum(axis=0))) / people
    return weights


def noise_for(size: int, steps: int, epsilon: Number, delta: Number) -> Gaussian:
    """Noise on `size` numbers of L2 sensitivity 1 such that `steps` releases together are (epsilon, delta)."""
    target = float(parameters.positive("epsilon", epsilon))
    # k steps of sensitivity 1 are as one of sqrt(k); the grid of each step costs a little more, so grow until it fits
    sigma = Gaussian(float(np.sqrt(steps)), epsilon, delta, size=size).scale
    while True:
        found = Gaussian(1.0, sigma=sigma, size=size)
        if compose([found.event] * steps).epsilon(delta) <= target:
            return found
        sigma *= _GROW
