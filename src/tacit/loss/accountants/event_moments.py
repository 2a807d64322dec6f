"""The pair that prices an event: its `Transform` knows log E_P[exp(z L)], Re z > 0, where L = log dP/dQ.

(P, Q) dominates the event in the direction given ("remove": P is with the unit, Q without). Which pair:

- Pure, Approximate, KeySelection, RandomizedResponse, Laplace, DiscreteLaplace, Gaussian, Exponential: closed forms,
  in `closed_forms`.
- DiscreteGaussian: the exact lattice pair or a smoothed Gaussian, in `lattice_gaussian`.
- PoissonSampled of those: Gaussian noise by a quadrature with a proven error (`sampled_gaussian`); the others by
  sampling the atoms of the pair, exact where it has finitely many losses and joined by chords, from above, where it
  has a density (`atoms`).
- Concentrated, and discrete Gaussian noise below sigma 4 on several moving coordinates: rho-zCDP is all that is
  known, real z only.
- SampledWithoutReplacement, Shuffled, Parallel, Group, and Poisson samples of anything else: chords of
  `event_curve.delta_curve`, from above.

Parameters are rounded up to floats: more epsilon, more sensitivity, a smaller scale and a larger rate each dominate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch

import numpy as np

from tacit.loss import events
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tacit.loss.log_moments import atoms
from tacit.loss.log_moments.closed_forms import BoundedRange, DiscreteLaplaceShift, LaplaceShift, Response
from tacit.loss.log_moments.lattice_gaussian import LatticeGaussian, pair_of
from tacit.loss.log_moments.sampled_gaussian import SampledGaussian
from tacit.loss.log_moments.transforms import Array, GaussianShift, RealAxisOnly, Transform, raised
from tacit.loss.numbers.rounding import float_up

_CELLS = 1024  # chords of a density before it is sampled
_POINTS = 512  # chords of a privacy curve, on each side of epsilon 0
_FAINT = 1e-26  # a curve is followed until it falls below this; the rest counts as lost


@singledispatch
def transform(event: Event, direction: Direction) -> Transform:
    """The pair that prices `event`."""
    return _from_curve(event, direction)


@transform.register
def _(event: events.Pure, direction: Direction) -> Transform:
    return Response(float_up(event.epsilon)) if event.epsilon else Transform()


@transform.register
def _(event: events.Approximate, direction: Direction) -> Transform:
    return Response(float_up(event.epsilon), failure=float_up(event.delta))


@transform.register
def _(event: events.KeySelection, direction: Direction) -> Transform:
    return Response(float_up(event.epsilon), failure=float_up(event.delta), copies=event.keys_per_unit)


@transform.register
def _(event: events.RandomizedResponse, direction: Direction) -> Transform:
    return Response(float_up(event.epsilon), options=event.options)


@transform.register
def _(event: events.Concentrated, direction: Direction) -> Transform:
    return RealAxisOnly(float_up(event.rho))


@transform.register
def _(event: events.Laplace, direction: Direction) -> Transform:
    return LaplaceShift(float_up(event.sensitivity / event.scale))


@transform.register
def _(event: events.DiscreteLaplace, direction: Direction) -> Transform:
    return DiscreteLaplaceShift(float_up(1 / event.scale), event.sensitivity)


@transform.register
def _(event: events.Gaussian, direction: Direction) -> Transform:
    return GaussianShift(float_up((event.sensitivity / event.sigma) ** 2))


@transform.register
def _(event: events.DiscreteGaussian, direction: Direction) -> Transform:
    pair = pair_of(event.sensitivity, event.sigma, event.dimensions)
    if pair is None:
        return RealAxisOnly(float_up(Fraction(math.floor(event.sensitivity**2)) / (2 * event.sigma**2)))
    return pair


@transform.register
def _(event: events.Exponential, direction: Direction) -> Transform:
    return BoundedRange(float_up(event.range))


@transform.register
def _(event: events.PoissonSampled, direction: Direction) -> Transform:
    rate = float_up(event.rate)
    if rate == 0.0:
        return Transform()
    if rate >= 1.0:
        return transform(event.event, direction)
    sampled = _sampled(event.event, rate, direction)
    return sampled if sampled is not None else _from_curve(event, direction)


# -- after Poisson sampling ------------------------------------------------------------------------


@singledispatch
def _sampled(event: Event, rate: float, direction: Direction) -> Transform | None:
    """The pair of `event` sampled at a rate between 0 and 1, or None where only the curve is known."""
    return None


@_sampled.register
def _(event: events.PoissonSampled, rate: float, direction: Direction) -> Transform | None:
    # A sample of a sample is a sample.
    return transform(events.PoissonSampled(event.event, Fraction(rate) * event.rate), direction)


@_sampled.register
def _(event: events.Gaussian, rate: float, direction: Direction) -> Transform | None:
    return SampledGaussian(float_up(event.sensitivity / event.sigma), rate, direction == "remove")


@_sampled.register
def _(event: events.DiscreteGaussian, rate: float, direction: Direction) -> Transform | None:
    pair = transform(event, direction)
    if isinstance(pair, LatticeGaussian):
        return pair.atoms().sampled(rate, direction)
    if isinstance(pair, GaussianShift):
        return SampledGaussian(raised(math.sqrt(pair.mu_squared)), rate, direction == "remove", pair.slack)
    return None


@_sampled.register
def _(event: events.Pure, rate: float, direction: Direction) -> Transform | None:
    return atoms.response(float_up(event.epsilon)).sampled(rate, direction)


@_sampled.register
def _(event: events.Approximate, rate: float, direction: Direction) -> Transform | None:
    if event.delta == 1:
        return None
    return atoms.response(float_up(event.epsilon), failure=float_up(event.delta)).sampled(rate, direction)


@_sampled.register
def _(event: events.KeySelection, rate: float, direction: Direction) -> Transform | None:
    rule = atoms.response(float_up(event.epsilon), failure=float_up(event.delta), copies=event.keys_per_unit)
    return rule.sampled(rate, direction)


@_sampled.register
def _(event: events.RandomizedResponse, rate: float, direction: Direction) -> Transform | None:
    return atoms.response(float_up(event.epsilon), options=event.options).sampled(rate, direction)


@_sampled.register
def _(event: events.Laplace, rate: float, direction: Direction) -> Transform | None:
    points = np.linspace(0.0, float_up(event.sensitivity / event.scale), _CELLS + 1)
    return atoms.laplace(points).sampled(rate, direction)


@_sampled.register
def _(event: events.DiscreteLaplace, rate: float, direction: Direction) -> Transform | None:
    kinks = np.unique(np.linspace(0, event.sensitivity, min(event.sensitivity, _CELLS) + 1).round())
    return atoms.laplace(kinks * float_up(1 / event.scale)).sampled(rate, direction)


@_sampled.register
def _(event: events.Exponential, rate: float, direction: Direction) -> Transform | None:
    return atoms.bounded_range(float_up(event.range), _CELLS).sampled(rate, direction)


# -- from a privacy curve --------------------------------------------------------------------------


def _from_curve(event: Event, direction: Direction) -> Transform:
    from tacit.loss.accountants.event_curve import delta_curve

    return chords(lambda epsilons: delta_curve(event, epsilons, direction))


def chords(curve: Callable[[Array], Array]) -> Transform:
    """A pair above `curve`, a bound of a privacy curve at every real epsilon; its grid is fine where the curve bends.

    A privacy curve never rises, so a bound may be lowered to any bound further left.
    """
    probes = np.concatenate([[0.0], np.geomspace(1e-6, 1e5, 89)])
    heights = np.minimum.accumulate(curve(probes))
    if heights[0] <= 0.0:
        return Transform()
    if heights[-1] >= 1.0:
        return Response(0.0, failure=1.0)
    end = float(probes[np.argmax(heights <= max(_FAINT, float(heights[-1]) * (1.0 + 1e-9)))])
    if end == 0.0:
        # Flat from 0 on: what is lost is lost at every epsilon, in both directions (at 0 they agree).
        return Response(0.0, failure=min(1.0, raised(float(heights[0]))))
    half = float(probes[np.argmax(heights <= heights[0] / 2.0)])
    scale = max(half, end * 1e-6) / 4.0
    side = scale * np.sinh(np.linspace(0.0, math.asinh(end / scale), _POINTS + 1))
    grid = np.concatenate([-side[:0:-1], side])
    return atoms.from_curve(grid, np.minimum.accumulate(curve(grid)))
