"""Verdicts on claims, the search for neighbours, and beliefs. Confidence 1 - 1e-9, or seeds that were seen to do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacit import ParameterError
from tacit.audit import Claim, posterior, verify, worst_neighbour
from tacit.audit.zoo.noise import sound_count

SURE = 1 - 1e-9


def response(epsilon: float) -> Any:
    truth = 1 / (1 + math.exp(-epsilon))

    def release(x: int, *, size: int) -> Any:
        return np.where(np.random.default_rng().random(size) < truth, x, 1 - x)

    return release


@pytest.mark.statistical
def test_a_claim_that_holds_with_room_is_consistent() -> None:
    verdict = verify(Claim(response(0.8), 0, 1, 1, vectorised=True), samples=200_000, confidence=SURE)
    assert verdict.outcome == "consistent"
    assert verdict.needed is None
    assert 0.7 < verdict.bound.epsilon <= 0.8


@pytest.mark.statistical
def test_a_claim_that_is_broken_is_violated() -> None:
    verdict = verify(Claim(response(2), 0, 1, 1, name="coins", vectorised=True), samples=20_000, confidence=SURE)
    assert verdict.outcome == "violated"
    assert str(verdict).startswith("coins: claimed epsilon 1 at delta 0 is violated; found epsilon 1.")


@pytest.mark.statistical
def test_too_few_draws_are_inconclusive_and_as_many_as_it_asks_for_settle_it() -> None:
    claim = Claim(response(1.3), 0, 1, 1, vectorised=True)
    first = verify(claim, samples=1_000, confidence="0.999999")
    assert first.outcome == "inconclusive"
    assert first.needed is not None
    assert 1_000 < first.needed < 10**6
    assert verify(claim, samples=40 * first.needed, confidence="0.999999").outcome == "violated"


def test_a_few_draws_that_show_nothing_do_not_make_a_claim_consistent() -> None:
    verdict = verify(Claim(lambda x: 0, 0, 1, 1), samples=100, confidence=SURE)
    assert verdict.bound.epsilon == 0
    assert verdict.outcome == "inconclusive"
    assert verdict.needed is not None
    assert verify(Claim(lambda x: 0, 0, 1, 1), samples=verdict.needed + 10, confidence=SURE).outcome == "consistent"


def test_claims_out_of_range_are_refused() -> None:
    for wrong in ({"epsilon": -1}, {"epsilon": 1, "delta": 2}):
        with pytest.raises(ParameterError):
            Claim(sound_count, 0, 1, **wrong)
    with pytest.raises(ParameterError, match="tolerance"):
        verify(Claim(sound_count, 0, 1, 1), tolerance=0)


# -- neighbours ----------------------------------------------------------------------------------------


def sum_with_noise(x: list[int], *, size: int) -> Any:
    """Values from -3 to 3, noise of scale 3."""
    return sum(x) + np.round(np.random.default_rng().laplace(0, 3, size))


@pytest.mark.statistical
def test_the_worst_neighbours_of_a_sum_differ_by_an_end_of_the_bounds() -> None:
    removed = worst_neighbour(sum_with_noise, (-3, 3), size=4, samples=20_000, confidence=SURE, vectorised=True)
    assert abs(sum(removed.x) - sum(removed.neighbour)) == 3
    assert abs(len(removed.x) - len(removed.neighbour)) == 1
    assert removed.bound.epsilon < 1.1
    replaced = worst_neighbour(
        sum_with_noise, (-3, 3), size=4, relation="replace", samples=20_000, confidence=SURE, vectorised=True
    )
    assert abs(sum(replaced.x) - sum(replaced.neighbour)) == 6
    assert len(replaced.x) == len(replaced.neighbour)
    assert 1.3 < replaced.bound.epsilon < 2.1


@pytest.mark.statistical
def test_a_leak_at_one_place_only_is_found() -> None:
    def last_entry_bare(x: list[int], *, size: int) -> Any:
        return sum(x[:-1]) + x[-1] * 1000 + np.round(np.random.default_rng().laplace(0, 10, size))

    found = worst_neighbour(
        last_entry_bare, (0, 2), size=5, relation="replace", samples=5_000, confidence=SURE, vectorised=True
    )
    assert found.x[-1] != found.neighbour[-1]
    assert found.bound.epsilon > 3


@pytest.mark.statistical
def test_one_number_is_searched_between_its_bounds_and_pairs_of_ones_own_are_tried_too() -> None:
    def edge(x: float, *, size: int) -> Any:
        return np.full(size, x > 7) ^ (np.random.default_rng().random(size) < 0.25)

    found = worst_neighbour(edge, (0, 8), samples=5_000, confidence=SURE, vectorised=True)
    assert found.tried == 3
    assert found.bound.epsilon > 0.5
    own = worst_neighbour(
        lambda x, *, size: np.full(size, x == 17), (0, 8), samples=5_000, vectorised=True, pairs=[(17, 18)]
    )
    assert (own.x, own.neighbour) == (17, 18)


def test_a_search_without_room_is_refused() -> None:
    for wrong in ({"bounds": (1, 1)}, {"bounds": (0, 1), "relation": "swap"}, {"bounds": (0, 1), "size": 0}):
        with pytest.raises(ParameterError):
            worst_neighbour(sum_with_noise, samples=100, **wrong)


# -- beliefs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.02, 0.4, 0.9])
@pytest.mark.parametrize("epsilon", [0.1, 1, math.log(3)])
def test_a_belief_moves_as_bayes_rule_allows(prior: float, epsilon: float) -> None:
    found = posterior(prior, epsilon)
    grow = math.exp(epsilon)
    assert found.lower == pytest.approx(prior / (prior + (1 - prior) * grow))
    assert found.upper == pytest.approx(prior * grow / (prior * grow + 1 - prior))
    assert prior / grow <= found.lower < prior < found.upper <= prior * grow


def test_an_epsilon_beyond_all_belief_is_refused() -> None:
    with pytest.raises(ParameterError, match="at most 1000"):
        posterior(0.4, 10**400)


def test_a_delta_needs_a_failure_probability_and_widens_the_belief() -> None:
    with pytest.raises(ParameterError, match="failure"):
        posterior(0.4, 1, "1e-6")
    wider = posterior(0.4, 1, "1e-6", failure="1e-3")
    assert wider.lower < posterior(0.4, 1).lower
    assert "except with probability 0.001" in str(wider)


def test_the_chart_shows_the_range_for_every_prior() -> None:
    found = posterior(0.4, 1)
    spec = found.chart_spec()
    values = spec["data"]["values"]
    assert (values[0]["lower"], values[-1]["upper"]) == (0, 1)
    for value in values[1:-1]:
        assert value["lower"] < value["prior"] < value["upper"]
    (here,) = spec["layer"][2]["data"]["values"]
    assert here == {"prior": 0.4, "lower": found.lower, "upper": found.upper}
    assert "0.197 to 0.6444" in str(found)
