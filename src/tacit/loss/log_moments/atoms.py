"""Pairs of measures with finitely many losses, and the pessimistic ways to make them.

`Atoms` is a Transform (see `transforms`) given by losses and the logarithms of their P-masses. A pair with a density,
or a privacy curve, is turned into one by joining dots. The hockey-stick curve h(a) = sup(P - a Q), a = exp(epsilon), is
convex, so the chords between its values at a grid lie above it, and the piecewise linear curve is that of a pair with
atoms at the grid (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, 2022). A chord can only overstate, and so can
raising a single atom's P- and Q-mass by the same factor. Domination by measures that are not probabilities is
enough: H(P1 x P2, Q1 x Q2) = integral of P2(dy) h1(a Q2/P2), monotone in h1.

Poisson sampling at rate q of a pair (P, Q) that dominates both orders of neighbours (Zhu, Dong and Wang, 2022,
Theorem 11): "remove" is dominated by ((1 - q) Q + q P, Q), since by joint convexity the sampled release is a mixture
of such pairs and h of it at 1 + q (a - 1) is q h(a), monotone in h; "add" is dominated by (P, (1 - q) P + q Q) in the
same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.loss.curves.directions import Direction
from tacit.loss.log_moments.transforms import FIXED, SLOPE, TINY, Array, Transform, even_step, raised

_RAISED = 2.0**-46
"""Masses computed by closed forms err by less than this relative amount; they are raised by it."""

_BLOCK = 32
_NEGLIGIBLE = -60.0


def exponential_sum(losses: Array, log_masses: Array, z: Array) -> Array:
    """log sum_i exp(log_masses_i + z losses_i) for each z; fast where z are evenly spaced on a vertical line."""
    step = even_step(z)
    if step == 0.0:
        table = np.multiply.outer(z, losses) + log_masses
        top = table.real.max(axis=1)
        return np.asarray(top + np.log(np.exp(table - top[:, None]).sum(axis=1) + TINY))
    exponents = float(z[0].real) * losses + log_masses
    highest = float(exponents.max())
    seen = exponents - highest > _NEGLIGIBLE
    losses, weights = losses[seen], np.exp(exponents[seen] - highest)
    # the two small tables of `exponentials`, summed in one product
    starts = step * np.arange(0, len(z), _BLOCK)
    near = np.exp(1j * np.multiply.outer(step * np.arange(_BLOCK), losses))
    far = np.exp(1j * np.multiply.outer(starts, losses)) * weights
    # einsum keeps to one thread: waking others costs more than these small products
    total = np.einsum("ij,kj->ik", far, near).ravel()[: len(z)]
    return np.asarray(highest + np.log(total + TINY))


@dataclass(frozen=True, slots=True, eq=False)
class Atoms(Transform):
    """P-masses exp(log_masses) at `losses`, P-mass `lost` where Q has none, Q-mass `vanished` where P has none."""

    losses: Array
    log_masses: Array
    lost: float = 0.0
    vanished: float = 0.0

    @property
    def infinite(self) -> float:
        return self.lost

    @property
    def log_surplus(self) -> float:
        return max(0.0, math.log(float(np.exp(self.log_masses).sum()) + self.lost)) + len(self.losses) * 2.0**-52

    @property
    def greatest(self) -> float:
        return raised(float(self.losses.max()))

    @property
    def has_rest(self) -> bool:
        return True

    def work(self, height: float) -> float:
        return 1.0 + len(self.losses) / 10.0

    def log_moment(self, z: Array) -> Array:
        return exponential_sum(self.losses, self.log_masses, z)

    def roundoff(self, tilt: float, height: float) -> tuple[float, float]:
        exponents = tilt * self.losses + self.log_masses
        weights = np.exp(exponents - exponents.max())
        size = float(np.abs(self.losses) @ weights / weights.sum())
        # Exponents far from zero err in proportion to their size; the heaviest term sets it.
        return FIXED + len(self.losses) + 4.0 * float(np.abs(exponents) @ weights / weights.sum()), SLOPE * (
            size + 1e-3
        )

    @property
    def axis_roundoff(self) -> tuple[float, float, float]:
        return FIXED + len(self.losses), SLOPE * (float(np.abs(self.losses).max()) + 1.0), 0.0

    def sampled(self, rate: float, direction: Direction) -> Atoms:
        """The pair after Poisson sampling at a rate strictly between 0 and 1."""
        keep, take = math.log1p(-rate), math.log(rate)
        if direction == "remove":
            losses = sampled_loss(self.losses, rate)
            masses = self.log_masses + np.logaddexp(take, keep - self.losses)
            if self.vanished > 0.0:
                losses = np.append(losses, keep)
                masses = np.append(masses, keep + math.log(self.vanished))
            return Atoms(losses, masses + _RAISED, lost=raised(rate * self.lost))
        losses = -sampled_loss(-self.losses, rate)
        masses = self.log_masses
        if self.lost > 0.0:
            losses = np.append(losses, -keep)
            masses = np.append(masses, math.log(self.lost))
        return Atoms(losses, masses + _RAISED, vanished=rate * self.vanished)


def sampled_loss(losses: Array, rate: float) -> Array:
    """log(1 - rate + rate exp(loss)), accurate for tiny rates and without overflow."""
    capped = np.minimum(losses, 30.0)
    large = losses + np.log(rate + (1.0 - rate) * np.exp(-np.maximum(losses, 30.0)))
    return np.where(losses > 30.0, large, np.log1p(rate * np.expm1(capped)))


def response(epsilon: float, options: int = 2, failure: float = 0.0, copies: int = 1) -> Atoms:
    """Randomised response that fails outright with probability `failure`, or (two options) `copies` of it."""
    normal = math.log1p((options - 1) * math.exp(-epsilon))
    if copies == 1:
        losses, log_masses = np.array([epsilon, -epsilon]), np.array([-normal, -epsilon - normal])
        if options > 2:
            losses = np.append(losses, 0.0)
            log_masses = np.append(log_masses, math.log(options - 2) - epsilon - normal)
    else:
        lies = np.arange(copies + 1)
        ways = np.array([math.lgamma(copies + 1) - math.lgamma(i + 1) - math.lgamma(copies - i + 1) for i in lies])
        losses = epsilon * (copies - 2.0 * lies)
        # lgamma errs by a few units of its size, far more than _RAISED for many copies
        log_masses = ways * (1.0 + 2.0**-44) - lies * epsilon - copies * normal + copies * 2.0**-44
    survive = copies * math.log1p(-failure)
    gone = raised(-math.expm1(survive), 16)
    return Atoms(losses, log_masses + survive + _RAISED, lost=gone, vanished=gone)


def laplace(points: Array) -> Atoms:
    """Chords of the Laplace curve between the shifts `points`, ascending from 0 to sensitivity/scale.

    At epsilon = R - 2 x, R the last point, the curve is 1 - exp(-x). The continuous part of a cell of width d, from x
    to x + d, has P-mass (exp(-x) - exp(-x-d))/2; keeping its P- and Q-mass at its two ends puts tanh(d/2) exp(-x)/2
    on the one and tanh(d/2) exp(-x-d)/2 on the other. Evenly spaced points give discrete Laplace noise itself.
    """
    halves = np.tanh(np.diff(points) / 2.0)
    weights = np.zeros(len(points))
    weights[:-1] += halves
    weights[1:] += halves
    weights[0] += 1.0
    weights[-1] += 1.0
    return Atoms(points[-1] - 2.0 * points, np.log(weights / 2.0) - points + _RAISED)


def bounded_range(reach: float, cells: int) -> Atoms:
    """Chords of the exponential mechanism's curve (see `closed_forms.BoundedRange`) on an even grid.

    A cell of width d between the losses l and l + d keeps its masses when tanh(d/4)/(2 sinh(range/2)) times exp(l/2)
    and exp((l + d)/2) are put on its ends.
    """
    losses = np.linspace(-reach, reach, cells + 1)
    ends = np.full(cells + 1, 2.0)
    ends[0] = ends[-1] = 1.0
    scale = math.log(math.tanh(reach / (2.0 * cells))) - reach / 2.0 - math.log(-math.expm1(-reach))
    return Atoms(losses, np.log(ends) + losses / 2.0 + scale + _RAISED)


def from_curve(epsilons: Array, deltas: Array) -> Atoms:
    """A pair whose curve lies above every convex curve that is at most `deltas` at `epsilons` (ascending).

    The lower convex hull of the points still lies above every convex curve below the points. Masses are differences
    of deltas and may be a rounding too small, so the curve of the result is summed up again (positive terms only),
    and all masses are raised by the factor that lifts it to the points everywhere.
    """
    losses, heights = _lower_hull(epsilons, np.minimum(deltas, 1.0))
    widths = np.diff(losses)
    drops = np.maximum(-np.diff(heights), 0.0)
    masses = np.zeros(len(losses))
    masses[0] = max(0.0, 1.0 - heights[0])
    masses[1:] = drops / -np.expm1(-widths)
    masses[:-1] -= drops / np.expm1(widths)
    masses = np.maximum(masses, 0.0)
    lost = float(heights[-1])
    curve = np.empty(len(losses))
    curve[-1] = lost
    slope = 0.0  # Q-mass to the right, times exp(loss) of the right end of the cell
    for i in range(len(losses) - 2, -1, -1):
        slope = masses[i + 1] + (slope * math.exp(losses[i + 1] - losses[i + 2]) if i + 2 < len(losses) else 0.0)
        curve[i] = curve[i + 1] - slope * math.expm1(-widths[i])
    curve = np.append(curve, masses.sum() + lost)  # at exp(epsilon) = 0, where it must reach 1
    wanted = np.append(heights, 1.0)
    needed = wanted > 0.0
    factor = max(1.0, float((wanted[needed] / curve[needed]).max())) * (1.0 + len(losses) * 2.0**-50)
    seen = masses > 0.0
    log_masses = np.log(masses[seen]) + math.log(factor)
    kept_q = float(np.exp(log_masses - losses[seen]).sum())
    # Q-mass beyond 1 would belong to no pair; missing Q-mass sits where P has none.
    return Atoms(
        losses[seen], log_masses, lost=min(1.0, raised(lost * factor)), vanished=max(0.0, raised(1.0 - kept_q))
    )


def _lower_hull(losses: Array, heights: Array) -> tuple[Array, Array]:
    """Vertices of the lower convex hull of heights over exp(losses), without forming exp(losses)."""
    kept: list[int] = []
    for i in range(len(losses)):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            back, ahead = losses[b] - losses[a], losses[i] - losses[b]
            share = -math.expm1(-back) / (math.expm1(ahead) - math.expm1(-back)) if ahead < 700.0 else 0.0
            if heights[b] < heights[a] + share * (heights[i] - heights[a]):
                break
            kept.pop()
        kept.append(i)
    return losses[kept], heights[kept]
