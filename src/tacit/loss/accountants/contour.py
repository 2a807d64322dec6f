"""Tight totals, online: the contour accountant.

`ContourAccountant` and the functions `epsilon(entries, delta)` and `delta(entries, epsilon)` promise rigorous upper
bounds for the composition of the entries, also when later mechanisms were chosen after seeing earlier answers, as
long as the parameters of all entries were fixed beforehand. Adding a release is one vector addition.

Theorem. Let release i be dominated by the pair (P_i, Q_i) with loss L_i, and M_i(z) = E_{P_i}[exp(z L_i); L_i finite].
Write M = prod M_i, L = sum L_i, and let delta(x) = E[(1 - exp(x - L))_+; L finite]. For every c > 0, W > 0, with the
step D = 2 pi/W and the nodes z_j = c + i j D, sums over all integers j and m,

    (D/2 pi) sum_j M(z_j) exp(-z_j x)/(z_j (z_j + 1))  =  sum_m exp(c m W) delta(x + m W).

The term m = 0 is the finite part of the composition's delta at epsilon = x, and no term is negative: the left side
can only overstate it. The losses that are infinite add 1 - prod(1 - P_i(L_i infinite)).

Proof. h(y) = exp(-c y)(1 - exp(-y))_+ is continuous, of bounded variation and decays at both ends; its Fourier
transform at t is 1/((c + it)(c + 1 + it)), which is summable. So Poisson's formula holds at every y:
    sum_m h(y + m W) = (1/W) sum_j exp(i j D y)/(z_j (z_j + 1)).
Multiply by exp(c y), put y = L - x, replace m by -m, and take the expectation over L; M(c) is finite and the sum over
j converges absolutely, so the order does not matter. Dominating pairs compose (see `atoms`), which proves the claim
for the releases themselves.

Errors, each bounded and added (`inversion`):
1. Aliases, m other than 0: positive, so nothing needs to be added; `line` keeps them below a millionth.
2. The sum is even in j, and is cut above the height T. There |M(z)| <= M(c) exp(-S t^2/2) R, where S is the sum of mu^2
   of Gaussian releases and R <= 1 comes from densities in the losses (`line`), and |1/(z (z+1))| <= 1/t^2. This falls
   with t, so what is cut is at most (M(c) exp(-c x) R/pi) times the integral of exp(-S t^2/2)/t^2 above T. Where S and
   R do not suffice, one fictitious Gaussian release of tiny mu joins the total: more releases never lower delta.
3. Rounding. Each computed M_i(z) is within e_i M_i(c) of the true one, and |M_i(z)| <= M_i(c), so the product is
   within M(c) sum e_i (1 + small). The e_i are stated in units of 2^-53 (`transforms`; tests hold them), and so are the
   sums. As c is near the saddle point, M(c) exp(-c x) is within some nats of delta itself: the error is relative, and
   a delta of 1e-14 is as safe as one of 0.1.
4. Newton's iteration proves nothing: its epsilon is returned only after the bound has been evaluated there.

In addition, each answer is the least of this bound, the sum of the pure epsilons, and the best Renyi order.

zCDP releases are known on the real axis only. Their rho add up first; the total's curve, valid for all epsilon, is
then joined by chords to one pair that dominates them all together and takes part like any other.

The two directions of Poisson sampling are followed apart; the answer is the larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tacit import parameters
from tacit.loss.accountants import event_moments
from tacit.loss.accountants.conversion import log_constant
from tacit.loss.accountants.inversion import Inverse, Rounding
from tacit.loss.accountants.line import ORDERS, Line, Target, choose, fits
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tacit.loss.guarantees import adds_or_removes
from tacit.loss.log_moments.transforms import Array, Transform, total_log_moment
from tacit.loss.numbers.rounding import float_down
from tacit.loss.simplify import Entries, flatten
from tacit.parameters import ROUNDOFF, Number


def _quiet() -> np.errstate:
    """Exponentials underflow all the time; what would be invalid or infinite is tested for where it matters."""
    return np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")


def epsilon(entries: Entries, delta: float) -> float:
    """An upper bound of the least epsilon at `delta` of all entries together; infinite when there is none."""
    return _of(entries).epsilon(delta)


def delta(entries: Entries, epsilon: float) -> float:
    """An upper bound of delta at `epsilon` of all entries together; 1 when there is none."""
    return _of(entries).delta(epsilon)


def _of(entries: Entries) -> ContourAccountant:
    accountant = ContourAccountant()
    accountant.add_leaves(entries)
    return accountant


class ContourAccountant:
    """A running total of releases. `add` is cheap; questions between additions reuse all earlier work."""

    def __init__(self) -> None:
        self._sides: dict[Direction, _Side] = {"remove": _Side()}
        self._known: dict[Event, tuple[Transform, Transform]] = {}

    def add(self, event: Event, count: int = 1) -> None:
        """Record `count` releases of `event`."""
        count = parameters.whole("count", count)
        self.add_leaves({leaf: count * times for leaf, times in flatten(event, 1).items()})

    def add_leaves(self, entries: Entries) -> None:
        """Record releases that `simplify` has already taken apart."""
        counted = [(leaf, count) for leaf, count in entries.items() if count]
        counts = [count for _, count in counted]
        with _quiet():
            both = [self._pairs_of(leaf) for leaf, _ in counted]
            if "add" not in self._sides and any(remove is not add for remove, add in both):
                # Until now the two directions were the same.
                self._sides["add"] = self._sides["remove"].copy()
            self._sides["remove"].add([remove for remove, _ in both], counts)
            if "add" in self._sides:
                self._sides["add"].add([add for _, add in both], counts)

    def _pairs_of(self, leaf: Event) -> tuple[Transform, Transform]:
        known = self._known.get(leaf)
        if known is None:
            remove = event_moments.transform(leaf, "remove")
            known = (remove, event_moments.transform(leaf, "add") if adds_or_removes(leaf) else remove)
            self._known[leaf] = known
        return known

    def epsilon(self, delta: Number) -> float:
        """An upper bound of the least epsilon at `delta`; infinite when there is none."""
        allowed = float_down(parameters.probability("delta", delta))
        worst = 0.0
        with _quiet():
            for side in self._sides.values():
                worst = max(worst, side.epsilon(allowed, worst))
        return worst

    def delta(self, epsilon: Number) -> float:
        """An upper bound of delta at `epsilon`."""
        at_least = float_down(parameters.non_negative("epsilon", epsilon))
        worst = 0.0
        with _quiet():
            for side in self._sides.values():
                worst = max(worst, side.delta(at_least, worst))
        return worst


@dataclass(slots=True)
class _Side:
    """One direction of a running total."""

    counts: dict[Transform, int] = field(default_factory=dict)
    variance: float = 0.0
    concentration: float = 0.0
    log_finite: float = 0.0  # log of the probability that no loss is infinite
    log_surplus: float = 0.0
    greatest: float = 0.0
    additions: int = 0
    axis: Array = field(default_factory=lambda: np.zeros(len(ORDERS)))  # log moments at ORDERS, Gaussian factors apart
    axis_units: Array = field(default_factory=lambda: np.zeros(3))
    joint: Transform | None = None  # the pair that dominates all releases of which only rho is known
    state: _State | None = None

    def copy(self) -> _Side:
        return replace(
            self, counts=dict(self.counts), axis=self.axis.copy(), axis_units=self.axis_units.copy(), state=None
        )

    def add(self, pairs: Sequence[Transform], counts: Sequence[int]) -> None:
        """Take in releases, each as often as counted."""
        for pair, count in zip(pairs, counts, strict=True):
            self.counts[pair] = self.counts.get(pair, 0) + count
            self.variance += count * pair.variance
            self.concentration += count * pair.concentration
            self.greatest += count * pair.greatest
            self.log_surplus += count * pair.log_surplus
            infinite = pair.infinite
            if infinite:
                self.log_finite += count * math.log1p(-infinite) if infinite < 1.0 else -math.inf
            self.axis_units += np.multiply(pair.axis_roundoff, count)
        if any(pair.concentration for pair in pairs):
            self.state = self.joint = None
        self.additions += len(pairs)
        self.axis += total_log_moment(pairs, counts, ORDERS)
        if self.state is not None:
            self._extend(self.state, pairs, counts)

    def _extend(self, state: _State, pairs: Sequence[Transform], counts: Sequence[int]) -> None:
        if any(pair.highest_tilt < state.line.tilt for pair in pairs):
            self.state = None
            return
        resting = [(pair, count) for pair, count in zip(pairs, counts, strict=True) if pair.has_rest]
        state.add([pair for pair, _ in resting], [count for _, count in resting])

    @property
    def infinite(self) -> float:
        """P-mass of infinite losses, rounded up.

        With finite masses f_i, infinite ones m_i and sums s_i = f_i + m_i, it is prod s_i - prod f_i, which is at most
        prod s_i (1 - prod(1 - m_i)) when no s_i is below 1.
        """
        if self.log_finite == 0.0:
            return 0.0
        return min(
            1.0, -math.expm1(self.log_finite) * math.exp(self.log_surplus) * (1.0 + (64.0 + self.additions) * ROUNDOFF)
        )

    @property
    def pure(self) -> float:
        """The sum of the greatest losses."""
        return self.greatest * (1.0 + (8.0 + self.additions) * ROUNDOFF)

    def _renyi(self, orders: Array, rest: Array) -> Array:
        """log of what multiplies exp(-c epsilon) in the bound by each order c, rounding added."""
        exponents = rest + (self.variance / 2.0) * orders * (orders + 1.0)
        fixed, slope, square = (float(unit) for unit in self.axis_units)
        rounding = fixed + orders * (slope + orders * square) + (8.0 + self.additions) * (np.abs(exponents) + 1.0)
        constant = log_constant(orders)
        bound = exponents + ROUNDOFF * rounding + constant + 1e-13 * (1.0 - constant)
        return np.where(np.isfinite(bound), bound, np.inf)

    def _between(self, best: int) -> tuple[Array, Array]:
        """Finer orders around one of ORDERS, with the bound there."""
        orders = np.geomspace(ORDERS[max(best - 1, 0)], ORDERS[min(best + 1, len(ORDERS) - 1)], 65)
        return orders, self._renyi(orders, total_log_moment([*self.counts], [*self.counts.values()], orders))

    def epsilon(self, delta: float, known: float) -> float:
        """A bound of epsilon, which need not be tight below `known`, the other direction's."""
        if not self.counts or delta >= 1.0:
            return 0.0
        infinite = self.infinite
        left = (delta - infinite) * (1.0 - 4.0 * ROUNDOFF)
        if left <= 0.0:
            return self.pure if infinite <= delta else math.inf
        log_left = math.log(left) - 8.0 * ROUNDOFF * (1.0 + abs(math.log(left)))
        renyi = self._renyi(ORDERS, self.axis)
        by_orders = (renyi - log_left) / ORDERS
        best = int(np.argmin(by_orders))
        by_order = max(0.0, float(by_orders[best]) * (1.0 + 1e-14))
        simple = min(self.pure, by_order)
        if simple <= known or not math.isfinite(simple):
            return simple
        found = simple
        left_on_line = left - self._joint().infinite
        if left_on_line > 0.0:
            log_left_on_line = math.log(left_on_line) - 8.0 * ROUNDOFF * (1.0 + abs(math.log(left_on_line)))
            target = Target(renyi, log_left_on_line, by_order)
            found = self._inverse(target).epsilon(log_left_on_line, simple)
        if found < by_order:
            return found
        orders, finer = self._between(best)
        return max(0.0, min(found, float(((finer - log_left) / orders).min()) * (1.0 + 1e-14)))

    def delta(self, epsilon: float, known: float) -> float:
        """A bound of delta, which need not be tight below `known`, the other direction's."""
        if not self.counts:
            return 0.0
        infinite = self.infinite
        if infinite >= 1.0 or epsilon >= self.pure:
            return infinite
        renyi = self._renyi(ORDERS, self.axis)
        exponents = renyi - ORDERS * epsilon * (1.0 - 4.0 * ROUNDOFF)
        best = int(np.argmin(exponents))
        by_order = min(0.0, float(exponents[best]))
        simple = min(1.0, (infinite + math.exp(by_order) * (1.0 + 1e-12)) * (1.0 + 4.0 * ROUNDOFF) + 1e-300)
        if simple <= known or by_order < -700.0:
            return simple
        by_line = self._inverse(Target(renyi, by_order - 2.5, epsilon)).log_delta(epsilon)
        if by_order <= by_line:
            orders, finer = self._between(best)
            by_order = min(by_order, float((finer - orders * epsilon * (1.0 - 4.0 * ROUNDOFF)).min()))
        finite = min(math.exp(by_order), math.exp(min(0.0, by_line)) + self._joint().infinite)
        return min(1.0, (infinite + finite * (1.0 + 1e-12)) * (1.0 + 4.0 * ROUNDOFF))

    def _joint(self) -> Transform:
        """One pair for all releases of which only rho is known."""
        if self.joint is None:
            rho = self.concentration * (1.0 + (8.0 + self.additions) * ROUNDOFF)
            self.joint = concentrated(rho) if rho else Transform()
        return self.joint

    def _inverse(self, target: Target) -> Inverse:
        if self.state is None or not fits(self.state.line, target):
            self.state = self._integrate(target)
        return self.state.inverse(self.variance, self.additions)

    def _integrate(self, target: Target) -> _State:
        resting = {pair: count for pair, count in self.counts.items() if pair.has_rest}
        if self._joint().has_rest:
            resting[self._joint()] = 1
        state = _State(choose(target, self.variance, resting))
        state.add([*resting], [*resting.values()])
        return state


