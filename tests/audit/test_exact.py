"""The exact epsilon of known masses, against all events there are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacit import ParameterError
from tacit.audit import Claim, exact_epsilon, lower_bound, verify


def worst_of_all_events(first: dict[int, Fraction], second: dict[int, Fraction], delta: Fraction) -> float:
    """The greatest ln((P(S) - delta)/Q(S)) over every set S and both orders."""
    worst = 0.0
    for size in range(1, len(first) + 1):
        for event in itertools.combinations(first, size):
            p, q = sum(first[each] for each in event), sum(second[each] for each in event)
            for likelier, other in ((p, q), (q, p)):
                if likelier > delta:
                    worst = max(worst, math.inf if other == 0 else math.log((likelier - delta) / other))
    return worst


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 100), Fraction(1, 4), Fraction(9, 10)])
def test_it_is_the_worst_of_all_events(delta: Fraction) -> None:
    random = np.random.default_rng(11)
    for _ in range(25):
        draws = [random.multinomial(60, random.dirichlet(np.ones(6))) for _ in range(2)]
        first, second = ({k: Fraction(int(n), 60) for k, n in enumerate(each)} for each in draws)
        assert exact_epsilon(first, second, delta) == pytest.approx(worst_of_all_events(first, second, delta))


def test_the_coin_table_costs_ln_3() -> None:
    yes, no = {"yes": "3/4", "no": "1/4"}, {"yes": "1/4", "no": "3/4"}
    assert exact_epsilon(yes, no) == pytest.approx(math.log(3))
    assert exact_epsilon(yes, no, "1/4") == pytest.approx(math.log(2))
    assert exact_epsilon(yes, no, "1/2") == 0


def test_an_outcome_of_one_side_only_has_no_epsilon_unless_delta_covers_it() -> None:
    assert exact_epsilon({"a": 1}, {"a": "0.99", "b": "0.01"}) == math.inf
    assert exact_epsilon({"a": 1}, {"a": "0.99", "b": "0.01"}, "0.01") == pytest.approx(math.log(1))


def test_masses_must_add_up_to_one() -> None:
    with pytest.raises(ParameterError, match="add up to 1"):
        exact_epsilon({"a": 0.5}, {"a": 1})


def test_a_claim_with_known_masses_is_judged_exactly_and_nothing_is_drawn() -> None:
    def never(x: int) -> int:
        raise AssertionError

    def mass(x: int) -> dict[str, Fraction]:
        return {"yes": Fraction(3 if x else 1, 4), "no": Fraction(1 if x else 3, 4)}

    bound = lower_bound(never, 0, 1, mass=mass)
    assert bound.epsilon == bound.estimate == bound.upper == pytest.approx(math.log(3))
    assert bound.confidence == 1
    assert verify(Claim(never, 0, 1, math.log(3), mass=mass)).outcome == "consistent"
    assert verify(Claim(never, 0, 1, "1.0986", mass=mass)).outcome == "violated"
