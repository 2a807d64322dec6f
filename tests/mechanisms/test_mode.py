"""The mode against permute-and-flip computed by hand."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from tacit.errors import ParameterError
from tacit.loss import events
from tacit.mechanisms import Mode
from tacit.noise.bits import SeededBitsForTestsOnly


def law(scores: list[int], rate: float) -> list[float]:
    """Permute and flip: candidates in random order, each accepted with probability exp(rate (score - best))."""
    chances = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0 / len(orders)
        for candidate in order:
            accepted = math.exp(rate * (scores[candidate] - max(scores)))
            chances[candidate] += left * accepted
            left *= 1 - accepted
    return chances


def test_the_choice_is_priced_as_laplace_noise_and_needs_no_factor_two() -> None:
    mechanism = Mode(4, 3, Fraction(1, 2))
    assert mechanism.event == events.Laplace(sensitivity=Fraction(1, 2), scale=Fraction(1))
    assert mechanism.errors("0.95") == (int(3 / 0.5 * math.log(4 / 0.05)) + 1,)


@pytest.mark.statistical
def test_values_are_chosen_as_permute_and_flip_says() -> None:
    """4,000 draws of 3 values, within 6.5 deviations each (seeded)."""
    mechanism, bits, size = Mode(3, 2, Fraction(1)), SeededBitsForTestsOnly(3), 4_000
    found = [0, 0, 0]
    for _ in range(size):
        found[mechanism.choose([2, 0], [4, 3], bits=bits)[0]] += 1
    for count, chance in zip(found, law([3, 0, 4], 1 / 2), strict=True):
        assert abs(count - size * chance) < 6.5 * math.sqrt(size * chance * (1 - chance))


def test_no_neighbour_is_told_apart_by_more_than_its_share_of_epsilon() -> None:
    for rows in itertools.product(range(4), repeat=3):
        for unit in itertools.product(range(3), repeat=3):
            if sum(unit) <= 2:
                more = [a + b for a, b in zip(rows, unit, strict=True)]
                rate = float(Mode(3, 2, 1)._choice.factor)
                ratios = [math.log(a / b) for a, b in zip(law(more, rate), law(list(rows), rate), strict=True)]
                assert max(map(abs, ratios)) <= sum(unit) / 2 + 1e-9


def test_the_three_most_frequent_are_three_choices_without_what_was_chosen() -> None:
    one, three = Mode(5, 2, Fraction(1, 3)), Mode(5, 2, 1, most=3)
    assert three.event == events.Repeated(one.event, 3)
    found = three.choose([0, 1, 2, 3, 4], [10**6, 5 * 10**6, 10**5, 3 * 10**6, 0], bits=SeededBitsForTestsOnly(1))
    assert found == [1, 3, 0]
    assert sorted(Mode(3, 1, 1, most=3).choose([], [], bits=SeededBitsForTestsOnly(2))) == [0, 1, 2]


def test_no_more_values_can_be_chosen_than_there_are() -> None:
    with pytest.raises(ParameterError, match="most"):
        Mode(3, 1, 1, most=4)
