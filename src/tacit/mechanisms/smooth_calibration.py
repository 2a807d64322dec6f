"""How much smooth-sensitivity noise is enough: for each kind of noise, the least multiple of S that its proof allows.

Setting of all proofs. Neighbours x, y; u = m S(x) and w = m S(y) are the scales of the noise, so |ln(u/w)| <= b, the
smoothness. D = |f(x) - f(y)| <= min(S(x), S(y)) = a min(u, w), a = 1/m, because LS(x) and LS(y) both bound the
distance.

Laplace. P is Laplace of scale u at 0, Q of scale w at D.
  * If w >= u, t = ln(w/u): ln P/Q <= t + D/w <= t + a exp(-t), convex in t, so at most max(a, b + a exp(-b)). That is
    at most epsilon if a <= epsilon and a <= (epsilon - b) exp(b).
  * If w < u, t = ln(u/w), k = exp(t) - 1, r = |z|/u: left of 0, ln P/Q = -t + k r + D/w; right of D it is
    -t + k r - D/w; in between at most D/w - t <= epsilon. Under P, r is standard exponential on either side, and the
    integral of exp(-r)(1 - exp(c - k r)) over r > c/k is exp(-c/k) k/(1 + k). So the exact delta of this pair is

        (1 - exp(-t)) exp(-(epsilon + t)/k) cosh((D/w)/k).

    It grows with D/w <= a. It grows with t, as (c + t)/(exp(t) - 1) falls in t for c >= 0 (from exp(t)(1 - t) <= 1).
  Hence (epsilon, delta) holds, exactly, when with k = exp(b) - 1

        cosh(a/k) <= delta exp((epsilon + b)/k) / (1 - exp(-b)).

  The textbook takes m = 2/epsilon at b = epsilon/(2 ln(2/delta)) and states (epsilon, delta), while its proof gives
  (epsilon, delta (1 + exp(epsilon/2))/2). Here what was asked for is what holds, mostly with a smaller m at the same b.

Cauchy, quartic, Student. h is the density, j(z) = -h'(z)/h(z) for z >= 0. Go from (0, u) to (D, w) on a path along
which the position moves at the constant speed D and the logarithm of the scale at ln(w/u). As D <= a (scale) all
along, the log-density at any fixed point changes at a rate of at most a j(z) + b |z j(z) - 1| for some z. So epsilon
holds when a j + b (z j - 1) <= epsilon and a j - b (z j - 1) <= epsilon for all z >= 0.
  * h ~ 1/(1 + z**g), j = g z**(g-1) / (1 + z**g): the first condition reads a g z**(g-1) <= A + B z**g with
    A = epsilon + b, B = epsilon - (g-1) b. The least of (A z**(1-g) + B z)/g is, at z**g = (g-1) A/B,

        a = (g-1)**(1/g - 1) A**(1/g) B**(1 - 1/g).

    The second condition is the first with -b for b; for g >= 2 its bound is the larger one (the difference of the two
    logarithms grows with b, from 0). And a falls with b, so smoother bounds than promised do no harm.
  * Student, z = sqrt(d) y: j = (d+1)/sqrt(d) y/(1 + y**2), z j - 1 = (d y**2 - 1)/(1 + y**2). In the same way

        a = 2 sqrt(d)/(d+1) sqrt((epsilon + b)(epsilon - d b)).

  Both are tight as epsilon goes to 0. The textbook's a = b = epsilon/(2(g+1)) is private with much room to spare.

Laplace-log-normal, Z = X exp(s Y). Scaling Z by exp(t) is shifting Y by t/s, so (post-processing of two normals) a
change of scale has Renyi divergence of order c at most c (t/s)**2/2. The density of Z is E[exp(-s Y - |z| exp(-s
Y))]/2; the slope of its logarithm is a weighted mean of exp(-s Y) whose weights move to smaller values as |z| grows,
so at most the one at 0, exp(2 s**2)/exp(s**2/2). Hence a shift by D on scale u is pure q-private for q = exp(3
s**2/2) a, and its divergence at most c q**2/2. Steps of divergence c p**2/2 and c q**2/2 for all c make one of at
most c (p + q)**2/2 (Hoelder's inequality at its best exponent). So rho-zCDP holds when

        exp(3 s**2/2) a + b/s <= sqrt(2 rho).

  s is where the variance of the noise is least: 5 (sqrt(2 rho)/b) s**3 - 5 s**2 - 1 = 0.

Numbers are computed in outward-rounded intervals; a is rounded down, the multiple 1/a up, to 53 bits.
Sources: Nissim, Raskhodnikova, Smith 2007; Bun and Steinke 2019. The constants are re-derived here, and tighter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit import parameters
from tacit.errors import ParameterError
from tacit.loss.events import Approximate, Concentrated, Event, Pure
from tacit.loss.numbers.rounding import dyadic_down, dyadic_up
from tacit.mechanisms.smooth_noise import (
    CauchyNoise,
    LaplaceNoise,
    LogNormalNoise,
    QuarticNoise,
    SmoothNoise,
    StudentNoise,
)
from tacit.noise.functions import Interval

ROUNDING_SLACK = Fraction(1, 2**40)
"""How much rougher than stated the computed smooth sensitivity may be."""

_DIGITS = 60
_LARGEST_SIGMA = 4
_LARGEST_DEGREES = 1000
_SMALLEST, _LARGEST = Fraction(1, 10**9), Fraction(10**6)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Noise `multiple` * S * `noise` costs `event` if S has this smoothness."""

    event: Event
    smoothness: Fraction
    multiple: Fraction
    noise: SmoothNoise


