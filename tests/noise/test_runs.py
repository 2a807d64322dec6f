"""Choosing from runs against listing all their candidates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit.noise import runs
from tacit.noise.bits import SeededBitsForTestsOnly
from tacit.noise.runs import choose_from_runs

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
        drawn = choose_from_runs(TOPS, STEPS, LENGTHS, FACTOR, bits)
        found[drawn] = found.get(drawn, 0) + 1
    for key, chance in law().items():
        assert abs(found.get(key, 0) - size * chance) < 6.5 * math.sqrt(size * chance * (1 - chance))
    assert set(found) <= set(law())


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
