"""Totals against exact truths: binomial sums, the analytic Gaussian, convolutions of lattices, brackets of densities.

An epsilon is sound when the true delta at it is at most the delta asked for, and tight when the true delta a little
below it is more. Truths are sums of positive terms in floats (relative error below 1e-11) or in mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss import contour, events, renyi
from tacit.loss.contour import ContourAccountant
from tacit.loss.curves import delta_curve
from tacit.loss.events import Event
from tacit.loss.inversion import Inverse, Rounding
from tacit.loss.line import Line
from tacit.loss.moments import transform
from tacit.loss.zcdp import rho_of_pure

Curve = Callable[[float], float]
DELTAS = [0.3, 1e-2, 1e-6, 1e-10, 1e-14]


def response_truth(epsilon: float, count: int, failure: float = 0.0) -> Curve:
    """Kairouz, Oh and Viswanath: a binomial sum over the number of lies."""
    log_keep, log_flip = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    lies = np.arange(count + 1)
    log_ways = np.array([mpmath.log(mpmath.binomial(count, int(i))) for i in lies], dtype=float)
    masses = np.exp(log_ways + (count - lies) * log_keep + lies * log_flip)
    losses = epsilon * (count - 2 * lies)
    survive = (1 - failure) ** count

    def truth(at: float) -> float:
        return float((masses * np.maximum(0.0, -np.expm1(at - losses))).sum()) * survive + (1 - survive)

    return truth


def gaussian_truth(mu: float) -> Curve:
    def truth(at: float) -> float:
        with mpmath.workdps(40):
            m, e = mpmath.mpf(mu), mpmath.mpf(at)
            return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))

    return truth


def lattice_truth(parts: list[tuple[dict[int, float], int]], unit: float) -> Curve:
    """Losses that are multiples of `unit`, convolved exactly."""
    total = {0: 1.0}
    for masses, count in parts:
        for _ in range(count):
            following: dict[int, float] = {}
            for loss, mass in total.items():
                for step, chance in masses.items():
                    following[loss + step] = following.get(loss + step, 0.0) + mass * chance
            total = following
    losses, masses_ = np.array([*total]) * unit, np.array([*total.values()])
    return lambda at: float((masses_ * np.maximum(0.0, -np.expm1(at - losses))).sum())


def discrete_laplace_lattice(shift: int, step: float) -> dict[int, float]:
    """Losses of discrete Laplace noise in units of `step`, from its mass function."""
    r = math.exp(-step)
    found: dict[int, float] = {}
    for x in range(-int(60 / step) - 1, int(60 / step) + shift + 2):
        loss = abs(x - shift) - abs(x)
        found[loss] = found.get(loss, 0.0) + (1 - r) / (1 + r) * r ** abs(x)
    return found


def assert_sound_and_tight(entries: dict[Event, int], truth: Curve, delta: float, slack: float = 1e-3) -> None:
    found = contour.epsilon(entries, delta)
    assert truth(found) <= delta * (1 + 1e-10)
    if found > 0:
        assert truth(found * (1 - slack)) > delta
    else:
        assert truth(0.0) <= delta
    for at in (0.5 * found, found):
        priced = contour.delta(entries, at)
        assert truth(at) * (1 - 1e-10) <= priced <= truth(at) * 1.02 + 1e-300


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


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=150, deadline=None)
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


# -- what is only bounded --------------------------------------------------------------------------


def test_zcdp_is_not_priced_as_a_gaussian() -> None:
    """Randomised response at epsilon 3 satisfies this rho and beats the Gaussian of that rho far out."""
    rho = rho_of_pure(3.0)
    truth = response_truth(3.0, 1)
    entries: dict[Event, int] = {events.Concentrated(rho): 1}
    gaussian = gaussian_truth(math.sqrt(2 * rho))
    assert any(truth(at) > gaussian(at) for at in (0.5, 1.0, 2.0))
    for at in (0.5, 1.0, 2.0, 2.9):
        assert contour.delta(entries, at) >= max(truth(at), gaussian(at))


def test_zcdp_beside_known_releases_costs_less_than_renyi_alone_and_never_less_than_the_worst_member() -> None:
    rho = rho_of_pure(0.3)
    entries: dict[Event, int] = {events.Pure("0.1"): 400, events.Concentrated(rho): 1}
    member = contour.epsilon({events.Pure("0.1"): 400, events.Pure("0.3"): 1}, 1e-6)
    gaussian = contour.epsilon({events.Pure("0.1"): 400, events.Gaussian(Fraction(math.sqrt(2 * rho)), 1): 1}, 1e-6)
    found = contour.epsilon(entries, 1e-6)
    assert max(member, gaussian) < found < renyi.epsilon(entries, 1e-6)


def test_rho_of_several_releases_adds_before_it_is_converted() -> None:
    """Four quarters cost what the whole costs, and an epsilon that every rho-zCDP mechanism can be shown to have."""
    whole = contour.epsilon({events.Concentrated("0.1"): 1}, 1e-6)
    assert contour.epsilon({events.Concentrated("0.025"): 4}, 1e-6) == pytest.approx(whole, rel=1e-9)
    assert whole <= 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))


def test_the_exponential_mechanism_is_not_priced_as_randomised_response() -> None:
    """Twenty choices of range 0.1 at delta 1e-6: 1.789 as randomised response, 0.979 by the best order of its range."""
    assert contour.epsilon({events.Exponential("0.1"): 20}, 1e-6) == pytest.approx(0.979, abs=5e-4)
    assert contour.epsilon({events.Pure("0.1"): 20}, 1e-6) == pytest.approx(1.789, abs=5e-4)


@pytest.mark.parametrize("reach", [0.5, 2.0])
def test_the_exponential_mechanism_covers_an_adversary_who_picks_ranges_by_the_answers(reach: float) -> None:
    """Two rounds, the second range chosen after the first answer: the worst case by search over both."""
    shifts = np.linspace(0, reach, 201)
    top = (math.exp(reach) - np.exp(shifts)) / math.expm1(reach)

    def one(at: np.ndarray) -> np.ndarray:
        gain = lambda loss: np.maximum(0.0, -np.expm1(np.subtract.outer(at, loss)))  # noqa: E731
        return (top * gain(shifts) + (1 - top) * gain(shifts - reach)).max(axis=-1)

    for at in (0.0, 0.4 * reach, reach, 1.6 * reach):
        worst = (top * one(at - shifts) + (1 - top) * one(at - shifts + reach)).max()
        found = contour.delta({events.Exponential(reach): 2}, at)
        assert worst <= found <= max(2.5 * worst, 1e-3)
        assert found <= contour.delta({events.Pure(reach): 2}, at) * (1 + 1e-6)


@pytest.mark.parametrize(
    "event",
    [
        events.SampledWithoutReplacement(events.Gaussian(1, 1), 10, 1000),
        events.Shuffled(events.RandomizedResponse(1, 2), 500),
        events.Parallel((events.Laplace(1, 1), events.Gaussian(1, 2))),
        events.Group(events.SampledWithoutReplacement(events.RandomizedResponse(1, 2), 1, 10), 2),
        events.PoissonSampled(events.Composed((events.Laplace(1, 1), events.Laplace(1, 2))), "0.1"),
    ],
    ids=lambda event: event.kind,
)
def test_events_known_by_their_curve_cost_at_least_that_curve(event: Event) -> None:
    for at in (0.05, 0.25):
        with np.errstate(invalid="ignore"):
            worse = max(float(delta_curve(event, np.array([at]), way)[0]) for way in ("remove", "add"))
        # the bound for a group is not convex, and its convex hull is still a bound
        hull = 0.99 if event.kind == "group" else 1 - 1e-9
        assert worse * hull <= contour.delta({event: 1}, at) <= worse * 1.02 + 1e-9


def test_a_sampled_release_is_priced_in_its_worse_direction() -> None:
    """Sampled randomised response, exactly: removing has the longer tail, adding may be worse before it."""
    rate, e = 0.4, 2.0
    p = [math.exp(e) / (1 + math.exp(e)), 1 / (1 + math.exp(e))]
    q = p[::-1]
    removing = [((1 - rate) * b + rate * a, b) for a, b in zip(p, q, strict=True)]
    adding = [(a, (1 - rate) * a + rate * b) for a, b in zip(p, q, strict=True)]
    entries: dict[Event, int] = {events.PoissonSampled(events.RandomizedResponse(2, 2), "0.4"): 2}
    for at in (0.0, 0.2, 0.45, 0.8, 1.2):
        deltas = []
        for pairs in (removing, adding):
            outcomes = [(a * c, b * d) for a, b in pairs for c, d in pairs]
            deltas.append(sum(max(0.0, a - math.exp(at) * b) for a, b in outcomes))
        assert contour.delta(entries, at) == pytest.approx(max(deltas), rel=2e-3)
        assert contour.delta(entries, at) >= max(deltas)


# -- a running total -------------------------------------------------------------------------------


STREAM: list[tuple[Event, int]] = [
    (events.Laplace(1, 10), 3),
    (events.Gaussian(1, 20), 5),
    (events.Pure("0.05"), 10),
    (events.PoissonSampled(events.Gaussian(1, 1), "0.01"), 50),
    (events.Laplace(1, 10), 4),
    (events.Concentrated("0.001"), 2),
    (events.PoissonSampled(events.Laplace(1, 1), "0.01"), 5),
    (events.Approximate("0.01", "1e-9"), 3),
    (events.Exponential("0.1"), 6),
    (events.DiscreteLaplace(2, 20), 6),
]


def test_a_running_total_agrees_with_the_batch_after_every_addition() -> None:
    running = ContourAccountant()
    so_far: dict[Event, int] = {}
    for event, count in STREAM:
        running.add(event, count)
        so_far[event] = so_far.get(event, 0) + count
        batch = contour.epsilon(so_far, 1e-6)
        assert running.epsilon(1e-6) == pytest.approx(batch, rel=2e-4)
        assert running.delta(batch) == pytest.approx(1e-6, rel=5e-3)


def test_a_line_that_has_gone_stale_still_gives_upper_bounds() -> None:
    """One question early fixes the line; a thousand additions later the answer is still not below the truth."""
    running = ContourAccountant()
    running.add(events.Pure("0.1"))
    running.epsilon(1e-3)
    for count in (1, 8, 90, 900):
        running.add(events.Pure("0.1"), count)
        total = {1: 2, 8: 10, 90: 100, 900: 1000}[count]
        truth = response_truth(0.1, total)
        for delta in (1e-3, 1e-9):
            found = running.epsilon(delta)
            assert truth(found) <= delta
            assert truth(found * (1 - 1e-3)) > delta


def test_composed_and_repeated_events_are_taken_apart() -> None:
    inside = events.Composed((events.Laplace(1, 10), events.Repeated(events.Gaussian(1, 5), 3)))
    running = ContourAccountant()
    running.add(events.Repeated(inside, 2))
    apart: dict[Event, int] = {events.Laplace(1, 10): 2, events.Gaussian(1, 5): 6}
    assert running.epsilon(1e-6) == contour.epsilon(apart, 1e-6)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(len(STREAM))), st.integers(1, len(STREAM) - 1))
def test_more_releases_and_less_delta_cost_more(order: list[int], some: int) -> None:
    fewer: dict[Event, int] = {}
    more: dict[Event, int] = {}
    for i in order:
        event, count = STREAM[i]
        more[event] = more.get(event, 0) + count
    for i in order[:some]:
        event, count = STREAM[i]
        fewer[event] = fewer.get(event, 0) + count
    assert contour.epsilon(fewer, 1e-5) <= contour.epsilon(more, 1e-5) * (1 + 2e-4)
    assert contour.epsilon(more, 1e-4) <= contour.epsilon(more, 1e-5) * (1 + 2e-4)
    assert contour.delta(more, 1.0) <= contour.delta(more, 0.5) * (1 + 1e-3)


def test_a_thousand_equal_steps_are_as_many_as_one_entry_of_a_thousand() -> None:
    event = events.PoissonSampled(events.Gaussian(1, 1), "0.01")
    running = ContourAccountant()
    for _ in range(20):
        running.add(event, 50)
    assert running.epsilon(1e-6) == pytest.approx(contour.epsilon({event: 1000}, 1e-6), rel=1e-9)


def test_published_subsampled_gaussian_totals_are_met() -> None:
    """Certified brackets of the truth from two independent discretisations at delta 1e-6."""
    known = [(1.0, "0.01", 1000, 2.12451326, 2.12451527), (2.0, "0.01", 1000, 0.72091436, 0.720916269)]
    known += [(0.8, "0.001", 100000, 2.91438218, 2.91447836)]
    for sigma, rate, steps, low, high in known:
        found = contour.epsilon({events.PoissonSampled(events.Gaussian(1, Fraction(sigma)), rate): steps}, 1e-6)
        assert low <= found <= high * (1 + 1e-5)


# -- edges -----------------------------------------------------------------------------------------


def test_nothing_costs_nothing() -> None:
    assert contour.epsilon({}, 1e-6) == 0
    assert contour.delta({}, 0.0) == 0
    assert contour.epsilon({events.Pure(0): 5, events.PoissonSampled(events.Gaussian(1, 1), 0): 3}, 1e-6) == 0
    assert contour.epsilon({events.Laplace(1, 1): 0}, 1e-6) == 0


def test_delta_zero_leaves_the_sum_of_pure_epsilons() -> None:
    found = contour.epsilon({events.Pure("0.25"): 4, events.Laplace(1, 2): 2, events.RandomizedResponse(1, 3): 1}, 0.0)
    assert 3 <= found <= 3 * (1 + 1e-12)
    assert contour.epsilon({events.Gaussian(1, 5): 1}, 0.0) == math.inf
    assert contour.epsilon({events.Approximate(1, "1e-9"): 1}, 0.0) == math.inf


def test_no_epsilon_undoes_certain_failure() -> None:
    assert contour.epsilon({events.Approximate("0.1", 1): 1, events.Laplace(1, 1): 3}, 0.5) == math.inf
    assert contour.delta({events.Approximate("0.1", 1): 1, events.Laplace(1, 1): 3}, 5.0) == 1


def test_delta_one_allows_everything() -> None:
    assert contour.epsilon({events.Laplace(1, 1): 3}, 1.0) == 0


def test_beyond_all_losses_only_failures_remain() -> None:
    assert contour.delta({events.Pure("0.5"): 4}, 2.1) == 0
    left = contour.delta({events.Approximate("0.5", "1e-3"): 4}, 2.1)
    assert 1 - (1 - 1e-3) ** 4 <= left <= (1 - (1 - 1e-3) ** 4) * (1 + 1e-6)


@pytest.mark.parametrize("event", [events.Gaussian(1, Fraction(1, 10**4)), events.Laplace(10**5, 1), events.Pure(3000)])
def test_hopeless_releases_cost_much_but_finitely(event: Event) -> None:
    found = contour.epsilon({event: 3}, 1e-6)
    assert math.isfinite(found)
    assert found > 8000


@pytest.mark.parametrize(
    "event", [events.Gaussian(1, 10**9), events.Laplace(1, 10**9), events.Pure(Fraction(1, 10**9))]
)
def test_tiny_releases_cost_nothing_at_an_ordinary_delta_and_their_worth_at_a_tiny_one(event: Event) -> None:
    assert contour.epsilon({event: 1}, 1e-6) == 0
    assert 0 < contour.epsilon({event: 1}, 1e-11) < 1e-8


def test_wrong_questions_are_refused() -> None:
    running = ContourAccountant()
    running.add(events.Laplace(1, 1))
    for bad in (-0.1, 1.5, math.nan):
        with pytest.raises(ParameterError, match="delta"):
            running.epsilon(bad)
    for bad in (-0.1, math.inf, math.nan):
        with pytest.raises(ParameterError, match="epsilon"):
            running.delta(bad)
    with pytest.raises(ParameterError, match="count"):
        running.add(events.Laplace(1, 1), -1)
