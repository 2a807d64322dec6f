"""Calibration against arbitrary precision: what is returned passes the exact condition, a shade less noise fails it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss import calibrate
from tacit.loss.curves import gaussian
from tacit.loss.curves.laplace import largest_rate
from tests.effort import tried

SHADE = Fraction(9999, 10000)


def exactly(value: Fraction | float) -> mpmath.mpf:
    ratio = Fraction(value)
    return mpmath.mpf(ratio.numerator) / ratio.denominator


def gaussian_delta(ratio: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The exact condition as it is printed; 500 digits make its cancellation harmless."""
    with mpmath.workdps(500):
        mu, eps = exactly(ratio), exactly(epsilon)

        def below(x: mpmath.mpf) -> mpmath.mpf:
            return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

        return below(mu / 2 - eps / mu) - mpmath.exp(eps) * below(-mu / 2 - eps / mu)


def discrete_gaussian_delta(sigma: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """Sum over all integers of (P - exp(eps) Q)_+, with no half-line argument."""
    with mpmath.workdps(60):
        variance, growth = exactly(sigma) ** 2, mpmath.exp(exactly(epsilon))
        reach = int(45 * sigma) + shift + 5
        mass = {
            x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * variance))
            for x in range(-reach - 2 * shift, reach + 2 * shift + 1)
        }
        excess = mpmath.fsum(max(mass[x] - growth * mass[x - shift], 0) for x in range(-reach, reach + 1))
        return excess / mpmath.fsum(mass.values())


def discrete_laplace_delta(rate: mpmath.mpf, moves: tuple[int, ...], epsilon: mpmath.mpf) -> mpmath.mpf:
    """The curve of integer Laplace noise on a vector that moves by `moves`, by listing every combination of losses."""
    reach = 60 + max(moves)
    norm = mpmath.tanh(rate / 2)
    mass = {x: norm * mpmath.exp(-rate * abs(x)) for x in range(-2 * reach, 2 * reach + 1)}
    losses: dict[int, mpmath.mpf] = {0: mpmath.mpf(1)}
    for move in moves:
        wider: dict[int, mpmath.mpf] = {}
        for x, loss in itertools.product(range(-reach, reach + 1), losses):
            key = loss + abs(x - move) - abs(x)
            wider[key] = wider.get(key, mpmath.mpf(0)) + mass[x] * losses[loss]
        losses = wider
    return mpmath.fsum(p * max(1 - mpmath.exp(epsilon - rate * units), 0) for units, p in losses.items())


log_epsilon = st.floats(-9, 4)
log_delta = st.one_of(st.floats(-300, -0.01), st.floats(-12, -0.01))


@settings(max_examples=tried(60), deadline=None)
@given(log_epsilon, log_delta, st.floats(-6, 6))
def test_gaussian_noise_is_enough_and_a_shade_less_is_not(e: float, d: float, s: float) -> None:
    epsilon, delta, sensitivity = Fraction(10**e), Fraction(10**d), Fraction(10**s)
    sigma = calibrate.gaussian_sigma(sensitivity, epsilon, delta)
    assert gaussian_delta(sensitivity / sigma, epsilon) <= exactly(delta)
    assert gaussian_delta(sensitivity / (sigma * SHADE), epsilon) > exactly(delta)


@given(log_epsilon, log_delta)
def test_what_the_search_ends_with_has_been_verified(e: float, d: float) -> None:
    epsilon, target = 10**e, d * math.log(10)
    mu = gaussian.largest_mu(epsilon, target)
    assert gaussian.log_delta(mu, epsilon) <= target
    again = gaussian.smallest_epsilon(mu, target)
    assert gaussian.log_delta(mu, again) <= target


