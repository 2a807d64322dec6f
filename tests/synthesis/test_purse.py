"""What an adaptive release spends: the lemma on choices, the filter on adaptive steps, what is charged; all exact."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit, log_ndtr, ndtr, ndtri

from tacit.errors import ParameterError
from tacit.loss import compose, events
from tacit.noise import secure
from tacit.synthesis import scoring
from tacit.synthesis.purse import Purse, Round, TableNoise, filled
from tacit.synthesis.spending import rho_of

LEVELS = np.concatenate([[0.0], np.geomspace(1e-3, 6, 40)])
LEVELS = np.concatenate([-LEVELS[::-1], LEVELS])


def normal_delta(mu: float, epsilon: np.ndarray) -> np.ndarray:
    """What two normal laws mu apart miss epsilon by (Balle, Wang 2018)."""
    return np.asarray(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu)))


def delta_of(p: np.ndarray, q: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """What two laws on finitely many outcomes miss epsilon by."""
    return np.asarray(np.maximum(p[None] - np.exp(epsilon)[:, None] * q[None], 0).sum(axis=1))


def test_coins_whose_log_odds_are_eta_apart_are_as_near_as_the_lemma_says() -> None:
    for eta in (1e-3, 0.03, 0.3, 1.0, 4.0):
        at = np.linspace(-30, 30, 6001)
        apart = ndtri(expit(at + eta / 2)) - ndtri(expit(at - eta / 2))
        bound = eta * math.sqrt(2 * math.pi) / 4
        assert np.nanmax(apart) <= bound * (1 + 1e-9)
        if eta < 0.1:
            assert np.nanmax(apart) > 0.999 * bound  # nothing smaller would do


@pytest.mark.parametrize("share", [Fraction(1, 7), Fraction(1, 50), Fraction(8)])
def test_a_choice_misses_no_epsilon_by_more_than_the_normal_pair_that_it_costs(share: Fraction) -> None:
    """The exponential mechanism's law is written down for neighbouring scores, at the worst of them too."""
    this = Round.of(share, 1, 1)
    eta = float(this.choice.event.range)
    mu = math.sqrt(float(this.cost - this.table.cost))
    rng, worst = np.random.default_rng(1), 0.0
    moves = [np.array(each, dtype=float) for each in itertools.product((-1, 1), repeat=4)]
    for scores in (np.zeros(4), np.array([0.0, 3, 3, 9]), *rng.uniform(-20, 20, (20, 4))):
        for move in [*moves, *rng.uniform(-1, 1, (20, 4))]:
            p, q = (np.exp(eta / 2 * each) / np.exp(eta / 2 * each).sum() for each in (scores, scores + move))
            for one, other in ((p, q), (q, p)):
                found, allowed = delta_of(one, other, LEVELS), normal_delta(mu, LEVELS)
                assert (found <= allowed + 1e-12).all()
                worst = max(worst, float(found[LEVELS == 0].max() / allowed[LEVELS == 0].max()))
    assert worst > (0.95 if eta < 0.3 else 0.5)


def test_a_choice_is_as_sharp_as_its_range_and_scores_allow() -> None:
    this = Round.of(Fraction(1, 50), 2, 16)
    assert this.choice.factor == this.choice.event.range / (2 * scoring.GRID * 2 * 16)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_table_misses_no_epsilon_by_more_than_the_normal_pair_that_it_costs(rows: int) -> None:
    """The law of rounded noise is summed cell by cell; a unit that moves one count by all its rows is the worst."""
    noise = TableNoise.of(Fraction(1, 3), rows)
    sigma, places = float(noise.sigma), np.arange(-80, 81)
    law = ndtr((places + 0.5) / sigma) - ndtr((places - 0.5) / sigma)
    moved = ndtr((places - rows + 0.5) / sigma) - ndtr((places - rows - 0.5) / sigma)
    assert noise.cost <= Fraction(1, 3)
    assert (delta_of(law, moved, LEVELS) <= normal_delta(math.sqrt(float(noise.cost)), LEVELS) + 1e-12).all()
    assert noise.scale == pytest.approx(math.sqrt(float((law * places**2).sum())), rel=1e-6)


