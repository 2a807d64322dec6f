"""Privacy curves of single events against enumeration and quadrature in arbitrary precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.loss import compose, events
from tacit.loss.accountants import event_curve as curves
from tacit.loss.accountants.event_curve import delta_curve, smallest_epsilon
from tacit.loss.curves import discrete_gaussian, gaussian
from tacit.loss.curves.directions import Direction
from tacit.loss.events import Event
from tests.effort import tried
from tests.loss import truth

EPSILONS = [-3.0, -1.0, -0.25, -0.01, 0.0, 0.01, 0.1, 0.4, 0.99, 1.0, 1.7, 4.0]
BOTH: tuple[Direction, ...] = ("remove", "add")


def assert_follows(event: Event, exact: Any, relative: float = 1e-9, side: Direction = "remove") -> None:
    """`exact(epsilon)` is never above the curve, and the curve hardly above it."""
    found = delta_curve(event, np.array(EPSILONS), side)
    with mpmath.workdps(50):
        for epsilon, bound in zip(EPSILONS, found.tolist(), strict=True):
            true = exact(epsilon)
            assert true <= bound + mpmath.mpf(10) ** -40, epsilon
            assert bound <= true * (1 + relative) + 1e-15, epsilon


def by_law(law: truth.Law) -> Any:
    return lambda epsilon: truth.delta(law, epsilon)


LAWS: list[tuple[Event, Any]] = [
    (events.Pure("0.7"), lambda: truth.response(Fraction("0.7"))),
    (events.Pure(3), lambda: truth.response(3)),
    (events.Approximate("0.7", "0.01"), lambda: truth.approximate(Fraction("0.7"), Fraction("0.01"))),
    (events.RandomizedResponse("0.7", 2), lambda: truth.response(Fraction("0.7"))),
    (events.RandomizedResponse("1.3", 5), lambda: truth.response(Fraction("1.3"), 5)),
    (events.DiscreteLaplace(1, 1), lambda: truth.discrete_laplace(1, 1)),
    (events.DiscreteLaplace(3, "2.5"), lambda: truth.discrete_laplace(3, Fraction("2.5"))),
    (events.DiscreteLaplace(4, "0.3"), lambda: truth.discrete_laplace(4, Fraction("0.3"))),
    (events.DiscreteGaussian(1, "0.4", 1), lambda: truth.discrete_gaussian(1, Fraction("0.4"), 30)),
    (events.DiscreteGaussian(1, 1, 1), lambda: truth.discrete_gaussian(1, 1, 40)),
    (events.DiscreteGaussian("2.9", "1.5", 1), lambda: truth.discrete_gaussian(2, Fraction("1.5"), 60)),
    # Below sqrt 2 only one coordinate moves.
    (events.DiscreteGaussian("1.4", 7, 30), lambda: truth.discrete_gaussian(1, 7, 160)),
    (
        events.KeySelection("0.3", "0.01", 3),
        lambda: truth.together(*[truth.approximate(Fraction("0.3"), Fraction("0.01"))] * 3),
    ),
]


@pytest.fixture(autouse=True)
def _precisely() -> Iterator[None]:
    with mpmath.workdps(50):
        yield


@pytest.mark.parametrize(("event", "law"), LAWS, ids=lambda item: getattr(item, "kind", None))
def test_discrete_events_have_their_exact_curve_in_both_directions(event: Event, law: Any) -> None:
    assert_follows(event, by_law(law()))
    assert_follows(event, by_law(truth.swapped(law())), side="add")


@pytest.mark.parametrize("scale", ["0.5", "1", "3"])
def test_laplace_noise_has_its_exact_curve(scale: str) -> None:
    # The loss of Lap(0, b) against Lap(1, b) falls from 1/b at x = 0 to -1/b at x = 1.
    b = Fraction(scale)

    def exact(epsilon: float) -> Any:
        width = truth.number(b)
        first = lambda x: mpmath.exp(-abs(x) / width) / (2 * width)  # noqa: E731
        second = lambda x: mpmath.exp(-abs(x - 1) / width) / (2 * width)  # noqa: E731
        gain = lambda x: max(mpmath.mpf(0), first(x) - mpmath.exp(mpmath.mpf(epsilon)) * second(x))  # noqa: E731
        edge = min(max((1 - mpmath.mpf(epsilon) * width) / 2, mpmath.mpf(0)), mpmath.mpf(1))
        return mpmath.quad(gain, [-60 * width, -5 * width, 0, edge, 1, 1 + 5 * width, 60 * width])

    with mpmath.workdps(20):  # quadrature needs no more
        found = delta_curve(events.Laplace(1, b), np.array(EPSILONS)).tolist()
        for epsilon, bound in zip(EPSILONS, found, strict=True):
            assert bound == pytest.approx(float(exact(epsilon)), rel=1e-9, abs=1e-12)
    # Between -1/b and 1/b the curve is 1 - exp((epsilon - 1/b)/2), never understated.
    with mpmath.workdps(50):
        for epsilon in np.linspace(0, float(1 / b) * 0.999, 23).tolist():
            formula = 1 - mpmath.exp((mpmath.mpf(epsilon) - 1 / truth.number(b)) / 2)
            assert formula <= delta_curve(events.Laplace(1, b), np.array([epsilon]))[0] <= formula * (1 + 1e-12)


@given(st.integers(1, 6), st.integers(1, 6), st.fractions("0.2", 5), st.floats(0, 0.999))
@settings(max_examples=tried(60), deadline=None)
def test_noise_on_two_coordinates_costs_no_more_than_on_one(s1: int, s2: int, b: Fraction, part: float) -> None:
    # The curve of one coordinate that moves by s1 + s2 covers two that move by s1 and s2; wide scales tend to Laplace.
    epsilon = part * float((s1 + s2) / b)

    def losses(shift: int) -> truth.Law:  # tails collapse onto two atoms
        r = mpmath.exp(-1 / truth.number(b))
        inner = [((1 - r) / (1 + r) * r**x, (1 - r) / (1 + r) * r ** (shift - x)) for x in range(1, shift)]
        return [(1 / (1 + r), r**shift / (1 + r)), *inner, (r**shift / (1 + r), 1 / (1 + r))]

    two = truth.delta(truth.together(losses(s1), losses(s2)), epsilon)
    assert two <= delta_curve(events.DiscreteLaplace(s1 + s2, b), np.array([epsilon]))[0]


@pytest.mark.parametrize("mu", [1e-6, 5e-5, 1e-4, 1e-3, 0.02, 0.1, 0.5, 1.0, 3.0, 10.0, 40.0])
def test_gaussian_noise_has_its_exact_curve(mu: float) -> None:
    epsilons = np.concatenate([[0.0], np.geomspace(1e-3, 1, 9) * 8 * mu, [mu * mu / 2, 2 * mu * mu, 30 * mu]])
    found = delta_curve(events.Gaussian(mu, 1), epsilons)
    with mpmath.workdps(60):
        for epsilon, bound in zip(epsilons.tolist(), found.tolist(), strict=True):
            exact = truth.gaussian_delta(mu, epsilon)
            assert exact <= bound
            assert bound <= exact * (1 + 1e-6) + 1e-290


def test_gaussian_noise_below_zero_follows_from_the_other_direction() -> None:
    assert_follows(events.Gaussian(1, "1.25"), lambda epsilon: truth.gaussian_delta(Fraction("0.8"), epsilon), 1e-11)


def test_wide_discrete_gaussian_noise_lies_between_its_own_curve_and_a_little_more() -> None:
    for sigma, shift in ((40, 3), (200, 1)):
        law = truth.discrete_gaussian(shift, sigma, 12 * sigma)
        for epsilon in (0.0, 0.01, 0.1, 0.3):
            bound = discrete_gaussian.delta_curve_by_rounding(Fraction(sigma), shift * shift, np.array([epsilon]), 1)[0]
            exact = truth.delta(law, epsilon)
            assert exact <= bound <= float(exact) * 1.02 + 1e-30


def test_discrete_gaussian_noise_in_two_dimensions_covers_every_split_of_the_distance() -> None:
    event = events.DiscreteGaussian(5, 3, 2)  # (5, 0), (4, 3), (3, 4) are within distance 5
    for shifts in ((5, 0), (4, 3), (4, 2)):
        law = truth.together(*(truth.discrete_gaussian(shift, 3, 45) for shift in shifts if shift))
        law = [(p, q) for p, q in law if p > 1e-18]
        for epsilon in (0.0, 1.0, 4.0):
            assert truth.delta(law, epsilon) <= delta_curve(event, np.array([epsilon]))[0]


def test_integer_vectors_closer_than_one_are_equal_and_cost_nothing() -> None:
    found = delta_curve(events.DiscreteGaussian("0.9", 1, 5), np.array([0.0, 1.0, -1.0]))
    assert found[:2].tolist() == [0.0, 0.0]
    assert found[2] == pytest.approx(-math.expm1(-1), rel=1e-12)


def exponential_law(scores: list[float], others: list[float], epsilon: float) -> truth.Law:
    weights = [[mpmath.exp(mpmath.mpf(epsilon) * s / 2) for s in row] for row in (scores, others)]
    totals = [mpmath.fsum(row) for row in weights]
    return [(p / totals[0], q / totals[1]) for p, q in zip(*weights, strict=True)]


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0])), min_size=2, max_size=6),
    st.floats(0.05, 4),
    st.floats(0, 1),
)
@settings(max_examples=tried(150), deadline=None)
def test_no_exponential_mechanism_passes_the_bounded_range_curve(
    rows: list[tuple[int, float]], epsilon: float, part: float
) -> None:
    law = exponential_law([float(s) for s, _ in rows], [s + change for s, change in rows], epsilon)
    at = part * epsilon
    bound = delta_curve(events.Exponential(epsilon), np.array([at, -at]))
    assert truth.delta(law, at) <= bound[0] + 1e-18
    assert truth.delta(law, -at) <= bound[1] + 1e-18


@pytest.mark.parametrize("width", [0.1, 1.0, 3.0])
def test_the_bounded_range_curve_is_the_largest_of_its_two_point_losses(width: float) -> None:
    for epsilon in np.linspace(-0.9, 0.9, 7) * width:
        ends = np.linspace(0, width, 20001)
        on_top = (math.exp(width) - np.exp(ends)) / math.expm1(width)
        two_points = on_top * np.maximum(0, -np.expm1(epsilon - ends)) + (1 - on_top) * np.maximum(
            0, -np.expm1(epsilon - ends + width)
        )
        found = float(delta_curve(events.Exponential(width), np.array([epsilon]))[0])
        assert float(np.max(two_points)) <= found * (1 + 1e-12)
        assert found == pytest.approx(float(np.max(two_points)), rel=1e-7)


@pytest.mark.parametrize("rate", ["0.01", "0.3", "0.9", "1"])
@pytest.mark.parametrize(
    ("event", "law"),
    [
        (events.RandomizedResponse("0.7", 2), lambda: truth.response(Fraction("0.7"))),
        (events.RandomizedResponse(3, 4), lambda: truth.response(3, 4)),
        (events.Approximate("0.7", "0.01"), lambda: truth.approximate(Fraction("0.7"), Fraction("0.01"))),
        (events.DiscreteLaplace(3, "2.5"), lambda: truth.discrete_laplace(3, Fraction("2.5"))),
        (events.DiscreteGaussian(1, 1, 1), lambda: truth.discrete_gaussian(1, 1, 40)),
    ],
    ids=lambda item: getattr(item, "kind", None),
)
def test_a_poisson_sample_has_its_exact_curve_in_each_direction(event: Event, law: Any, rate: str) -> None:
    sampled = truth.poisson_sampled(law(), Fraction(rate))
    assert_follows(events.PoissonSampled(event, rate), by_law(sampled), 1e-8)
    assert_follows(events.PoissonSampled(event, rate), by_law(truth.swapped(sampled)), 1e-8, side="add")


def test_a_sample_of_gaussian_noise_has_its_exact_curve() -> None:
    # P' = (1-q) N(0) + q N(1): loss above epsilon means x above a threshold.
    q, sigma = mpmath.mpf(1) / 50, mpmath.mpf(4) / 5
    event = events.PoissonSampled(events.Gaussian(1, "0.8"), "0.02")
    with mpmath.workdps(40):
        for epsilon in (0.0, 0.001, 0.1, 1.0, 3.0):
            ratio = (mpmath.exp(mpmath.mpf(epsilon)) - 1 + q) / q
            edge = sigma**2 * mpmath.log(ratio) + mpmath.mpf(1) / 2
            tail0, tail1 = mpmath.ncdf(-edge / sigma), mpmath.ncdf((1 - edge) / sigma)
            exact = (1 - q) * tail0 + q * tail1 - mpmath.exp(mpmath.mpf(epsilon)) * tail0
            bound = float(delta_curve(event, np.array([epsilon]), "remove")[0])
            assert exact <= bound <= exact * (1 + 1e-10)
        for epsilon in (0.0, 0.001, 0.01, 0.0201):
            left = mpmath.exp(-mpmath.mpf(epsilon)) - (1 - q)
            edge = sigma**2 * mpmath.log(left / q) + mpmath.mpf(1) / 2 if left > 0 else -mpmath.inf
            head0, head1 = mpmath.ncdf(edge / sigma), mpmath.ncdf((edge - 1) / sigma)
            exact = head0 - mpmath.exp(mpmath.mpf(epsilon)) * ((1 - q) * head0 + q * head1)
            bound = float(delta_curve(event, np.array([epsilon]), "add")[0])
            assert exact <= bound <= exact * (1 + 1e-9) + 1e-18


def test_nobody_sampled_costs_nothing_and_everybody_sampled_costs_all() -> None:
    points = np.array(EPSILONS)
    whole = delta_curve(events.Pure(1), points)
    for nobody in (
        events.PoissonSampled(events.Pure(1), 0),
        events.SampledWithoutReplacement(events.Pure(1), 0, 9),
    ):
        assert np.allclose(delta_curve(nobody, points), np.maximum(0, -np.expm1(points)))
    assert np.allclose(delta_curve(events.PoissonSampled(events.Pure(1), 1), points), whole)
    assert np.allclose(delta_curve(events.SampledWithoutReplacement(events.Pure(1), 9, 9), points), whole)


def test_sampling_without_replacement_covers_a_noisy_sum_of_the_sample() -> None:
    # Ten bits, three drawn, their sum with discrete Laplace noise; one bit replaced changes a sampled sum by one.
    scale, drawn = Fraction(1), 3
    rows = [0, 0, 1, 1, 0, 1, 0, 0, 1]

    def output(first: int) -> dict[int, Any]:
        found: dict[int, Any] = dict.fromkeys(range(-40, 45), mpmath.mpf(0))
        picks = list(combinations([first, *rows], drawn))
        for pick in picks:
            for x in found:
                found[x] += mpmath.exp(-abs(mpmath.mpf(x - sum(pick))) / scale) / len(picks)
        total = mpmath.fsum(found.values())
        return {x: value / total for x, value in found.items()}

    one, other = output(1), output(0)
    law = [(one[x], other[x]) for x in one]
    event = events.SampledWithoutReplacement(events.DiscreteLaplace(1, scale), drawn, 10)
    for epsilon in (0.0, 0.1, 0.2, 0.4):
        exact = max(truth.delta(law, epsilon), truth.delta(truth.swapped(law), epsilon))
        bound = float(delta_curve(event, np.array([epsilon]))[0])
        assert exact <= bound
    assert bound < float(delta_curve(event.event, np.array([0.4]))[0]) / 3


def shuffled_law(options: int, epsilon: float, values: tuple[int, ...], first: tuple[int, int]) -> truth.Law:
    """Reports of randomised response, only their histogram seen, the first unit's value one or the other."""
    odds = mpmath.exp(mpmath.mpf(epsilon))
    total = odds + options - 1

    def histogram(rows: tuple[int, ...]) -> dict[tuple[int, ...], Any]:
        found: dict[tuple[int, ...], Any] = {(0,) * options: mpmath.mpf(1)}
        for row in rows:
            after: dict[tuple[int, ...], Any] = {}
            for counts, mass in found.items():
                for report in range(options):
                    key = tuple(c + (o == report) for o, c in enumerate(counts))
                    after[key] = after.get(key, 0) + mass * (odds if report == row else 1) / total
            found = after
        return found

    one, other = histogram((first[0], *values)), histogram((first[1], *values))
    return [(one[key], other[key]) for key in one]