@settings(max_examples=tried(60), deadline=None)
@given(st.floats(-9, 2), st.floats(-9, 4))
def test_the_gaussian_curve_is_an_upper_bound_and_close(m: float, e: float) -> None:
    mu, epsilon = 10**m, 10**e
    truth = gaussian_delta(Fraction(mu), Fraction(epsilon))
    if truth < mpmath.mpf(10) ** -400:
        return  # its 500 digits have cancelled away
    claimed = gaussian.log_delta(mu, epsilon)
    with mpmath.workdps(40):
        assert mpmath.log(truth) <= claimed <= mpmath.log(truth) + mpmath.mpf("1e-5")


@settings(max_examples=tried(40), deadline=None)
@given(st.floats(-4, 1.5), st.floats(-200, -1))
def test_gaussian_epsilon_undoes_gaussian_delta(m: float, d: float) -> None:
    mu, delta = Fraction(10**m), Fraction(10**d)
    epsilon = calibrate.gaussian_epsilon(mu, 1, delta)
    assert gaussian_delta(mu, Fraction(epsilon)) <= exactly(delta)
    if epsilon > 0:
        assert gaussian_delta(mu, Fraction(epsilon) * SHADE) > exactly(delta)
        assert calibrate.gaussian_delta(mu, 1, epsilon) <= float(delta) * (1 + 1e-9)


def test_gaussian_epsilon_is_zero_where_delta_covers_the_total_variation() -> None:
    assert calibrate.gaussian_epsilon(1, 10, "0.04") == 0
    assert calibrate.gaussian_epsilon(1, 10, "0.0398") > 0  # 2 Phi(0.05) - 1 = 0.03988


def test_the_published_total_of_a_hundred_gaussians_is_met() -> None:
    assert calibrate.gaussian_epsilon(10, 10, 1e-6) == pytest.approx(4.886554, abs=2e-6)


def test_the_classic_formula_is_not_used_where_it_fails() -> None:
    epsilon, delta = Fraction(20), Fraction(1, 10**5)
    classic = Fraction(math.sqrt(2 * math.log(1.25 / float(delta)))) / epsilon
    assert gaussian_delta(1 / classic, epsilon) > exactly(delta)
    assert calibrate.gaussian_sigma(1, epsilon, delta) > classic


def test_below_one_the_exact_condition_needs_less_than_the_classic_formula() -> None:
    classic = math.sqrt(2 * math.log(1.25e6)) / 0.5
    assert calibrate.gaussian_sigma(1, Fraction(1, 2), Fraction(1, 10**6)) < Fraction(classic) * Fraction(86, 100)


@given(st.fractions(min_value="1/1000000", max_value=1000000), st.fractions(min_value="1/1000000", max_value=1000000))
def test_gaussian_noise_for_rho_is_the_square_root_rounded_up(sensitivity: Fraction, rho: Fraction) -> None:
    sigma = calibrate.gaussian_sigma_for_rho(sensitivity, rho)
    assert sensitivity**2 <= 2 * rho * sigma**2 <= sensitivity**2 * (1 + Fraction(1, 2**50))


def test_a_count_at_a_tenth_has_scale_ten() -> None:
    assert calibrate.laplace_scale(1, "0.1") == 10
    assert calibrate.laplace_scale(1, 0.1) == 1 / Fraction(0.1)  # mechanisms read a float as the binary number it is


@settings(max_examples=tried(60), deadline=None)
@given(st.floats(-6, 2), st.floats(-15, -0.01), st.floats(-3, 3))
def test_laplace_noise_for_a_delta_is_exact(e: float, d: float, s: float) -> None:
    epsilon, delta, sensitivity = Fraction(10**e), Fraction(10**d), Fraction(10**s)
    scale = calibrate.laplace_scale_for(sensitivity, epsilon, delta)
    with mpmath.workdps(50):
        # Integrate the density over the region where the loss passes epsilon, from first principles.
        ratio, eps = exactly(sensitivity / scale), exactly(epsilon)
        edge = (ratio - eps) / 2  # |x - r| - |x| > eps  <=>  x < (r - eps)/2
        lost = 1 - mpmath.exp(-edge) / 2 - mpmath.exp(eps) * mpmath.exp(edge - ratio) / 2 if edge > 0 else 0
        assert lost <= exactly(delta)
        assert lost > exactly(delta) * (1 - mpmath.mpf("1e-9")) - mpmath.mpf("1e-12") * exactly(epsilon)
    assert scale <= sensitivity / epsilon


