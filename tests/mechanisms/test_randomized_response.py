"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.mechanisms import Laplace, RandomizedResponse
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, p_value, real, refused, worst_loss
from tests.noise.doubles import Served

TOP = 2**64


def law(truth: int, options: int, epsilon: Any) -> Law:
    odds = mpmath.exp(real(epsilon))
    return {i: (odds if i == truth else 1) / (odds + options - 1) for i in range(options)}


def coin_law(truth: int, options: int, told: Fraction) -> Law:
    return {i: real((1 - told) / options + (told if i == truth else 0)) for i in range(options)}


# -- the two coins of the lecture ---------------------------------------------------------------------


def test_two_coins_make_a_table_of_three_quarters_and_one_quarter() -> None:
    mechanism = RandomizedResponse(truth="1/2")
    assert mechanism.other == 0.25
    assert mechanism.other + mechanism.truth == 0.75
    # a quarter of all words lie, exactly: the first two bits decide
    for word, report in ((0, 0), (TOP // 4 - 1, 0), (TOP // 4, 1), (TOP - 1, 1)):
        assert mechanism.release(1, bits=Served([word, 1, 1])) == report
        assert mechanism.release([1], bits=Served([word, 1, 1])).tolist() == [report]


def test_two_coins_cost_the_logarithm_of_three_rounded_up() -> None:
    event = RandomizedResponse(truth="1/2").event
    assert event.options == 2
    assert mpmath.log(3) <= real(event.epsilon) <= mpmath.log(3) * (1 + mpmath.mpf(2) ** -48)
    assert event.epsilon == Fraction(float(event.epsilon))
    assert worst_loss(coin_law(0, 2, Fraction(1, 2)), coin_law(1, 2, Fraction(1, 2))) <= real(event.epsilon)


def test_a_yes_raises_a_belief_of_two_percent_to_less_than_six() -> None:
    mechanism = RandomizedResponse(truth="1/2")
    assert mechanism.posterior(0.02, 1) == pytest.approx(0.015 / 0.26, rel=1e-12)
    assert round(mechanism.posterior(0.02, 1), 4) == 0.0577
    assert mechanism.posterior(0.02, 0) == pytest.approx(0.005 / 0.74, rel=1e-12)


def test_the_estimate_is_twice_the_mean_less_a_half() -> None:
    reports = np.array([1] * 37 + [0] * 63)
    assert RandomizedResponse(truth="1/2").estimate(reports)[1] == pytest.approx(2 * 0.37 - 0.5, rel=1e-12)


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.9, 1])
def test_the_variance_is_at_least_four_times_the_truthful_one(share: float) -> None:
    found = RandomizedResponse(truth="1/2").variance(share, 100)
    reported = share / 2 + 0.25
    assert found == pytest.approx(4 * reported * (1 - reported) / 100)
    assert found >= 4 * share * (1 - share) / 100


def test_laplace_noise_at_the_same_epsilon_has_scale_091_on_the_whole_sum() -> None:
    epsilon = RandomizedResponse(truth="1/2").event.epsilon
    assert round(Laplace(1, epsilon).scale, 2) == 0.91
    people = 1000
    spread = math.sqrt(RandomizedResponse(truth="1/2").variance(0.5, people)) * people
    assert spread > 20 * math.sqrt(2) * Laplace(1, epsilon).scale


# -- any number of options ----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [2, 3, 10])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 5])
def test_any_two_answers_differ_by_exactly_epsilon(options: int, epsilon: Any) -> None:
    mechanism = RandomizedResponse(options, epsilon)
    assert mechanism.event == events.RandomizedResponse(Fraction(epsilon), options)
    table = law(0, options, epsilon)
    assert mpmath.almosteq(worst_loss(table, law(1, options, epsilon)), real(epsilon), 1e-40)
    assert mechanism.other == pytest.approx(float(table[1]), rel=1e-13)
    assert mechanism.other + mechanism.truth == pytest.approx(float(table[0]), rel=1e-13)
    assert mechanism.scale == pytest.approx(float(1 / (table[0] - table[1])), rel=1e-13)


