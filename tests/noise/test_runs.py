"""Choosing from runs against listing all their candidates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.noise import race, runs
from tacit.noise.bits import SeededBitsForTestsOnly
from tacit.noise.runs import drawing_from_runs

TOPS = np.array([-3, 0, -1, -2], dtype=np.int64)
STEPS = np.array([0, 2, 0, 1], dtype=np.int64)
LENGTHS = np.array([5, 3, 1, 6], dtype=np.int64)
FACTOR = Fraction(1, 3)


def law() -> dict[tuple[int, int], float]:
    weights = {
        (run, place): math.exp(FACTOR * (int(TOPS[run]) - place * int(STEPS[run])))
        for run in range(4)
        for place in range(int(LENGTHS[run]))
    }
    total = math.fsum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


@pytest.mark.statistical
def test_candidates_are_chosen_as_often_as_their_weights_say() -> None:
    """8,000 draws, 15 candidates; each frequency within 6.5 deviations: false alarms below 15 * 1e-10 (seeded)."""
    bits, size = SeededBitsForTestsOnly(7), 8_000
    found: dict[tuple[int, int], int] = {}
    for _ in range(size):
        (drawn,) = drawing_from_runs(TOPS, STEPS, LENGTHS, FACTOR)(bits, 1)
        found[drawn] = found.get(drawn, 0) + 1
    for key, chance in law().items():
        assert abs(found.get(key, 0) - size * chance) < 6.5 * math.sqrt(size * chance * (1 - chance))
    assert set(found) <= set(law())


@pytest.mark.statistical
def test_choices_made_at_once_are_as_often_and_independent_of_each_other() -> None:
    """4,000 times four: each candidate at each place, and each pair of runs at places 1 and 2, within 6.5 deviations.

    15 * 4 + 16 frequencies: false alarms below 1e-8 (seeded).
    """
    bits, size = SeededBitsForTestsOnly(8), 4_000
    draw = drawing_from_runs(TOPS, STEPS, LENGTHS, FACTOR)
    drawn = [list(draw(bits, 4)) for _ in range(size)]
    assert {len(each) for each in drawn} == {4}
    runs_law = [math.fsum(chance for (run, _), chance in law().items() if run == wanted) for wanted in range(4)]
    events = [
        (chance, sum(each[place] == key for each in drawn)) for place in range(4) for key, chance in law().items()
    ]
    for first in range(4):
        for second in range(4):
            together = sum((each[0][0], each[1][0]) == (first, second) for each in drawn)
            events.append((runs_law[first] * runs_law[second], together))
    for chance, found in events:
        assert abs(found - size * chance) < 6.5 * math.sqrt(size * chance * (1 - chance))


def test_more_races_than_fit_a_chunk_are_run_one_by_one() -> None:
    weights = np.zeros(10_000)
    winners = race.run_again(weights, lambda *_: pytest.fail("close"), SeededBitsForTestsOnly(9), 3)
    assert len(winners) == 3
    assert all(0 <= winner < 10_000 for winner in winners)
    assert len(set(winners)) == 3


@pytest.mark.parametrize("step", [Fraction(0), Fraction(1, 7), Fraction(1, 10**15), Fraction(40)], ids=str)
@pytest.mark.parametrize("length", [1, 2, 9, 10**6], ids=str)
def test_the_weight_of_a_run_is_enclosed_ever_tighter(step: Fraction, length: int) -> None:
    if length <= 9:
        exact = -1.5 + math.log(math.fsum(math.exp(-float(step) * place) for place in range(length)))
    elif step < Fraction(1, 10**9):
        exact = -1.5 + math.log(length)
    else:
        exact = -1.5 - math.log(-math.expm1(-float(step)))
    widths = []
    for precision in (20, 40):
        low, high = runs._enclosed(Fraction(-3, 2), step, length, precision)
        assert low <= high
        widths.append(high - low)
        assert math.isclose(float(low), exact, rel_tol=1e-9)
    assert widths[0] < 10**-18
    assert widths[1] < 10**-38


def test_the_weights_of_runs_in_floats_are_those_of_the_enclosures() -> None:
    steps = np.array([0.0, 1e-12, 0.3, 50.0])
    lengths = np.array([7, 1000, 20, 3], dtype=np.int64)
    for step, length, found in zip(steps, lengths, runs._log_sums(steps, lengths), strict=True):
        low, high = runs._enclosed(Fraction(0), Fraction(step), int(length), 25)
        assert math.isclose(found, float(low), abs_tol=1e-13)
        assert low <= high