@pytest.mark.parametrize(("options", "population"), [(2, 1), (2, 2), (2, 6), (3, 5), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_shuffled_responses_are_covered_whatever_the_others_hold(options: int, population: int, epsilon: float) -> None:
    response = events.Shuffled(events.RandomizedResponse(epsilon, options), population)
    unknown = events.Shuffled(events.Pure(epsilon), population)
    points = np.array([0.0, 0.3 * epsilon, 0.7 * epsilon])
    known, general = delta_curve(response, points), delta_curve(unknown, points)
    for values in {tuple(sorted(row)) for row in product(range(options), repeat=population - 1)}:
        law = shuffled_law(options, epsilon, values, (0, 1))
        for at, tight, loose in zip(points.tolist(), known.tolist(), general.tolist(), strict=True):
            exact = truth.delta(law, at)
            assert exact <= tight
            assert tight <= loose * (1 + 1e-9)


def test_binary_responses_shuffled_with_balanced_others_are_nearly_attained() -> None:
    law = shuffled_law(2, 0.5, (0, 1) * 20, (0, 1))
    event = events.Shuffled(events.RandomizedResponse("0.5", 2), 41)
    for epsilon in (0.0, 0.1):
        exact = float(truth.delta(law, epsilon))
        found = float(delta_curve(event, np.array([epsilon]))[0])
        assert exact <= found <= 1.6 * exact


def test_shuffling_a_million_reports_amplifies_as_published() -> None:
    # Feldman, McMillan and Talwar 2021, Theorem 3.1 is weaker than the reduction computed here.
    population, local, delta = 10**6, 1.0, 1e-6
    closed = math.log1p(
        (math.exp(local) - 1)
        / (math.exp(local) + 1)
        * (8 * math.sqrt(math.exp(local) * math.log(4 / delta) / population) + 8 * math.exp(local) / population)
    )
    found = smallest_epsilon(events.Shuffled(events.Pure(local), population), delta)
    assert found < closed
    # And it is close to what the central limit theorem says: a shift of p - q among C/4 = n exp(-1)/4 in variance.
    shift = math.tanh(local / 2) / math.sqrt(population * math.exp(-local) / 4)
    assert found == pytest.approx(smallest_epsilon(events.Gaussian(shift, 1), delta), rel=0.02)


def test_shuffling_never_costs_more_than_the_report_alone_and_needs_a_pure_report() -> None:
    points = np.linspace(0, 2, 9)
    for inner in (events.Gaussian(1, 2), events.Approximate(1, "0.01"), events.Pure(60), events.Pure(1)):
        alone = delta_curve(inner, points)
        assert np.all(delta_curve(events.Shuffled(inner, 100), points) <= alone)
    gaussian = events.Gaussian(1, 2)
    assert np.array_equal(delta_curve(events.Shuffled(gaussian, 100), points), delta_curve(gaussian, points))


def test_parallel_parts_cost_the_largest_of_them_at_each_epsilon() -> None:
    points = np.array(EPSILONS)
    parts = (events.Pure("0.5"), events.Gaussian(1, 3), events.PoissonSampled(events.Pure(2), "0.1"))
    for side in BOTH:
        highest = np.max([delta_curve(part, points, side) for part in parts], axis=0)
        assert np.allclose(delta_curve(events.Parallel(parts), points, side), highest, rtol=1e-13)
    assert np.allclose(delta_curve(events.Parallel(()), points), np.maximum(0, -np.expm1(points)))


@pytest.mark.parametrize("size", [2, 5])
def test_a_group_on_the_curve_covers_the_group_itself(size: int) -> None:
    # The group of two parts of discrete Gaussian noise has no closed form; whatever the spread, it is covered.
    part = events.DiscreteGaussian(1, 2, 1)
    event = events.Group(events.Parallel((part, part)), size)
    for share in range(size + 1):
        laws = [truth.discrete_gaussian(s, 2, 40) for s in (share, size - share) if s]
        law = [(p, q) for p, q in truth.together(*laws) if p > 1e-18]
        for epsilon in (0.0, 0.5, 2.0, 6.0):
            assert truth.delta(law, epsilon) <= delta_curve(event, np.array([epsilon]))[0]


def test_a_group_of_an_exact_form_has_its_exact_curve() -> None:
    points = np.array(EPSILONS)
    assert np.array_equal(
        delta_curve(events.Group(events.Gaussian(1, 5), 3), points), delta_curve(events.Gaussian(3, 5), points)
    )


def test_a_rho_is_priced_above_gaussian_noise_of_that_rho_and_never_above_pinsker() -> None:
    points = np.array(EPSILONS)
    for rho in ("0.001", "0.1", "2"):
        gaussian = events.Gaussian(1, 1 / math.sqrt(2 * float(Fraction(rho))) * (1 + 1e-15))
        bound = delta_curve(events.Concentrated(rho), points)
        assert np.all(bound >= delta_curve(gaussian, points) * (1 - 1e-9))
        at_zero = float(delta_curve(events.Concentrated(rho), np.zeros(1))[0])
        assert at_zero <= math.sqrt(float(Fraction(rho)) / 2) * (1 + 1e-12)


def test_two_releases_inside_a_sample_cost_what_their_product_does() -> None:
    inner = events.Composed((events.RandomizedResponse("0.4", 2), events.RandomizedResponse("0.7", 2)))
    law = truth.together(truth.response(Fraction("0.4")), truth.response(Fraction("0.7")))
    event = events.PoissonSampled(inner, "0.2")
    for side, exact in (
        ("remove", truth.poisson_sampled(law, Fraction("0.2"))),
        ("add", truth.swapped(truth.poisson_sampled(law, Fraction("0.2")))),
    ):
        for epsilon in (0.0, 0.05, 0.15, 0.3):
            bound = float(delta_curve(event, np.array([epsilon]), side)[0])  # type: ignore[arg-type]
            true = float(truth.delta(exact, epsilon))
            assert true <= bound <= true * 1.001 + 1e-9


def test_one_release_inside_a_composition_is_itself_and_none_is_nothing() -> None:
    points = np.array(EPSILONS)
    assert np.array_equal(delta_curve(events.Composed((events.Pure(1),)), points), delta_curve(events.Pure(1), points))
    assert np.allclose(delta_curve(events.Repeated(events.Pure(1), 0), points), np.maximum(0, -np.expm1(points)))


def test_samplers_of_different_neighbour_relations_are_not_amplified() -> None:
    points = np.linspace(0, 1, 5)
    replaced = events.SampledWithoutReplacement(events.Pure(1), 1, 10)
    assert np.array_equal(delta_curve(events.PoissonSampled(replaced, "0.1"), points), delta_curve(replaced, points))
    poisson = events.PoissonSampled(events.Pure(1), "0.1")
    for wrapped in (events.SampledWithoutReplacement(poisson, 1, 10), events.Shuffled(poisson, 10)):
        assert np.all(delta_curve(wrapped, points) == 1.0)
        assert smallest_epsilon(wrapped, 0.5) == math.inf


def test_the_smallest_epsilon_is_where_the_curve_meets_delta() -> None:
    for event in (events.Laplace(1, 2), events.Gaussian(1, 3), events.PoissonSampled(events.Gaussian(1, 1), "0.1")):
        found = smallest_epsilon(event, 1e-5)
        worst = max(float(delta_curve(event, np.array([found]), side)[0]) for side in BOTH)
        before = max(float(delta_curve(event, np.array([found * (1 - 1e-9)]), side)[0]) for side in BOTH)
        assert worst <= 1e-5 < before
    assert smallest_epsilon(events.Pure(1), 0.9) == 0.0


def test_what_is_no_kind_of_event_has_no_curve() -> None:
    with pytest.raises(TypeError):
        curves.above(events.Event(), np.zeros(1), "remove")


@pytest.mark.parametrize(
    "event",
    [
        events.DiscreteLaplace(1, Fraction(1, 1000)),
        events.Shuffled(events.RandomizedResponse(Fraction(5), 2), 3 * 10**9),
        events.Shuffled(events.Pure(Fraction(1, 10**300)), 10**5),
    ],
)
def test_a_curve_is_always_a_number_and_never_passes_for_want_of_one(event: events.Event) -> None:
    curve = delta_curve(event, np.array([0.0, 1.0, 720.0, 900.0, -3.0]))
    assert np.isfinite(curve).all()
    assert ((curve >= 0) & (curve <= 1)).all()


def test_noise_far_too_small_is_priced_at_what_it_costs() -> None:
    # the mass at the shift is exp(-1000) of the mass at zero: pure epsilon 1000, and little less at delta 1e-6
    part = events.Parallel((events.DiscreteLaplace(1, Fraction(1, 1000)), events.Gaussian(Fraction(1), Fraction(1))))
    assert compose([part]).by("basic").epsilon(1e-6) > 999


def test_unfair_binomial_tails_are_within_the_error_they_are_granted() -> None:
    """Against the incomplete beta function, computed by another method."""
    from scipy.special import bdtr, betaincc

    for others, rate in ((10**3, 0.01), (10**6, 1e-3), (10**6, 0.2)):
        mean, spread = others * rate, (others * rate * (1 - rate)) ** 0.5
        for z in (-3, 0, 3):
            value = max(1, int(mean + z * spread))
            assert abs(bdtr(value - 1, others, rate) / betaincc(value, others - value + 1, rate) - 1) < 2.0**-26


@pytest.mark.parametrize("options", [2, 3])
def test_reports_that_nearly_tell_the_truth_are_priced_as_such_also_when_shuffled(options: int) -> None:
    event = events.Shuffled(events.RandomizedResponse(45, options), 1)  # nobody to hide among
    at = np.array([20.0, 36.0, 37.0, 40.0, 44.9])
    with mpmath.workdps(60):
        for epsilon, found in zip(at.tolist(), delta_curve(event, at).tolist(), strict=True):
            assert truth.delta(truth.response(45, options), epsilon) * (1 - mpmath.mpf(10) ** -15) <= found, epsilon


@pytest.mark.parametrize("sigma", ["0.2500001", "0.3", "0.31", "0.77", "1.3"])
def test_narrow_lattice_noise_is_covered_at_the_very_epsilons_where_a_point_begins_to_count(sigma: str) -> None:
    noise = Fraction(sigma)
    losses = [float(Fraction(2 * point + 1) / (2 * noise**2)) for point in range(4)]
    near = [each for loss in losses for each in (math.nextafter(loss, 0.0), loss, math.nextafter(loss, math.inf))]
    with mpmath.workdps(60):
        law = truth.discrete_gaussian(1, noise, 40)
        for epsilon, found in zip(near, delta_curve(events.DiscreteGaussian(1, noise, 2), np.array(near)), strict=True):
            assert truth.delta(law, epsilon) <= float(found), epsilon


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.7])
@pytest.mark.parametrize("shift", [1, 5])
def test_small_discrete_gaussians_at_huge_epsilons_neither_overflow_nor_fall_below_the_truth(
    sigma: float, shift: int
) -> None:
    """Warnings are errors here. The truth is the sum over the integers, with fifty digits."""
    with mpmath.workdps(50):
        weight = {x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for x in range(-1_100, 1_100)}
        for epsilon in (0.1, 5.0, 700.0, 2000.0):  # whose losses begin at 980 at the farthest
            factor = mpmath.exp(epsilon)
            excess = [weight[x] - factor * weight[x + shift] for x in range(-1_100, 1_100 - shift)]
            delta = mpmath.fsum(each for each in excess if each > 0) / mpmath.fsum(weight.values())
            assert discrete_gaussian.log_delta_of_shift(sigma, shift, epsilon) >= mpmath.log(delta) - 1e-12


