"""Log moments against sums and integrals of the mass functions and densities themselves, in arbitrary precision."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.loss.accountants.event_curve import delta_curve
from tacit.loss.accountants.event_moments import transform
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tacit.loss.log_moments import atoms
from tacit.loss.log_moments.transforms import total_log_moment
from tests.loss.moment_truths import (
    DIRECTIONS,
    LINE,
    ORDERS,
    Moment,
    bounded_range_moment,
    discrete_gaussian_masses,
    discrete_laplace_moment,
    laplace_moment,
    mass_moment,
    plain,
    response_moment,
)
from tests.loss.moments import infinite_mass, log_moment, real_bound

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


@pytest.mark.parametrize("event", [events.Laplace(1, 3), events.Pure("0.4")], ids=lambda event: event.kind)
def test_many_pairs_are_summed_as_one_by_one(event: Event) -> None:
    """Long even lines take a short cut; it must not change the sum."""
    z = 2.5 + 0.31j * np.arange(300)
    others = [transform(events.Laplace(1, Fraction(k)), "remove") for k in (2, 5, 7)]
    others += [transform(events.Pure(Fraction(1, k)), "remove") for k in (2, 5, 7)]
    pairs = [transform(event, "remove"), *others]
    for counts in ([1] * 7, [3, 1, 4, 1, 5, 9, 2]):
        alone = sum(count * pair.log_moment(z) for pair, count in zip(pairs, counts, strict=True))
        assert np.abs(np.exp(total_log_moment(pairs, counts, z) - alone) - 1).max() < 1e-12
    orders = np.geomspace(0.01, 1e6, 50)
    with np.errstate(under="ignore"):
        alone = sum(pair.log_moment(orders) for pair in pairs)
        np.testing.assert_allclose(total_log_moment(pairs, [1] * 7, orders), alone, rtol=1e-12)


# -- bounds where no pair is known -----------------------------------------------------------------


def test_zcdp_is_known_on_the_real_axis_only() -> None:
    event = events.Concentrated("0.5")
    np.testing.assert_allclose(log_moment(event, ORDERS), 0.5 * ORDERS * (ORDERS + 1), rtol=1e-15)
    assert transform(event, "remove").concentration == 0.5


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


def test_chords_are_never_a_rounding_below_the_curve_they_join() -> None:
    """A Gaussian curve with deltas down to 1e-16, rounded up; the pair's own curve is summed with 30 digits."""

    def curve(at: float) -> mpmath.mpf:
        e = mpmath.mpf(at)
        return mpmath.ncdf(mpmath.mpf(1) / 2 - e) - mpmath.exp(e) * mpmath.ncdf(-mpmath.mpf(1) / 2 - e)

    points = np.linspace(-6.0, 8.5, 291)
    heights = np.array([float(curve(at)) * (1 + 2.0**-50) for at in points])
    pair = atoms.from_curve(points, heights)
    table = [
        (mpmath.mpf(loss), mpmath.exp(mpmath.mpf(m))) for loss, m in zip(pair.losses, pair.log_masses, strict=True)
    ]
    for at in points[::10]:
        made = mpmath.fsum(mass * max(0, -mpmath.expm1(mpmath.mpf(at) - loss)) for loss, mass in table) + pair.infinite
        assert curve(at) <= made <= curve(at) * (1 + 1e-9)
    assert mpmath.fsum(mass for _, mass in table) + pair.infinite >= 1


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


def test_a_sample_has_a_pair_for_each_direction() -> None:
    event = events.PoissonSampled(events.Gaussian(1, 1), "0.1")
    assert log_moment(event, ORDERS, "remove")[2] > log_moment(event, ORDERS, "add")[2]
