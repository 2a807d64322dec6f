"""Discretised privacy-loss distributions: brackets around exact truths, and every part of the machinery."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.accountants import discretise, lattice, pld
from tacit.loss.accountants import event_curve as curves
from tacit.loss.accountants.attained import attained
from tacit.loss.accountants.discretise import Measure
from tacit.loss.curves.repeated_response import RepeatedResponse
from tacit.loss.events import Event
from tests.loss import truth

Entries = dict[Event, int]


@pytest.fixture(autouse=True)
def _precisely() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize(
    ("entries", "known"),
    [
        ({events.Laplace(1, 10): 100}, 4.692667),
        ({events.Laplace(1, 10): 10_000}, 94.23586),
        ({events.Gaussian(1, 10): 100}, 4.886554),
        ({events.RandomizedResponse(1, 2): 1000}, 591.0796),
        ({events.RandomizedResponse(1, 2): 100}, 83.5307),
        ({events.PoissonSampled(events.Gaussian(1, 1), "0.01"): 1000}, 2.12451),
        ({events.Pure("0.1"): 20}, 1.788609),
    ],
)
def test_known_totals_lie_in_a_narrow_bracket(entries: Entries, known: float) -> None:
    low, high = pld.epsilon_lower(entries, 1e-6), pld.epsilon(entries, 1e-6)
    assert low <= high <= low * (1 + 1e-3)
    assert low * (1 - 1e-6) <= known <= high * (1 + 1e-6)
    assert high == pytest.approx(known, rel=1e-5)
    assert pld.delta(entries, high) * (1 + 1e-4) >= 1e-6
    assert pld.delta(entries, high) <= 1e-6 * (1 + 1e-3)


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-6, 1e-10, 1e-14])
@pytest.mark.parametrize(("epsilon", "count"), [("0.1", 50), ("1", 7), ("0.013", 700)])
def test_responses_are_bracketed_down_to_tiny_deltas(epsilon: str, count: int, delta: float) -> None:
    entries: Entries = {events.Pure(epsilon): count}
    exact = RepeatedResponse.of(float(epsilon), count).epsilon(delta)  # itself checked term by term elsewhere
    low, high = pld.epsilon_lower(entries, delta), pld.epsilon(entries, delta)
    assert low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    assert high <= exact * (1 + 1e-4) + 1e-9


@pytest.mark.parametrize("delta", [0.05, 1e-5, 1e-13])
@pytest.mark.parametrize("mu", [0.05, 1.0, 8.0])
def test_gaussian_noise_is_bracketed(mu: float, delta: float) -> None:
    entries: Entries = {events.Gaussian(mu, 2): 3, events.Gaussian(mu, "1.5"): 2}
    total = mpmath.mpf(mu) * mpmath.sqrt(mpmath.mpf(3) / 4 + mpmath.mpf(8) / 9)
    low, high = pld.epsilon_lower(entries, delta), pld.epsilon(entries, delta)
    assert truth.gaussian_delta(total, high) <= delta
    assert low == 0 or truth.gaussian_delta(total, low) >= delta
    assert high - low <= 1e-4 * high + 1e-12


LAWS: list[tuple[Event, Any]] = [
    (events.RandomizedResponse("0.7", 4), lambda: truth.response(Fraction("0.7"), 4)),
    (events.Approximate("0.4", "0.001"), lambda: truth.approximate(Fraction("0.4"), Fraction("0.001"))),
    (events.DiscreteLaplace(2, "3.3"), lambda: losses_only(truth.discrete_laplace(2, Fraction("3.3"), 250))),
    (events.Pure("0.31"), lambda: truth.response(Fraction("0.31"))),
    (
        events.PoissonSampled(events.RandomizedResponse(2, 2), "0.1"),
        lambda: truth.poisson_sampled(truth.response(2), Fraction("0.1")),
    ),
    (
        events.PoissonSampled(events.DiscreteGaussian(1, 1, 1), "0.2"),
        lambda: truth.poisson_sampled(truth.discrete_gaussian(1, 1, 9), Fraction("0.2")),
    ),
]


def losses_only(law: truth.Law) -> truth.Law:
    """Outcomes of equal likelihood ratio put together."""
    found: dict[str, tuple[Any, Any]] = {}
    for p, q in law:
        key = mpmath.nstr(p / q, 30)
        old = found.get(key, (0, 0))
        found[key] = (old[0] + p, old[1] + q)
    return list(found.values())


@given(st.lists(st.integers(0, len(LAWS) - 1), min_size=1, max_size=2), st.sampled_from([0.1, 1e-2, 1e-4]))
@example([0, 2, 4], 1e-4)
@example([1, 3, 5], 1e-2)
@settings(max_examples=8, deadline=None)
def test_mixtures_bracket_all_outcomes_enumerated(which: list[int], target: float) -> None:
    entries: Entries = {}
    for index in which:
        entries[LAWS[index][0]] = entries.get(LAWS[index][0], 0) + 1
    law = truth.together(*(LAWS[index][1]() for index in which))
    both = (law, truth.swapped(law))
    high, low = pld.epsilon(entries, target), pld.epsilon_lower(entries, target)
    assert max(truth.delta(side, high) for side in both) <= target
    assert low == 0 or max(truth.delta(side, low) for side in both) >= target * (1 - mpmath.mpf(10) ** -12)
    at = 0.3
    exact = max(truth.delta(side, at) for side in both)
    assert pld.epsilon_lower(entries, float(exact * (1 + mpmath.mpf(10) ** -12))) <= at
    assert exact <= pld.delta(entries, at) <= exact * (1 + mpmath.mpf("1e-3")) + 1e-9


def test_both_directions_of_a_sample_count() -> None:
    # Few steps at a large rate: adding the unit is the dearer direction for small epsilon.
    event = events.PoissonSampled(events.RandomizedResponse(3, 2), "0.6")
    law = truth.poisson_sampled(truth.response(3), Fraction("0.6"))
    twice = truth.together(law, law)
    for epsilon in (0.0, 0.2, 1.0, 2.0, 3.0):
        removed, added = truth.delta(twice, epsilon), truth.delta(truth.swapped(twice), epsilon)
        found = pld.delta({event: 2}, epsilon)
        assert max(removed, added) <= found
        assert found <= float(max(removed, added)) * 1.001 + 1e-9


def test_told_outright_cannot_be_hidden() -> None:
    entries: Entries = {events.Approximate("0.1", "1e-7"): 5, events.Laplace(1, 10): 10}
    aside = 1 - (1 - Fraction("1e-7")) ** 5
    assert pld.epsilon(entries, float(aside) * 0.999) == math.inf
    assert Fraction(pld.delta(entries, 1e3)) >= aside
    assert pld.delta(entries, 1e3) == pytest.approx(float(aside), rel=1e-6)
    assert pld.epsilon_lower(entries, pld.delta(entries, 1.4)) <= 1.4


def test_the_borders() -> None:
    assert pld.epsilon({}, 0.0) == 0.0
    assert pld.delta({}, 0.0) == 0.0
    assert pld.epsilon_lower({}, 1e-6) == 0.0
    assert pld.epsilon({events.Pure("0.25"): 4}, 0.0) == 1.0
    assert pld.epsilon({events.Gaussian(1, 1): 1}, 0.0) == math.inf
    assert pld.epsilon({events.Gaussian(1, 1): 1}, 1.0) == 0.0
    assert pld.delta({events.Pure("0.25"): 4}, 1.0) == 0.0
    assert pld.epsilon({events.Pure(0): 4, events.Gaussian(1, 100): 0}, 1e-9) == 0.0
    unknown = events.Shuffled(events.PoissonSampled(events.Pure(1), "0.1"), 5)
    assert pld.epsilon({unknown: 1}, 1e-6) == math.inf
    assert pld.delta({unknown: 1}, 5.0) == 1.0


def test_the_whole_curve_at_once_is_an_upper_bound_everywhere() -> None:
    entries: Entries = {events.Pure("0.3"): 2, events.RandomizedResponse("0.7", 4): 2}
    law = truth.together(*[truth.response(Fraction("0.3"))] * 2, *[truth.response(Fraction("0.7"), 4)] * 2)
    points = np.linspace(0, 2.1, 22)
    found = pld.delta_curve(entries, points, "remove")
    for epsilon, bound in zip(points.tolist(), found.tolist(), strict=True):
        exact = truth.delta(law, epsilon)
        assert exact <= bound <= exact * (1 + mpmath.mpf("1e-3")) + 1e-7


# -- the parts --------------------------------------------------------------------------------------


def curve_of(measure: Measure, epsilon: float) -> float:
    gains = np.maximum(0.0, -np.expm1(np.minimum(epsilon - measure.losses, 0.0)))
    return math.fsum(measure.masses * gains) + measure.infinite


@pytest.mark.parametrize(
    "event",
    [
        events.Pure("0.337"),
        events.Approximate("0.337", "0.01"),
        events.Laplace(1, 2),
        events.Gaussian(1, 2),
        events.RandomizedResponse(1, 5),
        events.PoissonSampled(events.Gaussian(1, 1), "0.1"),
        events.PoissonSampled(events.Laplace(1, 1), "0.1"),
    ],
    ids=lambda event: event.kind,
)
@pytest.mark.parametrize("side", ["remove", "add"])
def test_measures_lie_on_their_side_of_the_curve_also_between_the_grid_points(event: Event, side: Any) -> None:
    step = discretise.short_binary(0.01)
    above = discretise.from_above(event, step, side, 1e-12)
    below = discretise.from_below(event, step, side, 1e-12)
    assert np.all(above.masses >= 0)
    assert np.all(below.masses >= 0)
    points = np.concatenate([np.linspace(-2, 2, 203), above.losses[::50]])
    exact = curves.delta_curve(event, points, side)
    for epsilon, true in zip(points.tolist(), exact.tolist(), strict=True):
        high, low = curve_of(above, epsilon), curve_of(below, epsilon)
        assert low - 1e-13 <= true <= high + 1e-13
        assert high - low <= 0.01  # first order at an atom off the grid
    assert above.masses.sum() + above.infinite >= 1 - 1e-15
    assert below.masses.sum() + below.infinite <= 1 + 1e-15


def test_dents_in_a_bound_are_no_obstacle() -> None:
    # The lower of two curves need not be convex.
    event = events.Shuffled(events.RandomizedResponse(3, 2), 30)
    measure = discretise.from_above(event, discretise.short_binary(0.01), "remove", 1e-12)
    for epsilon in np.linspace(-3, 3, 61).tolist():
        assert curve_of(measure, epsilon) >= curves.delta_curve(event, np.array([epsilon]))[0] - 1e-13


@pytest.mark.parametrize(
    ("event", "instead"),
    [
        (events.Exponential(1), events.Pure("0.5")),
        (events.Shuffled(events.Pure(1), 5), events.Pure(0)),
        (events.SampledWithoutReplacement(events.Pure(1), 1, 5), events.Pure(0)),
        (events.Laplace(1, 2), events.Laplace(1, 2)),
        (events.DiscreteGaussian("2.5", 2, 5), events.DiscreteGaussian(2, 2, 1)),
        (events.DiscreteGaussian("0.5", 2, 5), events.Pure(0)),
        (events.Parallel((events.Pure(1), events.Pure(2))), events.Pure(2)),
        (events.Composed((events.Pure(1), events.Exponential(8))), events.Pure(4)),
        (events.Repeated(events.Pure(1), 2), events.Pure(1)),
        (events.Group(events.KeySelection(1, "0.1", 2), 3), events.KeySelection(1, "0.1", 2)),
        (events.PoissonSampled(events.Exponential(1), "0.1"), events.PoissonSampled(events.Pure("0.5"), "0.1")),
        (events.PoissonSampled(events.Shuffled(events.Pure(1), 5), "0.1"), events.Pure(0)),
        (events.Concentrated(0), events.Pure(0)),
    ],
)
def test_a_lower_bound_speaks_of_a_release_that_fits_the_event(event: Event, instead: Event) -> None:
    assert attained(event) == instead


def test_what_is_attained_never_passes_the_curve_of_the_event() -> None:
    points = np.linspace(0, 3, 13)
    for event in (
        events.Exponential(2),
        events.Concentrated("0.2"),
        events.DiscreteGaussian(3, 2, 2),
        events.DiscreteGaussian(300, 300, 2),
        events.Parallel((events.Gaussian(1, 2), events.Pure(1))),
    ):
        lower, upper = curves.delta_curve(attained(event), points), curves.delta_curve(event, points)
        assert np.all(lower * (1 - 2.0**-26) <= upper)
    wide = events.DiscreteGaussian(300, 300, 1)
    ratio = curves.delta_curve(wide, np.array([1.0]))[0] / curves.delta_curve(attained(wide), np.array([1.0]))[0]
    assert 1 <= ratio < 1.001


def test_a_composition_on_the_lattice_is_the_convolution_with_its_error_counted() -> None:
    step = discretise.short_binary(0.25)
    one = Measure(step, -2, np.array([0.1, 0.2, 0.3, 0.15, 0.25]), 0.0)
    two = Measure(step, -1, np.array([0.4, 0.0, 0.6]), 0.0)
    parts = [(one, 3), (two, 2)]
    plain = np.array([1.0])
    for part, count in parts:
        for _ in range(count):
            plain = np.convolve(plain, part.masses)
    first = 3 * -2 + 2 * -1
    losses = step * (first + np.arange(len(plain)))
    for tilt in (0.01, 1.0, 6.0):
        composed = lattice.compose(parts, tilt, 32)
        for epsilon in (-0.3, 0.0, 0.6, 1.4):
            exact = math.fsum(plain * np.maximum(0, -np.expm1(np.minimum(epsilon - losses, 0))))
            value, error = composed.delta(epsilon, lattice.highest(parts))
            assert abs(value - exact) <= error
            assert error <= 1e-10
    assert lattice.highest(parts) == first + len(plain) - 1
    assert lattice.log_moment(parts, 0.7) == pytest.approx(math.log(math.fsum(plain * np.exp(0.7 * losses))), rel=1e-12)
    tails = lattice.Tails.of(parts, np.array([0.5, 2.0, 5.0]))
    assert math.fsum(plain[losses > 1.5]) <= tails.above(1.5) < 1


def test_every_factor_adds_its_own_rounding_and_too_many_say_nothing() -> None:
    part = Measure(0.25, -2, np.array([0.1, 0.2, 0.3, 0.15, 0.25]), 0.0)
    few, many = (lattice.compose([(part, count)], 1.0, 1024) for count in (10, 1000))
    assert many.relative > 1000 * 8 * 2.0**-52 * 32
    assert many.relative > 50 * few.relative
    assert many.error > 50 * few.error
    hopeless = lattice.compose([(part, 10**13)], 1.0, 1024)
    assert hopeless.delta(1.0, 5) == (0.0, math.inf)


def test_folding_only_adds_and_its_bound_holds() -> None:
    step = discretise.short_binary(0.25)
    part = Measure(step, -4, np.array([0.2, 0, 0, 0.1, 0.1, 0.1, 0, 0, 0.5]), 0.0)
    parts = [(part, 6)]
    size, tilt = 32, 1.0  # the composition has 49 cells: some fold
    composed = lattice.compose(parts, tilt, size)
    tails = lattice.Tails.of(parts, np.array([0.5, 1.5, 3.0, 10.0]))
    plain = np.array([1.0])
    for _ in range(6):
        plain = np.convolve(plain, part.masses)
    losses = step * (np.arange(len(plain)) - 24)
    for epsilon in (1.0, 2.0, 4.0):
        exact = math.fsum(plain * np.maximum(0, -np.expm1(np.minimum(epsilon - losses, 0))))
        value, error = composed.delta(epsilon, 24)
        folded = tails.folded(tilt, epsilon, 6.0, size * step)
        assert value + error >= exact
        assert value - error - folded <= exact
    assert composed.delta(-5.0, 24) == (0.0, math.inf)  # more cells asked for than the circle has


def test_mass_on_infinity_composes_like_a_coin_that_tells_all() -> None:
    part = Measure(0.25, 0, np.array([0.9]), 0.1)
    exact = 1 - Fraction(9, 10) ** 7
    assert Fraction(lattice.infinite_mass([(part, 7)])) >= exact * (1 - Fraction(1, 10**14))
    assert lattice.infinite_mass([(part, 7)]) == pytest.approx(float(exact), rel=1e-12)
    assert lattice.infinite_mass_down([(part, 7)]) == pytest.approx(float(exact), rel=1e-12)
    assert Fraction(lattice.infinite_mass_down([(part, 7)])) <= exact
