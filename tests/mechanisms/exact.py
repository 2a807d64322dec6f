"""Exact laws on finite or truncated sets, and what privacy says about two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tests.noise.doubles import chance_at_most

mpmath.mp.dps = 60
Law = dict[Any, Any]
FALSE_ALARM = 1e-9
"""Of every statistical test in this folder: a correct sampler fails it this rarely (were its seed drawn afresh)."""


def real(exact: Fraction | int | float | str) -> Any:
    """An exact number for mpmath."""
    value = Fraction(exact)
    return mpmath.mpf(value.numerator) / value.denominator


def discrete_laplace(scale: Fraction | int, centre: int = 0, reach: int = 200) -> Law:
    a = mpmath.exp(-1 / real(scale))
    return {x: (1 - a) / (1 + a) * a ** abs(x - centre) for x in range(-reach, reach + 1)}


def discrete_gaussian(variance: Fraction | int, centre: int = 0, reach: int = 200) -> Law:
    weight = {x: mpmath.exp(-((x - centre) ** 2) / (2 * real(variance))) for x in range(-reach, reach + 1)}
    total = mpmath.fsum(weight.values())
    return {x: w / total for x, w in weight.items()}


def normalised(weights: Mapping[Hashable, Any]) -> Law:
    total = mpmath.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def product(first: Law, second: Law) -> Law:
    return {(x, y): p * q for x, p in first.items() for y, q in second.items()}


def worst_loss(one: Law, other: Law) -> Any:
    """The largest log-ratio in either direction."""
    assert one.keys() == other.keys()
    return max(abs(mpmath.log(one[key] / other[key])) for key in one)


def hockey_stick(one: Law, other: Law, epsilon: Any) -> Any:
    """The exact delta at epsilon, one direction."""
    factor = mpmath.exp(epsilon)
    return mpmath.fsum(max(one[key] - factor * other[key], 0) for key in one)


def p_value(draws: Iterable[Any], law: Law) -> float:
    """Of draws against a law that may be truncated: what it leaves out is one more cell."""
    keys = list(law)
    counts = Counter(draws)
    observed = [counts.pop(key, 0) for key in keys] + [sum(counts.values())]
    probabilities = [float(law[key]) for key in keys] + [float(max(1 - mpmath.fsum(law.values()), 0))]
    return chance_at_most(np.array(observed), probabilities)


def refused(make: Any, *names: str) -> None:
    """`make` refuses, in the house's sentence, and blames one of the named parameters."""
    with pytest.raises(ParameterError) as caught:
        make()
    message = str(caught.value)
    assert "parameter must be" in message
    assert " instead." in message
    assert any(f"'{name}'" in message for name in names), message
