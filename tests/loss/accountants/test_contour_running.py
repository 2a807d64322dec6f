"""The contour accountant where only bounds are known, as a running total, and at the edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss import events
from tacit.loss.accountants import contour, renyi
from tacit.loss.accountants.contour import ContourAccountant
from tacit.loss.accountants.event_curve import delta_curve
from tacit.loss.accountants.zcdp import rho_of_pure
from tacit.loss.events import Event
from tests.loss.contour_truths import gaussian_truth, response_truth

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
    assert running.epsilon(1e-6) == pytest.approx(contour.epsilon({event: 1000}, 1e-6), rel=1e-6)


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
