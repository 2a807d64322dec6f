"""Roots and squares of noisy numbers: how far off they are near zero, where slopes do not say it.

Promise: as for every formula, nothing but noisy measures is seen. The deviation that an answer states of a value is
made of slopes; here the slopes are those of chords over the possible error of the number inside, so that an interval of
a stated number of deviations holds what it says even where the curve bends within it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.plan.answers.bends import WITHIN_95, WITHIN_99
from tacit.plan.answers.formulas import Cells, Estimate, Floats, Formula
from tacit.question.forms import LEAST_ROOT


@dataclass(frozen=True, slots=True)
class Root:
    """The square root. How far it may be off follows from the roots of both ends of its argument (`root_slope`)."""

    inside: Formula

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        inside = np.maximum(inner.value, 0.0)
        chord = root_slope(inside, spread_of(inner, cells), cells.within)
        plain = root_slope(inside, np.zeros(cells.size))
        found = inner.carried(np.sqrt(inside), chord)
        return bent(found, np.minimum(chord, plain) / np.maximum(chord, plain))


def spread_of(inner: Estimate, cells: Cells) -> Floats:
    """The deviation of an estimate in these cells; 0 where nothing is known of the noise."""
    return inner.deviation(cells.spreads) if cells.spreads else np.zeros(cells.size)


def bent(estimate: Estimate, straight: Floats) -> Estimate:
    """The same deviation, of which slopes carry only this share: what noise does to a bend cancels nowhere."""
    rest = 1 - np.square(straight)
    far = dict(estimate.far)
    for measure, slope in estimate.slopes.items():
        far[measure] = far.get(measure, np.zeros(len(slope))) + np.square(slope) * rest
    slopes = {each: slope * straight for each, slope in estimate.slopes.items()}
    return Estimate(estimate.value, slopes, far, doubtful=estimate.doubtful, decided=estimate.decided)


def root_slope(x: Floats, deviation: Floats, within: float = 0.0) -> Floats:
    """How much a deviation of x moves its root, x not below zero: the slope of the chord, not of the curve.

    Where x is off by at most q deviations d, its root is off by at most the larger of sqrt(x) - sqrt(max(x - q d, 0))
    and sqrt(x + q d) - sqrt(x); as shares of q d these are the slopes of two chords. q is what an interval will reach
    (`within`), or up to half as much again where this gives the steeper chord. For d = 0 it is the slope 1/(2 sqrt(x)).
    """
    least = within or WITHIN_95
    with np.errstate(all="ignore"):
        off = np.clip(x / np.where(deviation > 0, deviation, 1.0), least, least * WITHIN_99 / WITHIN_95) * deviation
        root = np.sqrt(x)
        fall = root - np.sqrt(np.maximum(x - off, 0.0))
        rise = np.sqrt(x + off) - root
        chord = np.maximum(fall, rise) / off
        plain = 0.5 / np.maximum(root, LEAST_ROOT)
        # far from zero the chord equals the curve, and differences of roots are only rounding
        return np.asarray(np.where((off > 1e-9 * x) & np.isfinite(chord), chord, plain))


@dataclass(frozen=True, slots=True)
class Squared:
    """The square. For a number c that is off by at most q d, it is off by at most q d (2 |c| + q d), even near zero."""

    inside: Formula

    @property
    def measures(self) -> frozenset[int]:
        return self.inside.measures

    def of(self, cells: Cells) -> Estimate:
        inner = self.inside.of(cells)
        slope = 2 * np.abs(inner.value) + (cells.within or WITHIN_95) * spread_of(inner, cells)
        return inner.carried(inner.value * inner.value, slope)
