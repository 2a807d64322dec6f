"""Log moments after Poisson sampling, against sums and integrals of the mixtures themselves."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.loss.accountants.event_moments import transform
from tacit.loss.curves.directions import Direction
from tests.loss.moment_truths import (
    DIRECTIONS,
    LINE,
    ORDERS,
    laplace_moment,
    mass_moment,
    sampled,
)
from tests.loss.moments import infinite_mass, log_moment

# -- Poisson sampling ------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (2.5, 0.001), (0.05, 0.5)])
def test_sampled_gaussian_moments_are_the_integrals(mu: float, rate: float, direction: Direction) -> None:
    event = events.PoissonSampled(events.Gaussian(mu, 1), rate)
    mix = sampled(rate, direction)

    @functools.cache  # the points are the same for every z with the same real part
    def density_and_loss(x: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
        # "add" is written for the mirror image, P at 0 and Q at mu, like "remove" with the roles exchanged
        p, q = mpmath.npdf(x, mu), mpmath.npdf(x)
        first, second = mix(p, q) if direction == "remove" else mix(q, p)
        return first, mpmath.log(first / second)

    def moment(z: mpmath.mpc) -> mpmath.mpc:
        def inside(x: mpmath.mpf) -> mpmath.mpc:
            density, loss = density_and_loss(x)
            return density * mpmath.exp(z * loss)

        far = 14 + mu * (1 + float(mpmath.re(z)))
        with mpmath.workdps(25):  # floats are compared with it
            return mpmath.quad(inside, mpmath.linspace(-12, far, 80), method="gauss-legendre", maxdegree=4)

    pair = transform(event, direction)
    with np.errstate(under="ignore"):
        fixed, slope = pair.roundoff(2.0, 30.0)
        line = 2.0 + 30j * np.arange(2)
        found = log_moment(event, line, direction)
        real = log_moment(event, np.array([9.0]), direction)
    top = moment(mpmath.mpf(2))
    for z, value in zip(line, found, strict=True):
        assert abs(mpmath.exp(mpmath.mpc(value)) - moment(mpmath.mpc(z))) <= top * (fixed + abs(z) * slope) * 2.0**-54
    for c, value in zip((9.0,), real, strict=True):
        assert abs(value - mpmath.log(moment(mpmath.mpf(c)))) < 1e-13 * (1 + abs(value))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sampled_randomised_response_is_exact(direction: Direction) -> None:
    rate, epsilon, options = Fraction("0.2"), Fraction("1.5"), 4
    truth = math.exp(1.5)
    total = truth + options - 1
    p, q = [truth, 1, 1, 1], [1, truth, 1, 1]
    mix = sampled(0.2, direction)
    pairs = [mix(mpmath.mpf(a) / total, mpmath.mpf(b) / total) for a, b in zip(p, q, strict=True)]
    moment = mass_moment([a for a, _ in pairs], [b for _, b in pairs])
    event = events.PoissonSampled(events.RandomizedResponse(epsilon, options), rate)
    for c, value in zip(ORDERS, log_moment(event, ORDERS, direction), strict=True):
        assert value == pytest.approx(float(mpmath.log(moment(mpmath.mpf(c)))), abs=1e-12)


def test_sampling_an_approximate_guarantee_dilutes_its_failure() -> None:
    """(1-q)Q + qP against Q fails outright with q delta; P against (1-q)P + qQ never does."""
    event = events.PoissonSampled(events.Approximate("0.5", "0.01"), "0.1")
    assert infinite_mass(event, "remove") == pytest.approx(0.001, rel=1e-9)
    assert infinite_mass(event, "remove") >= 0.001
    assert infinite_mass(event, "add") == 0
    e, d, q = 0.5, 0.01, 0.1
    p = [d, (1 - d) * math.exp(e) / (1 + math.exp(e)), (1 - d) / (1 + math.exp(e)), 0.0]
    r = [0.0, p[2], p[1], d]
    removing = [((1 - q) * b + q * a, b) for a, b in zip(p, r, strict=True)]
    adding = [(a, (1 - q) * a + q * b) for a, b in zip(p, r, strict=True)]
    for direction, pairs in zip(DIRECTIONS, (removing, adding), strict=True):
        true = [math.log(sum(a * (a / b) ** c for a, b in pairs if a > 0 and b > 0)) for c in ORDERS]
        np.testing.assert_allclose(log_moment(event, ORDERS, direction), true, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sampled_key_selection_is_the_sampled_composition_of_its_rules(direction: Direction) -> None:
    e, d, q = 0.5, 0.01, 0.1
    p = [d, (1 - d) * math.exp(e) / (1 + math.exp(e)), (1 - d) / (1 + math.exp(e)), 0.0]
    r = [0.0, p[2], p[1], d]
    mix = sampled(q, direction)
    pairs = [mix(p[i] * p[j] * p[k], r[i] * r[j] * r[k]) for i in range(4) for j in range(4) for k in range(4)]
    event = events.PoissonSampled(events.KeySelection("0.5", "0.01", 3), "0.1")
    true = [math.log(sum(a * (a / b) ** c for a, b in pairs if a > 0 and b > 0)) for c in ORDERS]
    np.testing.assert_allclose(log_moment(event, ORDERS, direction), true, rtol=1e-9, atol=1e-11)
    lost = sum(a for a, b in pairs if b == 0)
    assert infinite_mass(event, direction) == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sampled_laplace_is_joined_by_chords_from_above(direction: Direction) -> None:
    moment = laplace_moment(1.2, sampled(0.15, direction))
    event = events.PoissonSampled(events.Laplace("1.2", 1), "0.15")
    for c, value in zip((0.7, 5.0), log_moment(event, np.array([0.7, 5.0]), direction), strict=True):
        true = float(mpmath.log(moment(mpmath.mpf(c))))
        assert true <= value <= true * (1 + 1e-6)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("shift", [1, 4, 5000])
def test_sampled_discrete_laplace_is_never_below_its_mass_functions(shift: int, direction: Direction) -> None:
    scale = Fraction(shift) * 2
    r = math.exp(-float(1 / scale))
    x = np.arange(-30 * int(scale), 31 * int(scale))
    p = (1 - r) / (1 + r) * r ** np.abs(x)
    q = (1 - r) / (1 + r) * r ** np.abs(x - shift)
    first, second = sampled(0.3, direction)(p, q)
    event = events.PoissonSampled(events.DiscreteLaplace(shift, scale), "0.3")
    for c, value in zip((0.7, 5.0), log_moment(event, np.array([0.7, 5.0]), direction), strict=True):
        true = math.log(float((first * (first / second) ** c).sum()))
        assert true * (1 - 1e-10) <= value <= true * (1 + 1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sampled_discrete_gaussian_is_exact_on_one_moving_coordinate(direction: Direction) -> None:
    x = np.arange(-60, 62)
    p, q = np.exp(-(x**2) / 18.0), np.exp(-((x - 1) ** 2) / 18.0)
    total = p.sum()
    first, second = sampled(0.05, direction)(p / total, q / total)
    event = events.PoissonSampled(events.DiscreteGaussian(1, 3, 1), "0.05")
    for c, value in zip((0.7, 20.0), log_moment(event, np.array([0.7, 20.0]), direction), strict=True):
        assert value == pytest.approx(math.log(float((first * (first / second) ** c).sum())), rel=1e-9)


def test_a_sample_of_a_sample_is_a_sample() -> None:
    inner = events.Gaussian(1, 1)
    twice = events.PoissonSampled(events.PoissonSampled(inner, Fraction(1, 4)), Fraction(1, 2))
    once = events.PoissonSampled(inner, Fraction(1, 8))
    for direction in DIRECTIONS:
        np.testing.assert_array_equal(log_moment(twice, LINE, direction), log_moment(once, LINE, direction))


def test_rates_zero_and_one_cost_nothing_and_everything() -> None:
    inner = events.Laplace(1, 2)
    assert not log_moment(events.PoissonSampled(inner, 0), ORDERS).any()
    np.testing.assert_array_equal(log_moment(events.PoissonSampled(inner, 1), ORDERS), log_moment(inner, ORDERS))
