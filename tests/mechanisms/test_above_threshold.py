"""The sparse vector session, checked by enumerating its noise: through the code for single outcomes, then by sums.

Statistical test: false-alarm rate below 1e-9 a run.
"""

from __future__ import annotations

import copy
import itertools
import math
import os
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import BudgetExceeded, ParameterError, TacitError
from tacit.loss import events
from tacit.mechanisms import above_threshold
from tacit.mechanisms.above_threshold import AboveThreshold
from tacit.noise import SeededBitsForTestsOnly
from tests.effort import tried


class Script:
    """Stands for the geometric sampler: hands out the noise the test wants, remembers the scales asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.noise: list[int] = []
        self.scales: list[Fraction] = []
        monkeypatch.setattr(above_threshold, "geometric", self)

    def __call__(self, scale: Fraction, size: int | None, bits: Any) -> Any:
        self.scales.append(scale)
        if size is None:
            return self.noise.pop(0)
        taken, self.noise = self.noise[:size], self.noise[size:]
        return np.array(taken, dtype=np.int64)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    return Script(monkeypatch)


def law_of_answers(
    session: AboveThreshold, values: tuple[int, ...], shrink: float = 1.0, question_scale: Any = None
) -> dict[tuple[bool, ...], float]:
    """The probability of every sequence of answers, by summing over the threshold's noise.

    All terms are positive, so a sum has a relative error of 1e-13 or so. It stops at 600: at the scales used here
    (below 10) what is left out is below 1e-26.
    """
    threshold_scale = shrink * float(session._threshold_scale)
    scale = shrink * float(session._scale if question_scale is None else question_scale)
    z = np.arange(600)
    mass = -np.expm1(-1 / threshold_scale) * np.exp(-z / threshold_scale)
    # P(v >= k) = exp(-k/scale) for k >= 0
    exponents = [-np.maximum(session.threshold + session.shift + z - value, 0) / scale for value in values]
    chances = {True: [np.exp(x) for x in exponents], False: [-np.expm1(x) for x in exponents]}
    return {
        answers: float((mass * np.prod([chances[yes][place] for place, yes in enumerate(answers)], axis=0)).sum())
        for answers in sequences(len(values), session.fires)
    }


def sequences(length: int, fires: int) -> Iterator[tuple[bool, ...]]:
    """Answers to `length` questions, ending at the last yes that was paid for."""
    for answers in itertools.product((False, True), repeat=length):
        total = list(itertools.accumulate(answers))
        if total[-1] < fires or (total[-1] == fires and answers[-1]):
            yield answers
    for end in range(1, length):
        for answers in itertools.product((False, True), repeat=end):
            if sum(answers) == fires and answers[-1]:
                yield answers


def worst_loss(session: AboveThreshold, pairs: Any, shrink: float = 1.0, question_scale: Any = None) -> float:
    laws: dict[tuple[int, ...], dict[tuple[bool, ...], float]] = {}

    def law(values: tuple[int, ...]) -> dict[tuple[bool, ...], float]:
        if values not in laws:
            laws[values] = law_of_answers(session, values, shrink, question_scale)
        return laws[values]

    return max(math.log(chance / law(other)[answers]) for one, other in pairs for answers, chance in law(one).items())


def neighbours(length: int, spread: int, moves: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of value vectors, each value moving by one of `moves`, in both orders."""
    starts = [tuple(place * side for place, side in zip((spread,) * length, sides, strict=True))
              for sides in itertools.product((-1, 0, 1), repeat=length)]  # fmt: skip
    pairs = [
        (start, tuple(value + move for value, move in zip(start, shift, strict=True)))
        for start in starts
        for shift in itertools.product(moves, repeat=length)
    ]
    return pairs + [(other, one) for one, other in pairs]


def test_the_law_sums_to_one() -> None:
    session = AboveThreshold(1, 4, 0, fires=2)
    assert abs(sum(law_of_answers(session, (1, -1, 2)).values()) - 1) < 1e-12


def test_it_says_yes_exactly_when_value_plus_noise_reaches_the_noisy_threshold(script: Script) -> None:
    shift = _shift(script, AboveThreshold, 2, 3, 10)
    for threshold_noise, value, noise in itertools.product(range(4), range(6, 16), range(5)):
        script.noise = [threshold_noise, noise]
        session = AboveThreshold(2, 3, 10)
        expected = value + noise >= 10 + shift + threshold_noise
        assert session.ask(value) is expected


def _shift(script: Script, *arguments: Any) -> int:
    script.noise = [0]
    session = arguments[0](*arguments[1:])
    return int(session.shift)


@pytest.mark.parametrize(("fires", "monotone", "multiple"), [(1, False, 2), (3, False, 6), (3, True, 3)])
def test_noise_is_drawn_at_the_scales_of_the_theorem(script: Script, fires: int, monotone: bool, multiple: int) -> None:
    script.noise = [0, 0, 0]
    session = AboveThreshold(5, "0.7", 0, fires=fires, monotone=monotone)
    session.ask(-100)
    session.ask(-100)
    threshold_scale, first, second = script.scales
    assert 5 / threshold_scale + multiple * 5 / first == Fraction(7, 10)
    assert first == second
    assert float(first) == pytest.approx(session.scale)
    assert float(threshold_scale) == pytest.approx(session.threshold_scale)