def test_tables_get_the_noise_that_they_say() -> None:
    noise = TableNoise.of(Fraction(1, 100), 2)
    counts = np.arange(40_000).reshape(200, 200)
    off = noise.release(counts, secure()) - counts
    assert off.dtype == np.int64
    assert abs(off.mean()) < 6 * 20 / 200
    assert off.std() == pytest.approx(noise.scale, rel=0.03)


def test_steps_that_follow_from_earlier_ones_cost_no_more_than_the_purse_holds() -> None:
    """A choice of two, then a table whose noise depends on it, then one of two tables by the first one's sign.

    The law of all outcomes on neighbours is a mixture of normal ones, whose excess is integrated on a fine grid.
    """
    total, eta = 1.0, 0.6
    left = total - math.pi * eta**2 / 8
    chances = [(expit(eta / 2), expit(-eta / 2)), (expit(-eta / 2), expit(eta / 2))]
    grid = np.linspace(-9, 9, 601)
    step = grid[1] - grid[0]
    cells = np.diff(ndtr(np.concatenate([[-np.inf], grid[:-1] + step / 2, [np.inf]])))
    laws: list[tuple[np.ndarray, np.ndarray]] = []
    for outcome, (here, there) in enumerate(chances):
        first = math.sqrt(left * (0.2 if outcome else 0.7))
        shifted = np.diff(ndtr(np.concatenate([[-np.inf], grid[:-1] + step / 2, [np.inf]]) - first))
        for sign, share in ((grid < 0, 1.0), (grid >= 0, 0.4)):
            second = math.sqrt((left - first**2) * share)
            other = np.diff(ndtr(np.concatenate([[-np.inf], grid[:-1] + step / 2, [np.inf]]) - second))
            p = here * np.outer(cells[sign], cells)
            q = there * np.outer(shifted[sign], other)
            laws.append((p.reshape(-1), q.reshape(-1)))
    p, q = (np.concatenate([each[side] for each in laws]) for side in (0, 1))
    assert p.sum() == pytest.approx(1)
    assert q.sum() == pytest.approx(1)
    levels = np.linspace(-3, 3, 25)
    for one, other in ((p, q), (q, p)):
        assert (delta_of(one, other, levels) <= normal_delta(math.sqrt(total), levels) + 1e-9).all()


def test_a_round_costs_no_more_than_its_share_and_nearly_all_of_it() -> None:
    for share in (Fraction(1, 7), Fraction(1, 100_003)):
        this = Round.of(share, 2, 16)
        told = math.pi * float(this.choice.event.range) ** 2 / 8 + (2 / float(this.table.sigma)) ** 2
        assert told <= float(this.cost) * (1 + 1e-9)
        assert share * 999 / 1000 < this.cost <= share


def test_a_purse_never_spends_more_than_it_holds() -> None:
    purse = Purse(Fraction(1))
    purse.pay(Fraction(2, 3))
    with pytest.raises(ParameterError):
        purse.pay(Fraction(1, 3) + Fraction(1, 10**30))
    with pytest.raises(ParameterError):
        purse.pay(Fraction(-1, 10**30))
    purse.pay(Fraction(1, 3))
    assert purse.left == 0
    assert purse.used == 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10)])
def test_a_purse_is_filled_with_what_the_budget_buys_and_more_than_zcdp_would(epsilon: Fraction) -> None:
    delta = Fraction(1, 10**9)
    rho = rho_of("aim", epsilon, delta)
    total, event = filled(rho, epsilon, delta)
    assert isinstance(event, events.Gaussian)
    assert event.sensitivity**2 / event.sigma**2 == total
    missed = normal_delta(math.sqrt(float(total)), np.array([float(epsilon)]))[0]
    assert 0.9 * float(delta) < missed <= float(delta) * (1 + 1e-6)
    assert 1.02 * 2 * rho < total


def test_what_was_bought_before_is_charged_too() -> None:
    epsilon, delta = Fraction(1), Fraction(1, 10**6)
    rho, edges = rho_of("aim", epsilon, delta), events.Exponential(Fraction(1, 10))
    left = rho - Fraction(1, 100) / 8
    total, event = filled(left, epsilon, delta, (edges,))
    assert (
        compose([edges, events.Gaussian(Fraction(1), 1 / Fraction(float(total) ** 0.5))]).delta(epsilon) <= delta * 1.01
    )
    assert compose([event]).delta(epsilon) <= delta
    assert total < filled(rho, epsilon, delta)[0]
