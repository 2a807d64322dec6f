"""Every attack in a short form: it succeeds against the naive target and stays below the ceiling against tacit.

False alarms. A rate against tacit passes `most_plausible(1e-9)` with probability at most 1e-9 (Hoeffding; trials are
independent, or dominated by independent ones, up to 1e-12 times a few hundred where there is a delta). The data and the
naive targets are seeded, so their rates are fixed; timing counts coins instead of reading a clock. Together below 1e-7.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

from tacit.audit import attacks
from tacit.audit.attacks import Attempt
from tacit.audit.attacks.attempt import Attempt as Declared
from tacit.audit.attacks.error_messages import question
from tacit.audit.attacks.floating_point import explanations
from tacit.audit.attacks.linkage import link
from tacit.audit.attacks.reconstruction import least_squares, linear_program
from tacit.audit.attacks.sandbox import made_up
from tacit.audit.attacks.timing import coin_by_coin, secure_coin, timing
from tacit.errors import ParameterError
from tacit.loss import Budget

TINY = "1e-12"


def counted_timing() -> Attempt:
    """The timing attack on a clock that counts coins: what a perfectly quiet machine would show."""
    flips = 0

    def coin() -> int:
        nonlocal flips
        flips += 1
        return secure_coin()

    return timing(trials=500, clock=lambda: flips, coin=coin)


SHORT: dict[str, tuple[Callable[[], Attempt], float]] = {
    "linkage": (lambda: attacks.linkage(people=5_000, patients=500), 0.95),
    "ratings": (lambda: attacks.ratings_linkage(subscribers=500, films=400, targets=100), 0.95),
    "homogeneity": (lambda: attacks.homogeneity(people=1_000), 0.4),
    "differencing": (lambda: attacks.differencing(zips=8), 1.0),
    "averaging": (lambda: attacks.averaging(repeats=500), 0.99),
    "reconstruction": (
        lambda: attacks.reconstruction(1, bits=400, program_bits=60, curve_bits=40, questions=20),
        0.99,
    ),
    "means": (lambda: attacks.membership_in_means(delta=TINY), 0.95),
    "loss": (lambda: attacks.membership_by_loss(delta=TINY, candidates=100, features=500, pairs=1), 0.9),
    "ratio": (
        lambda: attacks.membership_by_likelihood_ratio(delta=TINY, candidates=100, features=500, pairs=4),
        0.9,
    ),
    "inversion": (lambda: attacks.model_inversion(delta=TINY, people=15, hidden=16), 0.9),
    "learned": (lambda: attacks.membership_in_learned(delta=TINY, candidates=60, features=150, pairs=2), 0.85),
    "learned inversion": (lambda: attacks.inversion_of_learned(delta=TINY, people=25, line_up=10), 0.9),
    "inversion, linear": (lambda: attacks.model_inversion(delta=TINY, people=15, hidden=0), 0.9),
    "regression": (lambda: attacks.training_point_of_regression(delta=TINY, trials=100), 1.0),
    "network": (lambda: attacks.training_point_of_network(delta=TINY, trials=60), 1.0),
    "floating point": (lambda: attacks.floating_point(trials=300), 0.99),
    "timing": (counted_timing, 0.97),
    "errors": (lambda: attacks.error_messages(people=50, targets=2), 1.0),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", SHORT)
def test_an_attack_succeeds_against_the_naive_target_and_fails_against_tacit(name: str) -> None:
    run, least = SHORT[name]
    found = run()
    assert found.naive >= least
    assert found.naive > found.ceiling  # what the naive target gives away, no private release could
    assert found.private <= found.most_plausible(1e-9)
    assert found.guessing < found.ceiling < 1
    assert f"{found.ceiling:.1%}" in str(found)
    json.dumps(found.chart_spec(), allow_nan=False)


def test_every_attack_that_is_listed_has_a_short_form_and_a_sentence() -> None:
    assert len(SHORT) == len(attacks.ATTACKS) + 1  # model inversion is run on both kinds of models
    assert all(attack.__doc__ for attack in attacks.ATTACKS)
    assert len(set(attacks.ATTACKS)) == len(attacks.ATTACKS)


# -- the ceiling -------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [2, 3, 20])
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", 0), (1, "0.01"), (3, "0.2")])
def test_the_ceiling_is_what_a_leaky_randomised_response_reaches(candidates: int, epsilon: str, delta: str) -> None:
    # the secret itself with probability delta, else a response in which the truth is e^epsilon times likelier: it is
    # (epsilon, delta), and whoever repeats what is said is right with exactly this probability
    budget = Budget(epsilon, delta)
    grown, leak = math.exp(float(budget.epsilon)), float(budget.delta)
    reached = leak + (1 - leak) * grown / (candidates - 1 + grown)
    assert attacks.ceiling(budget, candidates) == pytest.approx(reached, rel=1e-12)


def test_the_ceiling_for_two_is_the_logistic_of_epsilon_and_never_above_one() -> None:
    assert attacks.ceiling(Budget(1)) == pytest.approx(0.7310585786)
    assert attacks.ceiling(Budget(10**6)) == 1.0
    with pytest.raises(ParameterError, match="candidates"):
        attacks.ceiling(Budget(1), 1)


def test_exchanging_a_unit_costs_twice_the_epsilon_and_more_than_twice_the_delta() -> None:
    doubled = attacks.replacing(Budget("1/2", "1e-6"))
    assert doubled.epsilon == 1
    assert float(doubled.delta) == pytest.approx(1e-6 * (1 + math.exp(0.5)), rel=1e-9)


def test_most_plausible_is_hoeffdings_bound() -> None:
    found = Declared("a", "b", 1, 0.5, 0.5, 0.6, 1, 0, 200, 0.0, "")
    assert found.most_plausible(1e-9) == pytest.approx(0.6 + math.sqrt(math.log(1e9) / 400))


# -- the pieces --------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_asking_for_every_person_reaches_the_ceiling_exactly_so_the_curators_noise_is_neither_more_nor_less() -> None:
    """Discrete Laplace noise is at most 0 with probability e^epsilon/(1 + e^epsilon). Six deviations: 2e-9."""
    found = attacks.reconstruction(1, bits=1_000, program_bits=20, curve_bits=10, questions=4)
    truth = math.e / (1 + math.e)
    assert abs(found.private - truth) <= 6 * math.sqrt(truth * (1 - truth) / 1_000)


def test_only_a_row_that_is_alone_on_the_roll_is_linked() -> None:
    roll = {"birth": np.array([1, 1, 2, 3]), "sex": np.array([0, 0, 1, 1])}
    table = {"birth": np.array([3, 1, 2, 9]), "sex": np.array([1, 0, 1, 0])}
    assert link(roll, table).tolist() == [3, -1, 2, -1]


def test_both_decoders_are_exact_on_exact_answers() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, 40)
    sets = rng.integers(0, 2, (120, 40)).astype(np.float64)
    for decode in (least_squares, linear_program):
        assert decode(sets, sets @ bits, 0.0).tolist() == bits.tolist()


def test_the_phase_transition_goes_from_no_wrong_bits_to_many() -> None:
    curves = attacks.phase_transition(bits=80)
    most = {point.x: point.y for point in curves.points if point.curve == "4 answers a bit"}
    few = {point.x: point.y for point in curves.points if point.curve == "0.5 answers a bit"}
    assert most[0.0] == most[0.05] == 0
    assert most[1.6] > 0.2
    assert few[0.0] > 0.05  # too few answers do not fix the bits, noise or not


def test_the_women_of_the_example_are_in_a_class_of_two_with_two_diseases() -> None:
    table, found = attacks.two_women()
    women = [disease for age, sex, disease in zip(*table.values(), strict=True) if (age, sex) == ("50-60", "F")]
    assert sorted(women) == ["cancer", "heart disease"]
    assert (found.k, found.l) == (2, 2)


def test_the_explanations_of_an_output_are_those_of_trying_every_draw_around() -> None:
    rng = np.random.default_rng(4)
    uniform = rng.integers(1, 2**53, 40) * 2.0**-53
    for value in (0.0, 1.0):
        outputs = value + 10 * np.log(uniform)
        assert (explanations(outputs, value, 10.0) >= 1).all()
        found = explanations(outputs, 1 - value, 10.0)
        for place, output in enumerate(outputs):
            sign = 1 if output < 1 - value else -1
            near = round(math.exp(-abs(output - 1 + value) / 10) * 2**53)
            tried = (near + np.arange(-500, 501)) * 2.0**-53
            tried = tried[(tried > 0) & (tried <= 1)]
            assert found[place] == np.count_nonzero(1 - value + sign * (10 * np.log(tried)) == output)


def test_the_naive_sampler_flips_once_for_every_step() -> None:
    flips = iter([1, 0, 0, 2**32 - 1])
    assert coin_by_coin(50.0, lambda: next(flips)) == 2
    flips = iter([0, 2**32 - 1, 0, 0, 2**32 - 1])  # minus zero is thrown away, then minus one
    assert coin_by_coin(50.0, lambda: next(flips)) == -1


def test_the_question_that_divides_by_zero_for_one_age_is_answered_by_the_curator_whatever_the_age() -> None:
    ages = np.array([86, 40, 20])
    columns = {"seat": (np.arange(3), (0, 2)), "age": (ages, (0, 127))}
    with made_up(columns, Budget(1).epsilon) as curator:
        for sql in (question(0, 87), question(1, 30), "SELECT count(*) FROM people WHERE 1 / (age - 86) > 0"):
            assert len(curator.ask(sql, "1/10")) == 1
