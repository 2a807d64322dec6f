"""Measures on one grid of losses, composed by a tilted fast Fourier transform, with every error counted.

Composition of loss measures is convolution. Each measure w is tilted, w(l) exp(t l - k) with k its log moment at t, so
that the losses that decide the answer carry most of the mass and a tiny delta keeps its relative precision. The tilted
measures are folded onto a circle of N cells, transformed, raised to their counts, multiplied and transformed back.
delta(x) = sum over l > x of v(l) exp(k_total - t l)(1 - exp(x - l)) over the cells up to `top`. What is counted:

- folding: a fold only adds mass that is not negative to a cell, so an upper bound needs no correction. For the lower
  bound, and to choose N, it is at most exp(t W) P(L > x + W) + exp(-t W) P(L < top - W) and its geometric tail, W the
  length of the circle; the tails by Chernoff.
- the part above `top`: Chernoff, exp(K(s) - s top) for some s.
- the transforms: in the 2-norm a transform of length N = 2^m errs by less than 8 m units relatively (Higham 2002,
  Theorem 24.2, has 7), powers by repeated squaring by 4 units a factor; the Cauchy-Schwarz inequality turns
  the sum into an error of delta.
- exponentials: 4 units of the largest exponent for every factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.loss.accountants.discretise import Measure
from tacit.loss.numbers.outward import STEP_AT_ONE, Floats

Parts = Sequence[tuple[Measure, int]]


def log_moment(parts: Parts, tilt: float) -> float:
    """log of the moment generating function of the finite part of the composition, rounded up."""
    found = [(*_log_moment(part, tilt), count) for part, count in parts]
    return math.fsum(count * (moment + error) for moment, error, count in found)


def _log_moment(part: Measure, tilt: float) -> tuple[float, float]:
    exponents = tilt * part.losses
    peak = float(np.max(exponents))
    with np.errstate(under="ignore"):
        weight = float(np.sum(part.masses * np.exp(exponents - peak)))
    size = 8 * STEP_AT_ONE * (max(abs(peak), abs(float(np.min(exponents)))) + 32)
    return (peak + math.log(weight), size) if weight > 0 else (-math.inf, size)


def highest(parts: Parts) -> int:
    """The number of the highest finite loss of the composition."""
    return sum(count * (part.start + len(part.masses) - 1) for part, count in parts)


def infinite_mass(parts: Parts) -> float:
    """The mass of the composition on infinity, rounded up."""
    finite = [math.fsum(part.masses) for part, _ in parts]
    grown = math.fsum(c * math.log(max(f + p.infinite, 1.0)) for f, (p, c) in zip(finite, parts, strict=True))
    spared = math.fsum(-c * math.log1p(-min(p.infinite, 1 - 1e-16)) for p, c in parts)
    # Measures that were rounded up may weigh a little more than one in all.
    return min(1.0, -math.expm1(-spared) * math.exp(grown) * (1 + 64 * STEP_AT_ONE))


def infinite_mass_down(parts: Parts) -> float:
    """The mass of the composition on infinity, rounded down."""
    if not any(part.infinite for part, _ in parts):
        return 0.0
    finite = [math.fsum(part.masses) for part, _ in parts]
    if min(finite) <= 0:
        return 0.0
    whole = math.fsum(c * math.log(f + p.infinite) for f, (p, c) in zip(finite, parts, strict=True))
    spared = math.fsum(c * math.log1p(p.infinite / f) for f, (p, c) in zip(finite, parts, strict=True))
    total = sum(count for _, count in parts)
    return max(0.0, math.exp(whole) * -math.expm1(-spared) * (1 - 64 * STEP_AT_ONE * total))


@dataclass(frozen=True, slots=True)
class Composition:
    """The tilted composition on a circle of cells; cell j stands for the losses step * (first + j + m N)."""

    step: float
    first: int
    cells: Floats
    tilt: float
    log_scale: float
    error: float  # of the cells, in the 2-norm
    relative: float  # of every cell and weight

    def delta(self, epsilon: float, top: int) -> tuple[float, float]:
        """(sum over the losses above epsilon and up to step * top, its error)."""
        start = math.floor(epsilon / self.step) + 1
        if start > top:
            return 0.0, 0.0
        if top - start >= len(self.cells) or not math.isfinite(self.relative):
            return 0.0, math.inf  # the circle is too short, or rounding too large, to tell
        index = np.arange(start, top + 1)
        losses = self.step * index
        if self.log_scale - self.tilt * float(losses[0]) > 300:  # far from where the tilt is of use
            return 0.0, math.inf
        with np.errstate(under="ignore"):
            weights = np.exp(self.log_scale - self.tilt * losses) * -np.expm1(np.minimum(epsilon - losses, 0.0))
            terms = np.maximum(self.cells[(index - self.first) % len(self.cells)], 0.0) * weights
            spread = float(np.sqrt(np.sum(weights * weights)))
        return float(np.sum(terms)), spread * self.error + float(np.sum(terms)) * self.relative


def compose(parts: Parts, tilt: float, size: int) -> Composition:
    """The composition tilted by `tilt`, on a circle of `size` = 2^m cells."""
    stages = math.log2(size)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    log_scale, first, error, relative = 0.0, 0, 8 * stages * STEP_AT_ONE, 64 * STEP_AT_ONE
    for part, count in parts:
        scale, size_error = _log_moment(part, tilt)
        with np.errstate(under="ignore"):
            tilted = part.masses * np.exp(tilt * part.losses - scale)
        folded = np.zeros(size)
        np.add.at(folded, np.arange(len(tilted)) % size, tilted)
        spectrum *= _power(np.fft.rfft(folded), count)
        error += count * STEP_AT_ONE * (8 * stages * float(np.sqrt(np.sum(folded * folded))) + 4)
        log_scale += count * scale
        first += count * part.start
        relative += count * size_error
    relative += 8 * STEP_AT_ONE * (len(parts) + 1) * (abs(log_scale) + 1)
    if error > 0.01 or relative > 0.01:
        relative = math.inf
    cells = np.fft.irfft(spectrum, size)
    return Composition(parts[0][0].step, first, cells, tilt, log_scale, 1.1 * error, 1.1 * relative)


def _power(base: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    result = np.ones_like(base)
    with np.errstate(under="ignore"):
        while count:
            if count & 1:
                result = result * base
            count >>= 1
            if count:
                base = base * base
    return result


@dataclass(frozen=True, slots=True)
class Tails:
    """Chernoff bounds of both tails of the finite part, at a few tilts."""

    tilts: Floats
    upper: Floats  # log moments at the tilts
    lower: Floats  # and at minus the tilts

    @classmethod
    def of(cls, parts: Parts, tilts: Floats) -> Tails:
        moments = [np.array([log_moment(parts, sign * float(tilt)) for tilt in tilts]) for sign in (1, -1)]
        return cls(tilts, moments[0], moments[1])

    def above(self, top: float) -> float:
        """P(finite loss > top)."""
        return math.exp(min(700.0, float(np.min(self.upper - self.tilts * top)))) * (1 + 16 * STEP_AT_ONE)

    def folded(self, tilt: float, epsilon: float, top: float, circle: float) -> float:
        """How much folding may have added to delta(epsilon)."""
        high = [
            (moment - probe * (epsilon + circle) + tilt * circle, (probe - tilt) * circle)
            for probe, moment in zip(self.tilts.tolist(), self.upper.tolist(), strict=True)
            if probe > tilt
        ]
        above = min((math.exp(min(700.0, log)) / -math.expm1(-decay) for log, decay in high), default=math.inf)
        low = min(0.0, float(np.min(self.lower + self.tilts * (top - circle))))
        below = math.exp(low - tilt * circle) / -math.expm1(-tilt * circle)
        return (above + below) * (1 + 16 * STEP_AT_ONE)
