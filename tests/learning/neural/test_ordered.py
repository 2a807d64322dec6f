"""A fixed order with correlated noise: its sensitivity by enumeration, its price, and what is released."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from tacit.errors import ParameterError, TacitError
from tacit.learning.neural.runs.ordered import (
    BITS,
    Correlated,
    OrderedRun,
    band_for,
    mean_error,
    plan_ordered,
    stretched,
)
from tacit.loss import compose
from tests.learning.neural.test_trainer import batch_of, net, trainer, weights

BANDS = [(4096,), (4096, 2048), (4096, 1500, 900), (4096, 4096, 4096, 4096)]


def encoded(band: tuple[int, ...], sums: list[list[int]]) -> Any:
    own = Correlated(band)
    return torch.stack([own.encoded(torch.tensor(each, dtype=torch.float64)) for each in sums])


@pytest.mark.parametrize("band", BANDS)
@pytest.mark.parametrize(("groups", "steps"), [(4, 4), (4, 9), (5, 8), (6, 13)])
def test_no_person_moves_what_is_released_by_more_than_the_sensitivity_and_some_move_it_so_far(
    band: tuple[int, ...], groups: int, steps: int
) -> None:
    """Every group that a person can be in, and every direction at every step of it, in two coordinates of length 1."""
    participations = -(-steps // groups)
    bound = stretched(band, participations) * (1 << BITS)
    moves = [(1, 0), (-1, 0), (0, 1), (0, -1), (0, 0)]
    furthest = 0
    rest = [[7 * step % 5, -step] for step in range(steps)]
    plain = encoded(band, rest)
    for group in range(groups):
        own = range(group, steps, groups)
        for chosen in itertools.product(moves, repeat=len(own)):
            moved = [list(each) for each in rest]
            for step, move in zip(own, chosen, strict=True):
                moved[step] = [a + b for a, b in zip(moved[step], move, strict=True)]
            furthest = max(furthest, int((encoded(band, moved) - plain).square().sum()))
    assert Fraction(furthest) <= bound**2
    if groups * (participations - 1) + len(band) <= steps:  # the last column of the first group ends within the run
        assert Fraction(furthest) >= bound**2 * (1 - Fraction(1, 10**9))


def test_estimates_solve_for_the_sums_where_there_is_no_noise() -> None:
    band = band_for(50, 16)
    own = Correlated(band)
    for step in range(50):
        total = torch.tensor([step * 1000.0, -3.0, 2.0**40], dtype=torch.float64)
        assert torch.allclose(own.released(total, torch.zeros(3, dtype=torch.int64), 1.0), total, rtol=1e-9)


def test_bands_fit_within_an_epoch_and_have_less_error_than_independent_noise() -> None:
    for steps, groups in ((1, 1), (10, 1), (10, 4), (200, 20), (2000, 100)):
        band = band_for(steps, groups)
        assert len(band) <= min(groups, steps, 32)
        assert band[0] == 1 << BITS
        assert all(0 <= each <= 1 << BITS for each in band)
    assert mean_error(band_for(2000, 100), 2000) < 0.1 * mean_error((1 << BITS,), 2000)


@pytest.mark.parametrize("buys_count", [False, True])
def test_the_price_is_the_budget(buys_count: bool) -> None:
    run = plan_ordered(2, 1e-5, rate=0.1, steps=35, buys_count=buys_count)
    assert 1.99 < compose([run.event]).epsilon(run.delta) <= 2.0000001
    assert run.participations == 4
    assert run.spent_so_far(3) == 2


def test_everybody_is_in_one_step_of_each_epoch() -> None:
    own = trainer(sampling="fixed", rate=0.25, steps=8, size=200)
    assert isinstance(own.run, OrderedRun)
    met = []
    for _ in range(8):
        met.append(own._chosen())
        own.step(batch_of(own, met[-1]))
    assert sorted(np.concatenate(met[:4])) == list(range(200))
    assert [sorted(each) for each in met[:4]] == [sorted(each) for each in met[4:]]


@pytest.mark.statistical
def test_noise_of_a_fixed_order_is_that_of_the_theorem() -> None:
    """False alarms below 1e-9: six deviations of the variance of 12 x 41 normal draws."""
    module = net()
    own = trainer(module, sampling="fixed", rate=0.25, steps=12, size=200)
    own._groups = np.full(200, 77)  # nobody is in any step
    released = []
    before = weights(module).double()
    for batch in own:
        own.step(batch)
        released.append((before - weights(module).double()) / 0.1 * (own.size * 0.25))
        before = weights(module).double()
    assert isinstance(own.run, OrderedRun)
    c = np.array(own.run.band) / (1 << BITS)
    matrix = sum(value * np.eye(12, k=-lag) for lag, value in enumerate(c))
    white = matrix @ torch.stack(released).numpy()
    expected = float(own._grid.sigma) * 2.0**-own._grid.exponent
    assert abs(np.sqrt((white**2).mean()) / expected - 1) < 6 / np.sqrt(2 * white.size) + 1e-3


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"rate": 0.3}, "rate"), ({"rate": 0}, "rate"), ({"sampling": "shuffled"}, "sampling"), ({"steps": 0}, "steps")],
)
def test_what_has_no_meaning_in_a_fixed_order_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises((ParameterError, TacitError), match=said):
        trainer(**{"sampling": "fixed", "rate": 0.25, **changed})


def test_a_step_that_failed_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    own = trainer(sampling="fixed", rate=0.25)
    own.step(batch_of(own, own._chosen()))
    with monkeypatch.context() as broken:
        broken.setattr(own._summing, "total", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            own.step(batch_of(own, own._chosen()))
    with pytest.raises(TacitError, match="its order is lost"):
        own.step(batch_of(own, own._chosen()))


def test_a_journal_would_hold_exact_sums_so_it_is_refused(tmp_path: Any) -> None:
    with pytest.raises(ParameterError, match="journal"):
        trainer(sampling="fixed", rate=0.25, journal=tmp_path)