@pytest.mark.parametrize("told", ["1/2", "1/10", "9/10"])
@pytest.mark.parametrize("options", [2, 5])
def test_coins_with_any_number_of_options_state_their_epsilon_rounded_up(options: int, told: str) -> None:
    mechanism = RandomizedResponse(options, truth=told)
    exact = worst_loss(coin_law(0, options, Fraction(told)), coin_law(1, options, Fraction(told)))
    assert exact <= real(mechanism.event.epsilon) <= exact * (1 + mpmath.mpf(10) ** -13)


@pytest.mark.parametrize(("options", "epsilon"), [(2, "1/10"), (2, 3), (7, 1), (2, 700), (3, "1/1000000")])
def test_the_lie_is_decided_by_the_true_probability_to_the_last_bit(options: int, epsilon: Any) -> None:
    mechanism = RandomizedResponse(options, epsilon)
    lie = 1 - law(0, options, epsilon)[0]
    edge = int(mpmath.floor(lie * TOP))
    if edge:
        assert mechanism.release(0, bits=Served([edge - 1, 0, 0, 0])) != 0
        assert mechanism.release([0], bits=Served([edge - 1, 0, 0, 0])).tolist() != [0]
    assert mechanism.release(0, bits=Served([edge + 1])) == 0
    # on the edge the next word decides, at the next 64 bits of the probability
    inner = int(mpmath.floor((lie * TOP - edge) * TOP))
    if inner:
        assert mechanism.release(0, bits=Served([edge, inner - 1, 0, 0, 0])) != 0
    assert mechanism.release(0, bits=Served([edge, inner + 1])) == 0
    assert mechanism.release(np.array([0]), bits=Served([edge, inner + 1, 0, 0, 0])).tolist() == [0]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("mechanism", "table"),
    [
        (RandomizedResponse(4, 1), law(2, 4, 1)),
        (RandomizedResponse(3, truth="1/3"), coin_law(2, 3, Fraction(1, 3))),
        (RandomizedResponse(5, "1/2"), law(2, 5, "1/2")),
    ],
)
def test_reports_follow_the_table(mechanism: RandomizedResponse, table: Law) -> None:
    bits = SeededBitsForTestsOnly(13)
    assert p_value(mechanism.release(np.full(40_000, 2), bits=bits).tolist(), table) > FALSE_ALARM
    assert p_value([mechanism.release(2, bits=bits) for _ in range(20_000)], table) > FALSE_ALARM


@pytest.mark.statistical
def test_estimates_find_the_shares_and_vary_as_much_as_they_say() -> None:
    """Each share within 7 standard errors: false alarm below 3e-12 a share."""
    mechanism, bits = RandomizedResponse(3, 1), SeededBitsForTestsOnly(14)
    shares = [0.6, 0.3, 0.1]
    answers = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    found = mechanism.estimate(mechanism.release(answers, bits=bits))
    assert found.sum() == pytest.approx(1)
    for option, share in enumerate(shares):
        assert abs(found[option] - share) < 7 * math.sqrt(mechanism.variance(share, answers.size))
        assert abs(found[option] - share) < mechanism.error(1 - 1e-10, count=answers.size)


@pytest.mark.parametrize("options", [2, 3])
def test_the_estimate_is_unbiased(options: int) -> None:
    mechanism = RandomizedResponse(options, 1)
    for truth in range(options):
        table = law(truth, options, 1)
        expected = sum(float(table[i]) * mechanism.estimate([i]) for i in range(options))
        assert expected == pytest.approx([float(i == truth) for i in range(options)], abs=1e-12)


def test_the_variance_is_that_of_the_binomial_reports() -> None:
    mechanism = RandomizedResponse(3, 1)
    reported = 0.2 * float(law(0, 3, 1)[0]) + 0.8 * float(law(1, 3, 1)[0])
    gap = float(law(0, 3, 1)[0] - law(1, 3, 1)[0])
    assert mechanism.variance(0.2, 50) == pytest.approx(reported * (1 - reported) / 50 / gap**2, rel=1e-12)


