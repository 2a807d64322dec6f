"""Log moments against sums and integrals of the mass functions and densities themselves, in arbitrary precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.errors import ParameterError
from tacit.loss import atoms, events, moments
from tacit.loss.curves import delta_curve
from tacit.loss.events import Event
from tacit.loss.moments import Direction, infinite_mass, log_moment, real_bound, transform

mp = mpmath.mp
mp.dps = 30
ORDERS = np.array([0.05, 0.7, 3.0, 17.0])
LINE = 1.5 + 6.5j * np.arange(6)
DIRECTIONS: tuple[Direction, Direction] = ("remove", "add")

Moment = Callable[[mpmath.mpc], mpmath.mpc]


@pytest.fixture(autouse=True)
def _thirty_digits() -> None:
    mp.dps = 30


def mass_moment(p: list[mpmath.mpf], q: list[mpmath.mpf]) -> Moment:
    """E_P[(p/q)^z] over outcomes with both masses positive."""
    return lambda z: mpmath.fsum(a * (a / b) ** z for a, b in zip(p, q, strict=True) if a > 0 and b > 0)


def response_moment(epsilon: Fraction, options: int = 2, failure: Fraction = Fraction(0)) -> Moment:
    truth = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    total = truth + options - 1
    keep = 1 - mpmath.mpf(failure.numerator) / failure.denominator
    p = [truth, mpmath.mpf(1), *[mpmath.mpf(1)] * (options - 2)]
    q = [mpmath.mpf(1), truth, *[mpmath.mpf(1)] * (options - 2)]
    return mass_moment([keep * a / total for a in p], [keep * b / total for b in q])


def density_moment(p: Callable[[mpmath.mpf], mpmath.mpf], q: Callable[..., mpmath.mpf], breaks: list[float]) -> Moment:
    return lambda z: mpmath.quad(lambda x: p(x) * (p(x) / q(x)) ** z, breaks)


def laplace_density(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(-abs(x)) / 2


def laplace_moment(ratio: float, mix: Callable[..., tuple[mpmath.mpf, mpmath.mpf]]) -> Moment:
    def moment(z: mpmath.mpc) -> mpmath.mpc:
        def inside(x: mpmath.mpf) -> mpmath.mpc:
            p, q = mix(laplace_density(x), laplace_density(x - ratio))
            return p * (p / q) ** z

        return mpmath.quad(inside, [-80, -20, 0, ratio / 4, ratio / 2, 3 * ratio / 4, ratio, ratio + 20, ratio + 80])

    return moment


def plain(p: mpmath.mpf, q: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    return p, q


def sampled(rate: float, direction: Direction) -> Callable[..., tuple[mpmath.mpf, mpmath.mpf]]:
    if direction == "remove":
        return lambda p, q: ((1 - rate) * q + rate * p, q)
    return lambda p, q: (p, (1 - rate) * p + rate * q)


def discrete_laplace_moment(scale: Fraction, shift: int) -> Moment:
    r = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    reach = int(80 * scale) + 2 * shift
    x = range(-reach, reach + 1)
    return mass_moment(
        [(1 - r) / (1 + r) * r ** abs(i) for i in x], [(1 - r) / (1 + r) * r ** abs(i - shift) for i in x]
    )


def discrete_gaussian_masses(sigma: float, shift: int) -> tuple[list[mpmath.mpf], list[mpmath.mpf]]:
    # tilts up to 17 move the mean to -17 shift
    x = range(-int(14 * sigma) - 17 * shift - 2, int(14 * sigma) + shift + 3)
    everywhere = range(-int(30 * sigma) - 2, int(30 * sigma) + 3)
    total = mpmath.fsum(mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for i in everywhere)

    def weight(i: int) -> mpmath.mpf:
        return mpmath.exp(-(mpmath.mpf(i) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) / total

    return [weight(i) for i in x], [weight(i - shift) for i in x]


def bounded_range_moment(reach: float) -> Moment:
    """From the worst curve over t, found by search: E_P[exp(zL)] = z (z+1) integral of exp(z e) delta(e)."""

    def worst(epsilon: mpmath.mpf) -> mpmath.mpf:
        def at(t: mpmath.mpf) -> mpmath.mpf:
            p = (mpmath.exp(reach) - mpmath.exp(t)) / mpmath.expm1(reach)
            gain = lambda loss: max(mpmath.mpf(0), 1 - mpmath.exp(epsilon - loss))  # noqa: E731
            return p * gain(t) + (1 - p) * gain(t - reach)

        low, high = max(mpmath.mpf(0), epsilon), min(mpmath.mpf(reach), epsilon + reach)
        for _ in range(60):  # unimodal in t: ternary search
            a, b = low + (high - low) / 3, high - (high - low) / 3
            low, high = (a, high) if at(a) < at(b) else (low, b)
        return at((low + high) / 2)

    nodes = [(x, w) for x, w in zip(*np.polynomial.legendre.leggauss(24), strict=True)]
    values = [(mpmath.mpf(x) * reach, mpmath.mpf(w) * reach, worst(mpmath.mpf(x) * reach)) for x, w in nodes]

    def moment(z: mpmath.mpc) -> mpmath.mpc:
        inside = mpmath.fsum(w * mpmath.exp(z * e) * d for e, w, d in values)
        below = mpmath.exp(-z * reach) / z - mpmath.exp(-(z + 1) * reach) / (z + 1)
        return z * (z + 1) * (inside + below)

    return moment


CLOSED: list[tuple[Event, Moment]] = [
    (events.Pure("0.7"), response_moment(Fraction("0.7"))),
    (events.Pure("1e-3"), response_moment(Fraction("1e-3"))),
    (events.Pure(40), response_moment(Fraction(40))),
    (events.Approximate("0.7", "0.01"), response_moment(Fraction("0.7"), failure=Fraction("0.01"))),
    (events.RandomizedResponse("1.3", 2), response_moment(Fraction("1.3"))),
    (events.RandomizedResponse("1.3", 7), response_moment(Fraction("1.3"), 7)),
    (
        events.KeySelection("0.4", "0.001", 3),
        lambda z: response_moment(Fraction("0.4"), failure=Fraction("0.001"))(z) ** 3,
    ),
    (events.Laplace(2, 3), laplace_moment(2 / 3, plain)),
    (events.Laplace(3, "0.5"), laplace_moment(6.0, plain)),
    (events.DiscreteLaplace(1, 2), discrete_laplace_moment(Fraction(2), 1)),
    (events.DiscreteLaplace(5, "3.5"), discrete_laplace_moment(Fraction("3.5"), 5)),
    (events.DiscreteLaplace(30, 11), discrete_laplace_moment(Fraction(11), 30)),
    (events.Gaussian(2, 3), lambda z: mpmath.exp(z * (z + 1) * mpmath.mpf(4) / 18)),
    (events.DiscreteGaussian(1, Fraction(0.6), 1), mass_moment(*discrete_gaussian_masses(0.6, 1))),
    (events.DiscreteGaussian(2, 2, 1), mass_moment(*discrete_gaussian_masses(2, 2))),
    (events.DiscreteGaussian("1.2", 5, 9), mass_moment(*discrete_gaussian_masses(5, 1))),
]


def exact_logs(moment: Moment, z: np.ndarray) -> list[mpmath.mpc]:
    return [mpmath.log(moment(mpmath.mpc(point))) for point in z]


@pytest.mark.parametrize(("event", "moment"), CLOSED, ids=lambda value: getattr(value, "kind", ""))
def test_real_moments_are_those_of_the_mass_functions(event: Event, moment: Moment) -> None:
    with np.errstate(under="ignore"):
        found = log_moment(event, ORDERS)
    for value, true in zip(found, exact_logs(moment, ORDERS), strict=True):
        assert abs(value - true.real) < 1e-12 * (1 + abs(true.real))


@pytest.mark.parametrize(("event", "moment"), CLOSED, ids=lambda value: getattr(value, "kind", ""))
def test_moments_on_a_line_err_by_less_than_a_quarter_of_what_is_claimed(event: Event, moment: Moment) -> None:
    pair = transform(event, "remove")
    with np.errstate(under="ignore"):
        found = log_moment(event, LINE)
        fixed, slope = pair.roundoff(float(LINE[0].real), float(LINE[-1].imag))
    top = moment(mpmath.mpf(LINE[0].real))
    for z, value in zip(LINE, found, strict=True):
        error = abs(mpmath.exp(mpmath.mpc(value)) - moment(mpmath.mpc(z))) / top
        units = fixed + abs(z) * slope + 8 * (1 + abs(z) ** 2 * pair.variance)
        assert error <= units * 2.0**-53 / 4


@pytest.mark.parametrize("event", [event for event, _ in CLOSED], ids=lambda event: event.kind)
def test_losses_outside_the_finite_part_are_the_missing_mass(event: Event) -> None:
    near_zero = float(np.exp(log_moment(event, np.array([1e-9]))[0]))
    assert infinite_mass(event) == pytest.approx(1 - near_zero, abs=1e-7)
    assert infinite_mass(event) <= 0.011


def test_infinite_mass_is_rounded_up() -> None:
    assert Fraction(infinite_mass(events.Approximate(1, "1e-9"))) >= Fraction("1e-9")
    assert Fraction(infinite_mass(events.KeySelection(1, "1e-9", 5))) >= 1 - (1 - Fraction("1e-9")) ** 5
    assert infinite_mass(events.Approximate(1, 1)) == 1


def test_the_sum_over_many_discrete_laplace_outcomes_is_closed() -> None:
    """A million outcomes lie strictly between the neighbours: continuous noise is within the lattice's correction."""
    wide = log_moment(events.DiscreteLaplace(10**6, 10**6), LINE)
    smooth = log_moment(events.Laplace(1, 1), LINE)
    assert np.abs(wide - smooth).max() < 1e-9