def calibrate(kind: str, smoothness: Fraction | None, given: Mapping[str, Any]) -> Calibration:
    """The calibration of one kind; `given` holds the parameters that the caller wrote."""
    if kind not in _KINDS:
        raise parameters.refuse("kind", "one of " + ", ".join(map(repr, _KINDS)), kind)
    build, allowed = _KINDS[kind]
    if frozenset(given) not in allowed:
        ways = " or ".join(sorted(" and ".join(sorted(way)) for way in allowed))
        raise parameters.refuse("kind", f"used with {ways} for {kind!r}", " and ".join(given) or "none of them")
    return build(smoothness, **given)


def _laplace(smoothness: Fraction | None, epsilon: Any, delta: Any) -> Calibration:
    loss, slip = _cost("epsilon", epsilon), parameters.open_probability("delta", delta)
    if smoothness is None:
        usual = _of(loss) / (_of(2) * _of(2 / slip).ln())
        smoothness = min(dyadic_down(Fraction(usual.low)), Fraction(1))
    rough = _of(smoothness + ROUNDING_SLACK)
    growth, shrink = rough.exp(), (-rough).exp()
    k = growth - _of(1)
    log_room = _of(slip).ln() + (_of(loss) + rough) / k - (_of(1) - shrink).ln()
    if log_room.low <= 0 or smoothness + ROUNDING_SLACK >= loss:
        raise _too_rough(smoothness)
    # arccosh(exp(v)) = v + ln(1 + sqrt(1 - exp(-2v)))
    arccosh = log_room + (_of(1) + (_of(1) - (-(log_room + log_room)).exp()).sqrt()).ln()
    least = min((k * arccosh).low, ((_of(loss) - rough) * growth).low, _of(loss).low)
    return Calibration(Approximate(loss, slip), smoothness, _multiple(Fraction(least)), LaplaceNoise())


def _cauchy(smoothness: Fraction | None, epsilon: Any) -> Calibration:
    loss = _cost("epsilon", epsilon)
    smoothness, upper, lower = _slopes(loss, 1, smoothness)
    return Calibration(Pure(loss), smoothness, _multiple(Fraction((upper * lower).sqrt().low)), CauchyNoise())


def _quartic(smoothness: Fraction | None, epsilon: Any) -> Calibration:
    loss = _cost("epsilon", epsilon)
    smoothness, upper, lower = _slopes(loss, 3, smoothness)
    fourth_power = upper * lower.power(3) / _of(27)
    return Calibration(Pure(loss), smoothness, _multiple(Fraction(fourth_power.sqrt().sqrt().low)), QuarticNoise())


