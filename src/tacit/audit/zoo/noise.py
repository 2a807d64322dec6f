"""Noise that is not what the proof needs: floats, wrong scales, cut tails, seeds, and wrong formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from tacit.audit.zoo.specimen import Specimen, generator, specimen, whole
from tacit.mechanisms import Gaussian, Laplace, RandomizedResponse


def sound_count(x: int, *, size: int) -> Any:
    """A count with noise of scale 1: epsilon 1."""
    return whole(x, 1, size)


def sound_real(x: float, *, size: int) -> Any:
    """A real number of sensitivity 1 on a grid: epsilon 1 for each release."""
    mechanism = Laplace(sensitivity=1.0, epsilon=1)
    return [mechanism.release(float(x)) for _ in range(size)]


def inverse_log(x: float, *, size: int) -> Any:
    """The textbook sampler in floats: which floats can come out depends on x."""
    uniform = generator().random(size) - 0.5
    return x - np.sign(uniform) * np.log(1 - 2 * np.abs(uniform))


def fine_rounding(x: float, *, size: int) -> Any:
    """Float noise, then rounded to a grid that is finer than the floats around 1."""
    return np.round(np.ldexp(inverse_log(x, size=size), 56)) / 2.0**56


def half_scale(x: int, *, size: int) -> Any:
    """Geometric noise of half the scale."""
    return whole(x, Fraction(1, 2), size)


def twice_the_distance(x: int, *, size: int) -> Any:
    """Noise for sensitivity 1 on a sum of values from -1 to 1, one of which is replaced: sensitivity 2."""
    return whole(x, 1, size)


def enough_for_two(x: int, *, size: int) -> Any:
    """The same with noise for sensitivity 2."""
    return whole(x, 2, size)


def same_seed(x: int, *, size: int) -> Any:
    """Every release begins with the same seed, so the noise is a public constant."""
    return np.full(size, x + round(float(np.random.default_rng(2024).laplace())))


def cut_tails(x: int, *, size: int) -> Any:
    """Noise beyond 3 is drawn again: outcomes at the far ends come from one neighbour only."""
    found = whole(0, 1, 8 * size + 1000)
    kept = found[np.abs(found) <= 3]
    return x + kept[:size]


def printed_gaussian(x: float, *, size: int) -> Any:
    """Variance ln(1.25/delta) S/epsilon, as it is sometimes printed: too small where epsilon is small."""
    deviation = math.sqrt(math.log(1.25 / 1e-5) / 0.1)
    return np.round(generator().normal(x, deviation, size) * 1024) / 1024


def sound_gaussian(x: int, *, size: int) -> Any:
    """The exact calibration for epsilon 0.1 and delta 1e-5."""
    return Gaussian(sensitivity=1, epsilon="0.1", delta="1e-5").release(np.full(size, x))


def gaussian_as_pure(x: int, *, size: int) -> Any:
    """Gaussian noise for (1, 0.05): a sound promise, but not that of epsilon 1."""
    return Gaussian(sensitivity=1, epsilon=1, delta="0.05").release(np.full(size, x))


def too_truthful(x: int, *, size: int) -> Any:
    """The truth with 9 of 10 coins, where 3 of 4 are claimed."""
    return np.where(generator().random(size) < 0.9, x, 1 - x)


def sound_response(x: int, *, size: int) -> Any:
    """The truth, or a coin: epsilon ln 3."""
    return RandomizedResponse(truth="1/2").release(np.full(size, x))


def last_bit_bare(x: int, *, size: int) -> Any:
    """Eight bits, each randomised, but the last one forgotten by a loop that ends too early."""
    found = _bits(x, size)
    found[:, -1] = x & 1
    return found


def _bits(x: int, size: int) -> Any:
    bits = np.array([(x >> place) & 1 for place in range(7, -1, -1)])
    return RandomizedResponse(epsilon=1).release(np.tile(bits, (size, 1)).ravel()).reshape(size, 8)


def all_bits(x: int, *, size: int) -> Any:
    """Every bit randomised at epsilon 1; neighbours differ in one."""
    return _bits(x, size)


LN3 = Fraction(math.log(3)) + Fraction(1, 2**50)

SPECIMENS: tuple[Specimen, ...] = (
    specimen(
        "float noise by inverse log",
        "Floats are denser near zero: low bits of the sum show which value the noise was added to.",
        inverse_log,
        sound_real,
        0,
        1,
        1,
        samples=4_000,
    ),
    specimen(
        "rounding after float noise",
        "The grid is finer than the floats it is applied to, so the low bits stay.",
        fine_rounding,
        sound_real,
        0,
        1,
        1,
        samples=4_000,
    ),
    specimen("geometric noise of half the scale", "epsilon is twice the claim.", half_scale, sound_count, 0, 1, 1),
    specimen(
        "sensitivity off by two",
        "One value from -1 to 1 is replaced, which moves the sum by 2, not 1.",
        twice_the_distance,
        enough_for_two,
        -1,
        1,
        1,
    ),
    specimen("seed reuse", "The noise can be subtracted by whoever knows the seed.", same_seed, sound_count, 0, 1, 1),
    specimen(
        "truncated noise",
        "Outcomes at the ends are possible under one neighbour only.",
        cut_tails,
        sound_count,
        0,
        1,
        1,
    ),
    specimen(
        "gaussian with the printed variance",
        "The variance must grow with 1/epsilon squared; the classic bound has a factor 2 as well.",
        printed_gaussian,
        sound_gaussian,
        0,
        1,
        "0.1",
        "1e-5",
        samples=2_000_000,
    ),
    specimen(
        "forgotten delta",
        "Gaussian noise has no pure epsilon: its ratio grows without end towards the tails.",
        gaussian_as_pure,
        sound_count,
        0,
        1,
        1,
        samples=100_000,
    ),
    specimen("randomised response too truthful", "9/10 against 1/10 is ln 9.", too_truthful, sound_response, 0, 1, LN3),
    specimen(
        "last bit unprotected",
        "A bit that is not randomised is released.",
        last_bit_bare,
        all_bits,
        4,
        5,
        1,
        samples=4_000,
    ),
)