@pytest.mark.parametrize("reach", [0.1, 1.0, 5.0])
def test_the_exponential_mechanism_has_the_moment_of_its_worst_curve(reach: float) -> None:
    moment = bounded_range_moment(reach)
    found = log_moment(events.Exponential(reach), np.array([0.3, 2.0, 6.0]))
    for c, value in zip((0.3, 2.0, 6.0), found, strict=True):
        assert value == pytest.approx(float(mpmath.log(moment(mpmath.mpf(c)))), abs=1e-9)
    z = 1.0 + 0.5j * np.arange(8)
    for point, value in zip(z, log_moment(events.Exponential(reach), z), strict=True):
        assert abs(mpmath.exp(mpmath.mpc(value)) - moment(mpmath.mpc(point))) < 1e-8 * abs(moment(mpmath.mpf(1)))


@pytest.mark.parametrize("reach", [0.1, 1.0, 5.0])
def test_on_the_real_axis_the_exponential_mechanism_costs_its_worst_single_range(reach: float) -> None:
    shifts = np.linspace(0, reach, 20001)
    top = (math.exp(reach) - np.exp(shifts)) / math.expm1(reach)
    for c in (0.3, 2.0, 25.0):
        worst = np.log(top * np.exp(c * shifts) + (1 - top) * np.exp(c * (shifts - reach))).max()
        bound = real_bound(events.Exponential(reach), np.array([c]))[0]
        assert worst <= bound * (1 + 1e-12) <= worst + 1e-6
        assert bound < log_moment(events.Exponential(reach), np.array([c]))[0]
        assert bound < log_moment(events.Pure(reach), np.array([c]))[0]


