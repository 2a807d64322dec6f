"""Statistical tests here fail a correct sampler with probability below 1e-9 each."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product as every
from typing import Any

import mpmath
import numpy as np
import pytest

from tacit.loss import events
from tacit.mechanisms import Exponential, declared_public
from tacit.noise import SeededBitsForTestsOnly
from tests.mechanisms.exact import FALSE_ALARM, Law, normalised, p_value, real, refused

TINY = mpmath.mpf(10) ** -40


def law(scores: Any, factor: Any, prior: Any = None) -> Law:
    weights = prior if prior is not None else [1] * len(scores)
    return normalised(
        {i: real(w) * mpmath.exp(real(factor) * real(s)) for i, (s, w) in enumerate(zip(scores, weights, strict=True))}
    )


def losses_of(one: Law, other: Law) -> list[Any]:
    return [mpmath.log(one[key] / other[key]) for key in one]


@pytest.mark.parametrize("prior", [None, [1, 5, "1/2"]])
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (2, "1/10"), ("1/4", 3)])
def test_the_loss_of_any_neighbours_has_a_range_of_epsilon_around_zero(
    sensitivity: Any, epsilon: Any, prior: Any
) -> None:
    factor = Exponential(sensitivity, epsilon).factor
    step, base = Fraction(sensitivity), [Fraction(3), Fraction(0), Fraction(-1)]
    widest = mpmath.mpf(0)
    for moves in every((-step, Fraction(0), step), repeat=3):
        moved = [b + m for b, m in zip(base, moves, strict=True)]
        found = losses_of(law(base, factor, prior), law(moved, factor, prior))
        assert min(found) <= TINY
        assert max(found) >= -TINY
        widest = max(widest, max(found) - min(found))
    assert mpmath.almosteq(widest, real(epsilon), 1e-40)


def test_monotone_scores_need_no_factor_of_two() -> None:
    factor = Exponential(1, 1, monotone=True).factor
    assert factor == 1
    base = [5, 3, 0]
    for moves in every((0, 1), repeat=3):
        found = losses_of(law(base, factor), law([b + m for b, m in zip(base, moves, strict=True)], factor))
        assert max(found) - min(found) <= 1 + TINY
    # moves in both directions would cost twice as much: the claim is for monotone scores only
    found = losses_of(law(base, factor), law([6, 2, 0], factor))
    assert max(found) - min(found) > 1.9


def test_the_event_is_a_choice_of_bounded_range() -> None:
    assert Exponential(3, "1/10").event == events.Exponential(Fraction(1, 10))
    assert Exponential(3, "1/10").scale == 60.0
    assert Exponential(3, "1/10", monotone=True).event == events.Exponential(Fraction(1, 10))
    assert Exponential(3, "1/10", monotone=True).scale == 30.0


@pytest.mark.statistical
@pytest.mark.parametrize("monotone", [False, True])
def test_choices_follow_the_law_of_the_claim(monotone: bool) -> None:
    """Enough draws that the factor of the other kind of scores, or a forgotten prior, would be noticed."""
    mechanism = Exponential(2, 1, monotone=monotone)
    factor, other = (Fraction(1, 2), Fraction(1, 4)) if monotone else (Fraction(1, 4), Fraction(1, 2))
    scores = [3, 0, -4, 1]
    bits = SeededBitsForTestsOnly(5)
    for shown in (scores, np.array(scores) + 0.5):
        drawn = [mechanism.choose(range(4), scores=shown, bits=bits) for _ in range(6000)]
        assert p_value(drawn, law(scores, factor)) > FALSE_ALARM
        assert p_value(drawn, law(scores, other)) < FALSE_ALARM
    losses, prior = [-s for s in scores], [1.0, 4.0, 8.0, 0.5]
    drawn = [mechanism.choose(range(4), losses=scores, prior=prior, bits=bits) for _ in range(6000)]
    assert p_value(drawn, law(losses, factor, prior)) > FALSE_ALARM
    assert p_value(drawn, law(losses, other, prior)) < FALSE_ALARM
    assert p_value(drawn, law(losses, factor)) < FALSE_ALARM


def test_hair_colours_miss_the_best_less_often_than_the_bound() -> None:
    """500 and 400 heads among 4 colours at epsilon 0.1: Pr[not the best] <= 4 exp(-5) = 0.027."""
    mechanism = Exponential(sensitivity=1, epsilon="1/10")
    assert round(4 * math.exp(-5), 3) == 0.027
    worst = law([500, 400, 400, 400], mechanism.factor)  # no colour but the first above 400
    missed = 1 - worst[0]
    assert mpmath.almosteq(missed, 3 * mpmath.exp(-5) / (1 + 3 * mpmath.exp(-5)), 1e-40)
    assert missed <= 4 * mpmath.exp(-5)
    # the same figure from the utility bound: a shortfall of 100 has probability at most 4 exp(-5)
    assert mechanism.shortfall(4, confidence=1 - 4 * math.exp(-5)) == pytest.approx(100, rel=1e-12)


@pytest.mark.statistical
def test_hair_colours_are_chosen_as_often_as_the_law_says() -> None:
    mechanism, bits = Exponential(sensitivity=1, epsilon=0.1), SeededBitsForTestsOnly(6)
    colours, scores = ["dark", "brown", "fair", "red"], [500, 400, 400, 400]
    drawn = [colours.index(mechanism.choose(colours, scores=scores, bits=bits)) for _ in range(20_000)]
    assert p_value(drawn, law(scores, Fraction(1, 20))) > FALSE_ALARM


def test_the_house_call_works() -> None:
    assert Exponential(sensitivity=1, epsilon=0.1).choose(["dark", "brown"], scores=[500, 400]) in ("dark", "brown")


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("scores", [[10, 0, 0, 0], [10, 10, 3, 3, 3], [7, 6, 5, 4, 3, 2, 1, 0], [0, 0]])
@pytest.mark.parametrize("confidence", ["1/2", "9/10", "999/1000"])
def test_the_shortfall_is_exceeded_no_more_often_than_it_says(
    scores: list[int], confidence: str, monotone: bool
) -> None:
    mechanism = Exponential(1, 3, monotone=monotone)
    bound = mechanism.shortfall(len(scores), scores.count(max(scores)), confidence=confidence)
    exact = law(scores, mechanism.factor)
    assert mpmath.fsum(exact[i] for i, s in enumerate(scores) if s <= max(scores) - bound) <= 1 - real(confidence)


def test_the_shortfall_is_the_textbook_formula_rounded_up() -> None:
    exact = 2 * mpmath.mpf(3) / real("1/7") * (mpmath.log(mpmath.mpf(50) / 2) + mpmath.log(20))
    found = Exponential(3, "1/7").shortfall(50, 2, confidence="0.95")
    assert exact <= found <= exact * (1 + 1e-12)


@pytest.mark.parametrize(("count", "best", "confidence"), [(0, 1, 0.5), (3, 4, 0.5), (3, 0, 0.5), (3, 1, 1), (3, 1, 0)])
def test_a_senseless_shortfall_is_refused(count: int, best: int, confidence: float) -> None:
    refused(
        lambda: Exponential(1, 1).shortfall(count, best, confidence=confidence), "count", "best_count", "confidence"
    )


def test_candidates_from_data_are_refused_unless_declared_public() -> None:
    mechanism = Exponential(1, 1)
    refused(lambda: mechanism.choose(np.array(["a", "b"]), scores=[1, 2]), "candidates")
    refused(lambda: mechanism.choose({"a", "b"}, scores=[1, 2]), "candidates")
    refused(lambda: mechanism.choose([], scores=[]), "candidates")
    assert mechanism.choose(declared_public(np.array(["a", "b"])), scores=[1, 2]) in ("a", "b")


@pytest.mark.parametrize(
    "scores", [[math.nan, 1.0], [math.inf, -math.inf], [1e308, -1e308], [10**400, 0], [math.nan, math.nan]]
)
def test_no_score_raises_an_error(scores: list[Any]) -> None:
    for epsilon in (1e-200, 1, 1e200):
        assert Exponential(1, epsilon).choose(["a", "b"], scores=scores) in ("a", "b")
        assert Exponential(1, epsilon).choose(["a", "b"], losses=scores) in ("a", "b")


def test_a_score_that_is_not_a_number_hardly_ever_wins() -> None:
    bits = SeededBitsForTestsOnly(7)
    for _ in range(200):
        assert Exponential(1, 1).choose(["a", "b"], scores=[math.nan, -1e9], bits=bits) == "b"
        assert Exponential(1, 1).choose(["a", "b"], losses=[math.nan, 1e9], bits=bits) == "b"


@pytest.mark.parametrize(
    "prior", [[1], [1, 2, 3], [0, 0], [-1, 2], [math.nan, 1], [math.inf, 1], ["x", 1], [[1, 2]], 5]
)
def test_a_wrong_prior_is_refused(prior: Any) -> None:
    refused(lambda: Exponential(1, 1).choose(["a", "b"], scores=[1, 2], prior=prior), "prior")


def test_a_prior_of_zero_excludes_a_candidate() -> None:
    assert {Exponential(1, 1).choose("ab", scores=[99, 0], prior=[0, 1]) for _ in range(20)} == {"b"}


@pytest.mark.parametrize(
    "value", [0, -1, math.nan, math.inf, None, "x", True, 1e-300, 1e300, Fraction(1, 10**400), 10**400]
)
def test_wrong_parameters_are_refused(value: Any) -> None:
    refused(lambda: Exponential(value, 1), "sensitivity", "epsilon")
    refused(lambda: Exponential(1, value), "epsilon")


def test_monotone_is_a_truth_value() -> None:
    refused(lambda: Exponential(1, 1, monotone=1), "monotone")  # type: ignore[arg-type]


# -- a real number by a step function -----------------------------------------------------------------


def points_law(edges: list[float], scores: list[float], factor: Any, first: int, last: int, step: Fraction) -> Law:
    """The weight of every point, one by one."""

    def score(x: Fraction) -> float:
        return scores[sum(1 for edge in edges if Fraction(edge) <= x)]

    return normalised({i: mpmath.exp(real(factor) * real(score(i * step))) for i in range(first, last + 1)})


@pytest.mark.statistical
def test_a_real_choice_follows_the_law_over_all_points() -> None:
    mechanism, bits = Exponential(1, 2), SeededBitsForTestsOnly(8)
    edges, losses = [-0.3, 0.25, 0.25, 0.9, 7.0], [2, 1, 5, 0, 1, 3]
    drawn = [mechanism.choose_real(-1, 2, edges=edges, losses=losses, grid=0.25, bits=bits) for _ in range(8000)]
    exact = points_law(edges, [-x for x in losses], 1, -4, 8, Fraction(1, 4))
    assert p_value([x * 4 for x in drawn], exact) > FALSE_ALARM


@pytest.mark.statistical
def test_a_wide_cell_outweighs_a_better_but_narrow_one() -> None:
    """One point against 200 that are worse by 5: a factor 10 % off would be noticed."""
    mechanism, bits = Exponential(1, 2), SeededBitsForTestsOnly(18)
    drawn = [mechanism.choose_real(0, 200, edges=[1], losses=[0, 5], grid=1, bits=bits) for _ in range(3000)]
    narrow = 1 / (1 + 200 * mpmath.exp(-5))
    assert p_value([x == 0 for x in drawn], {True: narrow, False: 1 - narrow}) > FALSE_ALARM


def test_a_private_median_stays_within_epsilon_for_every_point() -> None:
    """Neighbours differ by one more value; the score is minus the distance of a point's rank from the middle."""
    factor = Exponential(Fraction(1, 2), 1).factor
    base = [0.1, 0.4, 0.4, 2.0, 2.6]

    def median_law(values: list[float]) -> Law:
        edges = sorted(values)
        scores = [-abs(rank - len(edges) / 2) for rank in range(len(edges) + 1)]
        return points_law(edges, scores, factor, 0, 12, Fraction(1, 4))

    for added in (-3.0, 0.0, 0.4, 0.5, 1.0, 2.7, 9.0):
        found = losses_of(median_law(base), median_law([*base, added]))
        assert max(found) - min(found) <= 1 + TINY


