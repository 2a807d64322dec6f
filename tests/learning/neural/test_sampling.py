"""Poisson samples in random order, from secure bits."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.learning.neural.people.sampling import poisson_sample, random_order
from tacit.noise import BitSource, secure


@pytest.mark.statistical
def test_everybody_is_in_with_the_stated_probability_whoever_else_is() -> None:
    """False alarms: below 1e-9 for each of six means and fifteen products, six deviations."""
    draws, rate = 4000, Fraction(3, 10)
    seen = np.zeros((draws, 6))
    for each in seen:
        each[poisson_sample(6, rate, secure())] = 1
    assert np.all(np.abs(seen.mean(axis=0) - 0.3) < 6 * math.sqrt(0.21 / draws))
    for one, other in itertools.combinations(range(6), 2):
        assert abs((seen[:, one] * seen[:, other]).mean() - 0.09) < 6 * math.sqrt(0.09 * 0.91 / draws)


@pytest.mark.statistical
def test_samples_stand_in_random_order() -> None:
    """False alarms: one in 50! that everybody stands in order."""
    assert list(poisson_sample(50, Fraction(1), secure())) != list(range(50))


def test_nobody_and_everybody() -> None:
    assert len(poisson_sample(0, Fraction(1, 2), secure())) == 0
    assert sorted(poisson_sample(50, Fraction(1), secure())) == list(range(50))


@pytest.mark.statistical
def test_every_order_is_equally_likely() -> None:
    """False alarms: below 1e-9 for each of six orders, six deviations."""
    found = Counter(tuple(random_order(3, secure())) for _ in range(3000))
    assert len(found) == 6
    assert all(abs(count - 500) < 6 * math.sqrt(3000 / 6) for count in found.values())


class _Equal(BitSource):
    """Equal words at first, then a different one each."""

    def __init__(self) -> None:
        self.served = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.served += 1
        if self.served == 1:
            return np.full(count, 7, dtype=np.uint64)
        return np.arange(count, dtype=np.uint64)[::-1].copy()


def test_equal_keys_are_drawn_again_for_all_who_have_them() -> None:
    bits = _Equal()
    assert list(random_order(4, bits)) == [3, 2, 1, 0]
    assert bits.served == 2