# -- Poisson sampling ------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("mu", "rate"), [(1.0, 0.01), (2.5, 0.001), (0.05, 0.5)])
def test_sampled_gaussian_moments_are_the_integrals(mu: float, rate: float, direction: Direction) -> None:
    event = events.PoissonSampled(events.Gaussian(mu, 1), rate)
    mix = sampled(rate, direction)

    def moment(z: mpmath.mpc) -> mpmath.mpc:
        def inside(x: mpmath.mpf) -> mpmath.mpc:
            # "add" is written for the mirror image, P at 0 and Q at mu, like "remove" with the roles exchanged
            p, q = mpmath.npdf(x, mu), mpmath.npdf(x)
            first, second = mix(p, q) if direction == "remove" else mix(q, p)
            return first * (first / second) ** z

        far = 14 + mu * (1 + float(mpmath.re(z)))
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


# -- bounds where no pair is known -----------------------------------------------------------------


def test_zcdp_is_known_on_the_real_axis_only() -> None:
    event = events.Concentrated("0.5")
    np.testing.assert_allclose(log_moment(event, ORDERS), 0.5 * ORDERS * (ORDERS + 1), rtol=1e-15)
    with pytest.raises(ParameterError, match="real axis"):
        log_moment(event, LINE)


def test_discrete_gaussian_noise_on_many_coordinates_is_within_its_smoothing_of_the_truth() -> None:
    """Both coordinates move by one: the true moment is a product of two lattice moments."""
    one = log_moment(events.DiscreteGaussian(1, 10, 1), ORDERS)
    two = log_moment(events.DiscreteGaussian("1.5", 10, 2), ORDERS)
    assert np.all(two >= 2 * one)
    assert np.all(two <= 2 * one * 1.02)


def test_narrow_discrete_gaussian_noise_on_many_coordinates_falls_back_to_renyi() -> None:
    event = events.DiscreteGaussian("1.5", 2, 3)
    one = log_moment(events.DiscreteGaussian(1, 2, 1), ORDERS)
    assert transform(event, "remove").concentration == pytest.approx(2 / 8)
    assert np.all(log_moment(event, ORDERS) >= 2 * one * (1 - 1e-12))


def test_integer_vectors_closer_than_one_are_equal() -> None:
    assert not log_moment(events.DiscreteGaussian("0.99", 2, 5), ORDERS).any()