@pytest.mark.parametrize(
    "edges", [[math.nan] * 3, [math.inf, -math.inf, 0.0], [3.0, 1.0, 2.0], [1e308, -1e308, 10**400]]
)
def test_no_edge_raises_an_error(edges: list[Any]) -> None:
    chosen = Exponential(1, 1).choose_real(0, 10, edges=edges, scores=[1, 2, 3, 4], grid=1)
    assert chosen in range(11)


def test_a_real_choice_lies_in_the_interval_and_on_the_grid() -> None:
    bits = SeededBitsForTestsOnly(9)
    for _ in range(200):
        assert 0.1 <= Exponential(1, 1).choose_real("0.1", 0.3, edges=[], scores=[0], bits=bits) <= 0.3


@pytest.mark.parametrize(
    ("lower", "upper", "grid"),
    [
        (1, 1, None),
        (2, 1, None),
        (math.nan, 1, None),
        (0, math.inf, None),
        (0, 1, 3),
        (0.1, 0.2, 1),
        (0, 1, 2.0**-60),
        (0, 10**400, None),
        (-(10**400), 0, 1),
        (0, 5e-324, None),
    ],
)
def test_a_wrong_interval_is_refused(lower: Any, upper: Any, grid: Any) -> None:
    refused(
        lambda: Exponential(1, 1).choose_real(lower, upper, edges=[0.5], scores=[1, 2], grid=grid),
        "lower",
        "upper",
        "grid",
    )


def test_a_step_function_has_one_score_more_than_edges() -> None:
    refused(lambda: Exponential(1, 1).choose_real(0, 1, edges=[0.5], scores=[1]), "scores")
    refused(lambda: Exponential(1, 1).choose_real(0, 1, edges=[[0.5]], scores=[1, 2]), "edges")
    refused(lambda: Exponential(1, 1).choose_real(0, 1, edges=["a"], scores=[1, 2]), "values", "edges")