@pytest.mark.parametrize("fires", [1, 2])
def test_every_sequence_of_answers_is_within_epsilon(fires: int) -> None:
    session = AboveThreshold(1, 4, 0, fires=fires)
    loss = worst_loss(session, neighbours(2 if fires == 1 else 3, 4, (-1, 1)))
    assert loss <= 4 * (1 + 1e-12)


def test_two_questions_meet_the_bound_so_no_smaller_noise_would_do() -> None:
    session = AboveThreshold(1, 4, 0)
    pair = [((6, -6), (7, -7))]
    assert worst_loss(session, pair) == pytest.approx(4, rel=1e-9)
    assert worst_loss(session, pair, shrink=0.9) > 4.3


def test_larger_steps_than_one_are_covered_too() -> None:
    session = AboveThreshold(3, 2, 0)
    pairs = neighbours(2, 9, (-3, -1, 0, 2, 3))
    assert worst_loss(session, pairs) == pytest.approx(2, rel=1e-9)
    assert worst_loss(session, pairs, shrink=0.9) > 2.2


def test_two_fires_meet_the_bound_and_noise_for_one_fire_would_not_do() -> None:
    session = AboveThreshold(1, 4, 0, fires=2)
    pair = [((6, -6, -6), (7, -7, -7))]
    assert worst_loss(session, pair) == pytest.approx(4, rel=1e-9)
    # the published variant whose question noise does not grow with the number of fires
    assert worst_loss(session, pair, question_scale=session._scale / 2) > 5


@pytest.mark.parametrize("fires", [1, 2])
def test_monotone_values_need_half_the_question_noise(fires: int) -> None:
    session = AboveThreshold(1, 4, 0, fires=fires, monotone=True)
    assert session.scale == pytest.approx(fires / float(session.question_epsilon))
    pairs = neighbours(1 + fires, 6, (0, 1))
    assert worst_loss(session, pairs) == pytest.approx(4, rel=1e-9)
    assert worst_loss(session, pairs, shrink=0.9) > 4.3
    # and it is not enough where one value rises while another falls
    assert worst_loss(session, [((6, *[-6] * fires), (7, *[-7] * fires))]) > 5


def test_the_split_is_near_the_best_one() -> None:
    def spread(share: float, multiple: int) -> float:
        return 1 / share**2 + (multiple / (1 - share)) ** 2

    for fires, monotone, multiple in [(1, False, 2), (5, False, 10), (1, True, 1), (400, False, 800)]:
        session = AboveThreshold(1, 1, 0, fires=fires, monotone=monotone)
        chosen = spread(float(session.threshold_epsilon), multiple)
        best = min(spread(share / 1000, multiple) for share in range(1, 1000))
        assert chosen <= best * 1.001
        assert session.threshold_epsilon + session.question_epsilon == 1


def test_the_event_is_pure_epsilon_and_numeric_answers_are_paid_apart(script: Script) -> None:
    script.noise = [0, 0]
    assert AboveThreshold(2, "0.5", 7, fires=3).event == events.Pure(Fraction(1, 2))
    session = AboveThreshold(2, "0.5", 7, fires=3, answer_epsilon="0.1")
    value = events.DiscreteLaplace(2, Fraction(20))
    assert session.event == events.Composed((events.Pure(Fraction(1, 2)), events.Repeated(value, 3)))


def test_a_numeric_answer_has_fresh_noise_of_its_own_scale(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    scales: list[Fraction] = []

    def fresh(scale: Fraction, size: None, bits: Any) -> int:
        scales.append(scale)
        return 1000

    monkeypatch.setattr(above_threshold, "discrete_laplace", fresh)
    script.noise = [0, 3, 3]
    session = AboveThreshold(2, 1, 0, fires=2, answer_epsilon="0.1")
    assert session.ask_value(-500) is None
    assert session.ask_value(50) == 1050
    assert scales == [20]


def test_numeric_answers_must_have_been_paid_for() -> None:
    with pytest.raises(ParameterError, match="answer_epsilon"):
        AboveThreshold(1, 1, 0).ask_value(3)


def test_a_scan_stops_at_the_last_yes_and_the_session_then_refuses(script: Script) -> None:
    script.noise = [0] * 8
    session = AboveThreshold(1, 1, 0, fires=2)
    answers = session.scan([-50, 50, -50, 50, 50, 50])
    assert answers.tolist() == [False, True, False, True]
    assert session.left == 0
    for ask in (session.ask, lambda value: session.scan([value])):
        with pytest.raises(BudgetExceeded) as refused:
            ask(0)
        assert (refused.value.asked, refused.value.remaining) == (Fraction(1), Fraction(0))


def test_no_question_after_the_last_yes_is_answered(script: Script) -> None:
    script.noise = [0] * 8
    assert AboveThreshold(1, 1, 0).scan([-50, 50, -50, -50]).tolist() == [False, True]


def test_no_answer_does_not_use_up_a_session(script: Script) -> None:
    script.noise = [0] * 60
    session = AboveThreshold(1, 1, 0)
    assert not any(session.ask(-1000) for _ in range(50))
    assert session.left == 1


def test_a_session_cannot_be_copied_or_pickled_or_read() -> None:
    session = AboveThreshold(1, 1, 0)
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TacitError, match="copied"):
            attempt(session)


