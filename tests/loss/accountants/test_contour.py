"""Totals against exact truths: binomial sums, the analytic Gaussian, convolved lattices, brackets of densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.loss import events
from tacit.loss.accountants import contour
from tacit.loss.accountants.event_moments import transform
from tacit.loss.accountants.inversion import Inverse, Rounding
from tacit.loss.accountants.line import Line
from tacit.loss.events import Event
from tests.effort import tried
from tests.loss.contour_truths import (
    Curve,
    assert_sound_and_tight,
    discrete_laplace_lattice,
    gaussian_truth,
    lattice_truth,
    response_truth,
)

DELTAS = [0.3, 1e-2, 1e-6, 1e-10, 1e-14]


# -- exact truths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("epsilon", "count"), [(0.1, 1), (1.0, 7), (0.1, 100), (0.01, 1000), (3.0, 40)])
def test_randomised_response_costs_its_binomial_sum(epsilon: float, count: int, delta: float) -> None:
    truth = response_truth(epsilon, count)
    assert_sound_and_tight({events.Pure(epsilon): count}, truth, delta)
    assert_sound_and_tight({events.RandomizedResponse(epsilon, 2): count}, truth, delta)


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_failures_of_approximate_guarantees_add_to_the_binomial_sum(delta: float) -> None:
    truth = response_truth(0.3, 20, failure=1e-6)
    assert_sound_and_tight({events.Approximate(0.3, 1e-6): 20}, truth, delta)


def test_key_selection_fails_once_for_each_key() -> None:
    truth = response_truth(0.3, 20, failure=1e-6)
    for delta in (1e-2, 3e-5):
        assert_sound_and_tight({events.KeySelection(0.3, 1e-6, 5): 4}, truth, delta)
    assert contour.epsilon({events.KeySelection(0.3, 1e-6, 5): 4}, 1.9e-5) == math.inf


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("mu", [0.003, 0.2, 1.0, 7.0])
def test_gaussian_noise_costs_its_analytic_curve(mu: float, delta: float) -> None:
    entries: dict[Event, int] = {events.Gaussian(1, 2 / Fraction(mu)): 4}
    found = contour.epsilon(entries, delta)
    truth = gaussian_truth(mu)
    assert truth(found) <= delta
    assert found == 0 or truth(found * (1 - 1e-6)) > delta * (1 - 1e-6)
    assert_sound_and_tight(entries, truth, delta, slack=1e-5)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("shift", "step", "count"), [(1, 0.5, 12), (3, 0.2, 8), (5, 1.0, 4)])
def test_discrete_laplace_noise_costs_the_convolution_of_its_lattice(
    shift: int, step: float, count: int, delta: float
) -> None:
    truth = lattice_truth([(discrete_laplace_lattice(shift, step), count)], step)
    assert_sound_and_tight({events.DiscreteLaplace(shift, 1 / Fraction(step)): count}, truth, delta)


@pytest.mark.parametrize("delta", DELTAS)
def test_k_ary_response_costs_the_convolution_of_its_three_losses(delta: float) -> None:
    truth_weight = math.exp(0.8)
    total = truth_weight + 9
    masses = {1: truth_weight / total, -1: 1 / total, 0: 8 / total}
    assert_sound_and_tight({events.RandomizedResponse(0.8, 10): 15}, lattice_truth([(masses, 15)], 0.8), delta)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("sigma", "shift", "count"), [(0.7, 1, 3), (3.0, 2, 4), (10.0, 1, 2)])
def test_discrete_gaussian_noise_costs_the_convolution_of_its_lattice(
    sigma: float, shift: int, count: int, delta: float
) -> None:
    x = np.arange(-int(12 * sigma) - 2, int(12 * sigma) + 3)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    masses = {shift - 2 * int(i): float(w) for i, w in zip(x, weights / weights.sum(), strict=True)}
    truth = lattice_truth([(masses, count)], shift / (2 * sigma**2))
    assert_sound_and_tight({events.DiscreteGaussian(shift, Fraction(sigma), 1): count}, truth, delta)


def test_discrete_gaussian_noise_on_two_moving_coordinates_is_never_below_its_lattice() -> None:
    sigma = 6.0
    x = np.arange(-90, 91)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    masses = {1 - 2 * int(i): float(w) for i, w in zip(x, weights / weights.sum(), strict=True)}
    truth = lattice_truth([(masses, 2)], 1 / (2 * sigma**2))
    # squared distance 2: one step in each of two coordinates
    entries: dict[Event, int] = {events.DiscreteGaussian("1.42", 6, 3): 1}
    found = contour.epsilon(entries, 1e-6)
    assert truth(found) <= 1e-6 < truth(0.97 * found)
    for at in (0.1, 0.5, 1.0):
        assert truth(at) <= contour.delta(entries, at) <= 2 * truth(at)


@pytest.mark.parametrize("delta", DELTAS)
def test_lattices_and_a_gaussian_together_cost_the_gaussian_curve_averaged(delta: float) -> None:
    masses = [(discrete_laplace_lattice(3, 0.2), 4), ({1: 1 / (1 + math.exp(-0.2)), -1: 1 / (1 + math.exp(0.2))}, 6)]
    total = {0: 1.0}
    for part, count in masses:
        for _ in range(count):
            following: dict[int, float] = {}
            for loss, mass in total.items():
                for step, chance in part.items():
                    following[loss + step] = following.get(loss + step, 0.0) + mass * chance
            total = following
    smooth = gaussian_truth(0.5)
    entries: dict[Event, int] = {events.DiscreteLaplace(3, 5): 4, events.Pure("0.2"): 6, events.Gaussian(1, 2): 1}

    def truth(at: float) -> float:
        return math.fsum(mass * smooth(at - 0.2 * loss) for loss, mass in total.items())

    found = contour.epsilon(entries, delta)
    assert truth(found) <= delta * (1 + 1e-10)
    assert found == 0 or truth(found * (1 - 1e-5)) > delta


# -- brackets of densities -------------------------------------------------------------------------


def bracket(cdf_p: Callable[[np.ndarray], np.ndarray], low: float, high: float, count: int, step: float) -> Curve:
    """Round losses down to the grid: a lower bound of delta. `cdf_p` is the P-probability of losses at most l."""
    edges = np.arange(math.floor(low / step), math.ceil(high / step) + 2)
    cdf = np.concatenate([cdf_p(edges[:-1] * step - 1e-15), [1.0]])  # what lies below the grid is dropped
    masses = np.maximum(np.diff(cdf), 0.0)
    size = count * (len(masses) - 1) + 1
    total = np.fft.irfft(np.fft.rfft(masses, size) ** count, size)
    losses = (count * int(edges[0]) + np.arange(size)) * step

    def lower(at: float) -> float:
        # the transform errs by less than 1e-14 a point
        return float((total * np.maximum(0.0, -np.expm1(at - losses))).sum()) - 1e-14 * size

    return lower


def normal_cdf(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-float(v) / math.sqrt(2)) for v in x])


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("sigma", "rate", "count"), [(1.0, 0.2, 8), (2.0, 0.05, 12)])
def test_sampled_gaussian_totals_are_never_below_a_lower_bracket(
    sigma: float, rate: float, count: int, direction: str
) -> None:
    """Of the two directions ours reports the worse, so it is above both brackets and close to the larger."""
    mu = 1 / sigma

    def position(losses: np.ndarray) -> np.ndarray:
        """x at which log(1 - q + q exp(mu x - mu^2/2)) is the loss."""
        inside = np.maximum(np.expm1(losses) / rate + 1, 1e-300)
        return (np.log(inside) + mu * mu / 2) / mu

    def removing(losses: np.ndarray) -> np.ndarray:
        x = position(losses)
        mixed = (1 - rate) * normal_cdf(x) + rate * normal_cdf(x - mu)
        return np.where(np.expm1(losses) / rate + 1 <= 1e-300, 0.0, mixed)

    def adding(losses: np.ndarray) -> np.ndarray:
        return np.where(np.expm1(-losses) / rate + 1 <= 1e-300, 1.0, 1 - normal_cdf(position(-losses)))

    cdf, low, high = (removing, math.log1p(-rate), 4.0) if direction == "remove" else (adding, -4.0, -math.log1p(-rate))
    truth = bracket(cdf, low, high, count, 4e-3)
    entries: dict[Event, int] = {events.PoissonSampled(events.Gaussian(1, Fraction(sigma)), Fraction(rate)): count}
    for at in (0.1, 0.5, 1.0):
        assert contour.delta(entries, at) >= truth(at)
    if direction == "remove":
        for delta in (1e-2, 1e-4):
            found = contour.epsilon(entries, delta)
            assert truth(found) <= delta
            assert truth(found - count * 4e-3 - 1e-3 * found) > delta


def continuous_laplace_cdf(ratio: float) -> Callable[[np.ndarray], np.ndarray]:
    def cdf(losses: np.ndarray) -> np.ndarray:
        # L = ratio - 2 clip(x, 0, ratio): L <= l when x >= (ratio - l)/2
        return np.where(losses >= ratio, 1.0, np.where(losses < -ratio, 0.0, np.exp(-(ratio - losses) / 2) / 2))

    return cdf


@pytest.mark.parametrize(("ratio", "count"), [(0.1, 30), (1.0, 6)])
def test_laplace_totals_are_bracketed(ratio: float, count: int) -> None:
    step = ratio / 500
    truth = bracket(continuous_laplace_cdf(ratio), -ratio, ratio, count, step)
    entries: dict[Event, int] = {events.Laplace(Fraction(ratio), 1): count}
    for delta in (0.1, 1e-3, 1e-7):
        found = contour.epsilon(entries, delta)
        assert truth(found) <= delta
        assert truth(found - count * step - 1e-3 * found) > delta


kinds = st.one_of(
    st.floats(0.02, 2.0).map(lambda e: ("pure", e)),
    st.floats(0.02, 2.0).map(lambda e: ("laplace", e)),
    st.floats(0.02, 2.0).map(lambda e: ("ternary", e)),
)


@settings(max_examples=tried(40), deadline=None)
@given(st.lists(st.tuples(kinds, st.integers(1, 4)), min_size=1, max_size=4), st.floats(-9.0, -0.7))
def test_random_mixes_lie_within_an_independent_bracket(
    mix: list[tuple[tuple[str, float], int]], log_delta: float
) -> None:
    """Losses rounded down give less than the truth, rounded up more; ours is above the one and near the other."""
    step = 2e-3
    arrays = [np.array([1.0]), np.array([1.0])]
    starts = [0, 0]
    entries: dict[Event, int] = {}
    makers = {
        "pure": lambda e: events.Pure(e),
        "laplace": lambda e: events.Laplace(e, 1),
        "ternary": lambda e: events.RandomizedResponse(e, 3),
    }
    for (kind, size), count in mix:
        event = makers[kind](size)
        entries[event] = entries.get(event, 0) + count
        if kind == "pure":
            p = 1 / (1 + math.exp(-size))
            cdf = lambda x, p=p, e=size: np.where(x >= e, 1.0, np.where(x >= -e, 1 - p, 0.0))  # noqa: E731
        elif kind == "laplace":
            cdf = continuous_laplace_cdf(size)
        else:
            lie = 1 / (2 + math.exp(size))
            cdf = lambda x, lie=lie, e=size: np.where(  # noqa: E731
                x >= e, 1.0, np.where(x >= 0, 2 * lie, np.where(x >= -e, lie, 0.0))
            )
        edges = np.arange(math.floor(-size / step) - 1, math.ceil(size / step) + 2)
        for which, nudge in ((0, -1e-12), (1, 1e-12)):
            cumulative = np.concatenate([[0.0], cdf(edges[1:-1] * step + nudge), [1.0]])
            masses = np.maximum(np.diff(cumulative), 0.0)
            for _ in range(count):
                arrays[which] = np.convolve(arrays[which], masses)
                starts[which] += int(edges[0]) + which
    delta = 10.0**log_delta
    found = contour.epsilon(entries, delta)

    def bound(which: int, at: float) -> float:
        losses = (starts[which] + np.arange(len(arrays[which]))) * step
        return float((arrays[which] * np.maximum(0.0, -np.expm1(at - losses))).sum())

    assert bound(0, found) <= delta * (1 + 1e-9)
    size = sum(event_size * count for (_, event_size), count in mix)
    assert found <= 1e-3 * size or bound(1, found * (1 - 1e-3)) > delta
    at = 0.35 * size
    priced = contour.delta(entries, at)
    assert bound(0, at) * (1 - 1e-9) <= priced <= bound(1, at) * 1.02 + 1e-12


# -- the theorem itself ----------------------------------------------------------------------------


@settings(max_examples=tried(150), deadline=None)
@given(
    st.floats(0.05, 30.0),
    st.floats(0.5, 80.0),
    st.integers(2, 400),
    st.floats(0.0, 0.5),
    st.floats(0.0, 6.0),
    st.sampled_from([(0.0, 0.2, 30), (0.7, 0.5, 5), (2.0, 1.0, 1)]),
)
def test_every_line_gives_an_upper_bound(
    tilt: float, window: float, nodes: int, fiction: float, at: float, total: tuple[float, float, int]
) -> None:
    """Any tilt, window and number of nodes: aliasing, truncation and a fictitious release only ever overstate."""
    mu, epsilon, count = total
    step = 2 * math.pi / window
    z = tilt + 1j * step * np.arange(nodes)
    line = Line(tilt, step, fiction, 0.0, z, -np.log(z * (z + 1)))
    pair = transform(events.Pure(epsilon), "remove")
    with np.errstate(under="ignore", over="ignore"):
        fixed, slope = pair.roundoff(tilt, line.height)
        inverse = Inverse.of(line, count * pair.log_moment(z), mu**2, Rounding(count * fixed, count * slope, 1))
        found = inverse.log_delta(at)
    lattice = response_truth(epsilon, count)
    if mu == 0:
        truth = lattice(at)
    else:
        smooth = gaussian_truth(mu)
        keep = 1 / (1 + math.exp(-epsilon))
        truth = math.fsum(
            math.comb(count, i) * keep ** (count - i) * (1 - keep) ** i * smooth(at - epsilon * (count - 2 * i))
            for i in range(count + 1)
        )
    assert truth == 0 or found >= math.log(truth) - 1e-10


@pytest.mark.parametrize(
    "event",
    [
        events.SampledWithoutReplacement(events.Approximate(Fraction(0), Fraction(1, 10)), 1, 10),
        events.PoissonSampled(events.Approximate(Fraction(0), Fraction(1)), Fraction(1, 3)),
    ],
)
def test_an_event_whose_curve_is_flat_has_its_delta_at_every_epsilon(event: events.Event) -> None:
    failure = {"sampled-without-replacement": Fraction(1, 100), "poisson-sampled": Fraction(1, 3)}[event.kind]
    for epsilon in (0.0, 2.0):
        found = contour.delta({event: 1}, epsilon)
        assert float(failure) <= found <= float(failure) * 1.001