def test_without_delta_laplace_noise_is_exactly_the_pure_scale() -> None:
    assert calibrate.laplace_scale_for(3, "0.1", 0) == 30
    assert calibrate.discrete_laplace_scale_for(3, "0.1", 0) == 30


@settings(max_examples=tried(25), deadline=None)
@given(st.floats(-0.5, 1), st.floats(-12, -0.1), st.integers(1, 6))
def test_integer_laplace_noise_for_a_delta_is_enough_and_a_shade_less_is_not(e: float, d: float, shift: int) -> None:
    epsilon, delta = Fraction(10**e), Fraction(10**d)
    scale = calibrate.discrete_laplace_scale_for(shift, epsilon, delta)
    with mpmath.workdps(40):
        eps = exactly(epsilon)
        assert discrete_laplace_delta(1 / exactly(scale), (shift,), eps) <= exactly(delta)
        assert discrete_laplace_delta(1 / exactly(scale * SHADE), (shift,), eps) > exactly(delta)


def test_continuous_calibration_is_too_little_for_integers() -> None:
    scale = calibrate.laplace_scale_for(1, "1/2", "1/10")
    with mpmath.workdps(40):
        assert discrete_laplace_delta(1 / exactly(scale), (1,), mpmath.mpf("0.5")) > mpmath.mpf("0.1")
    assert calibrate.discrete_laplace_scale_for(1, "1/2", "1/10") > scale


@pytest.mark.parametrize("moves", [(1, 1), (2, 1), (2, 2), (3, 1), (1, 1, 1)])
def test_one_coordinate_that_moves_by_the_sum_costs_at_least_as_much_as_several(moves: tuple[int, ...]) -> None:
    for rate, epsilon in itertools.product((0.2, 0.7, 2.0), (0.0, 0.1, 0.5, 1.0, 1.9)):
        with mpmath.workdps(30):
            one = discrete_laplace_delta(mpmath.mpf(rate), (sum(moves),), mpmath.mpf(epsilon))
            several = discrete_laplace_delta(mpmath.mpf(rate), moves, mpmath.mpf(epsilon))
            assert several <= one + mpmath.mpf("1e-6")  # the lists stop at 60


def test_a_wide_integer_shift_is_calibrated_like_the_continuous_limit() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 100)
    rate = largest_rate(10**6, epsilon, delta) * 10**6
    assert rate == pytest.approx(1 - 2 * math.log(0.99), rel=1e-5)


@settings(max_examples=tried(25), deadline=None)
@given(st.floats(-0.7, 1.4), st.floats(-30, -0.2), st.integers(1, 4))
def test_integer_gaussian_noise_is_enough_and_a_shade_less_is_not(e: float, d: float, shift: int) -> None:
    epsilon, delta = Fraction(10**e), Fraction(10**d)
    sigma = calibrate.discrete_gaussian_sigma(shift, epsilon, delta)
    if sigma > 20:
        return  # the sum by hand would be long
    assert discrete_gaussian_delta(sigma, shift, epsilon) <= exactly(delta)
    assert discrete_gaussian_delta(sigma * SHADE, shift, epsilon) > exactly(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (2.0, 1e-3), (6.0, 1e-2)])
