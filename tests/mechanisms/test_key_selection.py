"""Key selection: the recursion is the truth; closed form, floats and enclosures are compared with it.

Statistical test: false-alarm rate below 1e-9 a run.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.loss import events
from tacit.mechanisms import key_selection
from tacit.mechanisms.key_selection import KeySelection
from tacit.noise import SeededBitsForTestsOnly
from tests.effort import tried
from tests.noise.doubles import Served, chance_at_most, every_word

MP = mpmath.mp.clone()
MP.dps = 50

RULES = [("1", "1e-5"), ("0.1", "1e-8"), ("3", "0.01"), ("0.5", "0.3"), ("8", "1e-12"), ("0.01", "0.02")]


def truth(epsilon: Fraction, delta: Fraction, most: int) -> list[Any]:
    """p(0), p(1), ... by the recursion itself."""
    growth, loss = MP.exp(_mp(epsilon)), _mp(delta)
    chances = [MP.mpf(0)]
    for _ in range(most):
        last = chances[-1]
        chances.append(min(growth * last + loss, 1 - (1 - last - loss) / growth, MP.mpf(1)))
    return chances


def _mp(exact: Fraction) -> Any:
    return MP.mpf(exact.numerator) / exact.denominator


def excess(one: Any, other: Any, growth: Any) -> Any:
    """The delta between two coins at exp(epsilon) = growth."""
    return max(one - growth * other, MP.mpf(0)) + max((1 - one) - growth * (1 - other), MP.mpf(0))


@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_the_closed_form_is_the_recursion(epsilon: str, delta: str) -> None:
    rule = KeySelection(epsilon, delta)
    most = rule.threshold("0.999999") + 40
    floats = rule.probability(np.arange(most + 1))
    for n, chance in enumerate(truth(rule.epsilon, rule.delta, most)):
        assert abs(floats[n] - float(chance)) < 2**-41
        low, high = rule.enclosed_probability(n, 30)
        slack = MP.mpf(10) ** -28
        assert MP.mpf(str(low)) - slack <= chance <= MP.mpf(str(high)) + slack
        assert high - low <= Fraction(1, 10**25)


@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_neighbouring_counts_are_within_epsilon_and_delta_and_a_larger_chance_would_not_be(
    epsilon: str, delta: str
) -> None:
    rule = KeySelection(epsilon, delta)
    growth, loss = MP.exp(_mp(rule.epsilon)), _mp(rule.delta)
    chances = [sum(MP.mpf(str(end)) for end in rule.enclosed_probability(n, 40)) / 2 for n in range(400)]
    tolerance = MP.mpf("1e-30")
    assert chances[0] == 0
    for one, other in itertools.pairwise(chances):
        assert one <= other <= 1
        assert excess(one, other, growth) <= loss + tolerance
        assert excess(other, one, growth) <= loss + tolerance
        if other < 1:
            raised = other + MP.mpf("1e-20")
            assert max(excess(one, raised, growth), excess(raised, one, growth)) > loss


def test_a_key_with_one_unit_has_probability_delta_and_an_empty_key_none() -> None:
    rule = KeySelection(1, "1e-5")
    assert rule.probability(0) == 0
    assert rule.probability(1) == pytest.approx(1e-5, rel=1e-12)
    assert not rule.choose(np.zeros(100_000, dtype=np.int64)).any()
    assert rule.choose(np.full(1000, 10**6)).all()
    assert not rule.choose([-5, -(2**62)]).any()


def test_the_parts_of_one_unit_share_epsilon_and_delta() -> None:
    rule = KeySelection(1, "1e-5", 4)
    per_key = KeySelection("1/4", Fraction(1, 400_000))
    assert rule.event == events.KeySelection(Fraction(1, 4), Fraction(1, 400_000), 4)
    assert rule.counts_event == events.Repeated(events.Approximate(Fraction(1, 4), Fraction(1, 400_000)), 4)
    assert [rule.probability(n) for n in range(90)] == [per_key.probability(n) for n in range(90)]


@pytest.mark.parametrize("count", [1, 5, 12, 20, 25, 40])
def test_every_bit_string_of_a_narrowed_word_is_decided_as_the_exact_probability_says(count: int) -> None:
    rule = KeySelection(1, "0.01")
    exact = truth(rule.epsilon, rule.delta, count)[count]
    width = 10
    words = every_word(width)
    # further bits all ones (U as large as it can be) or all zeros: only the word that holds p itself may change
    for filling, rounding in [(2**64 - 1, math.floor), (0, math.ceil)]:
        bits = Served([filling] * 400)
        low = rule._word_is_low(np.full(words.size, count), words, width, bits)
        assert int(low.sum()) == int(rounding(exact * 2**width))


def test_the_undecided_word_is_split_at_the_exact_probability() -> None:
    rule = KeySelection(1, "0.01")
    exact = truth(rule.epsilon, rule.delta, 5)[5]
    whole = int(exact * MP.mpf(2) ** 128)
    word, rest = whole >> 64, whole & (2**64 - 1)
    for further, expected in [(rest - 1, True), (rest + 1, False)]:
        bits = Served([further, 0, 0])
        found = rule._word_is_low(np.array([5]), np.array([word], dtype=np.uint64), 64, bits)
        assert bool(found[0]) is expected


def test_the_threshold_is_the_least_count_that_is_likely_enough() -> None:
    rule = KeySelection("0.5", "1e-6")
    chances = truth(rule.epsilon, rule.delta, 200)
    for confidence in ("0.01", "0.5", "0.95", "0.9999"):
        assert rule.threshold(confidence) == next(n for n, p in enumerate(chances) if p >= float(confidence))


# -- the truncated geometric equivalent ---------------------------------------------------------------


def truncated(rule: KeySelection, reach: int) -> dict[int, Any]:
    rate = _mp(rule.key_epsilon)
    weights = {x: MP.exp(-rate * abs(x)) for x in range(-reach, reach + 1)}
    total = MP.fsum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


@pytest.mark.parametrize(("epsilon", "delta"), RULES)
def test_the_reach_is_the_least_with_an_end_of_at_most_delta(epsilon: str, delta: str) -> None:
    rule = KeySelection(epsilon, delta)
    assert truncated(rule, rule.reach)[rule.reach] <= _mp(rule.delta)
    assert truncated(rule, rule.reach - 1)[rule.reach - 1] > _mp(rule.delta)


def test_noisy_counts_of_neighbours_are_within_epsilon_and_delta() -> None:
    rule = KeySelection(1, "1e-3")
    growth, reach = MP.exp(1), rule.reach
    noise = truncated(rule, reach)

    def law(count: int) -> dict[int | None, Any]:
        seen: dict[int | None, Any] = {None: MP.mpf(0)}
        for x, mass in noise.items():
            key = count + x if count + x > reach else None
            seen[key] = seen.get(key, MP.mpf(0)) + mass
        return seen

    assert law(0) == {None: pytest.approx(1)}
    for count in range(3 * reach):
        for one, other in itertools.permutations([law(count), law(count + 1)]):
            stick = sum(max(mass - growth * other.get(key, MP.mpf(0)), MP.mpf(0)) for key, mass in one.items())
            assert stick <= _mp(rule.delta) * (1 + MP.mpf("1e-30"))


def test_where_the_reach_is_exact_it_is_the_optimal_rule() -> None:
    reach, growth = 7, MP.exp(MP.mpf(1) / 2)
    end = (growth - 1) / (growth**reach * (growth + 1) - 2)
    # a hair above the exact delta, so that the reach stays 7
    rule = KeySelection("1/2", Fraction(int(end * MP.mpf(10) ** 40) + 1, 10**40))
    assert rule.reach == reach
    noise = truncated(rule, reach)
    for count, chance in enumerate(truth(rule.epsilon, rule.delta, 20)):
        released = sum((mass for x, mass in noise.items() if count + x > reach), start=MP.mpf(0))
        assert abs(released - chance) < MP.mpf("1e-30")


def test_counts_are_released_above_the_reach_with_noise_of_the_stated_law(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = KeySelection("1/2", "1e-4", 2)
    asked: list[tuple[Any, ...]] = []

    def draw(scale: Fraction, low: int, high: int, size: int, bits: Any) -> Any:
        asked.append((scale, low, high))
        return np.arange(size) - 2

    monkeypatch.setattr(key_selection, "truncated_discrete_laplace", draw)
    counts = np.array([[rule.reach + 2, rule.reach + 2], [rule.reach + 2, -3]])
    kept, noisy = rule.release_counts(counts)
    assert asked == [(4, -rule.reach, rule.reach)]
    assert kept.tolist() == [[False, True], [True, False]]
    assert noisy.tolist() == [[0, rule.reach + 1], [rule.reach + 2, 0]]


def test_the_error_is_the_quantile_of_the_noise() -> None:
    for (epsilon, delta), confidence in itertools.product(RULES[:4], ("0.1", "0.5", "0.95", "0.9999")):
        rule = KeySelection(epsilon, delta)
        noise = truncated(rule, rule.reach)
        width = rule.error(confidence)

        def inside(reach: int, noise: dict[int, Any] = noise) -> Any:
            return sum((mass for x, mass in noise.items() if abs(x) <= reach), start=MP.mpf(0))

        assert inside(width) >= float(confidence) - 1e-9
        assert width == 0 or inside(width - 1) < float(confidence) + 1e-9


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("epsilon", (0, "1e-5", 1)),
        ("epsilon", (math.nan, "1e-5", 1)),
        ("epsilon", ("1e-14", "1e-5", 1)),
        ("epsilon", (1000, "1e-5", 1)),
        ("delta", (1, 0, 1)),
        ("delta", (1, 1, 1)),
        ("delta", (1, Fraction(1, 10**250), 1)),
        ("keys_per_unit", (1, "1e-5", 0)),
        ("keys_per_unit", (1, "1e-5", 1.5)),
    ],
)
def test_wrong_parameters_are_refused(name: str, wrong: tuple[Any, Any, Any]) -> None:
    with pytest.raises(ParameterError, match=f"The '{name}' parameter must be"):
        KeySelection(*wrong)


def test_counts_that_are_not_whole_are_refused_without_being_quoted() -> None:
    with pytest.raises(ParameterError) as refused:
        KeySelection(1, "1e-5").choose([31.5])
    assert "31.5" not in str(refused.value)


@given(
    st.fractions(Fraction(1, 10**6), 90, max_denominator=10**6),
    st.fractions(Fraction(1, 10**9), Fraction(99, 100), max_denominator=10**9),
    st.integers(0, 10**7),
)
@settings(max_examples=tried(150), deadline=None)
def test_any_two_neighbouring_counts_satisfy_both_inequalities(epsilon: Fraction, delta: Fraction, count: int) -> None:
    rule = KeySelection(epsilon, delta)
    one, other = (sum(MP.mpf(str(end)) for end in rule.enclosed_probability(n, 40)) / 2 for n in (count, count + 1))
    growth = MP.exp(_mp(epsilon))
    assert other <= growth * one + _mp(delta) + MP.mpf("1e-35")
    assert 1 - one <= growth * (1 - other) + _mp(delta) + growth * MP.mpf("1e-35")
    assert abs(rule.probability(count) - float(one)) < 2**-41


@pytest.mark.statistical
def test_keys_are_released_as_often_as_they_should_be() -> None:
    rule = KeySelection(1, "0.01")
    bits = SeededBitsForTestsOnly(11)
    for count in (2, 5, 8):
        chance = float(truth(rule.epsilon, rule.delta, count)[count])
        kept = int(rule.choose(np.full(200_000, count), bits=bits).sum())
        assert chance_at_most(np.array([kept, 200_000 - kept]), [chance, 1 - chance]) > 1e-10
