"""Floating point: the low bits of textbook Laplace noise give away the exact number.

Text books draw Laplace noise as scale * sign * ln(u), u a float. Only some floats are such a logarithm, and different
exact answers have different ones: v + scale ln(u) is reachable from v = 0 where it is not from v = 1 (Mironov 2012).
The attacker inverts the formula: the u that would be needed, rounded to the floats a generator makes (multiples of
2**-53), must give the very output back. If only one answer explains it, the noise has revealed everything, whatever
epsilon says; if both do, the one with more possible draws is likelier.

The private release is tacit's Laplace on whole numbers, whose every output can come from either answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit import parameters
from tacit.audit.attacks.attempt import Attempt, Rates, attempted
from tacit.mechanisms import Laplace
from tacit.parameters import Number

Reals = NDArray[np.float64]
_ULP = 2.0**-53
_IMPOSSIBLE = 1e-6  # not zero: a rounding error that was missed here must not decide alone
_NEAR = 16  # how far from the computed u to look: exp and ln are wrong in the last bits, and a sum is rounded


def floating_point(epsilon: Number = 1, *, releases: int = 10, trials: int = 1_000, seed: int = 1) -> Attempt:
    """Tell a count of 0 from a count of 1 by the low bits of the noise; the releases of a trial share its epsilon.

    >>> done = floating_point(epsilon=1, trials=20)
    >>> done.naive, round(done.ceiling, 2)
    (1.0, 0.73)
    """

    def run() -> Rates:
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, trials)
        exact = parameters.positive("epsilon", epsilon) / parameters.whole("releases", releases, least=1)
        scale = float(1 / exact)
        counts = np.repeat(truth[:, None], releases, axis=1)
        naive_outputs = counts + textbook_laplace(rng, scale, counts.size).reshape(counts.shape)
        ours = np.asarray(Laplace(sensitivity=1, epsilon=exact).release(counts), dtype=np.float64)
        naive = float(np.mean(_guess(naive_outputs, scale) == truth))
        # against tacit the better of two attackers counts: one looks at bits, one knows that bits are no use
        private = max(float(np.mean(said == truth)) for said in (_guess(ours, scale), _by_law(ours, scale)))
        possible = [explanations(naive_outputs, value, scale) > 0 for value in (0.0, 1.0)]
        words = (
            f"{np.mean(possible[0] != possible[1]):.1%} of text-book outputs are possible for one of the counts only."
        )
        return Rates(naive, private, 0.5, trials, words)

    return attempted("floating point", "tell a count of 0 from a count of 1", run, epsilon=epsilon)


def textbook_laplace(rng: np.random.Generator, scale: float, size: int) -> Reals:
    """Textbook noise: it is broken, so that the attack can show it."""
    uniform = (rng.integers(0, 2**53, size) + 1) * _ULP
    sign = np.where(rng.integers(0, 2, size) == 1, 1.0, -1.0)
    return np.asarray(sign * (scale * np.log(uniform)))


def explanations(outputs: Reals, value: float, scale: float) -> NDArray[np.int64]:
    """How many draws of text-book noise on `value` give each output, to the last bit."""
    distance = np.abs(outputs - value)
    middle = np.rint(np.exp(-distance / scale) / _ULP)
    sign = np.where(outputs < value, 1.0, -1.0)  # ln(u) is negative
    found = np.zeros(outputs.shape, dtype=np.int64)
    for step in range(-_NEAR, _NEAR + 1):
        uniform = (middle + step) * _ULP
        allowed = (uniform > 0) & (uniform <= 1)
        found += allowed & (value + sign * (scale * np.log(np.where(allowed, uniform, 1.0))) == outputs)
    return found


def _guess(outputs: Reals, scale: float) -> NDArray[np.int64]:
    """The likelier count, a row of outputs for each trial: by exact explanations, where there are any, else by law."""
    draws = [explanations(outputs, value, scale) for value in (0.0, 1.0)]
    neither = (draws[0] == 0) & (draws[1] == 0)
    zero, one = (
        np.where(neither, -np.abs(outputs - value) / scale, np.log(np.maximum(number, _IMPOSSIBLE))).sum(axis=1)
        for value, number in zip((0.0, 1.0), draws, strict=True)
    )
    return np.asarray(one > zero, dtype=np.int64)


def _by_law(outputs: Reals, scale: float) -> NDArray[np.int64]:
    """The likelier count by the law of the noise alone."""
    zero, one = (-np.abs(outputs - value).sum(axis=1) / scale for value in (0.0, 1.0))
    return np.asarray(one > zero, dtype=np.int64)