@dataclass(slots=True)
class _State:
    """The log moments of everything but Gaussian factors, on a line."""

    line: Line
    total: Array = field(init=False)
    fixed: float = 0.0
    slope: float = 0.0

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.line.z), dtype=np.complex128)

    def add(self, pairs: Sequence[Transform], counts: Sequence[int]) -> None:
        self.total += total_log_moment(pairs, counts, self.line.z)
        for pair, count in zip(pairs, counts, strict=True):
            fixed, slope = pair.roundoff(self.line.tilt, self.line.height)
            self.fixed += count * fixed
            self.slope += count * slope

    def inverse(self, variance: float, additions: int) -> Inverse:
        return Inverse.of(self.line, self.total, variance, Rounding(self.fixed, self.slope, additions))


def concentrated(rho: float) -> Transform:
    """A pair that dominates every composition of releases with this total rho of zCDP."""
    from tacit.loss.accountants import zcdp

    def curve(epsilons: Array) -> Array:
        above = zcdp.delta_curve(rho, np.abs(epsilons))
        below = -np.expm1(-np.abs(epsilons)) + np.exp(-np.abs(epsilons)) * above
        return np.where(epsilons >= 0.0, above, below * (1.0 + 16.0 * ROUNDOFF))

    return event_moments.chords(curve)
