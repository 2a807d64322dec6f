"""Rounded normal noise by torch: every word gives what `noise.normal` makes of the same uniform number."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

from tacit.learning.neural.sums import normals
from tacit.noise import SeededBitsForTestsOnly, rounded_normal, secure
from tacit.noise.bits import BitSource, Words
from tests.effort import tried


class Served(BitSource):
    """These words, then others."""

    def __init__(self, words: Any) -> None:
        self._words, self._rest = np.asarray(words, dtype=np.uint64), SeededBitsForTestsOnly(5)

    def words(self, count: int) -> Words:
        given, self._words = self._words[:count], self._words[count:]
        return np.concatenate([given, self._rest.words(count - len(given))])


def exact(word: int, scale: int) -> int:
    """round(scale * Z) for the middle of the word's cell, in 50 digits."""
    with mpmath.workdps(50):
        x = (mpmath.mpf(word - (1 << 64) if word >> 63 else word) + 0.5) / 2**63
        return int(mpmath.nint(scale * mpmath.sqrt(2) * mpmath.erfinv(x)))


@pytest.mark.parametrize("scale", [1, 10, 1_000_003, (1 << 21) - 1])
def test_draws_are_those_of_the_law_to_the_last_unit(scale: int) -> None:
    words = np.random.default_rng(3).integers(0, 1 << 64, tried(150), dtype=np.uint64)
    words[:6] = [0, (1 << 64) - 1, 1, 1 << 62, (1 << 63) - (1 << 45), (1 << 63) + (1 << 45)]
    found = normals.rounded_normals(Fraction(scale), len(words), Served(words))
    assert [int(each) for each in found] == [exact(int(each), scale) for each in words]


@pytest.mark.parametrize("scale", [Fraction(7, 3), Fraction(654_321), Fraction(2**21 - 1)])
def test_every_word_gives_what_the_exact_sampler_makes_of_it(scale: Fraction) -> None:
    """Hundreds of thousands of cells, tails and both sides of the edge among them: none is decided differently."""
    source = SeededBitsForTestsOnly(9)
    for _ in range(tried(20)):
        words = source.words(1 << 15)  # one piece: further bits come after it
        words[:200] = [(1 << 63) + sign * ((1 << 54) + (each << 40)) for sign in (-1, 1) for each in range(-50, 50)]
        found = normals.rounded_normals(scale, len(words), Served(words)).numpy()
        assert np.array_equal(found, normals.settled(words, scale, secure()))


def test_what_lies_in_the_band_is_settled_exactly() -> None:
    """Words next to the border between two whole numbers: on one side the one, on the other side the other."""
    scale = 1_500_000
    for border in (0, 1, 77_777, 2_222_222, 5_000_000, 6_750_000):
        with mpmath.workdps(50):
            x = mpmath.erf((mpmath.mpf(border) + 0.5) / scale / mpmath.sqrt(2))
            cell = int(mpmath.floor(x * 2**63))
        near = [cell - 1, cell + 1, cell - 2**12, cell + 2**12]
        found = normals.rounded_normals(Fraction(scale), 4, Served(near))
        assert found.tolist() == [border, border + 1, border, border + 1]
        below = [(1 << 64) - 1 - each for each in near]
        found = normals.rounded_normals(Fraction(scale), 4, Served(below))
        assert found.tolist() == [-border, -border - 1, -border, -border - 1]


def test_torchs_erfinv_is_as_near_as_the_band_asks() -> None:
    """Against 40 digits: within 2**-46 of Z, half of what is allowed."""
    far = 1 - np.geomspace(2.0**-9, 0.5, 60)
    places = np.concatenate([np.geomspace(2.0**-63, 1.0, 60)[:-1], far, np.random.default_rng(0).uniform(0, 0.998, 60)])
    found = torch.from_numpy(places).erfinv().numpy()
    with mpmath.workdps(40):
        errors = [abs(mpmath.erfinv(mpmath.mpf(x)) - mpmath.mpf(y)) for x, y in zip(places, found, strict=True)]
        assert max(errors) * mpmath.sqrt(2) <= 2.0**-46
    assert normals.agrees()


def test_without_such_an_erfinv_draws_are_those_of_the_noise_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normals, "agrees", lambda: False)
    found = normals.rounded_normals(Fraction(1000), 500, SeededBitsForTestsOnly(1))
    assert np.array_equal(found.numpy(), rounded_normal(1000, 500, SeededBitsForTestsOnly(1)))


@pytest.mark.parametrize("scale", [2**21, 2**21 + 1, 2**40])
def test_draws_with_remainders_are_all_those_of_the_noise_room(scale: int) -> None:
    """A remainder does not follow from the uniform number, so a part of such draws is not the rest of another's."""
    found = normals.rounded_normals(Fraction(scale), 500, SeededBitsForTestsOnly(1))
    assert np.array_equal(found.numpy(), rounded_normal(scale, 500, SeededBitsForTestsOnly(1)))


def test_no_zero_has_a_sign_and_nothing_is_drawn_for_nobody() -> None:
    drawn = normals.rounded_normals(Fraction(1, 4), 2000, SeededBitsForTestsOnly(3))
    assert not torch.signbit(drawn[drawn == 0]).any()
    assert normals.rounded_normals(Fraction(5), 0, SeededBitsForTestsOnly(3)).numel() == 0
