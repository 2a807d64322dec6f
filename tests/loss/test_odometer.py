"""The odometer: its formula worked out by hand, and its promise checked against the best adaptive adversary."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import pytest

from tacit.errors import BudgetExceeded, ParameterError
from tacit.loss import events
from tacit.loss.odometer import Odometer, Travelled

GAPS = [2.0**j for j in range(-6, 11)]


def gaussian(mu: str) -> events.Gaussian:
    return events.Gaussian(Fraction(mu), Fraction(1))


@pytest.mark.parametrize(("mu", "count"), [("0.1", 1), ("0.1", 100), ("0.01", 5), ("2", 10)])
def test_the_reading_after_gaussian_noise_is_the_formula(mu: str, count: int) -> None:
    odometer = Odometer(Fraction(1, 10**6), Fraction(0))
    state = odometer.start()
    for _ in range(count):
        state = odometer.advance(state, gaussian(mu))
    rho = count * float(Fraction(mu)) ** 2 / 2
    by_hand = min((1 + gap) * rho + math.log(len(GAPS) / 1e-6) / gap for gap in GAPS)
    assert by_hand <= odometer.reading(state) * (1 + 1e-13)
    assert odometer.reading(state) <= by_hand * (1 + 1e-9)


def test_a_reserve_leaves_less_for_the_orders() -> None:
    event = gaussian("1/10")
    whole, half = Odometer(Fraction(1, 10**6), Fraction(0)), Odometer(Fraction(1, 10**6))
    state = whole.advance(whole.start(), event)
    assert half.reading(state) == pytest.approx(
        min((1 + gap) * 0.005 + math.log(2 * len(GAPS) / 1e-6) / gap for gap in GAPS), rel=1e-9
    )
    assert half.reading(state) > whole.reading(state)


def test_nothing_has_been_lost_at_the_start() -> None:
    odometer = Odometer(Fraction(1, 10**6))
    assert odometer.reading(odometer.start()) == 0


def test_a_few_pure_releases_read_as_their_sum() -> None:
    odometer = Odometer(Fraction(1, 10**9))
    state = odometer.advance(odometer.start(), events.Repeated(events.Pure("0.1"), 3))
    assert odometer.reading(state) == pytest.approx(0.3, rel=1e-15)


def test_many_pure_releases_read_as_less_than_their_sum() -> None:
    odometer = Odometer(Fraction(1, 10**6))
    state = odometer.advance(odometer.start(), events.Repeated(events.Pure("0.01"), 10_000))
    # rho = 10,000 * 0.01^2/2 = 0.5, and the simple conversion at delta/34 reads 0.5 + 2 sqrt(0.5 * 17.3) = 6.4
    assert 5 < odometer.reading(state) < 7.5


def test_the_reading_never_falls() -> None:
    odometer, state, last = Odometer(0.001), Travelled(), 0.0  # type: ignore[arg-type]
    menu = [
        gaussian("0.3"),
        events.Pure("0.5"),
        events.Laplace(Fraction(1), Fraction(4)),
        events.Exponential(Fraction(1)),
    ]
    for event in menu * 3:
        state = odometer.advance(state, event)
        assert odometer.reading(state) > last
        last = odometer.reading(state)


def test_own_deltas_are_held_to_the_reserve() -> None:
    odometer = Odometer(Fraction(1, 10**6))
    state = odometer.advance(odometer.start(), events.Approximate("0.1", "4e-7"))
    assert state.delta == Fraction(4, 10**7)
    assert odometer.reading(state) == pytest.approx(0.1)
    with pytest.raises(BudgetExceeded, match="reserve") as refused:
        odometer.advance(state, events.Approximate("0.1", "2e-7"))
    assert (refused.value.asked, refused.value.remaining) == (Fraction(2, 10**7), Fraction(1, 10**7))
    odometer.advance(state, events.Approximate("0.1", "1e-7"))


@pytest.mark.parametrize("bad", [0, 1, -0.1, "x"])
def test_a_wrong_delta_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="delta"):
        Odometer(bad)  # type: ignore[arg-type]


def test_no_adversary_gets_ahead_of_the_reading_more_often_than_delta() -> None:
    """Dynamic programming over 60 adaptive responses: the largest probability that the loss ever passes the reading."""
    failure = 0.9
    odometer = Odometer(Fraction(9, 10), Fraction(0))
    menu = {1: events.RandomizedResponse(Fraction(1, 10), 2), 4: events.RandomizedResponse(Fraction(4, 10), 2)}

    @functools.cache
    def after(ones: int, fours: int) -> float:
        state = odometer.advance(odometer.start(), events.Repeated(menu[1], ones))
        return odometer.reading(odometer.advance(state, events.Repeated(menu[4], fours)))

    @functools.cache
    def passes(ones: int, fours: int, tenths: int) -> float:
        if tenths / 10 > after(ones, fours):
            return 1.0
        best = 0.0
        for step, (one, four) in ((1, (1, 0)), (4, (0, 1))):
            if ones + fours < 60:
                truth = 1 / (1 + math.exp(-step / 10))
                best = max(
                    best,
                    truth * passes(ones + one, fours + four, tenths + step)
                    + (1 - truth) * passes(ones + one, fours + four, tenths - step),
                )
        return best

    assert 0 < passes(0, 0, 0) <= failure