@pytest.mark.parametrize(
    "event",
    [
        events.SampledWithoutReplacement(events.Gaussian(1, 1), 50, 1000),
        events.SampledWithoutReplacement(events.Laplace(1, 1), 50, 1000),
        events.Parallel((events.Laplace(1, 1), events.Gaussian(1, 2))),
    ],
    ids=lambda event: event.kind,
)
def test_chords_of_a_curve_lie_on_or_above_it(event: Event) -> None:
    """E_P[exp(cL)] = c (c+1) integral of exp(c e) delta(e): a pair above the curve has slightly larger moments."""
    pair = transform(event, "remove")
    ends = np.linspace(-12, 12, 24001)
    middles = (ends[1:] + ends[:-1]) / 2
    heights = delta_curve(event, middles, "remove")
    for c in (0.5, 2.0):
        true = c * (c + 1) * float((np.exp(c * middles) * heights).sum()) * (ends[1] - ends[0])
        true += (c + 1) * math.exp(-12 * c)  # below -12 the curve is 1 - exp(e) at least, and at most 1
        found = float(np.exp(pair.log_moment(np.array([c]))[0]))
        assert true * (1 - 1e-4) <= found <= true * (1 + 2e-3)
    # the curve of the atoms themselves
    assert isinstance(pair, atoms.Atoms)
    masses = np.exp(pair.log_masses)
    for epsilon in np.linspace(-3, 3, 61):
        made = float((masses * np.maximum(0, -np.expm1(epsilon - pair.losses))).sum()) + pair.infinite
        assert made >= float(delta_curve(event, np.array([epsilon]), "remove")[0]) * (1 - 1e-12)


def test_chords_survive_a_curve_that_is_not_convex() -> None:
    """The hull of the points is what a convex curve below them can reach."""
    points = np.array([-1.0, 0.0, 0.5, 1.0, 2.0])
    heights = np.array([0.7, 0.4, 0.39, 0.1, 0.01])
    pair = atoms.from_curve(points, heights)
    masses = np.exp(pair.log_masses)
    made = [float((masses * np.maximum(0, -np.expm1(e - pair.losses))).sum()) + pair.infinite for e in points]
    assert made[0] >= 0.7
    assert made[1] >= 0.4
    assert made[3] >= 0.1
    assert made[4] >= 0.01
    assert made[2] <= 0.39
    assert masses.sum() + pair.infinite >= 1 - 1e-15


@pytest.mark.parametrize(
    "event",
    [
        events.Laplace(1, 2),
        events.Exponential("0.4"),
        events.PoissonSampled(events.Gaussian(1, 1), "0.02"),
        events.PoissonSampled(events.Gaussian(1, "0.6"), "0.2"),
    ],
    ids=lambda event: event.kind,
)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_spread_of_the_loss_bounds_the_moment_up_the_line(event: Event, direction: Direction) -> None:
    """|M(c + it)|/M(c) <= 1 - m (1 - sup over x >= tw/2 of |sin(x)/x|), and <= V/t: the claims behind truncation."""
    pair = transform(event, direction)
    for tilt in (0.5, 6.0):
        mass, width, variation = pair.spread(tilt)
        assert 0 < mass <= 1
        z = tilt + 1j * np.linspace(0, 200, 401)
        decay = np.exp(pair.log_moment(z).real - pair.log_moment(z)[0].real)
        x = np.maximum(z.imag * width / 2, 1e-9)
        quotient = np.array([abs(math.sin(v) / v) if v < 3 else 0.0 for v in x])
        lobe = np.minimum(0.2173, 1 / x)
        assert np.all(decay <= 1 - mass * (1 - np.maximum(quotient, lobe)) + 1e-12)
        assert np.all(decay * z.imag <= variation * (1 + 1e-9))
        assert math.isinf(variation) == (event.kind == "laplace")


def test_moments_ask_for_every_kind_of_event() -> None:
    """No kind is forgotten: each has a pair, or a real bound."""
    inner = events.RandomizedResponse(1, 2)
    examples: list[Event] = [
        *(event for event, _ in CLOSED),
        events.Concentrated(1),
        events.Exponential(1),
        events.PoissonSampled(inner, "0.1"),
        events.SampledWithoutReplacement(inner, 1, 10),
        events.Shuffled(inner, 100),
        events.Parallel((inner, events.Laplace(1, 1))),
        events.Group(events.SampledWithoutReplacement(inner, 1, 10), 2),
    ]
    seen = {event.kind for event in examples}
    assert set(events.kinds()) - seen == {"composed", "repeated"}
    for event in examples:
        values = real_bound(event, ORDERS)
        assert np.all(values > 0), event.kind
        assert np.all(np.isfinite(values)), event.kind


def test_a_moment_function_is_exported_for_both_directions() -> None:
    event = events.PoissonSampled(events.Gaussian(1, 1), "0.1")
    assert moments.log_moment(event, ORDERS, "remove")[2] > moments.log_moment(event, ORDERS, "add")[2]