def test_several_integer_dimensions_are_safe_for_the_worst_direction(epsilon: float, delta: float) -> None:
    """Two coordinates that both move by one: the losses of the two are listed and combined."""
    sigma = calibrate.discrete_gaussian_sigma(Fraction(3, 2), epsilon, delta, dimensions=2)
    reach = int(12 * sigma) + 5
    masses = [math.exp(-x * x / (2 * float(sigma) ** 2)) for x in range(-reach, reach + 1)]
    norm = math.fsum(masses)
    # P(x, y) is around (0, 0), Q around (1, 1): the loss is (1 - x - y)/sigma^2.
    total = math.fsum(
        (masses[i] / norm)
        * (masses[j] / norm)
        * max(0.0, -math.expm1(epsilon - (1 - (i - reach) - (j - reach)) / float(sigma) ** 2))
        for i in range(2 * reach + 1)
        for j in range(2 * reach + 1)
    )
    assert total <= delta
    assert total > delta / 30  # safe, and not absurdly so


def test_integer_gaussian_noise_tends_to_the_continuous_one() -> None:
    for dimensions in (1, 3, 1000):
        wide = calibrate.discrete_gaussian_sigma(1000, "1/2", Fraction(1, 10**8), dimensions)
        least = calibrate.gaussian_sigma(1000, "1/2", Fraction(1, 10**8))
        assert least < wide < least * Fraction(1000001, 1000000)


def test_a_sensitivity_below_root_two_changes_one_coordinate_only() -> None:
    one = calibrate.discrete_gaussian_sigma(1, 1, "1/1000000")
    assert calibrate.discrete_gaussian_sigma("1.4", 1, "1/1000000", dimensions=50) == one
    assert calibrate.discrete_gaussian_sigma("1.42", 1, "1/1000000", dimensions=50) > one


def test_integer_gaussian_delta_bounds_the_sum_by_hand() -> None:
    for sigma, epsilon, shift in [
        (Fraction(1, 2), 3, 1),
        (Fraction(2), 1, 1),
        (Fraction(5), 1, 3),
        (Fraction(7, 3), 2, 2),
    ]:
        truth = discrete_gaussian_delta(sigma, shift, Fraction(epsilon))
        claimed = calibrate.discrete_gaussian_delta(shift, sigma, epsilon)
        assert truth <= claimed
        if (sigma * 2).denominator == 1:  # exactly a double: the lattice sum itself
            assert claimed <= truth * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "x", None, True, []])
def test_nonsense_is_refused(bad: object) -> None:
    for call in (
        lambda: calibrate.laplace_scale(bad, 1),  # type: ignore[arg-type]
        lambda: calibrate.laplace_scale(1, bad),  # type: ignore[arg-type]
        lambda: calibrate.gaussian_sigma(bad, 1, 0.1),  # type: ignore[arg-type]
        lambda: calibrate.gaussian_sigma(1, bad, 0.1),  # type: ignore[arg-type]
        lambda: calibrate.gaussian_sigma(1, 1, bad),  # type: ignore[arg-type]
        lambda: calibrate.gaussian_sigma_for_rho(1, bad),  # type: ignore[arg-type]
        lambda: calibrate.discrete_gaussian_sigma(1, 1, 0.1, bad),  # type: ignore[arg-type]
        lambda: calibrate.gaussian_epsilon(1, 1, bad),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError, match="must be"):
            call()


def test_a_delta_of_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="promises nothing"):
        calibrate.laplace_scale_for(1, 1, 1)


def test_an_epsilon_so_small_that_the_scale_overflows_is_refused() -> None:
    for call in (
        lambda: calibrate.laplace_scale(1, "1e-400"),
        lambda: calibrate.gaussian_sigma(1, "1e-400", "1e-6"),
        lambda: calibrate.gaussian_sigma("1e300", "1e-20", "1e-30"),
        lambda: calibrate.gaussian_sigma_for_rho("1e200", "1e-300"),
        lambda: calibrate.laplace_scale_for("1e300", "1e-20", "1e-30"),
    ):
        with pytest.raises(ParameterError, match="must be"):
            call()


def test_an_integer_sensitivity_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="differ by 1 or more"):
        calibrate.discrete_gaussian_sigma("0.9", 1, "1e-6")