def test_the_error_covers_the_exact_binomial_tail() -> None:
    mechanism, people, truthful = RandomizedResponse(truth="1/2"), 40, 10
    bound = mechanism.error("0.95", count=people)
    ways = np.array([1.0])
    for answer in range(people):
        chance = 0.75 if answer < truthful else 0.25
        ways = np.convolve(ways, [1 - chance, chance])
    missed = sum(p for yes, p in enumerate(ways) if abs((2 * yes / people - 0.5) - truthful / people) > bound)
    assert missed <= 0.05
    assert bound == pytest.approx(2 * math.sqrt(math.log(40) / (2 * people)), rel=1e-12)


@pytest.mark.parametrize("prior", [[0.5, 0.3, 0.2], [1, 0, 0]])
def test_beliefs_are_updated_by_bayes(prior: list[float]) -> None:
    mechanism = RandomizedResponse(3, 2)
    joint = [p * float(law(truth, 3, 2)[1]) for truth, p in enumerate(prior)]
    assert mechanism.posterior(prior, 1) == pytest.approx([j / sum(joint) for j in joint], rel=1e-12)


# -- what is read, and what is refused ----------------------------------------------------------------


def test_the_type_and_shape_of_the_reports_follow_the_answers() -> None:
    mechanism = RandomizedResponse(4, 700)
    assert type(mechanism.release(3)) is int
    assert type(mechanism.release(True)) is int
    assert mechanism.release(np.int8(3)) == 3
    assert mechanism.release(np.array([[0, 1], [2, 3]], dtype=np.uint8)).tolist() == [[0, 1], [2, 3]]
    assert mechanism.release([True, False]).tolist() == [1, 0]
    assert mechanism.release(np.array([True, False])).tolist() == [1, 0]
    assert mechanism.release(np.zeros(0, dtype=int)).shape == (0,)


def test_an_answer_outside_the_options_raises_nothing_and_is_read_as_the_nearest() -> None:
    mechanism = RandomizedResponse(4, 700)
    assert [mechanism.release(value) for value in (-5, 10**30)] == [0, 3]
    assert mechanism.release([-5, 10**30, 2]).tolist() == [0, 3, 2]


@pytest.mark.parametrize("answers", [1.0, "a", None, [1.5], np.array([0.5])])
def test_answers_of_a_wrong_type_are_refused(answers: Any) -> None:
    refused(lambda: RandomizedResponse(2, 1).release(answers), "answers")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "x", True, 1e-310, 701, 10**400])
def test_a_wrong_epsilon_is_refused(value: Any) -> None:
    refused(lambda: RandomizedResponse(2, value), "epsilon", "epsilon or truth")


@pytest.mark.parametrize("value", [0, 1, -0.5, 2, math.nan, "x", True, Fraction(1, 10**400), 1 - Fraction(1, 10**400)])
def test_a_wrong_truth_is_refused(value: Any) -> None:
    refused(lambda: RandomizedResponse(2, truth=value), "truth")


@pytest.mark.parametrize("value", [0, 1, -2, 2.0, None, True, 2**62 + 1])
def test_a_wrong_number_of_options_is_refused(value: Any) -> None:
    refused(lambda: RandomizedResponse(value, 1), "options")


def test_epsilon_and_truth_exclude_each_other() -> None:
    refused(lambda: RandomizedResponse(2, 1, truth=0.5), "epsilon or truth")
    refused(lambda: RandomizedResponse(2), "epsilon or truth")


def test_senseless_questions_about_reports_are_refused() -> None:
    mechanism = RandomizedResponse(3, 1)
    refused(lambda: mechanism.estimate([]), "reports")
    refused(lambda: mechanism.estimate([0, 3]), "reports")
    refused(lambda: mechanism.estimate([-1]), "reports")
    refused(lambda: mechanism.posterior([0.5, 0.5], 1), "prior")
    refused(lambda: mechanism.posterior([0.5, 0.5, 0.5], 1), "prior")
    refused(lambda: mechanism.posterior(0.5, 1), "prior")
    refused(lambda: mechanism.posterior([0.2, 0.3, 0.5], 3), "report")
    refused(lambda: mechanism.variance(1.5, 10), "share")
    refused(lambda: mechanism.variance(0.5, 0), "count")
    refused(lambda: mechanism.error(1, count=10), "confidence")
