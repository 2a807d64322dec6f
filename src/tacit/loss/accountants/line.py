"""Where to integrate: the choice of a vertical line and its nodes for the contour accountant.

Every choice made here is sound (see `contour`); a good one is tight with few nodes. Wanted, relative to the target
delta:

- aliases from the left, exp(-c W), and from the right, exp(c W) delta(epsilon + W), below `TIGHT`, W = 2 pi/step the
  window;
- the part of the line above the last node below `TIGHT`, by a Gaussian factor, by densities in the losses, or else by
  one fictitious Gaussian release so weak that it moves epsilon by less than `FICTION`, or by `KINK` where the curve
  has a corner (with very many entries there is none, and `COARSE` is enough);
- a tilt c near the saddle point, so that nothing cancels: rounding is then relative to delta, however small delta is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit.loss.accountants.conversion import log_constant
from tacit.loss.log_moments.transforms import Array, Transform

TIGHT = 1e-6
FICTION = 2e-5
KINK = 1e-4
COARSE = 2e-4
_WORK = 250_000  # nodes times entries that are worth more than COARSE
_MOST_WORK = 4_000_000  # nodes times entries that are never exceeded, whatever epsilon becomes
_FITTING = 30.0  # an old line is kept while its aliases stay within this factor of TIGHT
_CANCEL = 12.0  # nats between the integrand at the tilt and the target delta

ORDERS: Array = np.geomspace(1e-2, 1e11, 192)
"""Real tilts at which every total is known: Renyi orders minus one."""

_COUNTS: Array = np.unique(np.geomspace(24, 6144, 45).astype(int))
_WIDENING: Array = np.geomspace(1.0, 400.0, 90)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Nodes c + i j step, j = 0 .. count - 1; `fiction` is the variance of the fictitious Gaussian release.

    `log_decay` bounds log |M(z)/M(c)| for Im z >= the last node, all factors but the Gaussian ones; releases added
    later only lower it.
    """

    tilt: float
    step: float
    fiction: float
    log_decay: float
    z: Array
    kernel: Array  # -log(z (z + 1))

    @property
    def window(self) -> float:
        return 2.0 * math.pi / self.step

    @property
    def height(self) -> float:
        return float(self.z[-1].imag)


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A total on the real axis and the point of its curve that is wanted. Estimates: they steer, they prove nothing."""

    bounds: Array  # at ORDERS, log of what multiplies exp(-c epsilon) in the bound of delta by one order
    log_delta: float
    epsilon: float  # from above, by the best order

    @property
    def saddle(self) -> float:
        return float(ORDERS[int(np.argmin(self.bounds - ORDERS * self.epsilon))])

    @property
    def low(self) -> float:
        """A guess of the true epsilon, from below."""
        return max(0.0, self.epsilon - 4.0 / self.saddle)

    def log_tail(self, epsilons: Array) -> Array:
        """Estimates of log delta(epsilon)."""
        return np.asarray(np.minimum((self.bounds - np.multiply.outer(epsilons, ORDERS)).min(axis=1), 0.0))

    def log_moment(self, tilt: float) -> float:
        nearest = int(np.argmin(np.abs(ORDERS - tilt)))
        return float(self.bounds[nearest] - log_constant(float(ORDERS[nearest])))

    def cancellation(self, tilt: float) -> float:
        return self.log_moment(tilt) - tilt * self.low - self.log_delta


def fits(line: Line, target: Target) -> bool:
    """Whether an old line is still good for this target."""
    allowed = target.log_delta + math.log(TIGHT * _FITTING)
    reach = line.tilt * line.window
    right = reach + float(target.log_tail(np.array([target.low + line.window]))[0])
    return -reach <= allowed and right <= allowed and target.cancellation(line.tilt) <= _CANCEL + 3.0


def choose(target: Target, variance: float, entries: Mapping[Transform, int]) -> Line:
    """A line for `target`, the total of `entries` and of Gaussian factors whose mu^2 sum to `variance`."""
    tilt, window = _tilt_and_window(target, min((pair.highest_tilt for pair in entries), default=math.inf))
    step = 2.0 * math.pi / window
    heights = step * (_COUNTS - 1)
    spreads = np.array([pair.spread(tilt) for pair in entries]).reshape(-1, 3)
    decays = _log_decays(heights, spreads, np.array([*entries.values()], dtype=np.float64))
    start = target.cancellation(tilt) - math.log(TIGHT * math.pi)
    fictions = np.maximum(2.0 * (start - np.log(heights) + decays) / heights**2 - variance, 0.0)
    # A Gaussian of variance v moves epsilon by v (c + 1)/2 where log delta is smooth and by up to sqrt(v/(2 pi)) at a
    # corner, of which there are none at scales below those of a Gaussian factor or of a density.
    scale = max(min(max(target.low, 0.1 * target.epsilon), 10.0 / tilt), 1e-300)
    smooth = max(math.sqrt(variance), float((1.0 / spreads[:, 2]).max(initial=0.0)), 1e-300)
    moved = fictions * (tilt + 1.0) / 2.0 / scale
    cornered = 0.4 * np.sqrt(fictions) / scale * np.minimum(1.0, np.sqrt(fictions) / smooth)
    fine = _first((moved <= FICTION) & (cornered <= KINK))
    low, high = (sum(pair.work(float(height)) for pair in entries) for height in heights[[0, -1]])
    work = _COUNTS * np.interp(heights, heights[[0, -1]], [low, high])
    affordable = int(np.searchsorted(work, _WORK, side="right")) - 1
    bearable = int(np.searchsorted(work, max(_MOST_WORK, 600.0 * low), side="right")) - 1
    best = min(max(_first(moved <= COARSE), min(fine, affordable)), bearable)
    z = tilt + 1j * (step * np.arange(int(_COUNTS[best])))
    return Line(tilt, step, float(fictions[best]), float(decays[best]), z, -np.log(z * (z + 1.0)))


def _first(enough: Array) -> int:
    return int(np.argmax(enough)) if enough.any() else len(enough) - 1


def _tilt_and_window(target: Target, highest: float) -> tuple[float, float]:
    saddle = min(target.saddle, highest)
    near = (saddle / 4.0 <= ORDERS) & (saddle * 4.0 >= ORDERS) & (highest >= ORDERS)
    tilts = ORDERS[near]
    if len(tilts) == 0:
        return highest, 40.0 / highest
    gaps = target.bounds[near] - log_constant(tilts) - tilts * target.low - target.log_delta
    fine = gaps <= max(_CANCEL, float(gaps.min()) + 1.0)
    tilts = tilts[fine]
    windows = 2.0 / saddle * _WIDENING
    tails = target.log_tail(target.low + windows)
    reach = np.multiply.outer(tilts, windows)
    worst = np.maximum(reach + tails, -reach) - target.log_delta
    good = worst <= math.log(TIGHT)
    firsts = np.where(good.any(axis=1), good.argmax(axis=1), len(windows) - 1)
    best = int(np.argmin(firsts))
    # A little wider than needed, so that the line still fits when the total has grown.
    return float(tilts[best]), 1.08 * float(windows[firsts[best]])


def _log_decays(heights: Array, spreads: Array, counts: Array) -> Array:
    """log of the bound on |M(z)/M(c)| above each height, from rows of (mass, width, variation).

    Under the tilted law M(z)/M(c) is E exp(itL). A component of mass m uniform on an interval of width w leaves at
    most 1 - m (1 - |sin(x)/x|), x = t w/2; beyond x the quotient stays below its value there or below its first side
    lobe, 0.21724, and below 1/x. A density of total variation V leaves at most V/t (integrate by parts).
    """
    known = spreads[:, 0] > 0.0
    masses, widths, variations = spreads[known].T
    x = np.multiply.outer(heights, widths) / 2.0
    lobe = np.minimum(0.21724, 1.0 / np.maximum(x, 1e-300))
    quotient = np.where(x < math.pi, np.maximum(np.sinc(x / math.pi), lobe), lobe)
    by_box = np.log1p(-masses * (1.0 - quotient))
    by_variation = np.log(variations / heights[:, None])
    return np.asarray(np.minimum(by_box, by_variation) @ counts[known])