@pytest.mark.parametrize("theta", [0.7, 0.3, 1e-2, 1e-6, 1e-15, 1e-300])
def test_rounding_to_integers_stays_within_the_theta_that_its_variance_is_for(theta: float) -> None:
    """The sum over all integers itself, by Poisson summation, at its largest (x = 0) and its smallest (x = 1/2)."""
    c = 2 * mpmath.pi**2 * mpmath.mpf(discrete_gaussian.rounding_variance(theta))
    assert 2 * mpmath.fsum(mpmath.exp(-c * m * m) for m in range(1, 60)) <= theta
    assert 2 * mpmath.fsum((-1) ** (m + 1) * mpmath.exp(-c * m * m) for m in range(1, 60)) <= theta
    assert 2 * mpmath.exp(-c) / (1 - mpmath.exp(-3 * c)) <= theta


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(7, 4), Fraction(20)])
def test_running_sums_cover_the_far_tail_where_little_is_left_of_them(sigma: Fraction) -> None:
    for multiple in (36.9, 37.05, 37.2, 38.5, 50.0):
        epsilon = multiple / float(sigma) + 1 / float(2 * sigma**2)
        bound = float(discrete_gaussian.delta_curve(Fraction(1), sigma, 1, np.array([epsilon]))[0])
        with mpmath.workdps(400):
            law = truth.discrete_gaussian(1, sigma, math.ceil(60 * sigma))
            assert truth.delta(law, epsilon) <= bound <= 1e-290


def test_one_epsilon_and_many_get_the_same_curve() -> None:
    epsilons = np.array([0.01, 0.3, 1.0, 2.5])
    for mu in (1e-7, 1e-3, 0.4, 6.0):
        single = [math.exp(gaussian.log_delta(mu, epsilon)) for epsilon in epsilons.tolist()]
        np.testing.assert_allclose(gaussian.delta_curve(mu, epsilons), single, rtol=1e-9, atol=1e-280)
    for sigma, shift in ((1.0, 1), (3.5, 2), (100.0, 40)):
        one = [math.exp(discrete_gaussian.log_delta_of_shift(sigma, shift, epsilon)) for epsilon in epsilons.tolist()]
        curve = discrete_gaussian.delta_curve_of_shift(Fraction(sigma), shift, epsilons)
        np.testing.assert_allclose(curve, one, rtol=1e-6, atol=1e-280)