def _student(smoothness: Fraction | None, epsilon: Any = None, rho: Any = None, degrees: Any = 3) -> Calibration:
    d = parameters.whole("degrees", degrees, least=1)
    if d > _LARGEST_DEGREES:
        raise parameters.refuse("degrees", f"a whole number from 1 to {_LARGEST_DEGREES}", degrees)
    if rho is None:
        loss = _cost("epsilon", epsilon)
        event: Event = Pure(loss)
    else:
        # pure epsilon is epsilon**2/2-zCDP
        event = Concentrated(_cost("rho", rho))
        loss = dyadic_down(Fraction((_of(2) * _of(_cost("rho", rho))).sqrt().low))
    smoothness, upper, lower = _slopes(loss, d, smoothness)
    slope = _of(2) * _of(d).sqrt() / _of(d + 1) * (upper * lower).sqrt()
    return Calibration(event, smoothness, _multiple(Fraction(slope.low)), StudentNoise(d))


def _lognormal(smoothness: Fraction | None, rho: Any) -> Calibration:
    exact = _cost("rho", rho)
    reach = (_of(2) * _of(exact)).sqrt()
    if smoothness is None:
        smoothness = dyadic_down(Fraction(reach.low) / 10)
    rough = smoothness + ROUNDING_SLACK
    sigma = _best_sigma(float(Fraction(reach.low) / rough))
    left = reach - _of(rough / sigma)
    if sigma > _LARGEST_SIGMA or left.low <= 0:
        raise _too_rough(smoothness)
    slope = left / _of(3 * sigma * sigma / 2).exp()
    return Calibration(Concentrated(exact), smoothness, _multiple(Fraction(slope.low)), LogNormalNoise(sigma))


def _best_sigma(ratio: float) -> Fraction:
    """The root of 5 ratio s**3 - 5 s**2 - 1, roughly: any s is private, this one has the least variance."""
    s = 1 / ratio + 1.0
    for _ in range(60):
        s -= (5 * ratio * s**3 - 5 * s * s - 1) / (15 * ratio * s * s - 10 * s)
    return Fraction(round(s * 4096) + 1, 4096)


def _slopes(loss: Fraction, weight: int, smoothness: Fraction | None) -> tuple[Fraction, Interval, Interval]:
    """The smoothness b, and epsilon + b and epsilon - weight * b, enclosed; `weight` is the tail's power less one."""
    exact = loss / (2 * (weight + 2)) if smoothness is None else smoothness
    rough = exact + ROUNDING_SLACK
    if loss <= weight * rough:
        raise _too_rough(exact)
    # in the first place b adds to epsilon, so it counts without the slack
    return exact, _of(loss + exact), _of(loss - weight * rough)


def _multiple(slope: Fraction) -> Fraction:
    return dyadic_up(1 / slope)


def _of(exact: Fraction | int) -> Interval:
    return Interval.of(exact, _DIGITS)


def _cost(name: str, value: Any) -> Fraction:
    exact = parameters.positive(name, value)
    if not _SMALLEST <= exact <= _LARGEST:
        raise parameters.refuse(name, "from 1e-9 to 1e6", value)
    return exact


def _too_rough(smoothness: Fraction) -> ParameterError:
    hint = "Choose a smaller smoothness, or spend more."
    return parameters.refuse("smoothness", "small enough for this cost", float(smoothness), hint)


_KINDS: dict[str, tuple[Callable[..., Calibration], frozenset[frozenset[str]]]] = {
    "laplace": (_laplace, frozenset({frozenset({"epsilon", "delta"})})),
    "cauchy": (_cauchy, frozenset({frozenset({"epsilon"})})),
    "quartic": (_quartic, frozenset({frozenset({"epsilon"})})),
    "student": (
        _student,
        frozenset(frozenset(way) for way in ({"epsilon"}, {"rho"}, {"epsilon", "degrees"}, {"rho", "degrees"})),
    ),
    "lognormal": (_lognormal, frozenset({frozenset({"rho"})})),
}
"""For each kind its calibration and the sets of parameters it may be given."""