def test_the_noisy_threshold_is_not_shown(script: Script) -> None:
    script.noise = [98765]
    session = AboveThreshold(1, 1, 0)
    assert str(session._bar).startswith("9876")
    assert "9876" not in repr(session) + str(session)


def test_another_process_cannot_go_on_with_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session = AboveThreshold(1, 1, 0)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(TacitError, match="another process"):
        session.ask(1)


@pytest.mark.parametrize("questions", [1, 3])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.99"])
def test_values_beyond_the_error_are_told_right_with_the_stated_confidence(questions: int, confidence: str) -> None:
    session = AboveThreshold(1, 2, 0, fires=questions)
    distance = session.error(confidence, questions)
    for values in itertools.product((distance, -distance), repeat=questions):
        wanted = tuple(value > 0 for value in values)
        right = sum(
            chance
            for answers, chance in law_of_answers(session, values).items()
            if answers == wanted[: len(answers)] and (len(answers) == questions or sum(answers) == session.fires)
        )
        assert right >= float(confidence)


@pytest.mark.parametrize("fires", [1, 30])
@pytest.mark.parametrize("confidence", [0.2, 0.6, 0.99])
def test_the_error_is_the_least_that_the_two_tails_allow(fires: int, confidence: float) -> None:
    session = AboveThreshold(1, 1, 0, fires=fires)

    def chance_of_a_mistake(distance: int) -> float:
        # a value at the threshold + distance is missed, or one of three at the threshold - distance fires
        missed = sum(
            math.exp(-r / session.threshold_scale) * -math.expm1(-1 / session.threshold_scale)
            for r in range(max(0, distance - session.shift + 1), 4000)
        )
        return missed + 3 * min(1.0, math.exp(-(distance + session.shift) / session.scale))

    distance = session.error(confidence, 3)
    assert chance_of_a_mistake(distance) <= 1 - confidence + 1e-9
    assert distance == 0 or chance_of_a_mistake(distance - 1) > 1 - confidence - 1e-9


def test_the_error_is_not_much_larger_than_it_must_be() -> None:
    session = AboveThreshold(1, 1, 0)
    shorter = session.error("0.99") * 2 // 3
    right = law_of_answers(AboveThreshold(1, 1, 0), (-shorter,))[(False,)]
    missed = law_of_answers(AboveThreshold(1, 1, 0), (shorter,))[(False,)]
    assert min(right, 1 - missed) < 0.99


@pytest.mark.parametrize(
    "wrong",
    [
        {"sensitivity": 0},
        {"sensitivity": 1.5},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": Fraction(1, 10**400)},
        {"threshold": 0.5},
        {"threshold": "x"},
        {"fires": 0},
        {"answer_epsilon": 0},
    ],
)
def test_wrong_parameters_are_refused(wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "threshold": 0, **wrong}
    with pytest.raises(ParameterError, match=f"The '{next(iter(wrong))}' parameter must be"):
        AboveThreshold(**arguments)


def test_a_value_that_is_no_whole_number_is_refused_without_being_quoted() -> None:
    with pytest.raises(ParameterError) as refused:
        AboveThreshold(1, 1, 0).ask(12345.5)  # type: ignore[arg-type]
    assert "12345" not in str(refused.value)


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70))
@settings(max_examples=tried(50), deadline=None)
def test_values_and_thresholds_of_any_size_are_compared_in_order(value: int, threshold: int) -> None:
    inside = min(max(value, -(2**62)), 2**62)
    session = AboveThreshold(1, 50, threshold, bits=SeededBitsForTestsOnly(1))
    # at epsilon 50 the noise is 0 to a few units
    if abs(inside - threshold) > 50:
        assert session.ask(value) is (inside > threshold)


@pytest.mark.statistical
def test_the_share_of_yes_is_the_exact_one() -> None:
    session = AboveThreshold(1, 1, 0)
    expected = float(law_of_answers(session, (2,))[(True,)])
    bits = SeededBitsForTestsOnly(7)
    count = 4000
    found = sum(AboveThreshold(1, 1, 0, bits=bits).ask(2) for _ in range(count))
    # Hoeffding: 2 exp(-2 t**2 / n) = 4e-10 at t = 210
    assert abs(found - expected * count) < 210


def test_a_bar_at_the_end_of_the_range_does_not_wrap_around() -> None:
    from tacit.mechanisms.above_threshold import _at_least

    for bar in (2**62, -(2**62)):
        values = np.array([-(2**62), -(2**62) + 1, 0, 2**62])
        expected = [int(value) >= bar for value in values]
        assert _at_least(values, np.zeros(4, dtype=np.int64), bar).tolist() == expected
